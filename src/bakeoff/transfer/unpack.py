"""Unpacking: parcels that were checked go into a store, each trial once."""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert, select, tuple_, update

from bakeoff import yamlfile
from bakeoff.errors import BadInput
from bakeoff.experiment import Experiment
from bakeoff.store import Store
from bakeoff.store.store import canonical
from bakeoff.store.tables import (
    artefacts,
    flags,
    histograms,
    host_facts,
    observations,
    run_systems,
    runs,
    series,
    trials,
)
from bakeoff.store.writer import Writer
from bakeoff.transfer.parcel import ENDED, Opening, Parcel, TrialParcel

SAME = ("experiment", "profile", "seed", "created_at", "experiment_yaml")  # what makes two runs one and the same
PAGE = 5_000  # trials that one answer names


class Conflict(Exception):
    """Another run has this id, or it is being carried out by this machine."""


def open_run(store: Store, opening: Opening) -> bool:
    """Stores a run without its trials, or brings its status up to date; returns whether it is new.

    Raises BadInput if its experiment or a system cannot be read, Conflict if the id belongs to another run.
    """
    row = opening.run.model_dump()
    _readable(opening)
    with store.engine.begin() as db:
        known = db.execute(select(runs).where(runs.c.id == row["id"])).mappings().one_or_none()
        if known is not None:
            if any(known[name] != row[name] for name in SAME):
                raise Conflict(f"another run here has the id {row['id']}")
            if known["pid"] is not None:
                raise Conflict(f"this machine carries out the run {row['id']} itself")
            state = {"status": row["status"], "ended_at": row["ended_at"]}
            db.execute(update(runs).where(runs.c.id == row["id"]).values(**state))
            return False
        db.execute(insert(runs), row | {"pid": None, "pid_started": None})
        if opening.systems:
            db.execute(insert(run_systems), [{"run_id": row["id"], **one.model_dump()} for one in opening.systems])
        if opening.facts:
            db.execute(insert(host_facts), [_facts(row["id"], None, one.model_dump()) for one in opening.facts])
    return True


def _readable(opening: Opening) -> None:
    """Refuses what the analysis could not read later."""
    name = f"run {opening.run.id}"
    data, node = yamlfile.parse(opening.run.experiment_yaml, name)
    experiment = yamlfile.validate(data, Experiment, name, node)
    if set(experiment.systems) != {one.system for one in opening.systems}:
        raise BadInput("its systems are not those of its experiment", "send the run as the lab stored it", file=name)
    for one in opening.systems:
        if not isinstance(yamlfile.parse(one.system_yaml, f"system {one.system}")[0], dict | None):
            raise BadInput("this is no description of a system", "send the run as the lab stored it", file=one.system)


def stored(store: Store, run: str, after: tuple[int, int] | None) -> list[tuple[int, int]]:
    """Position and attempt of the trials that are here and have ended: a page of them, in order."""
    t = trials.c
    query = select(t.position, t.attempt).where(t.run_id == run, t.status.in_(ENDED)).order_by(t.position, t.attempt)
    if after is not None:
        query = query.where((t.position > after[0]) | ((t.position == after[0]) & (t.attempt > after[1])))
    with store.engine.connect() as db:
        return [(position, attempt) for position, attempt in db.execute(query.limit(PAGE))]


def add_trials(store: Store, run: str, parcel: Parcel) -> int:
    """Stores the trials of a parcel in one transaction; returns how many were new or had gone on.

    A trial that is here and has ended is left as it is. Raises BadInput if the run or a system of it is not here.
    """
    with store.writing() as writer:
        db = writer.db
        found = db.execute(select(runs.c.pid).where(runs.c.id == run)).one_or_none()
        if found is None:
            raise BadInput(f"there is no run {run!r}", "open it first")
        if found[0] is not None:
            raise Conflict(f"this machine carries out the run {run} itself")
        systems = set(db.execute(select(run_systems.c.system).where(run_systems.c.run_id == run)).scalars())
        if strange := {one.system for one in parcel.trials} - systems:
            raise BadInput(f"{min(strange)!r} is no system of the run", "send the run as the lab stored it")
        t = trials.c
        names = [(one.position, one.attempt) for one in parcel.trials]
        query = select(t.id, t.position, t.attempt, t.status).where(t.run_id == run)
        rows = db.execute(query.where(tuple_(t.position, t.attempt).in_(names))).all()
        here = {(row.position, row.attempt): (row.id, row.status) for row in rows}
        metrics = [writer.metric(one.name, one.unit, canonical(one.labels)) for one in parcel.metrics]
        changed = 0
        for trial in parcel.trials:
            number, status = here.get((trial.position, trial.attempt), (None, None))
            if status not in ENDED:
                _store(writer, run, number, trial, metrics)
                changed += 1
        return changed


def _store(writer: Writer, run: str, number: int | None, trial: TrialParcel, metrics: list[int]) -> None:
    db = writer.db
    parts = {"observations", "series", "histograms", "artefacts", "flags", "facts"}
    row = trial.model_dump(exclude=parts) | {"run_id": run}
    if number is None:
        number = db.execute(insert(trials).returning(trials.c.id), row).scalar_one()
    else:
        db.execute(update(trials).where(trials.c.id == number).values(**row))
    own = {"trial_id": number}
    tables: list[tuple[Any, list[dict[str, Any]]]] = [
        (table, [own | _numbered(one.model_dump(), metrics) for one in given])
        for table, given in (
            (observations, trial.observations),
            (series, trial.series),
            (histograms, trial.histograms),
        )
    ]
    tables.append((artefacts, [own | one.model_dump() for one in trial.artefacts]))
    tables.append((flags, [own | one.model_dump() | {"labels": canonical(one.labels)} for one in trial.flags]))
    tables.append((host_facts, [_facts(run, number, one.model_dump()) for one in trial.facts]))
    for table, rows in tables:
        if rows:
            db.execute(insert(table), rows)


def _numbered(row: dict[str, Any], metrics: list[int]) -> dict[str, Any]:
    """A number with the metric's id of this store instead of its place in the parcel."""
    return {key: value for key, value in row.items() if key != "metric"} | {"metric_id": metrics[row["metric"]]}


def _facts(run: str, trial: int | None, row: dict[str, Any]) -> dict[str, Any]:
    return {"run_id": run, "trial_id": trial, **row}
