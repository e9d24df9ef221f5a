"""Figures of metrics that only builds observe, or only the trials in which calls are counted."""

from __future__ import annotations

from typing import Any

import made_runs
import pytest

from bakeoff import analysis, plan
from bakeoff.analysis.data import RunData
from bakeoff.experiment import Experiment
from bakeoff.report import figures, markdown, rows
from bakeoff.store import Store
from bakeoff.store.store import Outcome

SECONDS = {"a": 2.0, "b": 3.5}
REFERENCES: list[dict[str, Any]] = [
    {"metric": "wasi_calls_vs_a", "target": "b", "factors": f"level=full size={size}", "value": value, "unit": "ratio"}
    for size, value in (("small", "1.02"), ("large", "2.0"))
]


@pytest.fixture
def data(store: Store) -> RunData:
    """Two systems, compiled at two levels and run with counted calls; the large calls of `b` failed."""

    def observe(trial: plan.Trial) -> Outcome:
        if trial.procedure == "build":
            outcome = Outcome("ok")
            outcome.observe("build_time", "s", SECONDS[trial.system] + trial.replication / 100)
        elif trial.procedure == "calls":
            lost = trial.system == "b" and trial.cell["size"] == "large"
            outcome = Outcome("failed", "it ended with 1") if lost else Outcome("ok")
            if not lost:
                outcome.observe("wasi_calls", "1", 123)
        else:
            outcome = Outcome("ok")
            outcome.observe("execution", "s", 1.0 + trial.replication / 10)
        return outcome

    experiment = Experiment.model_validate(
        {
            "title": "T", "question": "Q?", "systems": ["a", "b"], "baseline": "a", "replications": 3,
            "factors": {"level": {"levels": ["none", "full"]}, "size": {"levels": ["small", "large"]}},
            "procedure": {"kind": "wasm"}, "primary": "execution",
            "builds": {"replications": 2, "factors": ["level"]},
            "metrics": {"execution": {}, "build_time": {}, "wasi_calls": {}},
            "figures": [
                {"title": "Compiling", "kind": "points", "metric": "build_time", "where": {"level": "full"}},
                {"title": "Calls", "kind": "points", "metric": "wasi_calls", "where": {"level": "full"}},
            ],
        }
    )  # fmt: skip
    return analysis.load(store, made_runs.make(store, experiment, observe, reference_rows=REFERENCES))


def test_a_figure_shows_what_only_builds_observe(data: RunData) -> None:
    found = {figure.title: figure for figure in figures.figures(analysis.analyse(data), data)}
    drawn = found["Compiling"].wide[0]
    assert "2.015" in drawn and "3.515" in drawn  # the medians of two builds each
    assert "Build time" not in found  # which would put the builds of all levels together


def test_a_figure_of_calls_names_the_system_whose_calls_could_not_be_counted(data: RunData) -> None:
    found = {figure.title: figure for figure in figures.figures(analysis.analyse(data), data)}
    drawn = found["Calls"].wide[0]
    assert drawn.count(">123<") == 3 and drawn.count(">failed<") == 1


def test_markdown_has_their_tables(data: RunData) -> None:
    text = markdown.text(analysis.analyse(data))
    assert "2.015" in text and "3.515" in text


def test_counts_without_an_interval_are_the_same_within_the_margin(data: RunData) -> None:
    verdicts = {r.cell: r.verdict for r in analysis.analyse(data).references}
    assert verdicts == {"level=full size=small": "reproduced", "level=full size=large": "not comparable"}


def test_a_cell_does_not_tell_what_a_level_passes_on(store: Store) -> None:
    def observe(trial: plan.Trial) -> Outcome:
        outcome = Outcome("ok")
        outcome.observe("execution", "s", 1.0 + trial.replication / 10)
        return outcome

    experiment = Experiment.model_validate(
        {
            "title": "T", "question": "Q?", "systems": ["a"], "replications": 1, "procedure": {"kind": "exec"},
            "factors": {
                "program": {"levels": {"fib": {"n": "{deep}"}, "split": {"n": "{lines}"}}},
                "size": {"levels": {"small": {"deep": 5, "lines": 1000}, "large": {"deep": 35, "lines": 9000}}},
            },
            "metrics": {"execution": {"unit": "s"}}, "primary": "execution",
        }
    )  # fmt: skip
    found = analysis.analyse(analysis.load(store, made_runs.make(store, experiment, observe)))
    told = {rows.cell_title(found, cell) for cell in found.cells}
    assert ("program fib, size large", "n 35") in told and ("program split, size small", "n 1,000") in told
