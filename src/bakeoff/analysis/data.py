"""Reading one run from the store into frames. Numbers go from the database into columns in large pieces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from sqlalchemy import Text, cast, func, select
from sqlalchemy.sql import Select

from bakeoff import flags as known_flags
from bakeoff import plan, yamlfile
from bakeoff.analysis import derived, warmup
from bakeoff.analysis.findings import SystemState
from bakeoff.analysis.warmup import Warming
from bakeoff.experiment import Experiment
from bakeoff.store import Store
from bakeoff.store.tables import flags, host_facts, metrics, observations, trials

PIECE = 100_000  # rows fetched at once

Columns = dict[str, pl.DataType | type[pl.DataType]]


@dataclass(frozen=True)
class RunData:
    """One run as frames.

    `samples` has one row for each (trial, metric, labels); `counted` says whether findings may use it. `trials` has one
    row for each attempt. Both have a column for each factor, null where the factor does not apply.
    """

    run: dict[str, Any]
    experiment: Experiment
    systems: list[SystemState]
    samples: pl.DataFrame
    trials: pl.DataFrame
    flagged_steps: pl.DataFrame  # trial, step factors, flags, flag_details: of steps that do not count
    flags: pl.DataFrame  # every flag: trial, step factors, whole, flag, detail
    parameters: dict[str, dict[str, Any]]  # text of a cell → its parameters
    references: list[dict[str, Any]]
    host: dict[str, Any]
    states: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # moment, facts, around each trial
    warm_ups: list[Warming] = field(default_factory=list)
    parts: list[RunData] = field(default_factory=list)  # the runs that this one was joined from (joined.py)


def load(store: Store, run: str) -> RunData:
    """Reads a run. Raises BadInput if there is no such run, or its stored experiment cannot be read."""
    row = dict(store.run(run))
    data, node = yamlfile.parse(row["experiment_yaml"], f"run {row['id']}")
    experiment = yamlfile.validate(data, Experiment, f"run {row['id']}", node)
    steps_of = list(experiment.step_factors)
    every_flag = _flags(store, row["id"], steps_of)
    flagged = _excluding(every_flag, steps_of)
    attempts, parameters = _trials(store, row["id"], experiment, flagged)
    steps = flagged.filter(~pl.col("whole")).drop("whole")
    samples = _samples(store, row["id"], experiment, attempts, steps)
    samples = derived.add(samples, experiment, parameters)
    host, states = _facts(store, row["id"])
    kept = {key: value for key, value in row.items() if key not in ("experiment_yaml", "reference_rows", "lab_root")}
    return RunData(
        run=kept,
        experiment=experiment,
        systems=[_system(store_row) for store_row in _in_order(store.systems(row["id"]), experiment.systems)],
        samples=samples,
        trials=attempts,
        flagged_steps=steps,
        flags=every_flag,
        parameters=parameters,
        references=list(row["reference_rows"] or []),
        host=host,
        states=states,
        warm_ups=warmup.read(store, row["id"]),
    )


def _in_order(rows: Sequence[Any], names: list[str]) -> list[Any]:
    known = {name: index for index, name in enumerate(names)}
    return sorted(rows, key=lambda row: known.get(row["system"], len(known)))


def _system(row: Any) -> SystemState:
    described, _ = yamlfile.parse(row["system_yaml"], f"system {row['system']}")
    described = described if isinstance(described, dict) else {}
    variant = (described.get("variants") or {}).get(row["system"].partition(":")[2]) or {}
    return SystemState(
        name=row["system"],
        title=str(variant.get("title") or described.get("title") or row["system"]),
        about=str(variant.get("about") or described.get("about") or ""),
        status=row["status"],
        reason=row["reason"],
        version=row["version"],
        tools=dict(row["tools"] or {}),
        key=row["key"],
    )


def fetch(store: Store, query: Select[Any], schema: Columns) -> pl.DataFrame:
    """The rows of a query as a frame with this schema, fetched in pieces: few rows are Python objects at once."""
    pieces = [pl.DataFrame(schema=schema)]
    with store.engine.connect() as db:
        result = db.execute(query)
        assert result.cursor is not None
        while rows := result.cursor.fetchmany(PIECE):  # the driver's own rows: no object of ours for each
            pieces.append(pl.DataFrame(rows, schema=schema, orient="row"))
    return pl.concat(pieces)


def _trials(
    store: Store, run: str, experiment: Experiment, flagged: pl.DataFrame
) -> tuple[pl.DataFrame, dict[str, dict[str, Any]]]:
    """All attempts, with the cell's levels as columns, and the parameters of each cell by its text."""
    t = trials.c
    columns: Columns = {
        "trial": pl.Int64,
        "position": pl.Int64,
        "attempt": pl.Int64,
        "block": pl.Int64,
        "replication": pl.Int64,
        "warm_up": pl.Int64,
        "procedure": pl.String,
        "system": pl.String,
        "cell_json": pl.String,
        "status": pl.String,
        "reason": pl.String,
        "started_at": pl.Float64,
        "ended_at": pl.Float64,
    }
    query = select(
        t.id, t.position, t.attempt, t.block, t.replication, cast(t.warm_up, trials.c.position.type), t.procedure,
        t.system, cast(t.cell, Text), t.status, t.reason, t.started_at, t.ended_at,
    ).where(t.run_id == run)  # fmt: skip
    frame = fetch(store, query, columns)
    cells, parameters = _cells(store, run, experiment)
    whole = flagged.filter("whole").select("trial", "flags", "flag_details")
    frame = frame.join(cells, on="cell_json", how="left").drop("cell_json").join(whole, "trial", "left")
    last = (pl.col("attempt") == pl.col("attempt").max().over("position")).alias("last")
    ordered = frame.sort("position", "attempt").with_columns(pl.col("warm_up").cast(pl.Boolean), last)
    fine = (pl.col("status") == "ok") & ~pl.col("warm_up") & pl.col("flags").is_null() & pl.col("last")
    return ordered.with_columns(fine.alias("counted")), parameters


def _cells(store: Store, run: str, experiment: Experiment) -> tuple[pl.DataFrame, dict[str, dict[str, Any]]]:
    """The distinct cells of a run: their stored JSON, and one column for each factor that makes cells."""
    query = (
        select(cast(trials.c.cell, Text), func.min(cast(trials.c.parameters, Text)))
        .where(trials.c.run_id == run)
        .group_by(cast(trials.c.cell, Text))
    )
    factors = list(experiment.cell_factors)
    columns: dict[str, list[str | None]] = {"cell_json": [], **{factor: [] for factor in factors}}
    parameters: dict[str, dict[str, Any]] = {}
    with store.engine.connect() as db:
        for text, values in db.execute(query):
            cell = json.loads(text)
            columns["cell_json"].append(text)
            for factor in factors:
                columns[factor].append(cell.get(factor))
            parameters[plan.cell_text({factor: cell[factor] for factor in factors if factor in cell})] = json.loads(
                values
            )
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), parameters


def _flags(store: Store, run: str, steps: list[str]) -> pl.DataFrame:
    """Validity flags with the step that each is about; `whole` is true for flags of the whole trial."""
    query = (
        select(flags.c.trial_id, flags.c.labels, flags.c.flag, flags.c.detail)
        .join(trials, trials.c.id == flags.c.trial_id)
        .where(trials.c.run_id == run)
    )
    schema: Columns = {"trial": pl.Int64, "step": pl.String, "flag": pl.String, "detail": pl.String}
    frame = fetch(store, query, schema).sort("trial", "flag")
    texts = frame["step"].unique().to_list()
    labels = [json.loads(text) for text in texts]
    places = {name: [None if name not in one else str(one[name]) for one in labels] for name in steps}
    whole = [not any(name in one for name in steps) for one in labels]
    known = pl.DataFrame(
        {"step": texts, "whole": whole, **places},
        schema={"step": pl.String, "whole": pl.Boolean, **dict.fromkeys(steps, pl.String)},
    )
    return frame.join(known, on="step").select("trial", *steps, "whole", "flag", "detail")


def _excluding(flagged: pl.DataFrame, steps: list[str]) -> pl.DataFrame:
    """The flags that take their trial or step out of the findings: one text of names and one of details for each."""
    names = [name for name in flagged["flag"].unique() if known_flags.excludes(name)]
    return (
        flagged.filter(pl.col("flag").is_in(names))
        .group_by("trial", "whole", *steps, maintain_order=True)
        .agg(pl.col("flag").str.join(" ").alias("flags"), pl.col("detail").str.join("; ").alias("flag_details"))
    )


def _samples(
    store: Store, run: str, experiment: Experiment, attempts: pl.DataFrame, flagged_steps: pl.DataFrame
) -> pl.DataFrame:
    """One row for each observation, beside its trial's columns and its metric's name, unit and labels."""
    query = (
        select(observations.c.trial_id, observations.c.metric_id, observations.c.value)
        .join(trials, trials.c.id == observations.c.trial_id)
        .where(trials.c.run_id == run)
    )
    frame = fetch(store, query, {"trial": pl.Int64, "metric_id": pl.Int64, "value": pl.Float64})
    names = _metrics(store, experiment)
    kept = ["trial", "position", "attempt", "block", "replication", "warm_up", "procedure", "system"]
    kept += [*experiment.cell_factors, "status", "flags", "counted"]
    joined = frame.join(attempts.select(kept), on="trial").join(names, on="metric_id").drop("metric_id")
    if len(flagged_steps):
        joined = _without_flagged(joined, flagged_steps, list(experiment.step_factors))
    factors = [*experiment.cell_factors, *experiment.step_factors]
    order = ["trial", "position", "attempt", "block", "replication", "warm_up", "procedure", "system", *factors]
    return joined.select([*order, "metric", "labels", "unit", "value", "status", "flags", "counted"]).sort(
        "position", "attempt", maintain_order=True
    )


def _without_flagged(samples: pl.DataFrame, flagged_steps: pl.DataFrame, steps: list[str]) -> pl.DataFrame:
    """The samples with the flags of their steps; those of a flagged step do not count."""
    found = flagged_steps.select("trial", *steps, pl.col("flags").alias("step_flags"))
    both = samples.join(found, on=["trial", *steps], how="left", nulls_equal=True)
    return both.with_columns(
        pl.concat_str("flags", "step_flags", separator=" ", ignore_nulls=True).replace("", None).alias("flags"),
        pl.col("counted") & pl.col("step_flags").is_null(),
    ).drop("step_flags")


def _metrics(store: Store, experiment: Experiment) -> pl.DataFrame:
    """The store's metrics; a label that is a factor within a trial becomes a column of its own."""
    steps = list(experiment.step_factors)
    columns: dict[str, list[Any]] = {name: [] for name in ("metric_id", "metric", "unit", "labels", *steps)}
    with store.engine.connect() as db:
        for row in db.execute(select(metrics)).mappings():
            labels = json.loads(row["labels"])
            rest = {key: value for key, value in labels.items() if key not in steps}
            for step in steps:
                columns[step].append(None if step not in labels else str(labels[step]))
            columns["metric_id"].append(row["id"])
            columns["metric"].append(row["name"])
            columns["unit"].append(row["unit"])
            columns["labels"].append(" ".join(f"{key}={value}" for key, value in sorted(rest.items())))
    schema = {name: pl.Int64 if name == "metric_id" else pl.String for name in columns}
    return pl.DataFrame(columns, schema=schema)


def _facts(store: Store, run: str) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """What the host is, and its states around the trials in the order of time."""
    query = select(host_facts.c.moment, host_facts.c.facts).where(host_facts.c.run_id == run).order_by(host_facts.c.id)
    with store.engine.connect() as db:
        rows = [(moment, facts) for moment, facts in db.execute(query) if isinstance(facts, dict)]
    host = next((facts for moment, facts in rows if moment == "run"), {})
    return host, [(moment, facts) for moment, facts in rows if moment != "run"]
