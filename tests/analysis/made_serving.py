"""A run made like the serving study's quick size: thirteen systems, four workloads, steps. Its numbers are made up."""

from __future__ import annotations

import math
import random

import made_runs

from bakeoff import plan, references, yamlfile
from bakeoff.experiment import Experiment
from bakeoff.profiles import resolve
from bakeoff.store import Store
from bakeoff.store.store import Outcome

SERVING = made_runs.LAB / "experiments/webserver-concurrency"
SPEED = {
    "go": 1.0, "rust-thread": 0.7, "rust-threadpool": 0.95, "rust-async-std": 1.3, "rust-tokio": 1.9,
    "go-net-http": 0.98, "rust-epoll": 2.1, "hyper": 1.7, "axum": 1.5, "actix": 1.72, "java-virtual-threads": 0.6,
    "node": 0.4, "python-uvicorn": 0.03,
}  # fmt: skip
MORE = ("latency_p90", "latency_p95", "latency_p999", "latency_max", "minor_faults", "major_faults", "load_cpu")
ERRORS = ("refused", "reset", "timeout", "closed_early", "malformed", "wrong_status", "wrong_body", "tls")


def experiment(profile: str = "quick") -> Experiment:
    """The study's experiment at one of its sizes."""
    return resolve(yamlfile.load(SERVING / "experiment.yaml", Experiment), profile)


def run(store: Store, profile: str = "quick", name: str = "serving-1") -> str:
    """Stores such a run. node has no second and later block of sleep; some trials and steps have flags."""
    chosen = experiment(profile)
    rows = references.read(SERVING / "reference.csv")

    def observe(trial: plan.Trial) -> Outcome:
        draw = random.Random(f"{trial.system} {trial.cell} {trial.replication}")
        if trial.system == "node" and trial.cell.get("workload") == "sleep" and trial.replication > 1:
            return Outcome("failed", "the server ended before it was stopped")
        outcome = Outcome("ok")
        for step in plan.steps(chosen, trial.system, trial.cell):
            _step(outcome, trial, step, draw)
        for phase in ("start", "idle"):
            for metric in ("cpu", "cpu_user", "cpu_system", "voluntary_switches", "minor_faults"):
                outcome.observe(metric, "s", 0.01 * draw.random(), {"phase": phase})
        for metric in ("wall", "cpu", "stop_time"):
            outcome.observe(metric, "s", draw.random(), {"part": "server", "role": "system", "phase": "whole"})
        outcome.observe("ready_time", "s", 0.004 * math.exp(draw.gauss(0, 0.2)))
        outcome.observe("stop_time", "s", 0.01 * draw.random())
        outcome.observe("stolen_cpu", "1", 0.004)
        if trial.replication == 1:
            outcome.flags.append(("not_settled", "the rate still rose when the warm-up was over", {}))
        return outcome

    return made_runs.make(store, chosen, observe, run=name, reference_rows=rows)


def _step(outcome: Outcome, trial: plan.Trial, step: plan.Cell, draw: random.Random) -> None:
    connections = int(step["connections"])
    speed = SPEED[trial.system]
    cost = {"hello": 1.0, "sleep": 1.3, "fibonacci": 40.0, "latency": 1.0}[trial.cell["workload"]]
    cost *= 4 if trial.cell["keepalive"] == "off" else 1

    def noisy(value: float) -> float:
        return value * math.exp(draw.gauss(0, 0.06))

    top = 150_000 * speed / cost / (1 + connections / (3000 * speed))
    rate = noisy(min(top, connections / 0.02) if trial.cell["workload"] == "sleep" else top)
    if trial.cell["workload"] == "latency":
        rate = 10.0
    latency = noisy(connections / rate if rate > 10 else 0.0004 / speed**0.3)
    outcome.observe("throughput", "1/s", rate, step)
    for name, times in (("mean", 1.1), ("p50", 1.0), ("p99", 4.0)):
        outcome.observe(f"latency_{name}", "s", latency * times, step)
    outcome.observe("cpu_per_request", "s", noisy(0.9 / top), step)
    outcome.observe("cpu_user", "s", noisy(0.4), step)
    outcome.observe("cpu_system", "s", noisy(0.5), step)
    outcome.observe("voluntary_switches", "1", round(noisy(9000 / speed**2 * math.sqrt(connections))), step)
    outcome.observe("involuntary_switches", "1", round(noisy(400)), step)
    outcome.observe("peak_memory", "B", noisy(12e6 * (1 + connections / 500 / speed)), step)
    outcome.observe("memory", "B", noisy(11e6 * (1 + connections / 500 / speed)), step)
    outcome.observe("errors", "1", 0.0, step)
    outcome.observe("requests", "1", round(rate * 0.6), step)
    for name in MORE:
        outcome.observe(name, "s", noisy(latency), step)
    for name in ERRORS:
        outcome.observe(f"errors_{name}", "1", 0.0, step)
    if trial.system == "rust-epoll" and connections >= 400 and trial.cell["workload"] == "hello":
        detail = f"a thread was ready but had no CPU {draw.randint(6, 40)}% of the time, over 5%"
        outcome.flags.append(("generator_starved", detail, step))
