"""Reading the rows of a run as columns.

Python's own driver makes an object of each value, which takes most of the time of a large report. Many rows of SQLite
are read by Arrow's driver instead, in a process of its own: that driver brings a second copy of SQLite, and two copies
in one process undo each other's file locks (https://www.sqlite.org/howtocorrupt.html, section 2.2.1). Besides, the
processes share the work between the cores; so this module loads no heavy library itself, and can begin before they are.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import Text, cast, func, select
from sqlalchemy.sql import Select

from bakeoff.errors import CannotRun
from bakeoff.store import Store
from bakeoff.store.tables import observations, trials

if TYPE_CHECKING:
    import polars as pl

PIECE = 50_000  # rows fetched at once
MANY = 20_000  # trials; for fewer a process of its own is not worth it

Schema = Mapping[str, str]  # name → Int32, Float64, String or Categorical


class Columns:
    """The rows of a query as a frame. Reading begins when this is made; `frame` waits for the end.

    Within a `with` the reader is ended at the end, whatever happens. With `many`, no column of the query may hold null:
    Arrow's driver takes a column's type from its first rows.
    """

    def __init__(self, store: Store, query: Select[Any], schema: Schema, many: bool) -> None:
        self._store, self._query, self._schema = store, query, dict(schema)
        self._process: subprocess.Popen[bytes] | None = None
        path = store.engine.url.database
        if many and store.engine.dialect.name == "sqlite" and path and Path(path).is_file():
            self._folder = tempfile.TemporaryDirectory(prefix="bakeoff-")
            self._file = Path(self._folder.name) / "rows.arrow"
            text = str(query.compile(store.engine, compile_kwargs={"literal_binds": True}))
            kinds = ",".join(self._schema.values())
            words = [sys.executable, "-m", "bakeoff.analysis.arrowfile", str(Path(path).resolve()), str(self._file)]
            self._process = subprocess.Popen([*words, kinds, text], stderr=subprocess.PIPE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._process is not None:
            with self._process, self._folder:
                self._process.kill()

    def frame(self) -> pl.DataFrame:
        """The frame. Raises CannotRun if the store cannot be read."""
        import polars as pl

        if self._process is None:
            return self._fetched()
        _, complaints = self._process.communicate()
        if self._process.returncode:
            said = " ".join(complaints.decode(errors="replace").strip().splitlines()[-1:])
            raise CannotRun(f"the store cannot be read: {said}", "see whether its file is whole")
        found = pl.read_ipc(self._file)
        return found.rename(dict(zip(found.columns, self._schema, strict=True)))

    def _fetched(self) -> pl.DataFrame:
        import polars as pl

        schema = {name: getattr(pl, kind) for name, kind in self._schema.items()}
        pieces = [pl.DataFrame(schema=schema)]
        with self._store.engine.connect() as db:
            result = db.execute(self._query)
            assert result.cursor is not None
            while rows := result.cursor.fetchmany(PIECE):  # the driver's own rows: no object of ours for each
                pieces.append(pl.DataFrame(rows, schema=schema, orient="row"))
        return pl.concat(pieces)


@dataclass(frozen=True)
class Span:
    """How many trials a run has, and the numbers of the first and the last; a few between may be of another run."""

    count: int
    first: int
    last: int

    @property
    def many(self) -> bool:
        """Whether to read them by a process of its own."""
        return self.count > MANY


def _span(store: Store, run: str) -> Span:
    query = select(func.count(), func.min(trials.c.id), func.max(trials.c.id)).where(trials.c.run_id == run)
    with store.engine.connect() as db:
        count, first, last = db.execute(query).one()
    return Span(count, first or 0, last or 0)


def _read_trials(store: Store, run: str, span: Span) -> Columns:
    t = trials.c
    schema: Schema = {
        "trial": "Int32",
        "position": "Int32",
        "attempt": "Int32",
        "block": "Int32",
        "replication": "Int32",
        "warm_up": "Int32",
        "procedure": "Categorical",
        "system": "Categorical",
        "cell_json": "Categorical",
        "status": "Categorical",
        "reason": "String",
        "started_at": "Float64",
        "ended_at": "Float64",
    }
    query = select(
        t.id, t.position, t.attempt, t.block, t.replication, cast(t.warm_up, trials.c.position.type), t.procedure,
        t.system, cast(t.cell, Text), t.status, func.coalesce(t.reason, ""), func.coalesce(t.started_at, -1.0),
        func.coalesce(t.ended_at, -1.0),
    ).where(t.run_id == run)  # fmt: skip
    return Columns(store, query, schema, span.many)


def _read_observations(store: Store, span: Span) -> Columns:
    o = observations.c
    query = select(o.trial_id, o.metric_id, o.value).where(o.trial_id.between(span.first, span.last))
    return Columns(store, query, {"trial": "Int32", "metric_id": "Int32", "value": "Float64"}, span.many)


@dataclass(frozen=True)
class Reading:
    """The rows of a run that are being read. Within a `with` the readers are ended at the end, whatever happens."""

    run: str
    span: Span
    trials: Columns
    observations: Columns

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.trials.__exit__(*error)
        self.observations.__exit__(*error)


def begin(store: Store, run: str) -> Reading:
    """Begins to read a run. Raises BadInput if there is no such run."""
    name = str(store.run(run)["id"])
    span = _span(store, name)
    return Reading(name, span, _read_trials(store, name, span), _read_observations(store, span))
