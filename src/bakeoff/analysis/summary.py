"""Summaries: what the replications of one system in one cell have in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from bakeoff.analysis import bootstrap, columns
from bakeoff.analysis.findings import Group, Summary

ENOUGH = 6  # replications; see low_power
STATISTICS = ["median", "q1", "q3", "mean", "sd"]
PIECE = 1_000_000  # numbers put in order at once


def low_power(n: int) -> bool:
    """Whether n replications are too few for a 95% interval of the median.

    Without assumptions on the distribution the widest interval, from the least to the greatest value, covers the median
    with probability 1 - 2^(1 - n) (Conover 1999, Practical Nonparametric Statistics, sec. 3.2): 93.75% at n = 5.
    """
    return n < ENOUGH


def summarise(groups: pl.DataFrame, factors: list[str], seed: int) -> list[Summary]:
    """One summary for each row of a frame with the columns of `grouped`. Quartiles are Hyndman & Fan's type 7."""
    found = list(rows(groups))
    intervals = _intervals(found, seed)
    summaries = []
    for row, interval in zip(found, intervals, strict=True):
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


def _intervals(groups: list[dict[str, Any]], seed: int) -> list[tuple[float, float] | None]:
    """The medians' intervals, None for a single replication; groups of equal n are worked out together."""
    by_size: dict[int, list[int]] = defaultdict(list)
    for index, row in enumerate(groups):
        by_size[row["n"]].append(index)
    found: list[tuple[float, float] | None] = [None] * len(groups)
    for n, members in by_size.items():
        if n < 2:
            continue
        bounds = bootstrap.medians_bca(np.array([groups[i]["values"] for i in members]), seed)
        for index, (low, high) in zip(members, bounds.tolist(), strict=True):
            found[index] = low, high
    return found


def grouped(samples: pl.DataFrame, factors: list[str]) -> pl.DataFrame:
    """The counted samples by procedure, system, cell, metric and labels: n, moments, quartiles, values and blocks.

    The keys are put together as one number: to group by it takes a tenth of the time that their texts take.
    """
    keys = ["procedure", "system", *factors, "metric", "unit", "labels"]
    code, codes = pl.lit(0, pl.UInt64), 1
    samples = samples.with_columns(columns.named(samples[name]) for name in keys if samples.schema[name] == pl.String)
    for name in keys:
        size = len(samples[name].dtype.categories) + 1  # type: ignore[attr-defined]
        if size == 2 and not samples[name].null_count():  # it is the same everywhere
            continue
        code = code * size + pl.col(name).to_physical().cast(pl.UInt64).fill_null(size - 1)
        codes *= size
    code = code.cast(pl.UInt32) if codes < 2**32 else code if codes < 2**64 else pl.struct(keys)
    ordered = samples["block"].is_sorted()  # as it is where the order is by blocks
    values, blocks = (pl.col(name) if ordered else pl.col(name).sort_by("block") for name in ("value", "block"))
    groups = (
        samples.lazy()
        .select("value", "block", "counted", code.alias("code"), pl.int_range(pl.len(), dtype=pl.UInt32).alias("at"))
        .filter("counted")
        .group_by("code", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("n"),
            pl.col("at").first(),
            values.alias("values"),
            blocks.alias("blocks"),
        )
        .collect()
    )
    names = samples.select(keys)[groups["at"]].cast(pl.String)
    found = groups.select("n", "values", "blocks").with_columns(names.get_columns()).with_columns(_statistics(groups))
    return found.select(*keys, "n", *STATISTICS, "values", "blocks")


def _statistics(groups: pl.DataFrame) -> list[pl.Series]:
    """The statistics of each group's values; groups of one size are worked out together."""
    sizes = groups["n"].to_numpy()
    starts = np.cumsum(sizes) - sizes
    values = groups["values"].explode(empty_as_null=False).to_numpy()
    found = np.full((len(STATISTICS), len(sizes)), np.nan)
    for n in np.unique(sizes).tolist():
        members = np.flatnonzero(sizes == n)
        for some in np.array_split(members, -(-len(members) * n // PIECE)):
            rows = values[starts[some][:, None] + np.arange(n)]
            found[3, some] = rows.mean(axis=1)
            if n > 1:
                found[4, some] = rows.std(axis=1, ddof=1)
            found[:3, some] = np.quantile(rows, (0.5, 0.25, 0.75), axis=1)
    return [pl.Series(name, column).fill_nan(None) for name, column in zip(STATISTICS, found, strict=True)]


def rows(groups: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """The rows of such a frame as `iter_rows(named=True)` gives them, but values and blocks are arrays, not copied."""
    sizes = groups["n"].to_numpy()
    ends = np.cumsum(sizes)
    flat = {name: groups[name].explode(empty_as_null=False).to_numpy() for name in ("values", "blocks")}
    for row, end in zip(groups.drop("values", "blocks").iter_rows(named=True), ends.tolist(), strict=True):
        yield row | {name: column[end - row["n"] : end] for name, column in flat.items()}


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
