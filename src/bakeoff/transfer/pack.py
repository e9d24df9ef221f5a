"""Packing: a stored run as an opening and parcels, each a JSON text of bounded size."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Table, select

from bakeoff import host
from bakeoff.errors import BadInput
from bakeoff.store import Store
from bakeoff.store.tables import artefacts, flags, histograms, host_facts, metrics, observations, series, trials
from bakeoff.transfer.parcel import ENDED, FORMAT, MOST_PARCEL, MOST_TRIALS, clean

AIM = 2**20  # bytes of a parcel: small enough that a broken line costs little
READ = 10  # trials that are read at once
RUN_COLUMNS = (
    "id", "experiment", "profile", "seed", "status", "created_at", "ended_at", "lab_root", "command", "experiment_yaml",
    "readme", "reference_rows", "versions",
)  # fmt: skip
SYSTEM_COLUMNS = ("system", "system_yaml", "status", "reason", "version", "tools", "key", "receipt")
TRIAL_COLUMNS = (
    "position", "attempt", "block", "replication", "warm_up", "procedure", "system", "cell", "parameters", "status",
    "reason", "started_at", "ended_at",
)  # fmt: skip
NUMBERS = ("observations", "series", "histograms")  # what names a metric
Names = Collection[tuple[int, int]]  # position and attempt of trials


def opening(store: Store, run: str) -> dict[str, Any]:
    """A run without its trials."""
    row = store.run(run)
    own = {name: row[name] for name in RUN_COLUMNS}
    if row["status"] == "running" and (not row["pid"] or host.process_started(row["pid"]) != row["pid_started"]):
        own["status"] = "interrupted"  # the lab was killed
    facts = select(host_facts).where(host_facts.c.run_id == row["id"], host_facts.c.trial_id.is_(None))
    with store.engine.connect() as db:
        found = [_facts(one) for one in db.execute(facts.order_by(host_facts.c.id)).mappings()]
    systems = [{name: one[name] for name in SYSTEM_COLUMNS} for one in store.systems(row["id"])]
    return {"format": FORMAT, "run": own, "systems": systems, "facts": found}


def text(data: Any) -> bytes:
    """Plain data as JSON. Raises BadInput for a number that JSON does not know."""
    try:
        return json.dumps(clean(data), ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        raise BadInput("the run holds a number that is not finite", "such a run cannot be sent") from None


def parcels(store: Store, run: str, there: Names) -> Iterator[tuple[int, bytes]]:
    """The trials that are not there yet, in the order of the plan: how many, and the JSON text of the parcel."""
    t = trials.c
    query = select(t.id, t.position, t.attempt).where(t.run_id == run).order_by(t.position, t.attempt)
    with store.engine.connect() as db:
        missing = [number for number, position, attempt in db.execute(query) if (position, attempt) not in there]
    batch = _Batch()
    for first in range(0, len(missing), READ):
        for trial, named in _read(store, missing[first : first + READ]):
            if not batch.add(trial, named):
                yield batch.packed()
                batch = _Batch()
                batch.add(trial, named)
    if batch.trials:
        yield batch.packed()


class _Batch:
    """Trials that travel together, with one list of the metrics that they name."""

    def __init__(self) -> None:
        self.trials: list[dict[str, Any]] = []
        self._metrics: dict[tuple[str, str, str], int] = {}
        self._size = 0

    def add(self, trial: dict[str, Any], named: dict[int, tuple[str, str, str]]) -> bool:
        """Takes a trial; False if it is full. A trial of its own is always taken."""
        size = len(text(trial))
        if self.trials and (self._size + size > AIM or len(self.trials) >= MOST_TRIALS):
            return False
        if size > MOST_PARCEL - AIM:
            problem = f"trial {trial['position'] + 1} has {size:,} bytes"
            raise BadInput(problem, f"a trial of more than {MOST_PARCEL - AIM:,} bytes cannot be sent")
        renamed = {
            kind: [one | {"metric": self._number(named[one["metric"]])} for one in trial.get(kind, [])]
            for kind in NUMBERS
        }
        self.trials.append(trial | renamed)
        self._size += size
        return True

    def _number(self, words: tuple[str, str, str]) -> int:
        return self._metrics.setdefault(words, len(self._metrics))

    def packed(self) -> tuple[int, bytes]:
        """How many trials there are, and the parcel."""
        words = [{"name": name, "unit": unit, "labels": json.loads(labels)} for name, unit, labels in self._metrics]
        return len(self.trials), text({"metrics": words, "trials": self.trials})


def _read(store: Store, ids: Sequence[int]) -> list[tuple[dict[str, Any], dict[int, tuple[str, str, str]]]]:
    """Trials with all that belongs to them, and the words of the metrics that they name by id."""
    with store.engine.connect() as db:
        query = select(trials).where(trials.c.id.in_(ids)).order_by(trials.c.position, trials.c.attempt)
        rows = {row["id"]: dict(row) for row in db.execute(query).mappings()}
        ended = [number for number, row in rows.items() if row["status"] in ENDED]
        parts = {
            "observations": _of(db, observations, ended, ("metric_id", "value")),
            "series": _of(db, series, ended, ("metric_id", "count", "times", "values")),
            "histograms": _of(db, histograms, ended, ("metric_id", "data")),
            "artefacts": _of(db, artefacts, ended, ("name", "media_type", "size", "data")),
            "flags": _of(db, flags, ended, ("flag", "labels", "detail")),
            "facts": _of(db, host_facts, ended, ("moment", "at", "facts")),
        }
        used = {one["metric"] for kind in NUMBERS for given in parts[kind].values() for one in given}
        m = metrics.c
        words = db.execute(select(m.id, m.name, m.unit, m.labels).where(m.id.in_(used)))
        named = {number: (name, unit, labels) for number, name, unit, labels in words}
    own = [{name: row[name] for name in TRIAL_COLUMNS} for row in rows.values()]
    given = [{kind: found.get(number, []) for kind, found in parts.items()} for number in rows]
    return [(row | more, named) for row, more in zip(own, given, strict=True)]


def _of(db: Connection, table: Table, ids: Sequence[int], columns: Sequence[str]) -> dict[int, list[dict[str, Any]]]:
    """The rows of a table by trial, ready for JSON."""
    query = select(table.c.trial_id, *(table.c[name] for name in columns)).where(table.c.trial_id.in_(ids))
    found: dict[int, list[dict[str, Any]]] = {}
    for row in db.execute(query.order_by(*table.primary_key.columns)).mappings():
        found.setdefault(row["trial_id"], []).append({_word(name): _json(name, row[name]) for name in columns})
    return found


def _word(column: str) -> str:
    return "metric" if column == "metric_id" else column


def _json(column: str, value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode("ascii")
    return json.loads(value) if column == "labels" else value


def _facts(row: Any) -> dict[str, Any]:
    return {name: row[name] for name in ("moment", "at", "facts")}
