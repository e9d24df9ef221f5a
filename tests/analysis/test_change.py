"""What two runs of one experiment say of each other."""

from __future__ import annotations

import math
import random
from typing import Any

import made_runs
import numpy as np
import pytest
from scipy import stats

from bakeoff.analysis import bootstrap, change, independent, load
from bakeoff.analysis.data import RunData
from bakeoff.errors import BadInput
from bakeoff.experiment import Experiment
from bakeoff.plan import Trial, cell_text
from bakeoff.store import Store
from bakeoff.store.store import Outcome

SMALL: dict[str, Any] = {
    "title": "Small",
    "question": "Which?",
    "systems": ["a", "b"],
    "baseline": "a",
    "factors": {"size": {"levels": {"small": {"count": 3}, "large": {"count": 5}}}},
    "procedure": {"kind": "exec"},
    "metrics": {"elapsed": {"unit": "s", "better": "lower", "marker": {}}, "rate": {"unit": "1/s", "better": "higher",
                "formula": "count / elapsed"}, "peak_memory": {}, "errors": {}},
    "replications": 10,
}  # fmt: skip


def small(**changes: Any) -> Experiment:
    return Experiment.model_validate(SMALL | changes)


def made(
    store: Store,
    run: str,
    times: dict[str, float] | None = None,
    *,
    noise: float = 0.01,
    experiment: Experiment | None = None,
    errors: float = 0.0,
    broken: dict[str, str] | None = None,
    unavailable: dict[str, str] | None = None,
) -> RunData:
    """A run in which each system takes so many seconds, with noise of this deviation."""
    chosen = experiment or small()
    seconds = {"a": 1.0, "b": 2.0} | (times or {})

    def observe(trial: Trial) -> Outcome:
        if broken and trial.system in broken:
            return Outcome("failed", broken[trial.system])
        draw = random.Random(f"{run} {trial.system} {cell_text(trial.cell)} {trial.replication}")
        outcome = Outcome("ok")
        outcome.observe("elapsed", "s", seconds[trial.system] * math.exp(draw.gauss(0, noise)))
        outcome.observe("peak_memory", "B", 1e6)
        outcome.observe("errors", "1", errors)
        return outcome

    return load(store, made_runs.make(store, chosen, observe, run=run, unavailable=unavailable))


def verdicts(found: change.Changes, metric: str) -> dict[tuple[str, str], str]:
    return {(c.group.system, c.group.cell["size"]): c.verdict for c in found.of(metric)}


def test_one_system_has_become_slower(store: Store) -> None:
    found = change.compare(made(store, "one"), made(store, "two", {"b": 2.4}))
    times, rates = verdicts(found, "elapsed"), verdicts(found, "rate")
    assert times == {("a", "small"): "same", ("a", "large"): "same", ("b", "small"): "slower", ("b", "large"): "slower"}
    assert rates["b", "small"] == "slower" and rates["a", "small"] == "same"
    assert set(verdicts(found, "peak_memory").values()) == set(verdicts(found, "errors").values()) == {"same"}
    one = next(c for c in found.of("elapsed") if c.verdict == "slower")
    assert one.low is not None and one.high is not None
    assert 1.15 < one.low < (one.ratio or 0) < one.high < 1.25
    assert one.delta == 1 and one.p_holm is not None and one.p_holm < 0.001 and not one.low_power


def test_the_other_way_round_is_the_inverse(store: Store) -> None:
    one, two = made(store, "one"), made(store, "two", {"b": 2.4})
    for there, back in zip(change.compare(one, two).changes, change.compare(two, one).changes, strict=True):
        assert there.group == back.group and there.p == back.p and there.delta == -back.delta
        if there.ratio and back.ratio and there.low and back.high:
            assert there.ratio == pytest.approx(1 / back.ratio)
            assert there.low == pytest.approx(1 / back.high, rel=0.01)


def test_the_order_of_the_values_says_nothing(store: Store) -> None:
    """The runs are independent samples: which block a value is from does not matter."""
    rng = np.random.default_rng(1)
    new, old = rng.lognormal(0, 0.1, 12), rng.lognormal(0.1, 0.1, 9)
    first = independent.ratio_interval(new, old, 5)
    assert first == independent.ratio_interval(rng.permutation(new), rng.permutation(old), 5)
    assert independent.test(new, old) == independent.test(new[::-1], old[::-1])


def test_the_two_samples_are_drawn_apart() -> None:
    """A run against itself has an interval of some width: nothing pairs the draws of equal places."""
    values = np.random.default_rng(2).lognormal(0, 0.1, 10)
    low, high = independent.ratio_interval(values, values, 1) or (1.0, 1.0)
    assert low < 0.99 and high > 1.01


@pytest.mark.parametrize(("n", "m"), [(5, 5), (10, 10), (5, 20)])
def test_ratio_interval_of_independent_samples_covers_simulated(n: int, m: int, monkeypatch: Any) -> None:
    """The bounds are 93 to 98.5%, with 1% more each for the noise of 1,000 samples."""
    monkeypatch.setattr(bootstrap, "MOST_DRAWS", 1000)
    for cached in (bootstrap.indices, bootstrap._middles, bootstrap._times):
        cached.cache_clear()
    rng = np.random.default_rng([n, m])
    hits = 0
    for _ in range(1000):
        low, high = independent.ratio_interval(rng.lognormal(0, 0.2, n), rng.lognormal(0, 0.2, m), 1) or (0, 0)
        hits += low <= 1 <= high
    for cached in (bootstrap.indices, bootstrap._middles, bootstrap._times):
        cached.cache_clear()
    assert 0.92 <= hits / 1000 <= 0.995


def test_excess_lies_above_zero_where_the_ratio_lies_above_the_limit() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        new, old = rng.lognormal(0.08, 0.05, 8), rng.lognormal(0, 0.05, 8)
        ratio, excess = independent.intervals(new, old, 0.05, 1)
        assert ratio and excess
        if abs(ratio[0] - 1.05) > 1e-3:
            assert (ratio[0] > 1.05) == (excess[0] > 0)


def test_from_zero_there_is_no_ratio_but_a_verdict(store: Store) -> None:
    found = change.compare(made(store, "one"), made(store, "two", errors=3.0))
    errors = found.of("errors")
    assert {c.verdict for c in errors} == {"worse"} and {c.ratio for c in errors} == {None}


def test_few_replications_are_low_power(store: Store) -> None:
    few = small(replications=3)
    found = change.compare(
        made(store, "one", experiment=few), made(store, "two", {"b": 2.4}, experiment=few, noise=0.001)
    )
    assert all(c.low_power for c in found.changes)
    assert verdicts(found, "elapsed")["b", "small"] == "slower", "every value lies beyond every other"


def test_three_values_that_chance_separates_name_no_side() -> None:
    """All of three values lie above all of three others, and Welch's test finds nothing in it."""
    apart = np.array([1.3, 1.9, 4.0]), np.array([0.4, 0.9, 1.2])
    found = independent.test(*apart)
    assert found is not None and not found.ranks and found.p > 0.05 and not found.settles(apart=True, few=True)
    assert found.p == pytest.approx(stats.ttest_ind(*map(np.log, apart), equal_var=False).pvalue)
    close = independent.test(np.array([2.0, 2.01, 2.02]), np.array([1.0, 1.01, 1.02]))
    assert close is not None and close.settles(apart=True, few=True) and not close.settles(apart=True, few=False)
    exact = independent.test(np.array([2.0, 2.0]), np.array([1.0, 1.0]))
    assert exact is not None and exact.p == 0 and independent.test(np.ones(3), np.ones(3)).p == 1  # type: ignore


def test_what_only_one_run_has_is_named_with_its_reason(store: Store) -> None:
    old = made(store, "one")
    new = made(store, "two", broken={"b": "the server ended"})
    found = change.compare(old, new)
    assert {c.group.system for c in found.changes} == {"a"}
    assert {(u.group.system, u.lacking, u.why) for u in found.unshared} == {("b", "new", "failed: the server ended")}
    gone = change.compare(old, made(store, "three", unavailable={"b": "no compiler"}))
    assert {u.why for u in gone.unshared} == {"b is unavailable: no compiler"}
    only = change.compare(old, made(store, "four", experiment=small(systems=["a"])))
    assert {u.why for u in only.unshared} == {"b is not in the run"}


def test_cells_of_one_name_with_other_parameters_are_not_compared(store: Store) -> None:
    other = small(factors={"size": {"levels": {"small": {"count": 3}, "large": {"count": 50}}}})
    found = change.compare(made(store, "one"), made(store, "two", experiment=other))
    assert {c.group.cell["size"] for c in found.changes} == {"small"}
    assert found.not_compared == ["the cell size=large is another one in each run (count 5 and 50)"]
    assert ("factors.size.levels.large.count", 5, 50) in {(d.what, d.old, d.new) for d in found.differences}


def test_a_metric_that_means_something_else_is_not_compared(store: Store) -> None:
    other = small(metrics=SMALL["metrics"] | {"rate": {"unit": "1/s", "better": "higher", "formula": "1 / elapsed"}})
    found = change.compare(made(store, "one"), made(store, "two", experiment=other))
    assert not found.of("rate") and found.not_compared == ["rate is another metric in each run (its formula differs)"]


def test_runs_that_share_nothing_say_what_keeps_them_apart(store: Store) -> None:
    one = made(store, "one", experiment=small(systems=["a"], baseline=None))
    two = made(store, "two", experiment=small(systems=["b"], baseline=None))
    with pytest.raises(BadInput, match=r"no system is in both \(a; b\)"):
        change.compare(one, two)
    with pytest.raises(BadInput, match="one is named twice"):
        change.compare(one, one)
    levels = {"size": {"levels": {"huge": {"count": 7}}}}
    with pytest.raises(BadInput, match=r"no cell is in both \(size=large, size=small; size=huge\)"):
        change.compare(one, made(store, "three", experiment=small(systems=["a"], baseline=None, factors=levels)))
    with pytest.raises(BadInput, match="four has no figure that counts"):
        change.compare(one, made(store, "four", broken={"a": "x", "b": "x"}))
    scaled = {"size": {"levels": {"small": {"count": 4}, "large": {"count": 6}}}}
    with pytest.raises(BadInput, match=r"the cell size=(small|large) is another one"):
        change.compare(one, made(store, "five", experiment=small(factors=scaled)))


def test_runs_of_two_experiments_are_refused(store: Store) -> None:
    one, two = made(store, "one"), made(store, "two")
    two.run["experiment"] = "other"
    with pytest.raises(BadInput, match=r"two experiments: made \(one\) and other \(two\)"):
        change.compare(one, two)


def test_what_differs_is_listed(store: Store) -> None:
    one, two = made(store, "one"), made(store, "two")
    assert not change.compare(one, two).differences
    two.host.update(cpu="Another CPU", kernel="6.2", memory_bytes=two.host["memory_bytes"] + 1000)
    two.run.update(profile="quick", versions={"bakeoff": "0.2.0", "python": "3.11.7"})
    found = change.compare(one, two)
    assert {(d.area, d.what, d.old, d.new) for d in found.differences} == {
        ("host", "cpu", "Example CPU", "Another CPU"),
        ("host", "kernel", "6.1", "6.2"),
        ("run", "profile", "full", "quick"),
        ("versions", "bakeoff", "0.1.0", "0.2.0"),
    }
    assert [d.what for d in found.other_machine] == ["cpu"]


def test_equal_runs_are_seldom_called_different_simulated() -> None:
    """Two runs of one system (deviation 15%, margin 5%), 400 pairs at n = 10: called different in at most 2.5%."""
    from bakeoff.analysis.findings import Group, MetricInfo

    rng = np.random.default_rng(4)
    info = MetricInfo("elapsed", "Elapsed", "s", "lower")
    wrong = 0
    for _ in range(400):
        new, old = ({"values": rng.lognormal(0, 0.15, 10)} for _ in range(2))
        one = change.changed(Group("exec", "a", {}, "elapsed", "s"), new, old, 1)
        wrong += change.judge([one], info, 0.05)[0].verdict not in ("same", "unsure")
    assert wrong <= 10
