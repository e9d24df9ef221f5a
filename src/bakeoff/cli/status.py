"""`bakeoff status`: the runs, or one run's trials."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer
from rich.table import Table

from bakeoff import host
from bakeoff.cli.app import AsJson, Where, app, out, print_json
from bakeoff.plan import cell_text


@app.command()
def status(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[RUN]", help="A run's id, a beginning of it, or `last`; all runs if not given."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Name the runs of the store, or one run's trials with what came of them."""
    store = Where.store()
    if name is None:
        runs = [_run(row, store.counts(row["id"])) for row in store.runs()]
        if as_json:
            print_json(runs)
            return
        table = Table("run", "profile", "status", "begun", "trials", box=None)
        for each in runs:
            counts = ", ".join(f"{count} {kind}" for kind, count in sorted(each["trials"].items()))
            table.add_row(each["run"], each["profile"] or "full", each["status"], each["begun"], counts)
        out.print(table)
        return
    run = store.run(name)
    trials = [dict(row) for row in store.trials(run["id"])]
    if as_json:
        print_json(_run(run, store.counts(run["id"])) | {"all_trials": trials})
        return
    table = Table("trial", "attempt", "block", "procedure", "system", "cell", "status", "reason", box=None)
    for row in trials:
        place = str(row["position"] + 1) if row["position"] >= 0 else "-"
        block = "warm-up" if row["warm_up"] else str(row["block"])
        table.add_row(
            place,
            str(row["attempt"]),
            block,
            row["procedure"],
            row["system"],
            cell_text(row["cell"]),
            row["status"],
            row["reason"] or "",
        )
    out.print(table)


def _run(row: Any, counts: dict[str, int]) -> dict[str, Any]:
    alive = row["pid"] and host.process_started(row["pid"]) == row["pid_started"]
    return {
        "run": row["id"],
        "experiment": row["experiment"],
        "profile": row["profile"],
        "seed": row["seed"],
        "status": "interrupted" if row["status"] == "running" and not alive else row["status"],
        "begun": datetime.fromtimestamp(row["created_at"]).astimezone().isoformat(timespec="seconds"),
        "trials": counts,
    }
