"""All pairs of systems of each cell in the main metric, and the ranks that follow."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bakeoff.analysis import bootstrap, comparison, letters, many, ranks, summary
from bakeoff.analysis.findings import Comparison, Group, MetricInfo
from bakeoff.analysis.results import Pair, Ranked, Ranking

Vector = NDArray[np.float64]
Row = dict[str, Any]
WORK = 200_000_000  # resampled ratios of all pairs together, at most, as far as FEWEST_DRAWS allows


def rankings(groups: pl.DataFrame, factors: list[str], metric: MetricInfo, margin: float, seed: int) -> list[Ranking]:
    """One ranking for each cell with at least two systems, from rows of `summary.grouped` of one procedure and metric.

    p is corrected by Holm's method over the pairs of a cell: a ranking is a statement about its cell. A rank is 1 plus
    the number of systems that are better for sure (Chiang et al. 2024, Chatbot Arena, ICML, sec. 4); letters say which
    systems cannot be told apart.
    """
    cells: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in summary.rows(groups):
        cells[row["unit"], *(row[name] for name in factors)].append(row)
    shared = [rows for rows in cells.values() if len(rows) > 1]
    draws = WORK // max(1, sum(len(rows) * (len(rows) - 1) // 2 for rows in shared))
    sign = -1 if metric.better == "higher" else 1
    found = []
    for unordered in shared:
        rows = sorted(unordered, key=lambda row: sign * row["median"])
        judged = comparison.judge(compare(rows, factors, seed, draws), metric, margin)
        found.append(_ranking(rows, judged, metric, summary.group_of(rows[0], factors)))
    return found


def _ranking(rows: list[Row], judged: list[Comparison], metric: MetricInfo, group: Group) -> Ranking:
    place = {row["system"]: index for index, row in enumerate(rows)}
    ahead = dict.fromkeys(place, 0)
    different = []
    for pair in judged:
        if pair.verdict in ("same", "unsure"):
            continue
        different.append((place[pair.group.system], place[pair.baseline]))
        lower = pair.ratio is not None and pair.ratio < 1
        if metric.better != "neither":
            worse = pair.group.system if lower == (metric.better == "higher") else pair.baseline
            ahead[worse] += 1
    given = letters.display(len(rows), different)
    systems = [
        Ranked(row["system"], row["n"], row["median"], 1 + ahead[row["system"]], text)
        for row, text in zip(rows, given, strict=True)
    ]
    return Ranking(
        metric=metric.name,
        cell=group.cell,
        systems=sorted(systems, key=lambda one: one.rank),
        pairs=[_pair(one) for one in judged],
    )


def _pair(c: Comparison) -> Pair:
    return Pair(
        c.group.system, c.baseline, c.pairs, c.ratio, c.low, c.high, c.delta, c.test, c.p, c.p_holm, c.verdict,
        c.low_power,
    )  # fmt: skip


def compare(rows: list[Row], factors: list[str], seed: int, draws: int) -> list[Comparison]:
    """Each row against each later one, as `comparison.compare` does it; all at once where they have the same blocks."""
    blocks = rows[0]["blocks"]
    whole = all(np.array_equal(row["blocks"], blocks) for row in rows[1:])
    values = np.array([row["values"] for row in rows], dtype=np.float64) if whole else None
    if values is not None and 1 < len(blocks) <= bootstrap.MOST_COUNTED and (values > 0).all():
        return _together(rows, values, factors, seed, draws)
    found = []
    for index, row in enumerate(rows):
        for other in rows[index + 1 :]:
            if (one := against(row, other, factors, seed)) is not None:
                found.append(one[0])
    return found


def against(row: Row, other: Row, factors: list[str], seed: int) -> tuple[Comparison, Vector | None] | None:
    """One row against another in the blocks that both have, with resampled log ratios; None where there are none."""
    group = summary.group_of(row, factors)
    if min(row["n"], other["n"]) > bootstrap.MOST_COUNTED:
        return many.compare(group, row, other, seed)
    ours, theirs = paired(row, other)
    return comparison.compare(group, other["system"], ours, theirs, seed) if len(ours) else None


def _together(rows: list[Row], values: Vector, factors: list[str], seed: int, draws: int) -> list[Comparison]:
    n = values.shape[1]
    first, second = np.triu_indices(len(rows), 1)
    resampled = np.log([bootstrap.resampled_medians(row, seed, max(draws, bootstrap.FEWEST_DRAWS)) for row in values])
    bounds = np.concatenate(
        [
            np.exp(bootstrap.percentiles(resampled[first[at : at + 100]] - resampled[second[at : at + 100]]))
            for at in range(0, len(first), 100)
        ]
    )
    p, name = ranks.tests(values[first], values[second], comparison.SIGNED_RANK_FROM)
    deltas = 2 * ranks.sums(values[first], values[second])[0] / n**2 - 1
    medians, means = np.median(values, axis=1), values.mean(axis=1)
    groups: list[Group] = [summary.group_of(row, factors) for row in rows]
    numbers = zip(
        first.tolist(), second.tolist(), (medians[first] / medians[second]).tolist(), bounds.tolist(),
        (means[first] / means[second]).tolist(), deltas.tolist(), p.tolist(), strict=True,
    )  # fmt: skip
    return [
        Comparison(
            group=groups[one],
            baseline=rows[other]["system"],
            pairs=n,
            ratio=ratio,
            low=low,
            high=high,
            ratio_of_means=of_means,
            delta=delta,
            test=name,
            p=chance,
            p_holm=None,
            verdict="unsure",
            low_power=True,
        )
        for one, other, ratio, (low, high), of_means, delta, chance in numbers
    ]


def paired(ours: Row, theirs: Row) -> tuple[Vector, Vector]:
    """The values of two groups in the blocks that both have, in the order of the blocks."""
    if np.array_equal(ours["blocks"], theirs["blocks"]):
        return ours["values"], theirs["values"]
    _, left, right = np.intersect1d(ours["blocks"], theirs["blocks"], assume_unique=True, return_indices=True)
    return ours["values"][left], theirs["values"][right]
