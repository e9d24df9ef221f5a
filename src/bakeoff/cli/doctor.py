"""`bakeoff doctor`: what this machine can measure."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from bakeoff import doctor as examiner
from bakeoff.cli.app import AsJson, Where, app, out, print_json
from bakeoff.errors import BadInput, Exit


@app.command()
def doctor(
    experiment: Annotated[
        str | None, typer.Argument(metavar="[EXPERIMENT]", help="Look at its systems as well.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what this machine can measure and what not, with the mend for each."""
    checks = examiner.examine()
    with suppress(BadInput):  # outside of a lab there are no platforms to look at
        checks += examiner.examine_platforms(Where.lab())
    if experiment is not None:
        checks += examiner.examine_systems(Where.lab(), experiment)
    if as_json:
        print_json([check.as_dict() for check in checks])
    else:
        table = Table("", "check", "found", "mend", box=None)
        marks = {
            "good": Text("✓", style="green"),
            "limited": Text("–", style="yellow"),
            "missing": Text("✗", style="red"),
        }
        for check in checks:
            table.add_row(marks[check.state], check.name, check.found, check.mend)
        out.print(table)
    if any(check.state == "missing" for check in checks):
        raise typer.Exit(Exit.CANNOT_RUN)
