"""`bakeoff report` and `export`: what the store says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bakeoff.cli.app import AsJson, RunName, Where, app, out, print_json


@app.command()
def report(
    names: Annotated[list[str] | None, typer.Argument(metavar="[RUN]…", help="Runs; `last` if none is given.")] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write; .bakeoff/reports/RUN if not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the report of runs: HTML, Markdown and CSV, from the store alone."""
    from bakeoff import analysis
    from bakeoff import report as reports

    store = Where.store()
    runs = [store.run(name)["id"] for name in names or ["last"]]
    target = folder or Where.lab().state / "reports" / "+".join(runs)
    files = reports.write(store, runs, target)
    if as_json:
        print_json({kind: str(path) for kind, path in files.items()})
        return
    for run in runs:
        out.print(reports.terminal(analysis.analyse(analysis.load(store, run))))
    for kind, path in files.items():
        out.print(f"{kind:14} {path}", markup=False, soft_wrap=True)


@app.command()
def export(
    name: RunName,
    file: Annotated[Path | None, typer.Option("--out", "-o", help="The file; standard output if not given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a run's observations, one row each, as CSV (or JSON lines with --json)."""
    from bakeoff import analysis

    store = Where.store()
    samples = analysis.load(store, store.run(name)["id"]).samples
    flat = samples.with_columns(
        [samples[column].list.join(" ") for column, kind in samples.schema.items() if str(kind).startswith("List")]
    )
    text = flat.write_ndjson() if as_json else flat.write_csv()
    if file is None:
        typer.echo(text, nl=False)
    else:
        file.write_text(text, encoding="utf-8")
