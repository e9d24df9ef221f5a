"""Reading rows of the store as columns.

Python's own driver makes an object of each value, which takes most of the time of a large report. Many rows of SQLite
are read by Arrow's driver instead, in a process of its own: that driver brings a second copy of SQLite, and two copies
in one process undo each other's file locks (https://www.sqlite.org/howtocorrupt.html, section 2.2.1). Besides, the
processes share the work between the cores.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import polars as pl
from sqlalchemy.sql import Select

from bakeoff.errors import CannotRun
from bakeoff.store import Store

PIECE = 50_000  # rows fetched at once
MANY = 20_000  # rows; for fewer a process of its own is not worth it

Schema = Mapping[str, type[pl.DataType]]  # Int32, Float64, String or Categorical


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
            kinds = ",".join(kind.__name__ for kind in self._schema.values())
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
        if self._process is None:
            return self._fetched()
        _, complaints = self._process.communicate()
        if self._process.returncode:
            said = " ".join(complaints.decode(errors="replace").strip().splitlines()[-1:])
            raise CannotRun(f"the store cannot be read: {said}", "see whether its file is whole")
        found = pl.read_ipc(self._file)
        return found.rename(dict(zip(found.columns, self._schema, strict=True)))

    def _fetched(self) -> pl.DataFrame:
        pieces = [pl.DataFrame(schema=self._schema)]
        with self._store.engine.connect() as db:
            result = db.execute(self._query)
            assert result.cursor is not None
            while rows := result.cursor.fetchmany(PIECE):  # the driver's own rows: no object of ours for each
                pieces.append(pl.DataFrame(rows, schema=self._schema, orient="row"))
        return pl.concat(pieces)


def named(texts: pl.Series, known: list[str] | None = None) -> pl.Series:
    """Texts of few kinds as numbers with names (pl.Enum), one or two bytes each; `known` names come first."""
    found = texts.unique().drop_nulls().cast(pl.String).sort().to_list()
    return texts.cast(pl.String).cast(pl.Enum(list(dict.fromkeys([*(known or []), *found]))))


def append(frame: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The frame with more rows, of which its own columns are taken."""
    return joined([frame, rows.select(frame.columns)])


def joined(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Frames one after another; a named column has the names of all, a column that one lacks is null there."""
    if len(frames) == 1:
        return frames[0]
    known: dict[str, dict[str, None]] = {}
    for name in dict.fromkeys(name for frame in frames for name in frame.columns):
        parts = [frame[name] for frame in frames if name in frame.columns]
        if any(isinstance(part.dtype, pl.Enum) for part in parts):
            known[name] = dict.fromkeys(text for part in parts for text in _names(part))
    kinds = {name: pl.Enum(list(names)) for name, names in known.items()}
    wider = [frame.cast({name: kind for name, kind in kinds.items() if name in frame.columns}) for frame in frames]
    return pl.concat(wider, how="diagonal")


def _names(texts: pl.Series) -> list[str]:
    if isinstance(texts.dtype, pl.Enum):
        return texts.dtype.categories.to_list()
    return texts.unique().drop_nulls().cast(pl.String).sort().to_list()
