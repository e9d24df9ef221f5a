"""Reading runs: what counts, what is left out, derived metrics, steps."""

from __future__ import annotations

from typing import Any

import made_runs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff import analysis, formula
from bakeoff.analysis import derived
from bakeoff.experiment import Experiment
from bakeoff.plan import Trial
from bakeoff.store import Store
from bakeoff.store.store import Outcome


def experiment(**changes: Any) -> Experiment:
    return Experiment.model_validate(
        {
            "title": "t",
            "question": "q",
            "systems": ["a", "b"],
            "baseline": "a",
            "factors": {"size": {"levels": [1, 2]}},
            "procedure": {"kind": "exec"},
            "metrics": {"elapsed": {"unit": "s", "better": "lower", "marker": {}}},
            "replications": 4,
        }
        | changes
    )


def outcome(value: float, **labels: str) -> Outcome:
    made = Outcome("ok")
    made.observe("elapsed", "s", value, labels)
    return made


def test_only_good_trials_count(store: Store) -> None:
    def observe(trial: Trial) -> Outcome:
        made = outcome(1.0 + trial.replication)
        if trial.replication == 2:
            made.status, made.reason = "wrong", "pongs is 1 instead of 2"
        if trial.replication == 3:
            made.flags = [("stolen_cpu", "20% was stolen", {}), ("busy", "the host was busy", {})]
        return made

    run = made_runs.make(store, experiment(warm_up=1), observe)
    data = analysis.load(store, run)
    assert data.samples.height == 2 * 2 * 5
    counted = data.samples.filter("counted")
    assert sorted(set(counted["replication"])) == [1, 4]
    found = analysis.analyse(data)
    assert {s.n for s in found.summaries} == {2}
    statuses = {(one.status, one.reason) for one in found.left_out}
    assert statuses == {
        ("wrong", "pongs is 1 instead of 2"),
        ("flagged", "the host was busy; 20% was stolen"),
        ("warm-up", "run first and left out, as the experiment says"),
    }


def test_interrupted_attempts_are_replaced(store: Store) -> None:
    run = made_runs.make(store, experiment(), lambda _trial: outcome(2.0))
    first = store.trials(run)[0]
    from sqlalchemy import update

    from bakeoff.store.tables import trials

    with store.engine.begin() as db:
        db.execute(update(trials).where(trials.c.id == first["id"]).values(status="running"))
    store.reopen(run)
    again = store.planned(run)[0]
    store.begin(run, again, made_runs.STATE)
    store.finish(run, again, outcome(3.0), made_runs.STATE)
    data = analysis.load(store, run)
    assert data.trials.height == 17 and data.trials["counted"].sum() == 16
    assert 3.0 in data.samples.filter("counted")["value"].to_list()
    assert [one.status for one in analysis.analyse(data).left_out] == ["interrupted"]


def test_pairs_are_blocks_that_both_have(store: Store) -> None:
    def observe(trial: Trial) -> Outcome:
        if trial.system == "b" and trial.replication == 1:
            return Outcome("failed", "it broke")
        return outcome(float(trial.replication) * (2 if trial.system == "b" else 1))

    found = analysis.analyse(analysis.load(store, made_runs.make(store, experiment(), observe)))
    assert {c.pairs for c in found.comparisons} == {3}
    assert {c.ratio for c in found.comparisons} == {2.0}
    assert [c.low for c in found.comparisons] == pytest.approx([2.0, 2.0])


def test_steps_are_cells_of_their_own(store: Store) -> None:
    factors = {"size": {"levels": [1]}, "connections": {"within": True, "levels": [10, 20]}}

    def observe(trial: Trial) -> Outcome:
        made = Outcome("ok")
        for connections in (10, 20):
            made.observe("rate", "1/s", 100.0 * connections, {"connections": str(connections)})
            made.observe("cpu", "s", 5.0, {"connections": str(connections)})
            made.observe("cpu", "s", 1.0, {"connections": str(connections), "part": "core"})
        return made

    metrics = {
        "rate": {"unit": "1/s", "better": "higher", "result": "rate"},
        "per_cpu": {"unit": "1/s", "better": "higher", "formula": "rate / cpu / connections"},
    }
    run = made_runs.make(store, experiment(factors=factors, metrics=metrics), observe)
    found = analysis.analyse(analysis.load(store, run))
    assert found.cells == [{"size": "1", "connections": "10"}, {"size": "1", "connections": "20"}]
    assert found.parameters["size=1 connections=20"] == {"size": 1, "connections": 20}
    per_cpu = [s for s in found.summaries if s.group.metric == "per_cpu"]
    assert len(per_cpu) == 4 and {s.median for s in per_cpu} == {20.0}
    assert {s.group.labels for s in found.summaries if s.group.metric == "cpu"} == {"", "part=core"}


def test_derived_metrics_build_on_each_other(store: Store) -> None:
    metrics = {
        "twice": {"unit": "s", "formula": "2 * once"},
        "once": {"unit": "s", "formula": "elapsed * size"},
        "never": {"unit": "s", "formula": "elapsed * major_faults"},
        "elapsed": {"unit": "s", "better": "lower", "marker": {}},
    }
    run = made_runs.make(store, experiment(metrics=metrics, primary="elapsed"), lambda _trial: outcome(3.0))
    samples = analysis.load(store, run).samples
    twice = samples.filter(samples["metric"] == "twice")
    assert sorted(set(twice["value"])) == [6.0, 12.0]
    assert "never" not in set(samples["metric"])


numbers = st.floats(0.1, 100)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=5))
@settings(deadline=None, max_examples=40)
def test_vector_formulas_are_the_plain_ones(rows: list[tuple[float, float]]) -> None:
    columns = {"a": np.array([a for a, _ in rows]), "b": np.array([b for _, b in rows])}
    for text in (
        "a * b + 2",
        "-a / b ** 2",
        "sqrt(a) + log(b)",
        "max(a, b, 3) - min(a, b)",
        "a // b % 3",
        "round(a) + abs(b)",
    ):
        plain = [formula.evaluate(text, {"a": a, "b": b}) for a, b in rows]
        assert derived.evaluate(text, columns, len(rows)) == pytest.approx(plain, rel=1e-9), text


def test_formula_without_a_value_is_nan() -> None:
    assert np.isnan(derived.evaluate("a / b", {"a": np.ones(1), "b": np.zeros(1)}, 1)).all()
    with pytest.raises(ValueError, match="'c', which has no values"):
        derived.evaluate("a + c", {"a": np.ones(1)}, 1)


def test_flagged_step_leaves_the_other_steps(store: Store) -> None:
    factors = {"size": {"levels": [1]}, "rate": {"within": True, "levels": [10, 20]}}

    def observe(trial: Trial) -> Outcome:
        made = outcome(1.0, rate="10")
        made.observe("elapsed", "s", 2.0, {"rate": "20"})
        made.observe("elapsed", "s", 3.0)
        if trial.replication == 1:
            made.flags = [("saturated", "the generator was the bottleneck", {"rate": "20"})]
        return made

    data = analysis.load(store, made_runs.make(store, experiment(factors=factors), observe))
    counted = data.samples.filter("counted")
    assert {value: counted["value"].to_list().count(value) for value in (1.0, 2.0, 3.0)} == {1.0: 8, 2.0: 6, 3.0: 8}
    found = analysis.analyse(data).left_out
    assert sorted((one.system, one.cell["rate"], one.status, one.count) for one in found) == [
        ("a", "20", "flagged", 1),
        ("b", "20", "flagged", 1),
    ]


def test_conditions(paper: Any) -> None:
    assert paper.conditions.stolen_max == 0.004
    assert paper.conditions.load_median == 0.25
    assert paper.conditions.trials == 135


def test_same_run_same_findings(store: Store) -> None:
    rng = np.random.default_rng(1)
    run = made_runs.make(store, experiment(), lambda _trial: outcome(float(rng.uniform(1, 2))))
    once, again = (analysis.analyse(analysis.load(store, run)) for _ in range(2))
    assert once.as_dict() == again.as_dict()
