"""Drift over a run: a trend of what each trial is above or below its cell, in the order of the trials."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bakeoff.analysis import trend
from bakeoff.analysis.results import Drift
from bakeoff.analysis.variation import block_squares, numbered

Vector = NDArray[np.float64]
Codes = NDArray[np.int64]
FEWEST = 10  # trials
POINTS = 60  # groups of trials that a chart shows


def drift(
    samples: pl.DataFrame, started: pl.DataFrame, factors: list[str], steps: list[str], metric: str
) -> Drift | None:
    """The drift of a metric's counted values, those of one procedure without labels.

    `started` says when each trial began, those of the samples among them. Each value is set over its cell's median; a
    trial of several steps counts once, with the mean of its logarithms. The interval comes from leaving out one block
    after the other, so that neighbouring trials may hang together. None below ten trials, or where a value is not above
    zero.
    """
    if samples["trial"].n_unique() < FEWEST or (samples["value"] <= 0).any():
        return None
    place = ["system", *factors, *steps]
    log = pl.col("value").log()
    frame = samples.with_columns((log - log.median().over(place)).alias("off"), pl.len().over(place).alias("n"))
    of_trial = ["trial", "position", "block", "system", *factors]
    each = frame.filter(pl.col("n") > 1).select(*of_trial, "off")
    if steps:
        each = each.group_by(of_trial, maintain_order=True).agg(pl.col("off").mean())
    started = started.sort("trial")  # a search in order takes a third of a join's time
    times = started["started_at"].gather(started["trial"].search_sorted(each["trial"]))
    each = each.with_columns(times).sort("started_at", "position", nulls_last=True)
    if len(each) < FEWEST:
        return None
    y, block = each["off"].to_numpy(), numbered(each, ["block"])
    cell = numbered(each, ["system", *factors])
    x = np.linspace(0, 1, len(y))
    whole = trend.fit(x, y, block)
    within = _within_blocks(x, y, block)
    centred = y - (np.bincount(cell, weights=y) / np.bincount(cell))[cell]
    squares = float(np.sum(centred**2))
    freedom = len(y) - int(cell.max()) - 1
    by_blocks, of_blocks = block_squares(centred, cell, block)
    return Drift(
        metric=metric,
        trials=len(y),
        blocks=int(block.max()) + 1,
        start=float(np.expm1(whole.intercept)),
        change=float(np.expm1(whole.slope)),
        low=_change(whole.low),
        high=_change(whole.high),
        left=_change(within[0]),
        left_low=_change(within[1]),
        left_high=_change(within[2]),
        noise=float(np.sqrt(squares / freedom)) if freedom > 0 else 0.0,
        noise_within=_deviation(squares - by_blocks, freedom - of_blocks),
        points=_points(x, y),
    )


def _within_blocks(x: Vector, y: Vector, block: Codes) -> tuple[float | None, float | None, float | None]:
    """The change over one block on the log scale, with its interval: what comparing within blocks leaves."""
    count = np.bincount(block)
    if len(count) < 2 or count.max() < 3:
        return None, None, None
    inner_x = x - (np.bincount(block, weights=x) / count)[block]
    inner_y = y - (np.bincount(block, weights=y) / count)[block]
    ends = np.full((2, len(count)), np.nan)
    np.fmax.at(ends[0], block, x)
    np.fmin.at(ends[1], block, x)
    span = float(np.median(ends[0] - ends[1]))
    line = trend.fit(inner_x, inner_y, block)
    low, high = (None if end is None else end * span for end in (line.low, line.high))
    return line.slope * span, low, high


def _change(logarithm: float | None) -> float | None:
    return None if logarithm is None else float(np.expm1(logarithm))


def _deviation(squares: float, freedom: int) -> float | None:
    return float(np.sqrt(max(squares, 0.0) / freedom)) if freedom > 0 else None


def _points(x: Vector, y: Vector) -> list[tuple[float, float, float, float]]:
    """The order (0 to 1), lower quartile, median and upper quartile of groups of neighbouring trials, as shares."""
    found = []
    for part in np.array_split(np.arange(len(x)), min(POINTS, max(1, len(x) // 4))):
        low, middle, high = np.expm1(np.quantile(y[part], [0.25, 0.5, 0.75])).tolist()
        found.append((float(x[part].mean()), low, middle, high))
    return found
