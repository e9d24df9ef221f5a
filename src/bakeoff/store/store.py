"""Writing and reading runs and trials. Each trial is one transaction."""

from __future__ import annotations

import json
import re
import time
import zlib
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, RowMapping, func, insert, select, update

from bakeoff.errors import BadInput
from bakeoff.plan import Trial
from bakeoff.store import connect, schema
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
from bakeoff.store.writer import Key, Writer, writing

Labels = Mapping[str, str]
FINAL = ("ok", "wrong", "failed", "timeout", "unavailable")


@dataclass(frozen=True)
class TrialRow:
    """One attempt at one planned trial, as stored."""

    id: int
    attempt: int
    trial: Trial


@dataclass
class Outcome:
    """What a procedure hands to the store when a trial ends."""

    status: str
    reason: str | None = None
    observations: list[tuple[str, str, Labels, float]] = field(default_factory=list)  # name, unit, labels, value
    series: list[tuple[str, str, Labels, list[float], list[float]]] = field(default_factory=list)
    histograms: list[tuple[str, str, Labels, str]] = field(default_factory=list)
    artefacts: list[tuple[str, str, bytes]] = field(default_factory=list)  # name, media type, data
    flags: list[tuple[str, str, Labels]] = field(default_factory=list)  # flag, detail, the step it is about

    def observe(self, name: str, unit: str, value: float | None, labels: Labels | None = None) -> None:
        """Adds a number; None (not measured) adds nothing."""
        if value is not None:
            self.observations.append((name, unit, labels or {}, float(value)))


class Store:
    """A store at a SQLAlchemy URL, brought to the newest schema when it is opened.

    With `read_only` the database itself refuses every later change by this store.
    """

    def __init__(self, url: str, read_only: bool = False) -> None:
        self.url = url
        self.engine = connect.engine(url)
        schema.upgrade(self.engine, url)
        if read_only:
            connect.protect(self.engine)
        self._metric_ids: dict[Key, int] = {}

    def close(self) -> None:
        """Gives all connections back."""
        self.engine.dispose()

    def writing(self) -> AbstractContextManager[Writer]:
        """One transaction that may store numbers."""
        return writing(self.engine, self._metric_ids)

    def create_run(self, row: dict[str, Any], systems: list[dict[str, Any]], plan: list[Trial], facts: Any) -> None:
        """Stores a run with its whole plan before anything is run."""
        with self.engine.begin() as db:
            db.execute(insert(runs), row)
            db.execute(insert(run_systems), [{"run_id": row["id"], **system} for system in systems])
            db.execute(insert(trials), [_planned(row["id"], trial, 1) for trial in plan])
            _facts(db, row["id"], None, "run", facts)

    def set_run(self, run: str, **values: Any) -> None:
        """Changes columns of a run."""
        with self.engine.begin() as db:
            db.execute(update(runs).where(runs.c.id == run).values(**values))

    def claim(self, run: str, known_pid: int | None, **ours: Any) -> bool:
        """Makes a run ours if it still belongs to whom we have seen; of several who try, one succeeds."""
        same = runs.c.pid.is_(None) if known_pid is None else runs.c.pid == known_pid
        with self.engine.begin() as db:
            return db.execute(update(runs).where((runs.c.id == run) & same).values(**ours)).rowcount == 1

    def runs(self) -> list[RowMapping]:
        """All runs, the newest last."""
        with self.engine.connect() as db:
            return list(db.execute(select(runs).order_by(runs.c.created_at)).mappings())

    def run(self, name: str) -> RowMapping:
        """A run by its id, by a beginning of it that only one has, or `last`; `last~2` is two runs before that."""
        newest = select(runs).order_by(runs.c.created_at.desc())
        with self.engine.connect() as db:
            query = newest.where(runs.c.id == name)
            if recent := re.fullmatch(r"last(?:~(\d{1,9}))?", name):
                query = newest.offset(int(recent[1] or 0)).limit(1)
            found = db.execute(query).mappings().all()
            if not found:
                found = db.execute(newest.where(runs.c.id.startswith(name, autoescape=True)).limit(2)).mappings().all()
        if len(found) != 1:
            problem = "several runs begin with" if found else "there is no run"
            raise BadInput(f"{problem} {name!r}", "choose an id that `bakeoff status` names, `last` or `last~1`")
        return found[0]

    def systems(self, run: str) -> list[RowMapping]:
        """The systems of a run as they were prepared."""
        with self.engine.connect() as db:
            return list(db.execute(select(run_systems).where(run_systems.c.run_id == run)).mappings())

    def trials(self, run: str) -> list[RowMapping]:
        """All attempts of a run in the order of the plan."""
        query = select(trials).where(trials.c.run_id == run).order_by(trials.c.position, trials.c.attempt)
        with self.engine.connect() as db:
            return list(db.execute(query).mappings())

    def counts(self, run: str) -> dict[str, int]:
        """How many attempts have which status."""
        query = select(trials.c.status, func.count()).where(trials.c.run_id == run).group_by(trials.c.status)
        with self.engine.connect() as db:
            return {row[0]: row[1] for row in db.execute(query)}

    def reopen(self, run: str) -> int:
        """Makes a run whole again: trials that were running become `interrupted` and get a further attempt.

        Returns how many trials are still to be run.
        """
        with self.engine.begin() as db:
            cut = (trials.c.run_id == run) & (trials.c.status == "running")
            why = "the lab ended while this trial was running"
            db.execute(update(trials).where(cut).values(status="interrupted", reason=why, ended_at=time.time()))
            last = (
                select(trials.c.position, func.max(trials.c.attempt).label("attempt"))
                .where(trials.c.run_id == run)
                .group_by(trials.c.position)
                .subquery()
            )
            newest = (trials.c.position == last.c.position) & (trials.c.attempt == last.c.attempt)
            rows = db.execute(select(trials).join(last, newest).where(trials.c.run_id == run)).mappings().all()
            again = [_planned(run, _trial(row), row["attempt"] + 1) for row in rows if row["status"] == "interrupted"]
            if again:
                db.execute(insert(trials), again)
            return len(again) + [row["status"] for row in rows].count("planned")

    def planned(self, run: str) -> list[TrialRow]:
        """The attempts that are still to be run, in the order of the plan."""
        return [
            TrialRow(row["id"], row["attempt"], _trial(row)) for row in self.trials(run) if row["status"] == "planned"
        ]

    def add(self, run: str, trial: Trial, outcome: Outcome, at: float) -> None:
        """Stores a trial that was carried out outside the plan, such as a build while preparing."""
        with self.writing() as writer:
            row = _planned(run, trial, 1) | {"status": outcome.status, "reason": outcome.reason}
            row |= {"started_at": at, "ended_at": at}
            number = writer.db.execute(insert(trials).returning(trials.c.id), row).scalar_one()
            self._numbers(writer, number, outcome)

    def begin(self, run: str, trial: TrialRow, facts: Any) -> None:
        """Marks a trial as running."""
        with self.engine.begin() as db:
            db.execute(update(trials).where(trials.c.id == trial.id).values(status="running", started_at=time.time()))
            _facts(db, run, trial.id, "before", facts)

    def finish(self, run: str, trial: TrialRow, outcome: Outcome, facts: Any) -> None:
        """Stores all that a trial gave, in one transaction."""
        with self.writing() as writer:
            db = writer.db
            ended = {"status": outcome.status, "reason": outcome.reason, "ended_at": time.time()}
            db.execute(update(trials).where(trials.c.id == trial.id).values(**ended))
            self._numbers(writer, trial.id, outcome)
            files = [
                {
                    "trial_id": trial.id,
                    "name": name,
                    "media_type": kind,
                    "size": len(data),
                    "data": zlib.compress(data),
                }
                for name, kind, data in outcome.artefacts
            ]
            reasons = [
                {"trial_id": trial.id, "flag": flag, "labels": canonical(labels), "detail": detail}
                for flag, detail, labels in outcome.flags
            ]
            for table, rows in ((artefacts, files), (flags, reasons)):
                if rows:
                    db.execute(insert(table), rows)
            _facts(db, run, trial.id, "after", facts)

    @staticmethod
    def _numbers(writer: Writer, trial: int, outcome: Outcome) -> None:
        numbers = [
            {"trial_id": trial, "metric_id": writer.metric(name, unit, canonical(labels)), "value": value}
            for name, unit, labels, value in outcome.observations
        ]
        lines = [
            {
                "trial_id": trial,
                "metric_id": writer.metric(name, unit, canonical(labels)),
                "count": len(times),
                "times": pack(times),
                "values": pack(values),
            }
            for name, unit, labels, times, values in outcome.series
        ]
        shapes = [
            {"trial_id": trial, "metric_id": writer.metric(name, unit, canonical(labels)), "data": data}
            for name, unit, labels, data in outcome.histograms
        ]
        for table, rows in ((observations, numbers), (series, lines), (histograms, shapes)):
            if rows:
                writer.db.execute(insert(table), rows)

    def artefact(self, trial: int, name: str) -> bytes | None:
        """A trial's log or raw result."""
        query = select(artefacts.c.data).where((artefacts.c.trial_id == trial) & (artefacts.c.name == name))
        with self.engine.connect() as db:
            data = db.execute(query).scalar()
        return None if data is None else zlib.decompress(data)


def canonical(labels: Labels) -> str:
    """Labels as the store holds them: a JSON object with sorted keys."""
    return json.dumps(dict(labels), sort_keys=True)


def pack(numbers: Iterable[float]) -> bytes:
    """Numbers as compressed little-endian float64."""
    return zlib.compress(np.asarray(list(numbers), dtype="<f8").tobytes())


def unpack(data: bytes) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What `pack` packed, shape (n,)."""
    return np.frombuffer(zlib.decompress(data), dtype="<f8")


def _planned(run: str, trial: Trial, attempt: int) -> dict[str, Any]:
    return {"run_id": run, "attempt": attempt, "status": "planned", **trial.as_dict()}


def _trial(row: RowMapping) -> Trial:
    return Trial(**{name: row[name] for name in Trial.__dataclass_fields__})


def _facts(db: Connection, run: str, trial: int | None, moment: str, facts: Any) -> None:
    db.execute(
        insert(host_facts),
        {"run_id": run, "trial_id": trial, "moment": moment, "at": time.time(), "facts": facts},
    )
