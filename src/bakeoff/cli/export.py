"""`bakeoff export`: a run's data for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bakeoff.cli.app import AsJson, RunName, Where, app
from bakeoff.errors import BadInput

TABLES = ("observations", "trials", "flags", "summary", "series", "histograms", "findings")


@app.command()
def export(
    name: RunName,
    *,
    table: Annotated[str, typer.Option("--table", "-t", help=f"One of {', '.join(TABLES)}.")] = "observations",
    kind: Annotated[
        str | None, typer.Option("--format", "-f", help="csv, json, jsonl or parquet; the file's ending if not given.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--out", "-o", help="The file; standard output if not given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a table of a run as CSV, Parquet, one JSON document or JSON lines (--json): observations if not named."""
    from bakeoff import export as tables
    from bakeoff.errors import choose

    if table not in TABLES:
        raise BadInput(f"there is no table {table!r}", choose(table, TABLES, "bakeoff export --help"), key="--table")
    if kind is not None and kind not in tables.FORMATS:
        mend = f"write one of {', '.join(tables.FORMATS)}"
        raise BadInput(f"there is no format {kind!r}", mend, key="--format")
    chosen = kind or ("json" if table == "findings" else "jsonl" if as_json else tables.format_of(file, None))
    store = Where.store()
    data = tables.write(store, store.run(name)["id"], table, chosen)
    if file is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    else:
        file.write_bytes(data)
