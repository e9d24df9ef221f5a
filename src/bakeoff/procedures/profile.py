"""The procedure `profile`: a system that serves is put under the last step's load while its stacks are sampled.

It is a trial of its own, in which nothing is measured: sampling costs time.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bakeoff import profiling
from bakeoff.instruments import Interrupted
from bakeoff.leftovers import owned
from bakeoff.plan import steps
from bakeoff.procedure import ServeProcedure
from bakeoff.procedures.parts import NotReady
from bakeoff.procedures.serve import Serving
from bakeoff.procedures.task import Task
from bakeoff.store.store import Outcome

ARTEFACT = "profile.folded"
SECONDS = 3.0
SETTLING = 1.0  # seconds under load before the first sample


def profile_trial(task: Task) -> Outcome:
    """Starts the system, loads it, samples it, stops it; the stacks are an artefact."""
    procedure = task.experiment.procedure
    assert isinstance(procedure, ServeProcedure)
    outcome = Outcome("ok")
    try:
        with ExitStack() as stack:
            serving = Serving(task, procedure, Outcome("ok"), stack)
            serving.start()
            outcome.artefacts.append((ARTEFACT, "text/plain", _sampled(serving, task).encode()))
            serving.stop()
    except NotReady as error:
        outcome.status, outcome.reason = "failed", str(error)
    except KeyboardInterrupt:
        raise Interrupted(None) from None
    outcome.artefacts += task.log_files()
    return outcome


def _sampled(serving: Serving, task: Task) -> str:
    """The stacks of all parts under the load of the last step that has one."""
    step = [each for each in steps(task.experiment, task.trial.system, task.trial.cell) if not serving.is_idle(each)][
        -1
    ]
    endless = {"duration": f"{SETTLING + SECONDS + 60}s", "requests": None}
    loading = serving.loading(serving.procedure.load.model_copy(update=endless), step)
    time.sleep(SETTLING)
    processes = [pid for service in serving.services.values() for pid in profiling.members(service.pid)]
    try:
        with tempfile.TemporaryDirectory(prefix=owned("perf")) as folder:
            return profiling.record(processes, SECONDS, Path(folder))
    finally:
        loading.close()
        for process in processes:  # what runtimes tell perf of the code that they have made
            Path(f"/tmp/perf-{process}.map").unlink(missing_ok=True)
