"""A small run in which everything that a chart or a table writes down is long."""

from __future__ import annotations

from typing import Any

import made_runs

from bakeoff.experiment import Experiment
from bakeoff.plan import Trial
from bakeoff.store import Store
from bakeoff.store.store import Outcome

SYSTEMS = ["a-system-whose-name-nobody-could-ever-shorten", "another-one-that-is-just-as-long-as-it", "c"]
EXPERIMENT: dict[str, Any] = {
    "title": "Do words that are longer than a telephone is wide stay where they belong?",
    "question": "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft, or not?",
    "systems": SYSTEMS,
    "baseline": "c",
    "factors": {
        "workload": {
            "title": "Workload of a long title",
            "levels": ["a-level-of-which-every-word-matters-to-the-reader", "another-level-with-as-many-words"],
        },
        "load": {"title": "Open connections", "within": True, "levels": [1, 1000, 1_000_000]},
    },
    "procedure": {"kind": "exec"},
    "metrics": {
        "rate": {"title": "Right answers", "unit": "1/s", "better": "higher", "result": "rate", "scale": "log"},
        "peak_memory": {},
    },
    "figures": [
        {"title": "Rate over load, in each workload of a long title", "kind": "curve", "metric": "rate", "x": "load"},
        {"title": "Memory", "metric": "peak_memory"},
    ],
    "replications": 6,
}  # fmt: skip


def run(store: Store) -> str:
    """Stores it, with percentiles and a series, and returns its id."""
    experiment = Experiment.model_validate(EXPERIMENT)

    def observe(trial: Trial) -> Outcome:
        outcome = Outcome("ok")
        noise = 1 + trial.replication / 100 + SYSTEMS.index(trial.system)
        for load in (1, 1000, 1_000_000):
            step = {"load": str(load)}
            outcome.observe("rate", "1/s", 1_234_567.0 * load * noise, step)
            for i, name in enumerate(("p50", "p90", "p99")):
                outcome.observe(f"latency_{name}", "s", 0.001 * noise * 10**i, step)
            rates = [900.0 * noise, 1000.0 * load * noise, 1_234_567_890.0]
            outcome.series.append(("rate", "1/s", step, [1.0, 2.0, 3.0], rates))
        outcome.observe("peak_memory", "B", 123_456_789.0 * noise)
        return outcome

    return made_runs.make(store, experiment, observe, run="a-run-that-is-named-as-if-there-were-room-for-all-of-it-1")
