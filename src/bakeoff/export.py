"""A run's stored data as tables for other programs: which tables there are, and in which formats they are written."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from sqlalchemy import select

from bakeoff import analysis
from bakeoff.analysis.data import RunData
from bakeoff.errors import BadInput
from bakeoff.store import Store
from bakeoff.store.store import unpack
from bakeoff.store.tables import histograms, metrics, series, trials

Writer = Callable[[pl.DataFrame], bytes]


def _summary(_store: Store, data: RunData) -> pl.DataFrame:
    from bakeoff.report.files import summary

    return summary([analysis.analyse(data)])


def _series(store: Store, data: RunData) -> pl.DataFrame:
    """One row for each point of each trial's series: seconds since the trial's start of measurement, and the value."""
    frames = [
        pl.DataFrame({**_plain(row), "t_s": unpack(row["times"]), "value": unpack(row["values"])})
        for row in _of_trials(store, data, series)
    ]
    return pl.concat(frames) if frames else pl.DataFrame()


def _histograms(store: Store, data: RunData) -> pl.DataFrame:
    """One row for each distribution; `data` is an HdrHistogram, compressed V2, as base64."""
    return pl.DataFrame([_plain(row) | {"data": row["data"]} for row in _of_trials(store, data, histograms)])


def _plain(row: Any) -> dict[str, Any]:
    return {
        "trial": row["trial_id"],
        "system": row["system"],
        "cell": " ".join(f"{name}={level}" for name, level in row["cell"].items()),
        "block": row["block"],
        "metric": row["name"],
        "labels": " ".join(f"{name}={value}" for name, value in json.loads(row["labels"]).items()),
        "unit": row["unit"],
    }


def _of_trials(store: Store, data: RunData, table: Any) -> list[Any]:
    query = (
        select(table, metrics.c.name, metrics.c.unit, metrics.c.labels, trials.c.system, trials.c.cell, trials.c.block)
        .join(metrics, metrics.c.id == table.c.metric_id)
        .join(trials, trials.c.id == table.c.trial_id)
        .where(trials.c.run_id == data.run["id"])
        .order_by(trials.c.position, trials.c.attempt, metrics.c.id)
    )
    with store.engine.connect() as db:
        return list(db.execute(query).mappings())


TABLES: dict[str, Callable[[Store, RunData], pl.DataFrame]] = {
    "observations": lambda _store, data: data.samples,
    "trials": lambda _store, data: data.trials,
    "flags": lambda _store, data: data.flags,
    "summary": _summary,
    "series": _series,
    "histograms": _histograms,
}


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with lists as texts, because CSV has none."""
    lists = [column for column, kind in frame.schema.items() if isinstance(kind, pl.List)]
    return frame.with_columns(pl.col(lists).cast(pl.List(pl.String)).list.join(" ")) if lists else frame


def _json(frame: pl.DataFrame) -> bytes:
    return (frame.write_json() + "\n").encode()


def _parquet(frame: pl.DataFrame) -> bytes:
    data = io.BytesIO()
    frame.write_parquet(data)
    return data.getvalue()


FORMATS: dict[str, Writer] = {
    "csv": lambda frame: _flat(frame).write_csv().encode(),
    "json": _json,
    "jsonl": lambda frame: frame.write_ndjson().encode(),
    "parquet": _parquet,
}


def write(store: Store, run: str, table: str, kind: str) -> bytes:
    """One table of a run in one format; `findings` is all that is concluded from it, as one JSON document."""
    data = analysis.load(store, run)
    if table == "findings":
        if kind != "json":
            raise BadInput(f"findings are no table, so they cannot be {kind}", "write --format json")
        return json.dumps(analysis.analyse(data).as_dict(), indent=1, ensure_ascii=False, default=str).encode() + b"\n"
    return FORMATS[kind](TABLES[table](store, data))


def format_of(file: Path | None, asked: str | None) -> str:
    """The format to write: the one asked for, else that of the file's ending, else CSV."""
    if asked is not None:
        return asked
    ending = file.suffix.removeprefix(".") if file else "csv"
    if ending in ("ndjson", "jsonl"):
        return "jsonl"
    if ending not in FORMATS:
        raise BadInput(f"no format has the ending {ending!r}", f"write --format: {', '.join(FORMATS)}", file=file)
    return ending
