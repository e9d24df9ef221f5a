"""`bakeoff run` and `resume`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff import interrupts
from bakeoff.cli.app import (
    AsJson,
    ExperimentName,
    ProfileName,
    Seed,
    Where,
    app,
    chosen_profile,
    err,
    out,
    print_json,
)
from bakeoff.cli.progress import Lines, Live
from bakeoff.errors import BadInput, Exit
from bakeoff.lab import Lab

if TYPE_CHECKING:
    from bakeoff.store import Store

NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Exit (3) if another lab measures on this machine; else it is waited for.")
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Store only; write no report at the end.")]


@app.command()
def run(
    experiment: ExperimentName,
    profile: ProfileName = None,
    seed: Seed = None,
    *,
    profile_systems: Annotated[
        bool, typer.Option("--profile-systems", help="After the trials, sample each system under load: flame graphs.")
    ] = False,
    no_report: NoReport = False,
    no_wait: NoWait = False,
    as_json: AsJson = False,
) -> None:
    """Run an experiment: build its systems, carry out every trial, write the report."""
    from bakeoff.runner import Runner

    lab = Where.lab()
    written = lab.experiment(experiment)
    with interrupts.once(), _watcher() as watcher:
        store = Where.store()
        name = Runner(lab, store, watcher, wait=not no_wait).start(
            experiment, chosen_profile(written.profiles, profile), seed, profile_systems
        )
    _end(lab, store, name, no_report, as_json)


@app.command()
def resume(
    name: Annotated[
        str, typer.Argument(metavar="[RUN]", help="A run's id, a beginning of it, `last` or `last~1`.")
    ] = "last",
    *,
    no_report: NoReport = False,
    no_wait: NoWait = False,
    as_json: AsJson = False,
) -> None:
    """Finish a run that was interrupted, exactly as planned."""
    from bakeoff.runner import Runner

    lab = Where.lab()
    store = Where.store()
    if not store.runs():
        raise BadInput("there is no run to resume", "begin one with `bakeoff run EXPERIMENT`")
    with interrupts.once(), _watcher() as watcher:
        done = Runner(lab, store, watcher, wait=not no_wait).resume(name)
    _end(lab, store, done, no_report, as_json)


def _watcher() -> Live | Lines:
    return Live(err) if sys.stderr.isatty() else Lines(err)


def _end(lab: Lab, store: Store, name: str, no_report: bool, as_json: bool) -> None:
    counts = store.counts(name)
    files: dict[str, str] = {}
    if not no_report:
        from bakeoff import report

        written, found = report.make(store, [name], lab.state / "reports" / name)
        files = {kind: str(path) for kind, path in written.items()}
    if as_json:
        print_json({"run": name, "trials": counts, "report": files})
    elif not no_report:
        out.print(report.terminal(found[0]))
        out.print(f"\nrun     {name}\nreport  {files['html']}", highlight=False, soft_wrap=True)
    else:
        out.print(f"run {name}: " + ", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    bad = sum(counts.get(status, 0) for status in ("failed", "wrong", "timeout"))
    if bad:
        err.print(f"{bad} trials failed; `bakeoff status {name}` names them", highlight=False)
        raise typer.Exit(Exit.SOME_TRIALS_FAILED)
