"""`bakeoff compare` and `check`: a run against another one of the same experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli.app import AsJson, RunName, Where, app, err, out, print_json
from bakeoff.errors import BadInput, Exit

if TYPE_CHECKING:
    from bakeoff.analysis.data import RunData

OtherStore = "The other run's store, a URL or the path of an SQLite file, where it is another one."


def load_run(name: str, store: str | None = None) -> RunData:
    """A run of this lab's store, or of the one named."""
    from bakeoff import analysis
    from bakeoff.store import Store

    if store is None:
        opened = Where.store()
    elif "://" in store:
        opened = Store(store)
    elif Path(store).is_file():
        opened = Store(f"sqlite:///{Path(store).resolve()}")
    else:
        raise BadInput(f"there is no store {store!r}", "name an SQLite file, or a URL such as postgresql://…")
    return analysis.load(opened, opened.run(name)["id"])


@app.command()
def compare(
    before: Annotated[str, typer.Argument(metavar="RUN1", help="The run before: its id, a beginning, or `last~1`.")],
    after: Annotated[str, typer.Argument(metavar="RUN2", help="The run after; ratios are its medians over RUN1's.")],
    *,
    margin: Annotated[
        float | None,
        typer.Option(min=0.0001, max=10.0, help="Ratios within this of 1 are the same; the experiment's if not given."),
    ] = None,
    metrics: Annotated[
        list[str] | None, typer.Option("--metric", "-m", help="Metrics to compare; the experiment's if not given.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write compare.html, compare.md and compare.json here.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every line, not only what has changed.")] = False,
    store: Annotated[str | None, typer.Option("--before-store", help=OtherStore)] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two runs of one experiment: ratios with intervals, verdicts, and what differs between the two."""
    from bakeoff.analysis import change
    from bakeoff.report import changepage

    found = change.compare(load_run(before, store), load_run(after), margin, metrics)
    files = changepage.write(found, folder) if folder else {}
    if as_json:
        print_json(found.as_dict())
        return
    out.print(changepage.terminal(found, every))
    for kind, path in files.items():
        out.print(f"{kind:9} {path}", markup=False, soft_wrap=True)


@app.command()
def check(
    name: RunName,
    *,
    against: Annotated[str, typer.Option(metavar="RUN0", help="The run to check against: an id or a beginning.")],
    rules: Annotated[
        list[str],
        typer.Option(
            "--fail-if", metavar="RULE", help="When it fails, such as 'latency_p99 > +10%' or 'errors > 0'; several."
        ),
    ],
    strict: Annotated[bool, typer.Option("--strict", help="What is unsure fails too.")] = False,
    junit: Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write Markdown to this file.")] = None,
    store: Annotated[str | None, typer.Option("--against-store", help=OtherStore)] = None,
    as_json: AsJson = False,
) -> None:
    """Fail if a run is worse than another one (exit code 1); pass otherwise (0), with warnings for what is unsure."""
    from bakeoff.analysis import gate
    from bakeoff.report import checked

    found = gate.check(load_run(against, store), load_run(name), rules, strict)
    if junit:
        junit.write_text(checked.junit(found), encoding="utf-8")
    if markdown:
        markdown.write_text(checked.markdown(found), encoding="utf-8")
    if as_json:
        print_json(found.as_dict())
    else:
        out.print(checked.terminal(found))
    if not found.passed:
        err.print(f"check {checked.headline(found)}", highlight=False)
        raise typer.Exit(Exit.CHECK_FAILED)
