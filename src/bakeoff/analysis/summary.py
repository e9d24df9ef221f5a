"""Summaries: what the replications of one system in one cell have in common."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl

from bakeoff.analysis import bootstrap
from bakeoff.analysis.findings import Group, Summary

ENOUGH = 6  # replications; see low_power


def low_power(n: int) -> bool:
    """Whether n replications are too few for a 95% interval of the median.

    Without assumptions on the distribution the widest interval, from the least to the greatest value, covers the median
    with probability 1 - 2^(1 - n) (Conover 1999, Practical Nonparametric Statistics, sec. 3.2): 93.75% at n = 5.
    """
    return n < ENOUGH


def summarise(groups: pl.DataFrame, factors: list[str], seed: int) -> list[Summary]:
    """One summary for each row of a frame with the columns of `grouped`. Quartiles are Hyndman & Fan's type 7."""
    rows = list(groups.iter_rows(named=True))
    intervals = _intervals(rows, seed)
    summaries = []
    for row, interval in zip(rows, intervals, strict=True):
        summaries.append(
            Summary(
                group=group_of(row, factors),
                n=row["n"],
                median=row["median"],
                q1=row["q1"],
                q3=row["q3"],
                mean=row["mean"],
                sd=row["sd"],
                low=interval[0] if interval else None,
                high=interval[1] if interval else None,
                low_power=low_power(row["n"]),
            )
        )
    return summaries


def _intervals(rows: list[dict[str, Any]], seed: int) -> list[tuple[float, float] | None]:
    """The medians' intervals, None for a single replication; groups of equal n are worked out together."""
    by_size: dict[int, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        by_size[row["n"]].append(index)
    found: list[tuple[float, float] | None] = [None] * len(rows)
    for n, members in by_size.items():
        if n < 2:
            continue
        bounds = bootstrap.medians_bca(np.array([rows[i]["values"] for i in members], dtype=np.float64), seed)
        for index, (low, high) in zip(members, bounds.tolist(), strict=True):
            found[index] = low, high
    return found


def grouped(samples: pl.DataFrame, factors: list[str]) -> pl.DataFrame:
    """The counted samples by procedure, system, cell, metric and labels: n, moments, quartiles, values and blocks."""
    keys = ["procedure", "system", *factors, "metric", "unit", "labels"]
    value = pl.col("value")
    return (
        samples.filter(pl.col("counted"))
        .group_by(keys, maintain_order=True)
        .agg(
            pl.len().alias("n"),
            value.median().alias("median"),
            value.quantile(0.25, "linear").alias("q1"),
            value.quantile(0.75, "linear").alias("q3"),
            value.mean().alias("mean"),
            value.std().alias("sd"),
            value.sort_by("block").alias("values"),
            pl.col("block").sort().alias("blocks"),
        )
    )


def group_of(row: dict[str, object], factors: list[str]) -> Group:
    """The group that a row of `grouped` is about."""
    return Group(
        procedure=str(row["procedure"]),
        system=str(row["system"]),
        cell={name: str(row[name]) for name in factors if row[name] is not None},
        metric=str(row["metric"]),
        unit=str(row["unit"]),
        labels=str(row["labels"]),
    )
