"""A published figure that is about several of our cells, or about one level of a factor against another."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping

from bakeoff.analysis.findings import Summary
from bakeoff.plan import cell_text

Bounds = tuple[float, float | None, float | None]  # a figure with its interval


def mean(summaries: list[Summary]) -> Bounds:
    """The arithmetic mean of the cells' medians. It has no interval where it is over several."""
    if len(summaries) == 1:
        return summaries[0].median, summaries[0].low, summaries[0].high
    return statistics.fmean(summary.median for summary in summaries), None, None


def ratio(ratios: Iterable[Bounds]) -> Bounds | None:
    """The geometric mean of ratios, between that of their lower and that of their upper bounds.

    The bounds are wider than an interval of the mean: they leave out that errors of several cells partly cancel.
    """
    several = [one for one in ratios if one[0] > 0]
    if not several:
        return None
    low = [bound for _, bound, _ in several if bound is not None and bound > 0]
    high = [bound for _, _, bound in several if bound is not None and bound > 0]
    whole = len(low) == len(high) == len(several)
    return (
        _geometric([value for value, _, _ in several]),
        _geometric(low) if whole else None,
        _geometric(high) if whole else None,
    )


def against_level(
    summaries: Mapping[tuple[str, str, str], Summary],
    system: str,
    metric: str,
    cells: Iterable[Mapping[str, str]],
    level: str,
) -> Bounds | None:
    """How many times the figure of the cells with another level of a factor, `factor=level`, the figure of these is."""
    factor, _, other = level.partition("=")
    found: list[Bounds] = []
    for cell in cells:
        ours = summaries.get((system, cell_text(dict(cell)), metric))
        theirs = summaries.get((system, cell_text({**cell, factor: other}), metric))
        if ours is None or theirs is None or theirs.median <= 0:
            continue
        bounded = ours.low is not None and theirs.high is not None and ours.high is not None and theirs.low
        found.append(
            (
                ours.median / theirs.median,
                (ours.low or 0) / (theirs.high or 1) if bounded else None,
                (ours.high or 0) / (theirs.low or 1) if bounded else None,
            )
        )
    return ratio(found)


def _geometric(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))
