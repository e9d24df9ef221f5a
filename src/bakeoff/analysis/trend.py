"""Trend lines over one numeric parameter while all others stay as they are: straight lines, and power laws."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtrit

from bakeoff.analysis import summary
from bakeoff.analysis.findings import Trend
from bakeoff.plan import cell_text

Vector = NDArray[np.float64]
FEWEST = 3  # points on a line
CONFIDENCE = 0.975
Key = tuple[str, str, tuple[tuple[str, Any], ...]]  # system, parameter, the other parameters


@dataclass(frozen=True)
class Line:
    """y = intercept + slope x, with 95% intervals of both and the share of the variation that it explains."""

    slope: float
    intercept: float
    low: float | None
    high: float | None
    r_squared: float | None
    intercept_low: float | None = None
    intercept_high: float | None = None


def fit(x: Vector, y: Vector, groups: NDArray[np.int64] | None = None) -> Line:
    """Least squares; the intervals hold when the scatter differs from point to point.

    Their standard errors are HC3 (MacKinnon & White 1985, J. Econometrics 29), used with Student's t of n - 2 degrees.
    With `groups`, points of one group may hang together (the steps of one trial, the trials of one block): then the
    errors are the jackknife's over whole groups (Bell & McCaffrey 2002, Survey Methodology 28), with t of one degree
    less than there are groups. Raises ValueError for fewer than two different x.
    """
    n = len(x)
    middle = float(x.mean())
    centred = x - middle
    spread = float(np.sum(centred**2))
    if spread == 0:
        raise ValueError("a line needs two different x")
    slope = float(np.sum(centred * y) / spread)
    intercept = float(y.mean() - slope * middle)
    residuals = y - intercept - slope * x
    total = float(np.sum((y - y.mean()) ** 2))
    r_squared = 1 - float(np.sum(residuals**2)) / total if total else None
    if groups is not None:
        reach = _group_reach(centred, y, groups, middle)
    else:
        leverage = 1 / n + centred**2 / spread
        if n <= 2 or (leverage > 1 - 1e-9).any():
            reach = None
        else:
            scaled = residuals / (1 - leverage)
            errors = [centred / spread * scaled, (1 / n - middle * centred / spread) * scaled]
            reach = [float(stdtrit(n - 2, CONFIDENCE) * np.sqrt(np.sum(error**2))) for error in errors]
    if reach is None:
        return Line(slope, intercept, None, None, r_squared)
    return Line(
        slope, intercept, slope - reach[0], slope + reach[0], r_squared, intercept - reach[1], intercept + reach[1]
    )


def _group_reach(x: Vector, y: Vector, groups: NDArray[np.int64], middle: float) -> list[float] | None:
    """Half the intervals of slope and intercept by leaving out one group after the other; None where one cannot be."""
    _, place = np.unique(groups, return_inverse=True)
    count = int(place.max()) + 1
    if count < FEWEST:
        return None
    sums = [np.bincount(place, weights=w) for w in (np.ones_like(x), x, y, x * x, x * y)]
    n, sx, sy, sxx, sxy = (one.sum() - one for one in sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = (n * sxy - sx * sy) / (n * sxx - sx * sx)
        intercepts = (sy - slopes * sx) / n - slopes * middle
    if not np.isfinite(slopes).all() or (n * sxx - sx * sx <= 1e-12 * sxx * n).any():
        return None
    reach = float(stdtrit(count - 1, CONFIDENCE))
    return [reach * float(np.sqrt((count - 1) / count * np.sum((b - b.mean()) ** 2))) for b in (slopes, intercepts)]


@dataclass
class Points:
    """What one line goes through: (x, values, their blocks) of each cell."""

    cells: list[tuple[float, Vector, NDArray[np.int64]]]

    def columns(self) -> tuple[Vector, Vector, NDArray[np.int64]]:
        """x, y and block of each value."""
        x = np.concatenate([np.full(len(values), x) for x, values, _ in self.cells])
        return x, np.concatenate([v for _, v, _ in self.cells]), np.concatenate([b for _, _, b in self.cells])


def trends(
    groups: pl.DataFrame,
    factors: list[str],
    parameters: dict[str, dict[str, Any]],
    metric: str,
    steps: frozenset[str] = frozenset(),
) -> list[Trend]:
    """All lines of a metric: for each system and numeric parameter, where at least three cells differ in it alone.

    `steps` are the parameters of factors within a trial: their levels share a trial, so blocks are kept together.
    """
    chosen = groups.filter((pl.col("metric") == metric) & (pl.col("labels") == ""))
    lines: dict[Key, Points] = defaultdict(lambda: Points([]))
    unit = ""
    for row in summary.rows(chosen):
        unit = row["unit"]
        values = row["values"]
        blocks = row["blocks"].astype(np.int64)
        cell = parameters.get(cell_text({name: row[name] for name in factors if row[name] is not None}), {})
        for name, x in cell.items():
            if isinstance(x, int | float) and not isinstance(x, bool):
                rest = tuple(sorted((key, value) for key, value in cell.items() if key != name))
                lines[row["system"], name, rest].cells.append((float(x), values, blocks))
    return [
        _trend(key, metric, unit, points, key[1] in steps)
        for key, points in lines.items()
        if len({x for x, _, _ in points.cells}) >= FEWEST
    ]


def _trend(key: Key, metric: str, unit: str, points: Points, grouped: bool) -> Trend:
    system, name, fixed = key
    points.cells.sort(key=lambda point: point[0])
    x, y, blocks = points.columns()
    line = fit(x, y, blocks if grouped else None)
    power = power_law(x, y, blocks if grouped else None)
    return Trend(
        system=system,
        metric=metric,
        unit=unit,
        parameter=name,
        fixed=dict(fixed),
        x=[x for x, _, _ in points.cells],
        y=[float(v.mean()) for _, v, _ in points.cells],
        slope=line.slope,
        slope_low=line.low,
        slope_high=line.high,
        intercept=line.intercept,
        r_squared=line.r_squared,
        intercept_low=line.intercept_low,
        intercept_high=line.intercept_high,
        exponent=power.slope if power else None,
        exponent_low=power.low if power else None,
        exponent_high=power.high if power else None,
        factor=float(np.exp(power.intercept)) if power and abs(power.intercept) < 700 else None,
        power_r_squared=power.r_squared if power else None,
    )


def power_law(x: Vector, y: Vector, groups: NDArray[np.int64] | None = None) -> Line | None:
    """y = a x^b as the line log y = log a + b log x (Goldsmith et al. 2007, ESEC/FSE): slope b, intercept log a.

    None unless all values are above zero.
    """
    if not ((x > 0).all() and (y > 0).all()):
        return None
    return fit(np.log(x), np.log(y), groups)
