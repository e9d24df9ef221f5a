"""The procedures `wasm` and `calls`: the system's main part, a Wasm module, runs under bakeoff-wasm."""

from __future__ import annotations

import json
import shlex
import statistics
from dataclasses import dataclass, field, replace

from bakeoff.instruments import Json, execute
from bakeoff.prepare import substitute
from bakeoff.procedure import WASM_INSTRUMENT, WasmProcedure
from bakeoff.procedures.exec import answer, figures, wrong_exit, wrong_result
from bakeoff.procedures.task import Task
from bakeoff.store.store import Outcome

PHASES = ("instantiate_s", "startup_s", "execution_s", "shutdown_s", "entry_s")
LOG_LIMIT = 256 << 20  # the instrument's lines carry what the module has written


def wasm_trial(task: Task) -> Outcome:
    """Runs the module in a cold process, each phase timed, and checks its answer, its exit and its files."""
    outcome = Outcome("ok")
    result, told = _run(task, outcome)
    if outcome.status == "ok":
        _judge(task, told, outcome)
    measured = [one for one in told.replications if not one["warm_up"]]
    if measured:
        result |= _medians(measured) | {"markers": _results(measured[-1])}
    result["compile_s"] = told.module.get("compile_s")
    figures(task, result, outcome)
    if len(measured) > 1:
        _series(measured, outcome)
    own = (told.end or {}).get("calibration")
    if own:
        outcome.observe("evaluator_startup", "s", own["startup_s"])
        if not own["within_bound"]:
            took, bound = own["startup_s"] * 1e9, own["startup_bound_s"] * 1e9
            detail = f"an empty module took {took:.0f} ns to start, more than {bound:.0f} ns"
            outcome.flags.append(("evaluator_slow", detail, {}))
    return outcome


def calls_trial(task: Task) -> Outcome:
    """Runs the module once with its WASI calls counted; nothing is timed."""
    outcome = Outcome("ok")
    _, told = _run(task, outcome, counting=True)
    if outcome.status == "ok":
        _judge(task, told, outcome)
    for one in told.replications:
        counts = one.get("wasi") or {"calls": {}}
        outcome.observe("wasi_calls", "1", sum(counts["calls"].values()))
        # Calls that the experiment has as levels and that were not made are zeros, not gaps.
        levels = task.experiment.factors["call"].levels if "call" in task.experiment.factors else {}
        for name, count in (dict.fromkeys(levels, 0) | counts["calls"]).items():
            outcome.observe("wasi_calls", "1", count, {"call": name})
        outcome.observe("wasi_bytes_read", "B", counts.get("bytes_read"))
        outcome.observe("wasi_bytes_written", "B", counts.get("bytes_written"))
    return outcome


@dataclass
class Told:
    """What the instrument has told: of the module, of each replication, of the end."""

    module: Json = field(default_factory=dict)
    replications: list[Json] = field(default_factory=list)
    end: Json | None = None

    def take(self, line: str) -> None:
        """Takes in one line; what is no event is left out."""
        try:
            event = json.loads(line)
        except ValueError:
            return
        match event.get("event") if isinstance(event, dict) else None:
            case "module":
                self.module = event
            case "replication":
                self.replications.append(event)
            case "end":
                self.end = event


def _run(task: Task, outcome: Outcome, *, counting: bool = False) -> tuple[Json, Told]:
    """Runs the instrument under bakeoff-exec: the process's result, and what the instrument has told."""
    procedure = task.experiment.procedure
    assert isinstance(procedure, WasmProcedure)
    system = task.prepared.system
    part = system.parts[system.main]
    times = 1 if counting else procedure.replications + procedure.warm_up
    watched = task.watched(
        system.main,
        part.model_copy(update={"env": {}}),
        limits=procedure.limits,
        # The instrument keeps the time limit itself; this one is for the case that it cannot.
        timeout=procedure.timeout * (times + 2) + 30.0,
        counters=procedure.counters and not counting,
        scratch=task.scratch,
        log_limit=LOG_LIMIT,
    )
    result = execute(replace(watched, command=words(task, procedure, watched.command, counting=counting)))
    told = Told()
    log = task.logs / f"{system.main}.stdout"
    for line in log.read_text(errors="replace").splitlines() if log.exists() else ():
        told.take(line)
    ends = {
        "timeout": ("timeout", "it did not end, and the instrument could not stop it"),
        "memory_limit": ("failed", "its process was killed at its memory limit"),
        "stopped": ("interrupted", "it was stopped"),
        "signalled": ("failed", f"signal {result['signal']} ended the process"),
    }
    if result["outcome"] in ends:
        outcome.status, outcome.reason = ends[result["outcome"]]
    elif result["exit"] != 0 or told.end is None:
        log = task.logs / f"{system.main}.stderr"
        said = " ".join(log.read_text(errors="replace").split())[-300:] if log.exists() else ""
        outcome.status, outcome.reason = (
            "failed",
            f"{WASM_INSTRUMENT} ended with {result['exit']}: {said or 'no message'}",
        )
    raw = {key: value for key, value in result.items() if key != "series"}
    outcome.artefacts += [("exec.json", "application/json", json.dumps(raw).encode()), *task.log_files()]
    return result, told


def words(task: Task, procedure: WasmProcedure, command: list[str], *, counting: bool) -> list[str]:
    """The instrument's command line: the part's own, and what the procedure adds."""
    system = task.prepared.system
    variant = system.variants[task.prepared.variant].env if task.prepared.variant else {}
    env = {
        key: substitute([value], task.values)[0] for key, value in {**system.parts[system.main].env, **variant}.items()
    }
    added = ["--json", "--engine", substitute([procedure.engine], task.values)[0]]
    added += ["--timeout", f"{procedure.timeout:.6f}s"]
    added += [part for key, value in env.items() for part in ("--env", f"{key}={value}")]
    if "--fresh-dir" in command:
        added += ["--scratch", str(task.scratch)]
        added += [part for file in substitute(procedure.copies, task.values) for part in ("--copy", file)]
        added += ["--check", shlex.join(substitute(procedure.check, task.values))] if procedure.check else []
    if procedure.compile == "once":
        added += ["--compiled", str(task.kept)]
    if procedure.memory is not None:
        added += ["--memory-limit", str(procedure.memory)]
    if counting:
        return [*command, *added, "--count-calls"]
    return [*command, *added, "--replications", str(procedure.replications), "--warm-up", str(procedure.warm_up)]


def _judge(task: Task, told: Told, outcome: Outcome) -> None:
    """Sets the status: how each replication ended, and whether its answer, exit and files are right."""
    for one in told.replications:
        if verdict := _verdict(task, one):
            outcome.status, outcome.reason = verdict
            if len(told.replications) > 1:
                outcome.reason = f"replication {one['index']}: {outcome.reason}"
            return


def _verdict(task: Task, one: Json) -> tuple[str, str] | None:
    if one["outcome"] == "timeout":
        return "timeout", f"it was in {one['phase']} when its time was over"
    if one["outcome"] != "exited":
        return "failed", f"{one['outcome'].replace('_', ' ')} in {one['phase']}: {one['reason']}"
    if problem := wrong_exit(task, one["exit"]):
        lines = one["outputs"]["stderr"]["text"].strip().splitlines()
        return "failed", problem + (f": {lines[-1][:300]}" if lines else "")
    check = one.get("check")
    if check is not None and check["exit"] != 0:
        return "wrong", f"the check of the files says: {check['text'].strip()[:300] or 'exit ' + str(check['exit'])}"
    return wrong_result(task, answer({"markers": _results(one)}))


def _results(one: Json) -> list[Json]:
    """The result markers that the module has written to its standard output."""
    found = []
    for line in one["outputs"]["stdout"]["text"].splitlines():
        if line.startswith("@bakeoff result "):
            try:
                found.append({"name": "result", "data": json.loads(line.removeprefix("@bakeoff result "))})
            except ValueError:
                continue
    return found


def _medians(measured: list[Json]) -> Json:
    """The median of each phase over a process's replications, and the highest linear memory."""
    values = {key: [one[key] for one in measured if one.get(key) is not None] for key in PHASES}
    medians: Json = {key: statistics.median(several) for key, several in values.items() if several}
    return medians | {"memory_high_water_bytes": max(one["memory_high_water_bytes"] for one in measured)}


def _series(measured: list[Json], outcome: Outcome) -> None:
    """All replications of a process, so that nothing is lost in the medians; the axis counts replications."""
    for key in PHASES:
        values = [float(one[key]) for one in measured if one.get(key) is not None]
        if len(values) == len(measured):
            axis = [float(one["index"]) for one in measured]
            outcome.series.append((key.removesuffix("_s"), "s", {}, axis, values))
