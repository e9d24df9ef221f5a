"""How far a run is, read from the store alone: the run may be carried out by another process or machine."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, RowMapping, func, select

from bakeoff import host, yamlfile
from bakeoff.analysis import numbers
from bakeoff.errors import BadInput
from bakeoff.plan import cell_text
from bakeoff.store import Store
from bakeoff.store.store import FINAL
from bakeoff.store.tables import flags, host_facts, metrics, observations, runs, trials

LAST = 8  # ended trials that are shown
MOST_VALUES = 3  # of each
FRESH_S = 1.0  # how old a snapshot may be: however many look, the store is asked once in that time
KEPT = 64  # runs whose snapshots are kept


@dataclass(frozen=True)
class Ended:
    """A trial that has ended, with a few of its values as texts."""

    id: int
    system: str
    cell: str
    status: str
    reason: str
    seconds: float | None
    values: list[tuple[str, str]]  # name (with its step), value with unit
    flags: list[str]


@dataclass(frozen=True)
class Progress:
    """A run at one moment."""

    run: str
    status: str  # running, interrupted, done
    done: int  # planned positions that have ended
    total: int
    outcomes: dict[str, int]  # attempts that have ended, by outcome
    current: list[tuple[str, float]]  # what runs now and for how many seconds
    flags: dict[str, int]  # trials by flag
    last: list[Ended]  # the newest first
    left_s: float | None  # from how long trials have taken so far
    silent_s: float  # since the store last heard of the run

    @property
    def left(self) -> int:
        """Trials that are still to end."""
        return self.total - self.done


class Watch:
    """Snapshots of runs; those who look at the same time share one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, Progress]] = {}

    def look(self, run: str) -> Progress:
        """The run's progress, at most a second old. Raises BadInput if there is no such run."""
        with self._lock:
            at, known = self._kept.get(run, (0.0, None))
            if known is None or time.monotonic() - at > FRESH_S:
                known = read(self._store, run)
                self._kept.pop(run, None)
                self._kept[run] = (time.monotonic(), known)
                while len(self._kept) > KEPT:
                    self._kept.pop(next(iter(self._kept)))
            return known


def read(store: Store, run: str) -> Progress:
    """A run's progress now."""
    columns = (runs.c.status, runs.c.created_at, runs.c.ended_at, runs.c.pid, runs.c.pid_started)
    with store.engine.connect() as db:
        row = db.execute(select(*columns).where(runs.c.id == run)).mappings().one_or_none()
        if row is None:
            raise BadInput(f"there is no run {run!r}", "choose one of the list")
        planned = (trials.c.run_id == run) & (trials.c.position >= 0)
        positions = func.count(trials.c.position.distinct())
        total = db.execute(select(positions).where(planned)).scalar_one()
        done = db.execute(select(positions).where(planned, trials.c.status.in_(FINAL))).scalar_one()
        counting = select(trials.c.status, func.count()).where(planned).group_by(trials.c.status)
        counts = {found[0]: found[1] for found in db.execute(counting)}
        heard, mean_s = _heard(db, run)
        silent = max(0.0, time.time() - max(heard, row["created_at"], row["ended_at"] or 0.0))
        status = _status(db, run, row)
        return Progress(
            run=run,
            status=status,
            done=done,
            total=total,
            outcomes={name: many for name, many in sorted(counts.items()) if name not in ("planned", "running")},
            current=_current(db, run) if status == "running" else [],
            flags=_flags(db, run),
            last=_last(db, run),
            left_s=(total - done) * mean_s if mean_s is not None and status == "running" else None,
            silent_s=silent,
        )


def _status(db: Connection, run: str, row: RowMapping) -> str:
    """What the store says; a run of this machine whose process has gone was interrupted."""
    if row["status"] != "running" or row["pid"] is None:
        return str(row["status"])
    query = select(host_facts.c.facts).where(host_facts.c.run_id == run, host_facts.c.moment == "run")
    facts = db.execute(query.order_by(host_facts.c.id)).scalar()
    ours = isinstance(facts, dict) and facts.get("hostname") == host.name()
    return "interrupted" if ours and host.process_started(row["pid"]) != row["pid_started"] else "running"


def _heard(db: Connection, run: str) -> tuple[float, float | None]:
    """When the store last heard of a trial (seconds since 1970), and how long an ended trial takes (seconds)."""
    spent = trials.c.ended_at - trials.c.started_at
    query = select(func.max(trials.c.started_at), func.max(trials.c.ended_at), func.avg(spent))
    started, ended, mean = db.execute(query.where(trials.c.run_id == run, trials.c.position >= 0)).one()
    return max(started or 0.0, ended or 0.0), mean


def _current(db: Connection, run: str) -> list[tuple[str, float]]:
    query = select(trials).where(trials.c.run_id == run, trials.c.status == "running")
    return [
        (f"{row['procedure']} {row['system']} {cell_text(row['cell'])}".strip(), time.time() - (row["started_at"] or 0))
        for row in db.execute(query.order_by(trials.c.position).limit(10)).mappings()
    ]


def _flags(db: Connection, run: str) -> dict[str, int]:
    """How many trials have which flag."""
    many = func.count(flags.c.trial_id.distinct())
    query = select(flags.c.flag, many).join(trials, trials.c.id == flags.c.trial_id).where(trials.c.run_id == run)
    return {row[0]: row[1] for row in db.execute(query.group_by(flags.c.flag).order_by(flags.c.flag))}


def _last(db: Connection, run: str) -> list[Ended]:
    query = select(trials).where(trials.c.run_id == run, trials.c.position >= 0, trials.c.ended_at.is_not(None))
    rows = db.execute(query.order_by(trials.c.ended_at.desc(), trials.c.id.desc()).limit(LAST)).mappings().all()
    ids = [row["id"] for row in rows]
    raised: dict[int, list[str]] = {}
    for trial, flag in db.execute(select(flags.c.trial_id, flags.c.flag).where(flags.c.trial_id.in_(ids)).distinct()):
        raised.setdefault(trial, []).append(flag)
    values = _values(db, run, ids)
    return [
        Ended(
            id=row["id"],
            system=row["system"],
            cell=cell_text(row["cell"]),
            status=row["status"],
            reason=row["reason"] or "",
            seconds=None if row["started_at"] is None else row["ended_at"] - row["started_at"],
            values=values.get(row["id"], []),
            flags=sorted(raised.get(row["id"], [])),
        )
        for row in rows
    ]


def _values(db: Connection, run: str, ids: list[int]) -> dict[int, list[tuple[str, str]]]:
    """The first metrics of the experiment that each trial has; of several steps the last."""
    wanted = _metric_names(db, run)
    query = (
        select(observations.c.trial_id, metrics.c.name, metrics.c.unit, metrics.c.labels, observations.c.value)
        .join(metrics, metrics.c.id == observations.c.metric_id)
        .where(observations.c.trial_id.in_(ids), metrics.c.name.in_(wanted))
        .order_by(metrics.c.id)
    )
    found: dict[int, dict[str, tuple[str, str]]] = {}
    for trial, name, unit, text, value in db.execute(query):
        labels: Mapping[str, Any] = json.loads(text)
        if "part" in labels or "phase" in labels:
            continue
        step = ", ".join(f"{key} {level}" for key, level in labels.items())
        found.setdefault(trial, {})[name] = (f"{name} at {step}" if step else name, with_unit(value, unit))
    return {trial: [values[name] for name in wanted if name in values][:MOST_VALUES] for trial, values in found.items()}


def with_unit(value: float, unit: str) -> str:
    """A value for people, such as `31.2 ms`."""
    scale = numbers.scale(unit, [value])
    return f"{numbers.number(scale.of(value))} {scale.unit}".strip()


def _metric_names(db: Connection, run: str) -> tuple[str, ...]:
    return _metrics_of(db.execute(select(runs.c.experiment_yaml).where(runs.c.id == run)).scalar_one())


@lru_cache(KEPT)
def _metrics_of(text: str) -> tuple[str, ...]:
    named = described(text).get("metrics")
    return tuple(map(str, named)) if isinstance(named, dict) else ()


def described(text: str) -> dict[str, Any]:
    """A stored YAML text as a mapping; an empty one if it is none."""
    try:
        data, _ = yamlfile.parse(text, "stored")
    except BadInput:
        return {}
    return data if isinstance(data, dict) else {}
