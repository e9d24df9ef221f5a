"""Lists of runs: pages of them, filtered, without reading what is large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Select, Text, cast, func, or_, select

from bakeoff.store.store import Store
from bakeoff.store.tables import host_facts, run_systems, runs, trials

SHORT = (runs.c.id, runs.c.experiment, runs.c.profile, runs.c.status, runs.c.created_at, runs.c.ended_at)
HOSTNAME = host_facts.c.facts["hostname"].as_string()


@dataclass(frozen=True)
class Wanted:
    """Which runs a list shows; None and empty leave the choice open. Times are seconds since 1970, UTC."""

    experiment: str = ""
    system: str = ""
    host: str = ""
    version: str = ""  # a part of any version: of a system, of one of its tools, of the lab
    text: str = ""  # a part of the run's id
    since: float | None = None
    until: float | None = None


@dataclass(frozen=True)
class Listed:
    """One run in a list."""

    id: str
    experiment: str
    profile: str | None
    status: str
    created_at: float
    ended_at: float | None
    host: str = ""
    trials: dict[str, int] = field(default_factory=dict)  # attempts by status, without builds
    systems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ListedExperiment:
    """One experiment that has runs."""

    name: str
    runs: int
    last: Listed


def count(store: Store, wanted: Wanted) -> int:
    """How many runs there are."""
    with store.engine.connect() as db:
        return db.execute(select(func.count()).select_from(runs).where(*_conditions(wanted))).scalar_one()


def page(store: Store, wanted: Wanted, first: int, most: int) -> list[Listed]:
    """So many runs from the given place on, the newest first."""
    with store.engine.connect() as db:
        rows = [dict(row) for row in db.execute(listing(wanted).offset(first).limit(most)).mappings()]
    return _listed(store, rows)


def listing(wanted: Wanted) -> Select[Any]:
    """The query for all of them, the newest first."""
    return select(*SHORT).where(*_conditions(wanted)).order_by(runs.c.created_at.desc(), runs.c.id)


def experiments(store: Store) -> list[ListedExperiment]:
    """All experiments with runs, that of the newest run first."""
    newest = func.max(runs.c.created_at)
    query = select(runs.c.experiment, func.count(), newest).group_by(runs.c.experiment).order_by(newest.desc())
    found = []
    with store.engine.connect() as db:
        for name, many, at in db.execute(query).all():
            same = (runs.c.experiment == name) & (runs.c.created_at == at)
            found.append((name, many, dict(db.execute(select(*SHORT).where(same).limit(1)).mappings().one())))
    listed = _listed(store, [row for _, _, row in found])
    return [ListedExperiment(name, many, last) for (name, many, _), last in zip(found, listed, strict=True)]


def choices(store: Store) -> dict[str, list[str]]:
    """What a list can be narrowed to: the experiments, systems and hosts of all runs."""
    queries = {
        "experiment": select(runs.c.experiment).distinct(),
        "system": select(run_systems.c.system).distinct(),
        "host": select(HOSTNAME).distinct().where(*_of_runs()),
    }
    with store.engine.connect() as db:
        return {name: sorted(text for (text,) in db.execute(query) if text) for name, query in queries.items()}


def _of_runs() -> list[ColumnElement[bool]]:
    """The facts of a run's start. That they belong to no trial is what the index finds them by."""
    return [host_facts.c.trial_id.is_(None), host_facts.c.moment == "run"]


def _conditions(wanted: Wanted) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.experiment:
        found.append(runs.c.experiment == wanted.experiment)
    if wanted.system:
        found.append(runs.c.id.in_(select(run_systems.c.run_id).where(run_systems.c.system == wanted.system)))
    if wanted.host:
        found.append(runs.c.id.in_(select(host_facts.c.run_id).where(*_of_runs(), wanted.host == HOSTNAME)))
    if wanted.version:
        of_system = or_(
            run_systems.c.version.contains(wanted.version, autoescape=True),
            cast(run_systems.c.tools, Text).contains(wanted.version, autoescape=True),
        )
        of_lab = cast(runs.c.versions, Text).contains(wanted.version, autoescape=True)
        found.append(or_(of_lab, runs.c.id.in_(select(run_systems.c.run_id).where(of_system))))
    if wanted.text:
        found.append(runs.c.id.contains(wanted.text, autoescape=True))
    if wanted.since is not None:
        found.append(runs.c.created_at >= wanted.since)
    if wanted.until is not None:
        found.append(runs.c.created_at < wanted.until)
    return found


def _listed(store: Store, rows: Sequence[dict[str, Any]]) -> list[Listed]:
    """The rows with their hosts, systems and counts of trials."""
    ids = [row["id"] for row in rows]
    counted: dict[str, dict[str, int]] = {}
    systems: dict[str, list[str]] = {}
    t, s = trials.c, run_systems.c
    counting = select(t.run_id, t.status, func.count()).where(t.run_id.in_(ids)).group_by(t.run_id, t.status)
    builds = counting.where(t.position < 0)  # apart: each of the two counts has an index
    naming = select(s.run_id, s.system).where(s.run_id.in_(ids)).order_by(s.system)
    of_hosts = select(host_facts.c.run_id, HOSTNAME).where(host_facts.c.run_id.in_(ids), *_of_runs())
    with store.engine.connect() as db:
        for run, status, many in db.execute(counting):
            counted.setdefault(run, {})[status] = many
        for run, status, many in db.execute(builds):
            counted[run][status] -= many
        for run, system in db.execute(naming):
            systems.setdefault(run, []).append(system)
        hosts = {run: host or "" for run, host in db.execute(of_hosts)}
    return [
        Listed(
            **row,
            host=hosts.get(row["id"], ""),
            trials={status: many for status, many in counted.get(row["id"], {}).items() if many},
            systems=systems.get(row["id"], []),
        )
        for row in rows
    ]
