"""The procedure `exec`: the system's main part runs to its end under bakeoff-exec."""

from __future__ import annotations

import json
import math
from contextlib import ExitStack

from bakeoff import formula
from bakeoff.experiment import Between, Metric
from bakeoff.instruments import Json, execute
from bakeoff.metrics import STANDARD
from bakeoff.procedure import ExecProcedure
from bakeoff.procedures.parts import NotReady, start_parts, tail
from bakeoff.procedures.task import Task
from bakeoff.store.store import Outcome


def exec_trial(task: Task) -> Outcome:
    """Starts the other parts, runs the main one to its end, checks its answer and takes its figures."""
    procedure = task.experiment.procedure
    assert isinstance(procedure, ExecProcedure)
    system = task.prepared.system
    outcome = Outcome("ok")
    outcome.observe("artefact_size", "B", task.size)
    try:
        with ExitStack() as stack:
            others = {name: part for name, part in system.parts.items() if name != system.main}
            helpers = start_parts(stack, task, others)
            result = execute(
                task.watched(
                    system.main,
                    system.parts[system.main],
                    limits=procedure.limits,
                    timeout=procedure.timeout,
                    sample=procedure.sample,
                    counters=procedure.counters,
                    scratch=None if helpers else task.scratch,
                )
            )
            for name, service in helpers.items():
                service.catch_up()
                ready = system.parts[name].ready
                if service.exited and (ready is None or ready.exit is None):
                    raise NotReady(f"the part {name} ended while {system.main} was measured{tail(task, name)}")
                observe_window(outcome, service.stop(), {"part": name, "role": system.parts[name].role})
    except NotReady as error:
        return Outcome("failed", str(error), artefacts=task.log_files())
    _judge(task, result, outcome)
    figures(task, result, outcome)
    _series(result, outcome)
    raw = {key: value for key, value in result.items() if key != "series"}
    outcome.artefacts += [("exec.json", "application/json", json.dumps(raw).encode()), *task.log_files()]
    return outcome


def _judge(task: Task, result: Json, outcome: Outcome) -> None:
    """Sets the status: how the process ended, and whether its answer is the right one."""
    timeout = getattr(task.experiment.procedure, "timeout", 0.0)
    ends = {
        "timeout": ("timeout", f"it did not end within {timeout:g} s"),
        "memory_limit": ("failed", "it was killed at its memory limit"),
        "stopped": ("interrupted", "it was stopped"),
        "signalled": ("failed", f"signal {result['signal']} ended it"),
    }
    if result["outcome"] in ends:
        outcome.status, outcome.reason = ends[result["outcome"]]
        return
    if problem := wrong_exit(task, result["exit"]):
        outcome.status, outcome.reason = "failed", problem + tail(task, task.prepared.system.main)
        return
    if result.get("markers_dropped"):
        outcome.status, outcome.reason = "failed", f"it printed {result['markers_dropped']} markers too many"
        return
    if verdict := wrong_result(task, answer(result)):
        outcome.status, outcome.reason = verdict
        return
    if result.get("leftover"):
        outcome.status, outcome.reason = (
            "failed",
            f"it left behind what could not be removed: {result['leftover']}",
        )


def wrong_exit(task: Task, code: int | None) -> str | None:
    """What is wrong with an exit code, or None. Both the experiment and the system may say what is right."""
    expectations = (task.experiment.expect, task.prepared.system.expect)
    exits = {expect.exit for expect in expectations if expect.exit is not None} or {0}
    wrong = next((right for right in exits - {"any"} if code != right), None)
    return None if wrong is None else f"it ended with {code} instead of {wrong}"


def wrong_result(task: Task, said: Json) -> tuple[str, str] | None:
    """The status and the reason if what the system said of its work is not right; experiment and system must agree."""
    expectations = (task.experiment.expect, task.prepared.system.expect)
    for key, text in [pair for expect in expectations for pair in expect.result.items()]:
        try:
            right_value = formula.exact(text, task.values)
        except ValueError as error:
            return "failed", f"expect.result.{key}: {error}"
        value = said.get(key)
        if isinstance(value, bool) or value != right_value:
            return "wrong", f"{key} is {said.get(key, 'missing')} instead of {right_value}"
    return None


def answer(result: Json) -> Json:
    """What the system said of its own work: the data of its result markers together."""
    data: Json = {}
    for marker in result["markers"]:
        if marker["name"] == "result" and isinstance(marker.get("data"), dict):
            data |= marker["data"]
    return data


def figures(task: Task, result: Json, outcome: Outcome) -> None:
    """All standard metrics, and those that the experiment defines by markers or results."""
    own = {name for name, metric in task.experiment.metrics.items() if metric.marker or metric.result or metric.formula}
    for name, standard in STANDARD.items():
        if name not in own:  # the experiment may define a metric of a standard name anew
            outcome.observe(name, standard.unit, result.get(standard.key))
    for name, count in (result.get("counters") or {}).items():
        outcome.observe(name, "1", count)
    for name, metric in task.experiment.metrics.items():
        try:
            value = _own_figure(metric, result)
        except ValueError as error:
            if outcome.status == "ok" and not metric.optional:
                outcome.status, outcome.reason = "failed", f"the metric {name} has no value: {error}"
            continue
        outcome.observe(name, metric.unit or "1", value)


def _own_figure(metric: Metric, result: Json) -> float | None:
    """A metric's value from its markers or its key of the result; None if it has another source.

    Raises ValueError if what it needs was not seen, or cannot be.
    """
    if metric.marker:
        return _between(metric.marker, result)
    if metric.result:
        value = answer(result).get(metric.result)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"result {metric.result} is {value!r}, which is no number")
        return float(value)
    return None


def _between(span: Between, result: Json) -> float:
    """Seconds between two markers, the first of each name."""
    times = {"exec": 0.0, "exit": result["wall_s"]}
    for marker in result["markers"]:
        times.setdefault(marker["name"], marker["t_s"])
    for name in (span.start, span.end):
        if name not in times:
            raise ValueError(f"the marker {name} was not seen")
    seconds = float(times[span.end] - times[span.start])
    if seconds < 0:
        raise ValueError(f"the marker {span.end} came before {span.start}")
    if seconds == 0:
        raise ValueError(f"the markers {span.start} and {span.end} came in one piece; flush after each marker")
    return seconds


def _series(result: Json, outcome: Outcome) -> None:
    series = result.get("series") or {}
    times = series.get("t_s") or []
    for name, unit, key in (
        ("cpu", "s", "cpu_s"),
        ("memory", "B", "memory_bytes"),
        ("processes", "1", "processes"),
    ):
        if times and series.get(key):
            outcome.series.append((name, unit, {}, times, series[key]))


def observe_window(outcome: Outcome, end: Json, labels: dict[str, str]) -> None:
    """One part's resources of a window or of its whole life, labelled with its part and role."""
    for name, standard in STANDARD.items():
        outcome.observe(name, standard.unit, end.get(standard.key), labels)
