"""A run with requirements, knees, an assessment and derived metrics, whose answers are known by its making."""

from __future__ import annotations

import random
from typing import Any

import made_runs

from bakeoff import plan
from bakeoff.experiment import Experiment
from bakeoff.store import Store
from bakeoff.store.store import Outcome

RATES = [100, 200, 400, 800]
LIMIT = {"fast": 800, "middle": 400, "slow": 100}  # the highest rate at which each system holds 50 ms
SPEC: dict[str, Any] = {
    "title": "Demands",
    "question": "Which ones are good enough?",
    "systems": ["fast", "middle", "slow", "broken"],
    "baseline": "fast",
    "factors": {
        "mode": {"levels": ["plain", "tls"]},
        "rate": {"title": "Requests a second", "within": True, "levels": RATES},
    },
    "procedure": {
        "kind": "serve", "url": "http://{host}:{port}",
        "load": {"connections": 8, "rate": "{rate}", "duration": "1s", "send": [{"path": "/"}]},
    },
    "metrics": {
        "latency_p99": {},
        "throughput": {},
        "peak_memory": {},
        "cpu_per_request": {},
        "cumulative_requests_per_cpu": {},
        "memory_per_throughput": {},
        "cost_per_billion": {},
    },
    "constants": {"usd_per_cpu_hour": 0.0275},
    "replications": 8,
    "requirements": [
        {"title": "Answers in time at 200 a second", "metric": "latency_p99", "at_most": 0.05, "cells": {"rate": 200}},
        {"title": "Small", "metric": "peak_memory", "at_most": 30e6, "systems": ["fast", "slow"]},
    ],
    "knees": [{"title": "99th percentile", "metric": "latency_p99", "at_most": 0.05, "over": "rate"}],
    "assessment": {
        "criteria": {
            "latency": {"metric": "latency_p99", "cells": {"rate": 100}},
            "memory": {"metric": "peak_memory", "thresholds": [1.05, 1.5, 3, 4]},
            "reliable": {"metric": "reliability"},
        }
    },
}  # fmt: skip
MARKS = [("fast", "latency", "++"), ("slow", "memory", "++"), ("broken", "reliable", "-")]


def rows() -> list[dict[str, str]]:
    """The marks that a source is said to give."""
    return [
        {"target": system, "factors": f"criterion={criterion}", "metric": "assessment", "unit": "mark", "value": mark,
         "source": "Example Tab. 1"}
        for system, criterion, mark in MARKS
    ]  # fmt: skip


def run(store: Store, name: str = "demands-1", **changes: Any) -> str:
    """Stores such a run. `broken` gives a wrong answer in every second block."""
    chosen = Experiment.model_validate(SPEC | changes)

    def observe(trial: plan.Trial) -> Outcome:
        draw = random.Random(f"{trial.system} {trial.cell} {trial.replication}")
        if trial.system == "broken" and trial.block % 2:
            return Outcome("wrong", "it answered 41")
        outcome = Outcome("ok")
        outcome.observe("cpu", "s", 0.5, {"phase": "start"})
        for step in plan.steps(chosen, trial.system, trial.cell):
            rate = int(step["rate"])
            limit = LIMIT.get(trial.system, 800)
            base = 0.04 if rate <= limit else 0.2
            outcome.observe("latency_p99", "s", base * draw.uniform(0.97, 1.03), step)
            outcome.observe("throughput", "1/s", float(rate), step)
            outcome.observe("requests", "1", float(rate), step)
            outcome.observe("errors", "1", 0.0, step)
            outcome.observe("cpu", "s", rate * 1e-3, step)
            outcome.observe("cpu_per_request", "s", 1e-3, step)
            memory = {"fast": 20e6, "middle": 25e6, "slow": 62e6}.get(trial.system, 70e6)
            outcome.observe("peak_memory", "B", memory * draw.uniform(0.99, 1.01), step)
        rates = [100.0 + draw.uniform(-1, 1)] * 8 + [200.0 + i % 2 for i in range(16)]
        times = [0.25 * (i + 1) for i in range(len(rates))]
        outcome.series.append(("rate", "1/s", {"phase": "warm-up"}, times, rates))
        return outcome

    return made_runs.make(store, chosen, observe, run=name, reference_rows=rows())
