"""The procedure `build`: one clean build in an empty folder, thrown away afterwards."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from bakeoff.leftovers import owned
from bakeoff.prepare import BuildFailed, build
from bakeoff.procedures.task import Task
from bakeoff.store.store import Outcome


def build_trial(task: Task) -> Outcome:
    """Builds the system once and observes time, CPU, memory and size."""
    prepared = task.prepared
    if prepared.system.build is None:
        return Outcome("unavailable", "this system has no build")
    with tempfile.TemporaryDirectory(prefix=owned("out")) as out:
        try:
            receipt = build(prepared.system, prepared.folder, prepared.paths, Path(out), task.trial.cell)
            return observed(receipt)
        except BuildFailed as error:
            return Outcome("failed", str(error))


def observed(receipt: dict[str, Any]) -> Outcome:
    """A receipt's figures as observations."""
    outcome = Outcome("ok")
    outcome.observe("build_time", "s", receipt["build_time"])
    outcome.observe("artefact_size", "B", receipt["artefact_size"])
    outcome.observe("cpu", "s", receipt["cpu"])
    outcome.observe("peak_memory", "B", receipt["peak_memory"])
    return outcome
