"""Runs made for the tests: trials with chosen values, written through the store's own interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bakeoff import plan, references, yamlfile
from bakeoff.experiment import Experiment
from bakeoff.profiles import resolve
from bakeoff.store import Store
from bakeoff.store.store import Outcome

LAB = Path(__file__).parents[2]
MESSAGE_PASSING = LAB / "experiments/message-passing"
SOURCE = "Rego 2021 Tab. 1"

HOST = {
    "hostname": "bench",
    "cpu": "Example CPU",
    "cpus": 2,
    "kernel": "6.1",
    "system": "Debian 12",
    "memory_bytes": 8 * 2**30,
    "cgroup": "v2",
    "hypervisor": True,
}
STATE = {"load": [0.25, 0.2, 0.1], "cpu_ticks": {"user": 1, "steal": 0}}

Observe = Callable[[plan.Trial], Outcome]


def make(
    store: Store,
    experiment: Experiment,
    observe: Observe,
    *,
    run: str = "made-1",
    reference_rows: list[dict[str, Any]] | None = None,
    unavailable: Mapping[str, str] | None = None,
    title: str = "Title of {}",
) -> str:
    """Stores a run of an experiment, each planned trial with the outcome that `observe` gives it."""
    missing = unavailable or {}
    systems = [
        {
            "system": name,
            "system_yaml": yamlfile.dump({"title": title.format(name), "about": f"About {name}."}),
            "status": "unavailable" if name in missing else "ready",
            "reason": missing.get(name),
            "version": None if name in missing else "1.2.3",
            "tools": {"go": "1.25.0"},
            "key": None,
            "receipt": None,
        }
        for name in experiment.systems
    ]
    row = {
        "id": run,
        "experiment": "made",
        "profile": None,
        "seed": experiment.seed,
        "status": "running",
        "created_at": 1_760_000_000.0,
        "lab_root": "/nowhere",
        "command": "bakeoff run made --profile quick",
        "experiment_yaml": yamlfile.dump(experiment.model_dump(mode="json", by_alias=True)),
        "readme": None,
        "reference_rows": reference_rows or [],
        "versions": {"bakeoff": "0.1.0", "python": "3.11.7"},
    }
    store.create_run(row, systems, plan.make(experiment), HOST)
    for planned in store.planned(run):
        store.begin(run, planned, STATE)
        trial = planned.trial
        outcome = Outcome("unavailable", missing[trial.system]) if trial.system in missing else observe(trial)
        store.finish(run, planned, outcome, STATE)
    store.set_run(run, status="done", ended_at=1_760_003_600.0)
    return run


def values(chosen: Mapping[tuple[str, str], list[float]], metric: str = "elapsed", unit: str = "s") -> Observe:
    """Outcomes that take the value of (system, text of the cell) at the trial's replication, counted from 1."""

    def observe(trial: plan.Trial) -> Outcome:
        outcome = Outcome("ok")
        outcome.observe(metric, unit, chosen[trial.system, plan.cell_text(trial.cell)][trial.replication - 1])
        outcome.observe("stolen_cpu", "1", 0.004)
        return outcome

    return observe


def paper_rows() -> list[dict[str, str]]:
    """The published figures of message-passing."""
    return references.read(MESSAGE_PASSING / "reference.csv")


def paper_times() -> dict[tuple[str, str], list[float]]:
    """The paper's raw times in seconds by system and cell, in the order of the replications."""
    times: dict[tuple[str, str], list[float]] = {}
    for row in paper_rows():
        if row["metric"] == "elapsed":
            level = row["factors"].split()[0]
            times.setdefault((row["target"], level), []).append(float(row["value"]))
    return times


def message_passing(profile: str = "paper") -> Experiment:
    """The experiment with the paper's three systems only."""
    whole = yamlfile.load(MESSAGE_PASSING / "experiment.yaml", Experiment)
    chosen = ["goroutines", "http-services", "uds-services"]
    return resolve(whole.model_copy(update={"systems": chosen}), profile)


def paper_run(store: Store) -> str:
    """All raw times of the paper as a run."""
    return make(store, message_passing(), values(paper_times()), run="paper-1", reference_rows=paper_rows())
