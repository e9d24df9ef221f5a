"""`bakeoff report`: what the store says."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from bakeoff.cli.app import AsJson, Where, app, out, print_json

LONGEST = 150  # letters of a folder's name


@app.command()
def report(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]…", help="Runs; `last` if none is given. Those of one experiment are joined."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write; .bakeoff/reports/RUN if not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the report of runs: HTML, Markdown, CSV and Parquet, from the store alone."""
    from bakeoff import report as reports

    store = Where.store()
    runs = list(dict.fromkeys(store.run(name)["id"] for name in names or ["last"]))
    target = folder or Where.lab().state / "reports" / folder_name(runs)
    files, found = reports.make(store, runs, target)
    if as_json:
        print_json({kind: str(path) for kind, path in files.items()})
        return
    for one in found:
        out.print(reports.terminal(one))
    for kind, path in files.items():
        out.print(f"{kind:20} {path}", markup=False, soft_wrap=True)


def folder_name(runs: list[str]) -> str:
    """The name of the report's folder; many runs are named by the first one, their number and a digest."""
    name = "+".join(runs)
    if len(name) <= LONGEST:
        return name
    return f"{runs[0]}+{len(runs) - 1}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
