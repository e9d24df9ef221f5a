"""The plan: which trials, in which order."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bakeoff import plan, profiles
from bakeoff.experiment import Experiment
from bakeoff.lab import Lab

ROOT = Path(__file__).parent.parent


def make(**changes: object) -> Experiment:
    """A small experiment of two systems and two factors."""
    data: dict[str, object] = {
        "title": "t",
        "question": "q",
        "systems": ["a", "b"],
        "factors": {"x": {"levels": [1, 2, 3]}, "mode": {"levels": ["on", "off"]}},
        "procedure": {"kind": "exec"},
        "metrics": {"cpu": {}},
        "replications": 4,
    }
    return Experiment.model_validate(data | changes)


def keys(trials: list[plan.Trial]) -> list[tuple[str, str]]:
    return [(trial.system, plan.cell_text(trial.cell)) for trial in trials]


def test_paper_profile_of_message_passing() -> None:
    lab = Lab(ROOT)
    trials = plan.make(profiles.resolve(lab.experiment("message-passing"), "paper"))
    assert len(trials) == 3 * 9 * 5
    for block in range(1, 6):
        of_block = keys([trial for trial in trials if trial.block == block])
        assert len(of_block) == len(set(of_block)) == 27, "a block is every cell once"
    assert [trial.block for trial in trials] == sorted(trial.block for trial in trials)


@given(st.integers(0, 2**31))
def test_same_seed_same_order(seed: int) -> None:
    assert plan.make(make(), seed) == plan.make(make(), seed)
    assert keys(plan.make(make(), seed)) != keys(plan.make(make(), seed + 1))


@given(st.integers(0, 2**31), st.sampled_from(["blocks", "random", "fixed"]))
def test_every_cell_as_often_as_replications(seed: int, order: str) -> None:
    trials = plan.make(make(order=order), seed)
    assert set(Counter(keys(trials)).values()) == {4} and len(trials) == 2 * 6 * 4
    assert [trial.position for trial in trials] == list(range(len(trials)))


def test_positions_are_fair() -> None:
    """Over many seeds each system is first in a block about equally often (binomial, 5 standard deviations)."""
    firsts = Counter(plan.make(make(replications=1), seed)[0].system for seed in range(400))
    assert abs(firsts["a"] - 200) < 50


def test_the_order_of_a_seed_never_changes() -> None:
    """A stored seed must give the same plan for ever: this is the order as first released."""
    first = keys(plan.make(make(replications=1), 7))[:3]
    assert first == [("a", "x=3 mode=off"), ("a", "x=2 mode=on"), ("a", "x=2 mode=off")]


def test_warm_up_comes_first_and_is_marked() -> None:
    trials = plan.make(make(warm_up=2))
    assert all(trial.warm_up for trial in trials[:24]) and not any(trial.warm_up for trial in trials[24:])
    assert {trial.replication for trial in trials if trial.warm_up} == {0}


def test_constraints() -> None:
    exclude = make(constraints=[{"exclude": {"system": "a", "x": [2, 3]}}])
    assert len(plan.cells(exclude, "a")) == 2 and len(plan.cells(exclude, "b")) == 6
    only = make(constraints=[{"when": {"mode": "on"}, "only": {"x": 1}}])
    assert {plan.cell_text(cell) for cell in plan.cells(only, "a")} == {
        "x=1 mode=on",
        "x=1 mode=off",
        "x=2 mode=off",
        "x=3 mode=off",
    }


def test_factors_within_are_steps_not_cells() -> None:
    experiment = make(factors={"x": {"levels": [1, 2]}, "rate": {"levels": [10, 20, 30], "within": True}})
    assert len(plan.make(experiment)) == 2 * 2 * 4
    assert [step["rate"] for step in plan.steps(experiment, "a", {"x": "1"})] == ["10", "20", "30"]


def test_builds_are_trials_of_their_own() -> None:
    trials = plan.make(make(builds={"replications": 6}))
    builds = [trial for trial in trials if trial.procedure == "build"]
    assert Counter(trial.system for trial in builds) == {"a": 6, "b": 6}
    assert len(trials) == 48 + 12


def test_factors_of_builds_are_built_apart() -> None:
    only = [{"exclude": {"system": "b", "mode": "off"}}]
    trials = plan.make(make(replications=1, builds={"replications": 2, "factors": ["mode"]}, constraints=only))
    built = [trial for trial in trials if trial.procedure == "build"]
    often = Counter((trial.system, trial.cell["mode"]) for trial in built)
    assert often == {("a", "on"): 2, ("a", "off"): 2, ("b", "on"): 2}
    assert all(set(trial.cell) == {"mode"} and trial.parameters == {"mode": trial.cell["mode"]} for trial in built)
    assert {trial.block for trial in built} == {1, 2}


def test_a_level_may_set_a_parameter_to_another_one() -> None:
    factors = {
        "program": {"levels": {"sum": {"n": "{terms}"}, "copy": {"n": "{bytes}"}, "none": {"n": "{unknown}"}}},
        "size": {"levels": {"small": {"terms": 3, "bytes": 8}, "large": {"terms": 30, "bytes": 800}}},
    }
    trials = plan.make(make(factors=factors, replications=1, systems=["a"]))
    found = {(t.cell["program"], t.cell["size"]): t.parameters["n"] for t in trials}
    assert found["sum", "small"] == 3 and found["copy", "large"] == 800 and found["none", "large"] == "{unknown}"


def test_level_values_become_parameters() -> None:
    experiment = make(factors={"set": {"levels": {"s1": {"workers": 10, "pings": 5}}}, "rate": {"levels": [100]}})
    trial = plan.make(experiment)[0]
    assert trial.parameters == {"workers": 10, "pings": 5, "rate": 100}
    assert trial.cell == {"set": "s1", "rate": "100"}


def test_profile_scales_levels_and_keeps_their_names() -> None:
    experiment = make(
        factors={"set": {"levels": {"s1": {"workers": 10, "pings": 5}, "s2": {"workers": 20, "pings": 5}}}},
        profiles={"small": {"replications": 1, "factors": {"set": {"levels": {"s2": {"pings": 1}}}}}},
    )
    trials = plan.make(profiles.resolve(experiment, "small"))
    assert [trial.parameters for trial in trials] == [{"workers": 20, "pings": 1}] * 2
    assert {trial.cell["set"] for trial in trials} == {"s2"}
