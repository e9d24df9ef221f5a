"""`bakeoff setup`: fetch the tools and build the systems of an experiment."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from bakeoff import interrupts, profiles
from bakeoff.cli.app import AsJson, Where, app, err, out, print_json
from bakeoff.errors import Exit
from bakeoff.prepare import Prepared, prepare


@app.command()
def setup(
    experiments: Annotated[list[str], typer.Argument(help="Experiments whose systems to make ready.")],
    profile: Annotated[
        str | None, typer.Option("--profile", "-p", help="Only the systems of this profile; all if not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Install the tools and build the systems of experiments, without running them."""
    lab = Where.lab()
    chosen = [profiles.resolve(lab.experiment(name), profile, lab.experiment_file(name)) for name in experiments]
    names = list(dict.fromkeys(system for experiment in chosen for system in experiment.systems))
    done: list[Prepared] = []
    with interrupts.once():
        for name in names:
            began = time.monotonic()
            with err.status(f"making {name} ready"):
                prepared = prepare(lab, name, install=True)
            done.append(prepared)
            if not as_json:
                took = f"{time.monotonic() - began:.1f} s"
                out.print(
                    f"{name:24} {prepared.status:12} {took:>9}  {prepared.reason or prepared.version or ''}",
                    markup=False,
                )
    if as_json:
        print_json([summary(each) for each in done])
    if not any(each.ready for each in done):
        raise typer.Exit(Exit.CANNOT_RUN)


def summary(prepared: Prepared) -> dict[str, object]:
    """A prepared system as plain data."""
    return {
        "system": prepared.name,
        "status": prepared.status,
        "reason": prepared.reason,
        "version": prepared.version,
        "tools": prepared.tools,
        "key": prepared.key,
        "build": prepared.receipt,
    }
