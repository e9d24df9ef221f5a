"""Numbers as readers see them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.analysis import numbers, units


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (31.2, 30.1, 33.0, "31.2 (30.1 to 33.0)"),
        (976.741, 939.26, 1021.2, "977 (939 to 1,021)"),
        (0.123182, 0.1139, 0.1317, "0.1232 (0.1139 to 0.1317)"),
        (1.5, 1.5, 1.5, "1.50 (1.50 to 1.50)"),
        (12345.6, 12000.0, 13000.0, "12,346 (12,000 to 13,000)"),
        (2.0, None, None, "2.00"),
        (0.0, 0.0, 0.0, "0 (0 to 0)"),
        (None, None, None, "–"),
    ],
)
def test_with_interval(value: float | None, low: float | None, high: float | None, text: str) -> None:
    assert numbers.with_interval(value, low, high) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1234567.0, "1,234,567"), (0.00123, "0.00123"), (-0.0001, "-0.000100"), (float("nan"), "–")],
)
def test_number(value: float, text: str) -> None:
    assert numbers.number(value) == text


def test_small_negative_rounds_to_plain_zero() -> None:
    assert numbers.number(-0.001, 1) == "0.0"


@given(st.floats(1e-9, 1e12))
def test_three_digits_hold_a_thousandth(value: float) -> None:
    assert float(numbers.number(value).replace(",", "")) == pytest.approx(value, rel=6e-3)


def test_one_unit_for_all() -> None:
    assert numbers.scale("s", [0.123, 662.0]) == numbers.Scale("s", 1.0)
    assert numbers.scale("s", [0.002, 2.4]) == numbers.Scale("ms", 1e-3)
    assert numbers.scale("B", [5e6, 2e9]) == numbers.Scale("MB", 1e6)
    assert numbers.scale("1", [5.0]).unit == ""
    assert numbers.scale("1/s", [5.0]).unit == "1/s"
    assert numbers.scale("s", []) == numbers.Scale("s", 1.0)


def test_percent_and_count() -> None:
    assert [numbers.percent(share) for share in (None, 0.0, 0.004, 0.5)] == ["–", "0%", "0.4%", "50%"]
    assert [numbers.count(many, "trial") for many in (1, 1200)] == ["1 trial", "1,200 trials"]


def test_units() -> None:
    assert units.factor("ms", "s") == pytest.approx(1e-3)
    assert units.factor("MB", "B") == 1e6
    assert units.factor("ratio", "ratio") == 1
    assert units.factor("percent", "1") == 0.01
    assert units.factor("s", "B") is None
