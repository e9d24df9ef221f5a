"""Published figures beside ours: matching, the rule for direction and size, and what cannot be compared."""

from __future__ import annotations

from typing import Any

import made_runs
import pytest

from bakeoff import analysis
from bakeoff.analysis import published
from bakeoff.analysis.findings import Reference
from bakeoff.experiment import Experiment
from bakeoff.store import Store

STEADY = [0.98, 0.99, 1.0, 1.01, 1.02, 1.0]


def experiment(**changes: Any) -> Experiment:
    return Experiment.model_validate(
        {
            "title": "t",
            "question": "q",
            "systems": ["a", "b"],
            "baseline": "a",
            "factors": {"set": {"levels": {"s1": {"n": 10}, "s2": {"n": 20}}}},
            "procedure": {"kind": "exec"},
            "metrics": {"elapsed": {"unit": "s", "better": "lower", "marker": {}}},
            "replications": 6,
        }
        | changes
    )


def row(target: str, factors: str, metric: str, value: str, unit: str = "ratio", **more: str) -> dict[str, str]:
    return {
        "target": target, "factors": factors, "metric": metric, "unit": unit, "value": value, "source": "Paper", **more,
    }  # fmt: skip


def check(store: Store, rows: list[dict[str, str]], ratio: float = 3.0, **changes: Any) -> list[Reference]:
    """References of a run in which b takes `ratio` times the 1 s (s1) or 2 s (s2) of a."""
    values = {
        (system, f"set={level}"): [v * base * (ratio if system == "b" else 1) for v in STEADY]
        for system in ("a", "b")
        for level, base in (("s1", 1.0), ("s2", 2.0))
    }
    run = made_runs.make(store, experiment(**changes), made_runs.values(values), reference_rows=rows)
    return analysis.analyse(analysis.load(store, run)).references


@pytest.mark.parametrize(
    ("said", "ours", "verdict"),
    [
        ("3.0", 3.0, "reproduced"),  # inside the interval
        ("4.0", 3.0, "reproduced"),  # less than a factor of 2, and less than half of the effect
        ("9.0", 3.0, "same direction"),  # a factor of 3
        ("1.2", 1.9, "same direction"),  # within a factor of 2, but several times the effect
        ("0.5", 3.0, "contradicted"),
        ("1.0", 3.0, "contradicted"),  # published as equal
        ("1.02", 1.0, "reproduced"),  # both inside the margin
        ("3.0", 1.0, "contradicted"),
    ],
)
def test_rule_for_ratios(store: Store, said: str, ours: float, verdict: str) -> None:
    found = check(store, [row("b", "set=s1", "elapsed_vs_a", said)], ours)
    assert [r.verdict for r in found] == [verdict]
    assert found[0].ours == pytest.approx(ours) and found[0].kind == "ratio"


def test_replications_become_their_median_with_a_ratio_of_their_own(store: Store) -> None:
    rows = [
        row(target, f"set=s1 n=10 replication={i}", "elapsed", value, "ms")
        for target, values in (("a", ("900", "1000", "1300")), ("b", ("3000", "2900", "3500")))
        for i, value in enumerate(values, 1)
    ]
    found = {(r.system, r.kind): r for r in check(store, rows)}
    assert found["a", "value"].published == pytest.approx(1.0) and found["a", "value"].unit == "s"
    assert found["b", "ratio"].published == pytest.approx(3.0)
    assert "median of 3" in found["b", "value"].source
    assert {r.verdict for r in found.values()} == {"reproduced"}


def test_scaled_level_compares_ratios_only(store: Store) -> None:
    rows = [
        row("a", "set=s1 n=500", "elapsed", "50", "s"),
        row("b", "set=s1 n=500", "elapsed", "150", "s"),
        row("b", "set=s1", "elapsed_vs_a", "3.0"),
    ]
    found = check(store, rows)
    value, ratio = found[1], found[2]
    assert value.verdict == "not comparable" and value.reason == "n 10 here, 500 published"
    assert ratio.verdict == "reproduced" and ratio.reason == "n 10 here, 500 published"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (row("zig", "set=s1", "elapsed_vs_a", "3"), "zig is no system of this run"),
        (row("b", "set=s9", "elapsed_vs_a", "3"), "this run has no cell set=s9"),
        (row("b", "set=s1", "elapsed_vs_set=s9", "3"), "we have no ratio to set=s9 there"),
        (row("b", "set=s1 users=20", "elapsed", "3", "s"), "users=20, which is no parameter here"),
        (row("b", "set=s1", "elapsed", "<3", "s"), "'<3', which is no number"),
        (row("b", "set=s1", "elapsed", "3", "MB"), "MB cannot be turned into s"),
        (row("b", "whole run", "elapsed_vs_a", "3"), "'whole run', which is no cell of ours"),
        (row("b", "set=s1", "memory", "3", "MB"), "we have no counted trial of memory there"),
        (row("b", "x=n", "scaling_slope", "3", "ms per x"), "no three cells of this run differ in n alone"),
    ],
)
def test_what_cannot_be_compared_says_why(store: Store, bad: dict[str, str], reason: str) -> None:
    found = check(store, [bad])[0]
    assert found.verdict == "not comparable"
    assert reason in found.reason


def test_ratio_over_all_cells_is_the_geometric_mean(store: Store) -> None:
    found = check(store, [row("b", "", "elapsed_vs_a", "3.0")])[0]
    assert found.ours == pytest.approx(3.0) and found.verdict == "reproduced"
    assert "geometric mean of 2 cells" in found.reason


def test_value_over_several_cells_is_their_mean(store: Store) -> None:
    found = check(store, [row("b", "", "elapsed", "4.5", "s")])[0]
    assert found.ours == pytest.approx(4.5) and found.verdict == "reproduced"  # 3 s and 6 s
    assert "the mean of 2 cells" in found.reason and found.low is None


@pytest.mark.parametrize(("said", "verdict"), [("2.0", "reproduced"), ("9", "same direction"), ("0.5", "contradicted")])
def test_ratio_to_another_level_of_a_factor(store: Store, said: str, verdict: str) -> None:
    found = check(store, [row("b", "set=s2", "elapsed_vs_set=s1", said)])[0]
    assert found.ours == pytest.approx(2.0) and found.verdict == verdict
    assert found.against == "set=s1" and found.low is not None and found.low < 2.0


def test_ratio_over_some_cells_lies_between_their_bounds(store: Store) -> None:
    changes = {"factors": {"set": {"levels": {"s1": {"n": 10}, "s2": {"n": 20}}}, "kind": {"levels": ["x", "y"]}}}
    values = {
        (system, f"set={level} kind={kind}"): [v * (times if system == "b" else 1) for v in STEADY]
        for system in ("a", "b")
        for level in ("s1", "s2")
        for kind, times in (("x", 2.0), ("y", 8.0))
    }
    rows = [row("b", "set=s1", "elapsed_vs_a", "4"), row("b", "set=s1", "elapsed_vs_a", "1..5")]
    run = made_runs.make(store, experiment(**changes), made_runs.values(values), reference_rows=rows)
    exact, between = analysis.analyse(analysis.load(store, run)).references
    assert exact.ours == pytest.approx(4.0) and exact.verdict == "reproduced"
    assert between.published_low == 1 and between.verdict == "reproduced"
    assert "geometric mean of 2 cells" in exact.reason


def test_value_on_another_machine(store: Store) -> None:
    rows = [row("a", "set=s1", "elapsed", "10", "s"), row("b", "set=s1", "elapsed", "40", "s")]
    found = {(r.system, r.kind): r for r in check(store, rows)}
    assert found["a", "value"].verdict == "not comparable"
    assert "0.1 times the published value" in found["a", "value"].reason
    assert found["b", "value"].verdict == "same direction"
    assert found["b", "ratio"].verdict == "reproduced"


def test_published_interval_counts(store: Store) -> None:
    found = check(store, [row("a", "set=s1", "elapsed", "5", "s", low="0.9", high="9")])[0]
    assert found.size_agrees and found.verdict == "reproduced"


def test_range_is_its_middle_with_bounds() -> None:
    found = published.read([row("a", "", "elapsed", "1..2", "ms")], set(), {"elapsed"})[0]
    assert (found.value, found.low, found.high) == (1.5, 1.0, 2.0)
