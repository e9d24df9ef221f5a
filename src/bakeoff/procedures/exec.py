"""The procedure `exec`: the system's main part runs to its end under bakeoff-exec."""

from __future__ import annotations

import json
from contextlib import ExitStack

from bakeoff import formula
from bakeoff.experiment import Metric
from bakeoff.instruments import Json, execute
from bakeoff.metrics import STANDARD
from bakeoff.procedure import ExecProcedure
from bakeoff.procedures.parts import NotReady, start_parts
from bakeoff.procedures.task import Task
from bakeoff.store.store import Outcome


def exec_trial(task: Task) -> Outcome:
    """Starts the other parts, runs the main one to its end, checks its answer and takes its figures."""
    procedure = task.experiment.procedure
    assert isinstance(procedure, ExecProcedure)
    system = task.prepared.system
    outcome = Outcome("ok")
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
                observe_window(outcome, service.stop(), {"part": name, "role": system.parts[name].role})
    except NotReady as error:
        return Outcome("failed", str(error), artefacts=task.log_files())
    _judge(task, result, outcome)
    _figures(task, result, outcome)
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
    expectations = (task.experiment.expect, task.prepared.system.expect)
    for expect in expectations:
        if expect.exit is not None and result["exit"] != expect.exit:
            outcome.status, outcome.reason = (
                "failed",
                f"it ended with {result['exit']} instead of {expect.exit}{_last_words(task)}",
            )
            return
    said = answer(result)
    for key, text in {key: text for expect in expectations for key, text in expect.result.items()}.items():
        try:
            right = formula.evaluate(text, task.numbers)
        except ValueError as error:
            outcome.status, outcome.reason = "failed", f"expect.result.{key}: {error}"
            return
        if said.get(key) != right:
            outcome.status, outcome.reason = (
                "wrong",
                f"{key} is {said.get(key, 'missing')} instead of {right:g}",
            )
            return
    if result.get("leftover"):
        outcome.status, outcome.reason = (
            "failed",
            f"it left behind what could not be removed: {result['leftover']}",
        )


def _last_words(task: Task) -> str:
    """The last line that the main part wrote to its standard error."""
    log = task.logs / f"{task.prepared.system.main}.stderr"
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()] if log.exists() else []
    return f": {lines[-1][:300]}" if lines else ""


def answer(result: Json) -> Json:
    """What the system said of its own work: the data of its result markers together."""
    data: Json = {}
    for marker in result["markers"]:
        if marker["name"] == "result" and isinstance(marker.get("data"), dict):
            data |= marker["data"]
    return data


def _figures(task: Task, result: Json, outcome: Outcome) -> None:
    """All standard metrics, and those that the experiment defines by markers or results."""
    for name, standard in STANDARD.items():
        outcome.observe(name, standard.unit, result.get(standard.key))
    for name, count in (result.get("counters") or {}).items():
        outcome.observe(name, "1", count)
    for name, metric in task.experiment.metrics.items():
        value = _own_figure(metric, result)
        if value is not None:
            outcome.observe(name, metric.unit or "1", value)
        elif outcome.status == "ok" and (metric.marker or metric.result):
            missing = f"{metric.marker.start} … {metric.marker.end}" if metric.marker else f"result {metric.result}"
            outcome.status, outcome.reason = (
                "failed",
                f"the metric {name} has no value: {missing} was not seen",
            )


def _own_figure(metric: Metric, result: Json) -> float | None:
    if metric.marker:
        times = {"exec": 0.0, "exit": result["wall_s"]}
        for marker in result["markers"]:
            times.setdefault(marker["name"], marker["t_s"])
        ends = times.get(metric.marker.start), times.get(metric.marker.end)
        return None if None in ends else ends[1] - ends[0]  # type: ignore[operator]
    if metric.result:
        value = answer(result).get(metric.result)
        return float(value) if isinstance(value, int | float) else None
    return None


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
