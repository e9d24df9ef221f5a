"""Running a plan: one trial at a time, each stored as it ends."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy.exc import SQLAlchemyError

import bakeoff
from bakeoff import host, instruments, interrupts, leftovers, places, plan, profiles, turn, yamlfile
from bakeoff.errors import BadInput, CannotRun
from bakeoff.experiment import Experiment
from bakeoff.instruments import Interrupted
from bakeoff.lab import Lab
from bakeoff.prepare import Prepared, prepare
from bakeoff.procedures import PROCEDURES, Task
from bakeoff.procedures.build import observed
from bakeoff.procedures.task import log_files
from bakeoff.store import Store, TrialRow
from bakeoff.store.store import Outcome
from bakeoff.store.url import shown

SCRATCH = Path("/tmp")  # short, because a Unix socket's path has at most 107 bytes


class Watcher(Protocol):
    """Who is told how a run goes."""

    def preparing(self, system: str) -> None:
        """A system is being made ready."""

    def prepared(self, prepared: Prepared) -> None:
        """A system is ready, or unavailable."""

    def waiting(self, holder: str) -> None:
        """Another lab measures on this machine, and we wait for it."""

    def begins(self, trial: TrialRow, left: int) -> None:
        """A trial begins; `left` are still to be run, this one with them."""

    def ends(self, trial: TrialRow, outcome: Outcome, seconds: float) -> None:
        """A trial has ended."""


@dataclass(frozen=True)
class Course:
    """A run under way. `kept` is a folder for what later trials of the run use again."""

    run: str
    experiment: Experiment
    seed: int
    kept: Path


@dataclass(frozen=True)
class Runner:
    """One lab with one store, and who watches."""

    lab: Lab
    store: Store
    watcher: Watcher
    wait: bool = True  # for another lab that measures on this machine

    def start(self, name: str, profile: str | None, seed: int | None, profile_systems: bool = False) -> str:
        """Checks and prepares everything, stores the run with its plan, carries it out, and returns its id."""
        experiment = profiles.resolve(self.lab.experiment(name), profile, self.lab.experiment_file(name))
        began = time.time()
        trials = plan.make(experiment, seed, self.lab.experiment_file(name))
        trials += plan.profiling(experiment, len(trials)) if profile_systems else []
        sweep(self.lab)
        systems = [self._prepare(system) for system in experiment.systems]
        if not any(system.ready for system in systems):
            reasons = "; ".join(f"{system.name}: {system.reason}" for system in systems)
            raise CannotRun(f"no system of {name} can be had here ({reasons})", "see `bakeoff doctor " + name + "`")
        folder = self.lab.experiment_file(name).parent
        run = f"{folder.name}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        readme = folder / "README.md"
        row = {
            "id": run,
            "experiment": folder.name,
            "profile": profile,
            "seed": experiment.seed if seed is None else seed,
            "status": "running",
            "created_at": time.time(),
            "lab_root": str(self.lab.root),
            "command": shlex.join(["bakeoff", *map(shown, sys.argv[1:])]),  # a store's URL may hold a password
            "experiment_yaml": _stored(experiment),
            "readme": readme.read_text(encoding="utf-8") if readme.is_file() else None,
            "reference_rows": self.lab.references(name),
            "versions": versions(self.lab),
            **_ourselves(),
        }
        with self._turn(run):
            self.store.create_run(row, [_system_row(system) for system in systems], trials, host.facts())
            self._builds(run, systems, began)
            self._work(run, experiment, {system.name: system for system in systems})
        return run

    def resume(self, name: str) -> str:
        """Finishes a run's plan as it was stored; systems are made ready again and must be the same."""
        run = self.store.run(name)
        alive = run["pid"] and host.process_started(run["pid"]) == run["pid_started"]
        if alive or not self.store.claim(run["id"], run["pid"], **_ourselves()):
            raise BadInput(f"the run {run['id']} is still under way (process {run['pid']})", "wait for it, or end it")
        sweep(self.lab)
        if not self.store.reopen(run["id"]):
            self.store.set_run(run["id"], status="done", pid=None, pid_started=None)
            return str(run["id"])
        data, _ = yamlfile.parse(run["experiment_yaml"], f"run {run['id']}")
        experiment = yamlfile.validate(data, Experiment, f"run {run['id']}")
        systems = {name: self._prepare(name) for name in experiment.systems}
        for row in self.store.systems(run["id"]):
            now = systems[row["system"]]
            if row["status"] == "ready" and (now.key, now.version) != (row["key"], row["version"]):
                raise CannotRun(
                    f"{now.name} has changed since the run began (its sources or tools)",
                    "bring it back as it was, or begin a new run",
                )
        with self._turn(run["id"]):
            self.store.set_run(run["id"], status="running", ended_at=None, **_ourselves())
            self._work(run["id"], experiment, systems)
        return str(run["id"])

    def _turn(self, run: str) -> AbstractContextManager[None]:
        what = f"run {run} of the lab {self.lab.root}"
        return turn.measuring(what, wait=self.wait, waiting=self.watcher.waiting)

    def _prepare(self, name: str) -> Prepared:
        self.watcher.preparing(name)
        prepared = prepare(self.lab, name, install=True)
        self.watcher.prepared(prepared)
        return prepared

    def _builds(self, run: str, systems: list[Prepared], began: float) -> None:
        """The builds that preparing made (now or earlier) are trials too, before the plan's first position."""
        for index, system in enumerate(systems):
            if system.receipt is not None:
                # A receipt from the cache is information, not a replication of this run; so is one of several builds.
                counts = system.receipt["built_at"] >= began and not (system.system.build and system.system.build.each)
                trial = plan.Trial(-1 - index, 0, 0, "build", system.name, {}, {}, warm_up=not counts)
                self.store.add(run, trial, observed(system.receipt), system.receipt["built_at"])

    def _work(self, run: str, experiment: Experiment, systems: dict[str, Prepared]) -> None:
        planned = self.store.planned(run)
        status = "interrupted"
        try:
            with _folder(self.lab, "kept") as kept:
                course = Course(run, experiment, int(self.store.run(run)["seed"]), kept)
                for index, row in enumerate(planned):
                    if interrupts.asked():  # and lost on its way
                        raise KeyboardInterrupt
                    self.watcher.begins(row, len(planned) - index)
                    began = time.monotonic()
                    outcome = self._one(course, systems[row.trial.system], row)
                    self.watcher.ends(row, outcome, time.monotonic() - began)
                    if outcome.status == "interrupted":
                        raise KeyboardInterrupt
            status = "done"
        finally:
            self.store.set_run(run, status=status, ended_at=time.time(), pid=None, pid_started=None)

    def _one(self, course: Course, prepared: Prepared, row: TrialRow) -> Outcome:
        """Carries out one trial and stores what came of it."""
        run = course.run
        before = host.state()
        self.store.begin(run, row, before)
        if not prepared.ready:
            outcome = Outcome("unavailable", prepared.reason)
            self.store.finish(run, row, outcome, before)
            return outcome
        with _folder(self.lab, "logs") as logs:
            outcome = self._carry_out(course, prepared, row, logs)
            with interrupts.held():  # what has been measured is stored before an interrupt takes effect
                after = host.state()
                _flag_theft(course.experiment, before, after, outcome)
                self._finish(run, row, outcome, after)
        return outcome

    def _finish(self, run: str, row: TrialRow, outcome: Outcome, after: dict[str, Any]) -> None:
        try:
            self.store.finish(run, row, outcome, after)
        except SQLAlchemyError as error:  # what cannot be stored costs one trial, not the run
            reason = f"its figures could not be stored: {str(error).splitlines()[0]}"
            self.store.finish(run, row, Outcome("failed", reason), after)

    def _carry_out(self, course: Course, prepared: Prepared, row: TrialRow, logs: Path) -> Outcome:
        experiment = course.experiment
        scratch = SCRATCH / f"{leftovers.owned('s')}{secrets.token_hex(2)}"
        local = experiment.place == "here" or row.trial.procedure == "build"
        try:
            with nullcontext(places.HERE) if local else places.network_namespace(secrets.token_hex(3)) as place:
                task = Task(experiment, prepared, row.trial, course.seed, logs, scratch, course.kept, place)
                return PROCEDURES[row.trial.procedure](task)
        except Interrupted as error:
            raw = [("exec.json", "application/json", json.dumps(error.result).encode())] if error.result else []
            return Outcome("interrupted", "the user asked to stop", artefacts=[*raw, *log_files(logs)])
        except KeyboardInterrupt:
            return Outcome("interrupted", "the user asked to stop", artefacts=log_files(logs))
        except CannotRun as error:
            return Outcome("failed", str(error), artefacts=log_files(logs))
        except Exception as error:  # a fault of the lab costs one trial, not the run
            trace = [("fault.txt", "text/plain", traceback.format_exc().encode())]
            return Outcome(
                "failed", f"a fault of the lab: {type(error).__name__}: {error}", artefacts=[*trace, *log_files(logs)]
            )


def sweep(lab: Lab) -> None:
    """Removes what labs and instruments that were killed have left: processes, groups, namespaces, folders."""
    instruments.sweep()
    places.sweep()
    leftovers.sweep(lab.state / "tmp")


def versions(lab: Lab) -> dict[str, Any]:
    """The versions of the lab, its instruments and its files (git's commit, with `+` if files differ from it)."""
    found: dict[str, Any] = {"bakeoff": bakeoff.__version__, "python": sys.version.split()[0]}
    done = subprocess.run(
        [instruments.program("bakeoff-exec"), "--version"], capture_output=True, text=True, check=False
    )
    found["bakeoff-exec"] = done.stdout.strip().rpartition(" ")[2] or None
    if shutil.which("git") is None:
        return found
    git = ["git", "-C", str(lab.root)]
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    if commit.returncode == 0:
        changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=False)
        found["source"] = commit.stdout.strip() + ("+" if changed.stdout.strip() else "")
    return found


def _stored(experiment: Experiment) -> str:
    """The experiment as the store keeps it: JSON, which is YAML too. It must read back as what it is."""
    text = json.dumps(experiment.model_dump(mode="json", by_alias=True), indent=1, allow_nan=False)
    data, _ = yamlfile.parse(text, "the resolved experiment")
    if yamlfile.validate(data, Experiment, "the resolved experiment") != experiment:
        raise BadInput(
            "the experiment does not read back as it was written", "write texts that look like numbers in quotes"
        )
    return text


def _ourselves() -> dict[str, Any]:
    return {"pid": os.getpid(), "pid_started": host.process_started(os.getpid())}


def _system_row(prepared: Prepared) -> dict[str, Any]:
    return {
        "system": prepared.name,
        "system_yaml": yamlfile.dump(prepared.system.model_dump(mode="json", by_alias=True)),
        "status": prepared.status,
        "reason": prepared.reason,
        "version": prepared.version,
        "tools": prepared.tools,
        "key": prepared.key,
        "receipt": prepared.receipt,
    }


def _flag_theft(experiment: Experiment, before: dict[str, Any], after: dict[str, Any], outcome: Outcome) -> None:
    """Flags a trial during which too much CPU time went to other guests; a few clock ticks are no evidence."""
    share = host.stolen_share(before, after)
    ticks = after["cpu_ticks"].get("steal", 0) - before["cpu_ticks"].get("steal", 0)
    outcome.observe("stolen_cpu", "1", share)
    if share > experiment.validity.stolen_cpu and ticks >= 10:
        bound = experiment.validity.stolen_cpu
        outcome.flags.append(
            ("stolen_cpu", f"{share:.1%} of the CPU time went to other guests, more than {bound:.0%}", {})
        )


@contextmanager
def _folder(lab: Lab, purpose: str) -> Iterator[Path]:
    parent = lab.state / "tmp"
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=leftovers.owned(purpose), dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
