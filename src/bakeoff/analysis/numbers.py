"""Numbers as readers see them: as many digits as the interval supports, in a unit that fits."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

LEAST_DIGITS, MOST_DIGITS = 2, 4
ENDLESS = "–"  # what stands where there is no number

_SERIES: dict[str, list[tuple[str, float]]] = {
    "s": [("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)],
    "B": [("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)],
}


@dataclass(frozen=True)
class Scale:
    """A unit to show figures in: its name, and how much of the stored unit it is."""

    unit: str
    size: float = 1.0

    def of(self, value: float | None) -> float | None:
        """A stored value in this unit."""
        return None if value is None else value / self.size


def scale(unit: str, values: Iterable[float | None]) -> Scale:
    """One unit for all these values: the largest in which the least of them is still 0.1 or more."""
    if unit not in _SERIES:
        return Scale("" if unit in ("1", "ratio") else unit)
    sizes = [abs(value) for value in values if value]
    if not sizes:
        return Scale(unit)
    chosen = _SERIES[unit][0]
    for name, size in _SERIES[unit]:
        if min(sizes) / size >= 0.1:
            chosen = (name, size)
    return Scale(*chosen)


def decimals(value: float, low: float | None = None, high: float | None = None) -> int:
    """Decimal places so that half the interval shows two digits, the value 2 to 4 (3 without one)."""
    if value == 0 and not (low or high):
        return 0
    size = max(abs(value), abs(low or 0.0), abs(high or 0.0)) if value == 0 else abs(value)
    leading = math.floor(math.log10(size))
    if low is None or high is None or high <= low:
        return max(0, 2 - leading)
    wanted = 1 - math.floor(math.log10((high - low) / 2))
    return max(0, min(max(wanted, LEAST_DIGITS - 1 - leading), MOST_DIGITS - 1 - leading))


def number(value: float | None, places: int | None = None) -> str:
    """A number with commas between thousands; three significant digits unless the places are given."""
    if value is None or not math.isfinite(value):
        return ENDLESS
    text = f"{value:,.{decimals(value) if places is None else places}f}"
    return text.removeprefix("-") if text.strip("-0.,") == "" else text


def with_interval(value: float | None, low: float | None, high: float | None) -> str:
    """Such as `31.2 (30.1 to 33.0)`."""
    if value is None:
        return ENDLESS
    if low is None or high is None:
        return number(value)
    places = decimals(value, low, high)
    return f"{number(value, places)} ({number(low, places)} to {number(high, places)})"


def percent(share: float | None) -> str:
    """A share of 1 as percent, such as `0.4%`."""
    if share is None:
        return ENDLESS
    return "0%" if share == 0 else f"{share * 100:.2g}%" if share < 0.1 else f"{share * 100:.0f}%"


def count(many: int, thing: str, things: str | None = None) -> str:
    """Such as `1 trial` or `3 trials`."""
    return f"{many:,} {thing if many == 1 else things or thing + 's'}"


def plain(value: float) -> str:
    """A round number as an axis has it: commas between thousands, no zeros at the end."""
    if value and abs(value) < 1e-6:
        return f"{value:.0e}"
    text = f"{value:,.10f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def exact(value: float | None) -> str:
    """A number with six significant digits, for those who ask for it."""
    if value is None or not math.isfinite(value):
        return ENDLESS
    if value and not 1e-4 <= abs(value) < 1e15:
        return f"{value:.6g}"
    places = max(0, 5 - math.floor(math.log10(abs(value)))) if value else 0
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
