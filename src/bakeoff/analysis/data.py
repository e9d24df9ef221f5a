"""Reading one run from the store into frames. Numbers go from the database into columns in large pieces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sqlalchemy import select

from bakeoff import flags as known_flags
from bakeoff import plan, yamlfile
from bakeoff.analysis import columns, derived, warmup
from bakeoff.analysis.findings import SystemState
from bakeoff.analysis.reading import Columns, Reading, Schema, Span
from bakeoff.analysis.warmup import Warming
from bakeoff.experiment import Experiment
from bakeoff.store import Store
from bakeoff.store.tables import flags, host_facts, metrics, trials

MOST_STATES = 2_000  # trials whose surroundings are read
MOST_NAMED = 10_000  # rows that one query names by number

Parameters = dict[str, dict[str, Any]]  # of each cell by its text


@dataclass(frozen=True)
class RunData:
    """One run as frames.

    `samples` has one row for each (trial, metric, labels); `counted` says whether findings may use it. `trials` has one
    row for each attempt. Both have a column for each factor, null where the factor does not apply. Texts of few kinds
    are named numbers (pl.Enum), so that a row of a million trials takes few bytes.
    """

    run: dict[str, Any]
    experiment: Experiment
    systems: list[SystemState]
    samples: pl.DataFrame
    trials: pl.DataFrame
    flagged_steps: pl.DataFrame  # trial, step factors, flags, flag_details: of steps that do not count
    flags: pl.DataFrame  # every flag: trial, step factors, whole, flag, detail
    parameters: Parameters
    references: list[dict[str, Any]]
    host: dict[str, Any]
    states: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # moment, facts, around each trial
    warm_ups: list[Warming] = field(default_factory=list)
    parts: list[RunData] = field(default_factory=list)  # the runs that this one was joined from (joined.py)
    store: Store | None = field(default=None, repr=False, compare=False)  # where the trials' series are, when asked for


def load(store: Store, reading: Reading) -> RunData:
    """What is being read of a run, with all else. Raises BadInput if its stored experiment cannot be read."""
    row = dict(store.run(reading.run))
    data, node = yamlfile.parse(row["experiment_yaml"], f"run {row['id']}")
    experiment = yamlfile.validate(data, Experiment, f"run {row['id']}", node)
    steps_of = list(experiment.step_factors)
    every_flag = _flags(store, reading.span, steps_of)
    flagged = _excluding(every_flag, steps_of)
    attempts, parameters = _trials(store, experiment, flagged, reading.trials)
    every_flag = every_flag.join(attempts.select("trial"), "trial", "semi")
    steps = flagged.filter(~pl.col("whole")).drop("whole").join(attempts.select("trial"), "trial", "semi")
    samples = _samples(experiment, attempts, steps, _metrics(store, experiment), reading.observations)
    samples = derived.add(samples, experiment, parameters)
    host, states = _facts(store, row["id"], attempts["trial"])
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
        store=store,
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
        platform=(row["receipt"] or {}).get("platform"),
        size=(row["receipt"] or {}).get("artefact_size"),
    )


def _trials(
    store: Store, experiment: Experiment, flagged: pl.DataFrame, reading: Columns
) -> tuple[pl.DataFrame, Parameters]:
    """All attempts, with the cell's levels as columns, and the parameters of each cell by its text."""
    frame = reading.frame()
    first = frame.group_by("cell_json").agg(pl.col("trial").min()).with_columns(pl.col("cell_json").cast(pl.String))
    cells, parameters = _cells(store, dict(first.sort("cell_json").iter_rows()), experiment)
    frame = frame.with_columns(
        columns.named(frame["procedure"]),
        columns.named(frame["system"], experiment.systems),
        columns.named(frame["status"]),
        pl.col("cell_json").cast(pl.String).cast(pl.Enum(cells["cell_json"])),
        pl.col("warm_up").cast(pl.Boolean),
        pl.col("reason").replace("", None),
        *(pl.when(pl.col(name) >= 0).then(name).alias(name) for name in ("started_at", "ended_at")),
    )
    if not (frame["position"].diff().drop_nulls() > 0).all():  # as it is unless a run was resumed
        frame = frame.sort("position", "attempt")
    place = frame["cell_json"].to_physical()
    frame = frame.drop("cell_json").with_columns(cells.drop("cell_json")[place].get_columns())
    whole = flagged.filter("whole").select("trial", "flags", "flag_details")
    frame = frame.join(whole, "trial", "left", maintain_order="left")
    ends = (pl.col("position") != pl.col("position").shift(-1)).fill_null(True)  # attempts of one position lie together
    frame = frame.with_columns(ends.alias("last"))
    fine = (pl.col("status") == "ok") & ~pl.col("warm_up") & pl.col("flags").is_null() & pl.col("last")
    return frame.with_columns(fine.alias("counted")), parameters


def _cells(store: Store, trial_of: dict[str, int], experiment: Experiment) -> tuple[pl.DataFrame, Parameters]:
    """The distinct cells of a run: their stored JSON, and one column for each factor that makes cells.

    `trial_of` has a trial of each; its parameters are those of the cell.
    """
    known: dict[int, dict[str, Any]] = {}
    ids = list(trial_of.values())
    with store.engine.connect() as db:
        for at in range(0, len(ids), MOST_NAMED):
            some = select(trials.c.id, trials.c.parameters).where(trials.c.id.in_(ids[at : at + MOST_NAMED]))
            known |= {number: dict(values) for number, values in db.execute(some)}
    factors = list(experiment.cell_factors)
    found: dict[str, list[str | None]] = {"cell_json": list(trial_of), **{factor: [] for factor in factors}}
    parameters: Parameters = {}
    for text, trial in trial_of.items():
        cell = json.loads(text)
        for factor in factors:
            found[factor].append(cell.get(factor))
        parameters[plan.cell_text({factor: cell[factor] for factor in factors if factor in cell})] = known[trial]
    frame = pl.DataFrame(found, schema=dict.fromkeys(found, pl.String))
    levels = [columns.named(frame[name], list(experiment.factors[name].levels)) for name in factors]
    return frame.with_columns(levels), parameters


def _flags(store: Store, span: Span, steps: list[str]) -> pl.DataFrame:
    """Validity flags with the step that each is about; `whole` is true for flags of the whole trial."""
    f = flags.c
    query = select(f.trial_id, f.labels, f.flag, f.detail).where(f.trial_id.between(span.first, span.last))
    schema: Schema = {"trial": "Int32", "step": "String", "flag": "String", "detail": "String"}
    frame = Columns(store, query, schema, many=False).frame().sort("trial", "flag")
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
    experiment: Experiment, attempts: pl.DataFrame, flagged_steps: pl.DataFrame, names: pl.DataFrame, reading: Columns
) -> pl.DataFrame:
    """One row for each observation, beside its trial's columns and its metric's name, unit and labels.

    Columns are gathered by the places of the trial and the metric: a join would take several times the memory.
    """
    read = reading.frame()
    by_id = attempts["trial"].arg_sort()
    at = _places(attempts["trial"].gather(by_id), read["trial"])
    mine = pl.Series(at >= 0)
    if not mine.all():
        read, at = read.filter(mine), at[mine.to_numpy()]
    at = by_id.to_numpy()[at]
    if (at[1:] < at[:-1]).any():
        moved = np.argsort(at, kind="stable")
        read, at = read[moved], at[moved]
    metric = pl.Series(_places(names["metric_id"], read["metric_id"]))
    values = read["value"]
    trial = pl.Series(at)
    del read, at
    factors = [*experiment.cell_factors, *experiment.step_factors]
    order = ["trial", "position", "attempt", "block", "replication", "warm_up", "procedure", "system", *factors]
    order += ["metric", "labels", "unit", "value", "status", "flags", "counted"]
    kept = {name: attempts[name] for name in order if name in attempts.columns}
    kept["flags"] = columns.named(kept["flags"])
    samples = pl.DataFrame(
        [
            values.alias(name)
            if name == "value"
            else (kept[name].gather(trial) if name in kept else names[name].gather(metric))
            for name in order
        ]
    )
    return _without_flagged(samples, flagged_steps, list(experiment.step_factors)) if len(flagged_steps) else samples


def _places(known: pl.Series, wanted: pl.Series) -> NDArray[np.intp]:
    """Where each wanted number stands in an ascending series; -1 for those that are not there."""
    ours, theirs = known.to_numpy(), wanted.to_numpy()
    if not len(ours):
        return np.full(len(theirs), -1)
    if ours[-1] - ours[0] == len(ours) - 1:  # no gap: the usual case
        at = theirs - ours[0]
        return np.where((at >= 0) & (at < len(ours)), at, np.int32(-1))
    at = np.minimum(np.searchsorted(ours, theirs), len(ours) - 1)
    return np.where(ours[at] == theirs, at, -1)


def _without_flagged(samples: pl.DataFrame, flagged_steps: pl.DataFrame, steps: list[str]) -> pl.DataFrame:
    """The samples with the flags of their steps; those of a flagged step do not count."""
    found = flagged_steps.select("trial", *(pl.col(name).cast(samples.schema[name], strict=False) for name in steps),
                                 pl.col("flags").alias("step_flags"))  # fmt: skip
    some = samples.select("trial", *steps, "flags").with_row_index("at")
    some = some.filter(pl.col("trial").is_in(found["trial"].unique().implode()))
    some = some.join(found, on=["trial", *steps], how="inner", nulls_equal=True)
    both = some.select(pl.concat_str(pl.col("flags").cast(pl.String), "step_flags", separator=" ", ignore_nulls=True))
    texts = samples["flags"].cast(pl.String).scatter(some["at"], both.to_series())
    return samples.with_columns(
        columns.named(texts).alias("flags"), samples["counted"].scatter(some["at"], False).alias("counted")
    )


def _metrics(store: Store, experiment: Experiment) -> pl.DataFrame:
    """The store's metrics by number; a label that is a factor within a trial becomes a column of its own."""
    steps = list(experiment.step_factors)
    found: dict[str, list[Any]] = {name: [] for name in ("metric_id", "metric", "unit", "labels", *steps)}
    with store.engine.connect() as db:
        for row in db.execute(select(metrics).order_by(metrics.c.id)).mappings():
            labels = json.loads(row["labels"])
            rest = {key: value for key, value in labels.items() if key not in steps}
            for step in steps:
                found[step].append(None if step not in labels else str(labels[step]))
            found["metric_id"].append(row["id"])
            found["metric"].append(row["name"])
            found["unit"].append(row["unit"])
            found["labels"].append(" ".join(f"{key}={value}" for key, value in sorted(rest.items())))
    schema = {name: pl.Int32 if name == "metric_id" else pl.String for name in found}
    frame = pl.DataFrame(found, schema=schema)
    texts = [columns.named(frame[name]) for name in ("metric", "unit", "labels")]
    return frame.with_columns(
        *texts, *(columns.named(frame[name], list(experiment.factors[name].levels)) for name in steps)
    )


def _facts(store: Store, run: str, attempts: pl.Series) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """What the host is, and its states around the trials in the order of time: of MOST_STATES trials, evenly taken."""
    h = host_facts.c
    every = -(-len(attempts) // MOST_STATES)
    around = select(h.moment, h.facts).where(h.trial_id.in_(attempts.gather_every(every).to_list() if every else []))
    with store.engine.connect() as db:
        of_run = select(h.facts).where((h.run_id == run) & (h.moment == "run")).order_by(h.id).limit(1)
        first = db.execute(of_run).scalar()
        states = [(moment, facts) for moment, facts in db.execute(around.order_by(h.id)) if isinstance(facts, dict)]
    return first if isinstance(first, dict) else {}, states
