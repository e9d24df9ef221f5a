"""The procedure `serve`: start, make ready, check, warm up, load step by step, leave idle, stop."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from typing import Any

from bakeoff import generator, host, plan, settling
from bakeoff.experiment import PLACEHOLDER
from bakeoff.generator import Generator
from bakeoff.instruments import Interrupted, Json, Service
from bakeoff.metrics import STANDARD
from bakeoff.plan import Cell
from bakeoff.procedure import CpuSets, Load, ServeProcedure
from bakeoff.procedures.check import wrong_answer
from bakeoff.procedures.exec import observe_window
from bakeoff.procedures.parts import NotReady, start_parts
from bakeoff.procedures.task import Task
from bakeoff.quantities import seconds
from bakeoff.store.store import Outcome

SUMS = ("cpu", "cpu_user", "cpu_system", "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults")
# A system that used this share of the CPU time it could have had was itself the limit.
BUSY = 0.9
LATENCIES = {name: standard.key for name, standard in STANDARD.items() if name.startswith("latency_")}


class Failed(Exception):
    """The trial cannot go on: its status and the reason."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def serve_trial(task: Task) -> Outcome:
    """Carries out one trial; one start of the system is one replication, its steps are repeated measures within."""
    procedure = task.experiment.procedure
    assert isinstance(procedure, ServeProcedure)
    outcome = Outcome("ok")
    outcome.observe("artefact_size", "B", task.size)
    try:
        with ExitStack() as stack:
            Serving(task, procedure, outcome, stack).carry_out()
    except NotReady as error:
        outcome.status, outcome.reason = "failed", str(error)
    except Failed as error:
        outcome.status, outcome.reason = error.status, str(error)
    except KeyboardInterrupt:
        raise Interrupted(None) from None
    outcome.artefacts += task.log_files()
    return outcome


class Serving:
    """A system that is up, and the load that it is put under."""

    def __init__(self, task: Task, procedure: ServeProcedure, outcome: Outcome, stack: ExitStack) -> None:
        self.task, self.procedure, self.outcome, self.stack = task, procedure, outcome, stack
        asked = CpuSets() if procedure.cpus == "auto" else procedure.cpus
        self.cpus, self.load_cpus = generator.cpu_sets(asked.system, asked.load)
        self.services: dict[str, Service] = {}
        self.files = 0

    def carry_out(self) -> None:
        """All of the trial, in order."""
        self.start()
        for request in self.procedure.checks:
            if problem := wrong_answer(self.task, self._fill(self.procedure.url), request, self._fill):
                raise Failed("wrong", problem)
        steps = plan.steps(self.task.experiment, self.task.trial.system, self.task.trial.cell)
        if not steps:
            raise Failed("failed", "the constraints leave this cell no step")
        loaded = next((step for step in steps if not self.is_idle(step)), None)
        for step in steps:
            if step is loaded and self.procedure.warm_up is not None:
                self._warm_up(step)
            time.sleep(self.procedure.pause)
            self._step(step)
        self._idle()
        self.stop()

    def start(self) -> None:
        """Starts all parts, each when the one before is ready."""
        limits = self.procedure.limits
        limits = limits.model_copy(update={"cpus": limits.cpus or self.cpus})
        began = time.monotonic()
        settings = {"limits": limits, "sample": self.procedure.sample, "counters": self.procedure.counters}
        self.services = start_parts(self.stack, self.task, self.task.prepared.system.parts, **settings)
        self.outcome.observe("ready_time", "s", time.monotonic() - began)
        self._cut("ready", {"phase": "start"})

    def _warm_up(self, first: Cell) -> None:
        """Loads the system as in the first step with a load until a change-point test finds the rate settled."""
        warm_up = self.procedure.warm_up
        assert warm_up is not None
        load = self.procedure.load.model_copy(update={"duration": f"{warm_up.at_most}s", "requests": None})
        if warm_up.connections is not None:
            load = load.model_copy(update={"connections": warm_up.connections})
        times: list[float] = []
        rates: list[float] = []
        began = time.monotonic()
        settled = False
        loading = self.loading(load, first, interval=settling.INTERVAL)
        for event in loading:
            if event["event"] == "progress" and event["t_s"] <= warm_up.at_most:  # then answers are only waited for
                rates.append(event["rate"])
                times.append(event["t_s"])
                settled = settling.settled(rates)
                if settled and time.monotonic() - began >= warm_up.at_least:
                    break
        loading.close()
        self.outcome.observe("warm_up_time", "s", time.monotonic() - began)
        self.outcome.series.append(("rate", "1/s", {"phase": "warm-up"}, times, rates))
        if not settled and warm_up.at_most >= settling.LEAST * settling.INTERVAL:
            detail = f"the rate had not settled after {warm_up.at_most:g} s of warm-up"
            self.outcome.artefacts.append(("warm-up.json", "application/json", json.dumps(rates).encode()))
            self.outcome.flags.append(("not_settled", detail, {}))

    def _step(self, step: Cell) -> None:
        labels = dict(step)
        self._cut(plan.cell_text(step) or "load", None)
        if self.is_idle(step):
            time.sleep(seconds(fill(self.procedure.load.duration, self._values(step))))
            self._cut("between", labels)
            return
        before = host.state()
        loading = self.loading(self.procedure.load, step)
        result = next((event for event in loading if event["event"] == "step"), None)
        code = loading.close()
        stolen = host.stolen_share(before, host.state())
        windows = self._cut("between", labels)
        if result is None:
            raise Failed("failed", f"the load generator gave no result (exit {code}): {loading.complaints}")
        if self._was_busy(windows, result["duration_s"], stolen):
            delayed = [flag for flag in result["flags"] if flag["name"] == "generator_starved"]
            for flag in delayed:
                flag["name"] = "generator_delayed"
        self._observe(result, windows, labels)

    def _was_busy(self, windows: dict[str, Json], seconds: float, stolen: float) -> bool:
        """Whether the system used nearly all the CPU time it could have had: earlier requests would have waited.

        On a machine that is shared, what keeps the generator from its CPU is mostly other guests.
        """
        used = sum(window["cpu_s"] for window in windows.values())
        return bool(used >= BUSY * seconds * generator.count(self.cpus) * (1.0 - stolen))

    def _observe(self, result: Json, windows: dict[str, Json], labels: dict[str, str]) -> None:
        """The figures of one step."""
        outcome = self.outcome
        for name in ("throughput", "errors", "requests"):
            outcome.observe(name, STANDARD[name].unit, result[STANDARD[name].key], labels)
        outcome.observe("load_cpu", "s", result["cpu_seconds"], labels)
        if result["ok"]:
            for name, key in LATENCIES.items():
                outcome.observe(name, "s", result["latency_us"][key] / 1e6, labels)
            cpu = sum(window["cpu_s"] for window in windows.values())
            outcome.observe("cpu_per_request", "s", cpu / result["ok"], labels)
        for name, count in result["errors"].items():
            outcome.observe(f"errors_{name}", "1", count or None, labels)  # a class without errors is no row
        for name, data in (result.get("histograms") or {}).items():
            if data:
                outcome.histograms.append((name.removesuffix("_us"), "us", labels, data))
        series = result["series"]
        for name, unit, scale in (("rate", "1/s", 1.0), ("p99_us", "s", 1e-6)):
            # After the step the answers still to come have a latency; their rate is not that of a load.
            points = [(at, value * scale) for at, value in zip(series["t_s"], series[name], strict=True)
                      if name != "rate" or at <= result["duration_s"]]  # fmt: skip
            times, values = [at for at, _ in points], [value for _, value in points]
            outcome.series.append((name.removesuffix("_us"), unit, labels, times, values))
        outcome.flags += [(flag["name"], flag["reason"], labels) for flag in result["flags"]]
        slim = {key: value for key, value in result.items() if key not in ("histograms", "series")}
        name = f"load {plan.cell_text(labels)}".strip() + ".json"
        outcome.artefacts.append((name[:80], "application/json", json.dumps(slim).encode()))

    def _idle(self) -> None:
        if self.procedure.idle:
            self._cut("idle", None)
            time.sleep(self.procedure.idle)
            self._cut("stop", {"phase": "idle"})

    def stop(self) -> None:
        """Stops all parts, the last one first. Raises Failed if something is left."""
        system = self.task.prepared.system
        for name, service in reversed(self.services.items()):
            end = service.stop()
            labels = {"part": name, "role": system.parts[name].role, "phase": "whole"}
            observe_window(self.outcome, end, labels)
            if name == system.main:
                self.outcome.observe("stop_time", "s", end.get("stop_s"))
            if end.get("leftover"):
                raise Failed("failed", f"the part {name} left behind what could not be removed: {end['leftover']}")

    def _cut(self, name: str, labels: dict[str, str] | None) -> dict[str, Json]:
        """Ends the present phase in all parts and begins the next; with labels, the ended windows are observed."""
        self._alive()
        windows = {part: service.phase(name) for part, service in self.services.items()}
        if labels is None:
            return windows
        several = len(windows) > 1
        for part, window in windows.items():
            if several:
                role = self.task.prepared.system.parts[part].role
                observe_window(self.outcome, _as_result(window), labels | {"part": part, "role": role})
        whole = [_as_result(window) for window in windows.values()]
        for metric in (*SUMS, "peak_memory", "memory", "peak_processes"):
            total = sum(window.get(STANDARD[metric].key) or 0 for window in whole)
            self.outcome.observe(metric, STANDARD[metric].unit, total, labels)
        self.outcome.observe("wall", "s", max(window["wall_s"] for window in whole), labels)
        return windows

    def loading(self, load: Load, step: Cell, interval: float | None = None) -> Generator:
        """The generator, started with the parameters of a step."""
        values = self._values(step)
        cpus = generator.count(self.load_cpus)
        document = generator.job(load, self.procedure.url, lambda text: fill(text, values), cpus)
        document["interval"] = interval or (1.0 if document["duration"] >= 5 else 0.25)
        document["seed"] = self.task.seed + self.task.trial.position
        # On a CPU of its own the generator goes before whatever else the machine does there, so that it is not late.
        document["urgent"] = self.load_cpus is not None and self.load_cpus != self.cpus
        self.files += 1
        loading = Generator(
            document, self.task.logs / f"job {self.files}.json", cpus=self.load_cpus, place=self.task.place
        )
        self.stack.callback(loading.close)
        return loading

    def _values(self, step: Cell) -> dict[str, Any]:
        return self.task.values | plan.parameters(self.task.experiment, {**self.task.trial.cell, **step})

    def is_idle(self, step: Cell) -> bool:
        """Whether a step is a time without load: one of no connections."""
        return not float(fill(self.procedure.load.connections, self._values(step)))

    def _fill(self, text: Any) -> Any:
        return fill(text, self.task.values)

    def _alive(self) -> None:
        for name, service in self.services.items():
            service.catch_up()
            if service.exited or service.end or not service.alive:
                raise Failed("failed", f"the part {name} ended under load")


def fill(text: Any, values: dict[str, Any]) -> Any:
    """A text with its parameters filled in; a text that is nothing but one parameter becomes that parameter's value."""
    if not isinstance(text, str):
        return text
    whole = PLACEHOLDER.fullmatch(text)
    if whole:
        return values[whole[1]]
    return PLACEHOLDER.sub(lambda match: str(values[match[1]]), text)


def _as_result(window: Json) -> Json:
    """A window with the keys of a whole result."""
    return window | {
        "wall_s": window["end_s"] - window["start_s"],
        "peak_memory_bytes": window.get("memory_peak_bytes"),
        "peak_processes": window.get("processes"),
    }
