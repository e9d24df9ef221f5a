"""What happened within trials: stored series, put together over the replications of one cell."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sqlalchemy import select

from bakeoff.analysis.data import RunData
from bakeoff.analysis.findings import Cell
from bakeoff.store.store import unpack
from bakeoff.store.tables import metrics, series

Vector = NDArray[np.float64]
MOST_TRIALS = 20  # of one system
MOST_POINTS = 120  # of one line; of longer series each point is the mean of several


@dataclass(frozen=True)
class Line:
    """One metric of one system over time (s since the start of the series): the middle, least and greatest trial."""

    system: str
    metric: str
    unit: str
    of: str  # what the time is of: trial, step, or warm-up
    trials: int
    of_trials: int
    times: Vector
    middle: Vector
    least: Vector
    greatest: Vector


def lines(data: RunData, cell: Cell) -> list[Line]:
    """The lines of a cell: of each system, at most the first MOST_TRIALS trials that count."""
    if data.store is None:
        return []
    factors, steps = list(data.experiment.cell_factors), list(data.experiment.step_factors)
    here = [pl.col(name) == cell[name] if name in cell else pl.col(name).is_null() for name in factors]
    wanted = data.trials.lazy().filter("counted", pl.col("procedure") == data.experiment.procedure.kind, *here)
    known = (
        wanted.group_by("system", maintain_order=True)
        .agg(pl.col("trial").head(MOST_TRIALS), pl.len().alias("n"))
        .collect()
    )
    system_of = {trial: row["system"] for row in known.iter_rows(named=True) for trial in row["trial"]}
    flagged = _flagged(data, cell)
    query = select(
        series.c.trial_id, metrics.c.name, metrics.c.unit, metrics.c.labels, series.c.times, series.c["values"]
    ).join(metrics, metrics.c.id == series.c.metric_id)
    found: dict[tuple[str, str, str, str], list[tuple[Vector, Vector]]] = defaultdict(list)
    with data.store.engine.connect() as db:
        for trial, name, unit, text, times, values in db.execute(query.where(series.c.trial_id.in_(system_of))):
            labels = json.loads(text)
            own = {key: value for key, value in labels.items() if key in steps}
            rest = {key: value for key, value in labels.items() if key not in steps}
            of = str(rest.pop("phase", "step" if own else "trial"))
            if rest or (own and (not own.items() <= cell.items() or trial in flagged)):
                continue
            found[system_of[trial], name, unit, of].append((unpack(times), unpack(values)))
    counts = dict(known.select("system", "n").iter_rows())
    put = (_together(key, counts[key[0]], trials) for key, trials in found.items())
    return [line for line in put if line is not None]


def _flagged(data: RunData, cell: Cell) -> set[int]:
    """The trials whose step of this cell does not count."""
    here = [pl.col(name) == cell[name] for name in data.experiment.step_factors if name in cell]
    return set(data.flagged_steps.filter(*here)["trial"]) if here else set()


def _together(key: tuple[str, str, str, str], of_trials: int, trials: list[tuple[Vector, Vector]]) -> Line | None:
    """The trials at their k-th points, as long as half of them go on; None below two points."""
    system, metric, unit, of = key
    if metric == "cpu":  # the sum so far: its slope is how many CPUs were in use
        # A sum over living processes falls when some end, and then its slope says nothing.
        rising = [(times, values) for times, values in trials if len(times) > 1 and np.all(np.diff(values) >= 0)]
        trials = [(times[1:], np.diff(values) / np.diff(times)) for times, values in rising]
        unit = "CPUs"
    trials = [(times, values) for times, values in trials if len(times)]
    if not trials:
        return None
    length = int(np.median([len(times) for times, _ in trials]))
    if length < 2:
        return None
    columns = []
    for which in (0, 1):
        table = np.full((len(trials), length), np.nan)
        for row, trial in enumerate(trials):
            part = trial[which][:length]
            table[row, : len(part)] = part
        columns.append(_shortened(table))
    times, values = columns
    return Line(
        system, metric, unit, of, len(trials), of_trials, np.nanmedian(times, axis=0),
        np.nanmedian(values, axis=0), np.nanmin(values, axis=0), np.nanmax(values, axis=0),
    )  # fmt: skip


def _shortened(table: Vector) -> Vector:
    """Means of as many neighbours as bring a row down to MOST_POINTS."""
    every = -(-table.shape[1] // MOST_POINTS)
    if every == 1:
        return table
    whole = table[:, : table.shape[1] // every * every]
    return np.asarray(whole.reshape(len(table), -1, every).mean(axis=2))
