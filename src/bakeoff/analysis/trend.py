"""Trend lines: a straight line over one numeric parameter while all others stay as they are."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtrit

from bakeoff.analysis.findings import Trend
from bakeoff.plan import cell_text

Vector = NDArray[np.float64]
FEWEST = 3  # points on a line


@dataclass(frozen=True)
class Line:
    """y = intercept + slope x, with the 95% interval of the slope and the share of the variation it explains."""

    slope: float
    intercept: float
    low: float | None
    high: float | None
    r_squared: float | None


def fit(x: Vector, y: Vector) -> Line:
    """Least squares; the interval holds when the scatter differs from point to point.

    Its standard error is HC3 (MacKinnon & White 1985, J. Econometrics 29), used with Student's t of n - 2 degrees.
    Raises ValueError for fewer than two different x.
    """
    n = len(x)
    centred = x - x.mean()
    spread = float(np.sum(centred**2))
    if spread == 0:
        raise ValueError("a line needs two different x")
    slope = float(np.sum(centred * y) / spread)
    intercept = float(y.mean() - slope * x.mean())
    residuals = y - intercept - slope * x
    total = float(np.sum((y - y.mean()) ** 2))
    r_squared = 1 - float(np.sum(residuals**2)) / total if total else None
    leverage = 1 / n + centred**2 / spread
    if n <= 2 or (leverage > 1 - 1e-9).any():
        return Line(slope, intercept, None, None, r_squared)
    error = float(np.sqrt(np.sum((centred / spread * residuals / (1 - leverage)) ** 2)))
    reach = float(stdtrit(n - 2, 0.975)) * error
    return Line(slope, intercept, slope - reach, slope + reach, r_squared)


def trends(groups: pl.DataFrame, factors: list[str], parameters: dict[str, dict[str, Any]], metric: str) -> list[Trend]:
    """All lines of a metric: for each system and numeric parameter, where at least three cells differ in it alone."""
    rows = groups.filter((pl.col("metric") == metric) & (pl.col("labels") == ""))
    lines: dict[tuple[str, str, tuple[tuple[str, Any], ...]], list[tuple[float, Vector]]] = defaultdict(list)
    unit = ""
    for row in rows.iter_rows(named=True):
        unit = row["unit"]
        values = np.asarray(row["values"], dtype=np.float64)
        cell = parameters.get(cell_text({name: row[name] for name in factors if row[name] is not None}), {})
        for name, x in cell.items():
            if isinstance(x, int | float) and not isinstance(x, bool):
                rest = tuple(sorted((key, value) for key, value in cell.items() if key != name))
                lines[row["system"], name, rest].append((float(x), values))
    found = []
    for (system, name, rest), points in lines.items():
        if len({x for x, _ in points}) < FEWEST:
            continue
        points.sort(key=lambda point: point[0])
        line = fit(np.concatenate([np.full(len(v), x) for x, v in points]), np.concatenate([v for _, v in points]))
        found.append(
            Trend(
                system=system,
                metric=metric,
                unit=unit,
                parameter=name,
                fixed=dict(rest),
                x=[x for x, _ in points],
                y=[float(v.mean()) for _, v in points],
                slope=line.slope,
                slope_low=line.low,
                slope_high=line.high,
                intercept=line.intercept,
                r_squared=line.r_squared,
            )
        )
    return found
