#!/usr/bin/env python3
"""CPU seconds (all threads) that each method of the analysis takes on a run of many trials, made in memory.

    analysis.py [--trials 1000000] [--systems 10] [--cells 100]

The frames are those that the store gives; reading it is not timed here.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from bakeoff.analysis import drift, pairs, summary, trend, variation
from bakeoff.analysis.findings import MetricInfo

TIME = MetricInfo("elapsed", "Elapsed time", "s", "lower")
FACTORS = ["size", "mode"]


def samples(trials: int, systems: int, cells: int) -> pl.DataFrame:
    """Counted values of one metric: systems × cells × replications, in randomised blocks."""
    rng = np.random.default_rng(1)
    replications = max(2, trials // (systems * cells))
    each = systems * cells
    block = np.repeat(np.arange(replications), each)
    place = np.concatenate([rng.permutation(each) for _ in range(replications)])
    system, cell = place // cells, place % cells
    size, mode = cell // 2, cell % 2
    noise = rng.normal(0, 0.02, replications)[block] + rng.normal(0, 0.05, len(place))
    y = 0.3 * system + 0.1 * np.log2(size + 1) + noise
    number = np.arange(len(place))
    return pl.DataFrame(
        {
            "trial": number, "position": number, "block": block, "procedure": "exec", "value": np.exp(y),
            "metric": "elapsed", "unit": "s", "labels": "", "counted": True,
        }
    ).with_columns(
        pl.Series("system", system).cast(pl.String), pl.Series("size", size + 1).cast(pl.String),
        pl.Series("mode", mode).cast(pl.String),
    )  # fmt: skip


def timed(name: str, work: Callable[[], Any]) -> Any:
    """Does the work and prints its CPU seconds."""
    began = time.process_time()
    found = work()
    print(f"{name:24} {time.process_time() - began:8.2f} s", flush=True)
    return found


def main() -> None:
    """Times each method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument("--cells", type=int, default=100)
    given = parser.parse_args()
    frame = samples(given.trials, given.systems, given.cells)
    print(f"{len(frame):,} trials, {given.systems} systems, {given.cells} cells")
    groups = timed("grouped", lambda: summary.grouped(frame, FACTORS))
    ranked = timed("all pairs and ranks", lambda: pairs.rankings(groups, FACTORS, TIME, 0.05, 1))
    print(f"{'':24} {sum(len(one.pairs) for one in ranked):,} pairs")
    parameters = {
        f"size={row['size']} mode={row['mode']}": {"size": int(row["size"]), "mode": row["mode"]}
        for row in groups.iter_rows(named=True)
    }
    timed("trend lines", lambda: trend.trends(groups, FACTORS, parameters, "elapsed"))
    timed("allocation of variation", lambda: variation.allocate(frame, FACTORS, [], "elapsed"))
    some = frame.sample(fraction=0.95, seed=1)
    timed("the same, unbalanced", lambda: variation.allocate(some, FACTORS, [], "elapsed"))
    started = frame.select("trial", pl.col("position").cast(pl.Float64).alias("started_at"))
    timed("drift", lambda: drift.drift(frame, started, FACTORS, [], "elapsed"))


if __name__ == "__main__":
    main()
