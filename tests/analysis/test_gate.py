"""The rules of `bakeoff check`: how they are read, and what they say of runs."""

from __future__ import annotations

import random
from typing import Any

import made_runs
import pytest
from test_change import SMALL, made, small

from bakeoff import analysis
from bakeoff.analysis import gate, rules
from bakeoff.analysis.findings import MetricInfo
from bakeoff.errors import BadInput
from bakeoff.plan import Trial
from bakeoff.store import Store
from bakeoff.store.store import Outcome

KNOWN = {
    "latency_p99": MetricInfo("latency_p99", "p99", "s", "lower"),
    "throughput": MetricInfo("throughput", "Throughput", "1/s", "higher"),
    "peak_memory": MetricInfo("peak_memory", "Memory", "B", "lower"),
    "memory": MetricInfo("memory", "Memory", "B", "lower"),
    "error_rate": MetricInfo("error_rate", "Error rate", "1", "lower"),
    "requests": MetricInfo("requests", "Requests", "1", "neither"),
}


def read(text: str) -> rules.Rule:
    return rules.resolve(rules.parse(text), KNOWN)


@pytest.mark.parametrize(
    ("text", "metric", "above", "share", "bound"),
    [
        ("latency_p99 > +10%", "latency_p99", True, 0.1, None),
        ("  p99>+10 % ", "latency_p99", True, 0.1, None),
        ("throughput < -5%", "throughput", False, -0.05, None),
        ("latency_p99 > -5%", "latency_p99", True, -0.05, None),
        ("requests > +1.5%", "requests", True, 0.015, None),
        ("requests < -1.5%", "requests", False, -0.015, None),
        ("error_rate > 0", "error_rate", True, None, 0.0),
        ("p99 > 50ms", "latency_p99", True, None, 0.05),
        ("peak_memory > 1.5 MiB", "peak_memory", True, None, 1.5 * 2**20),
        ("memory > 3GB", "memory", True, None, 3e9),
        ("throughput < 1e3", "throughput", False, None, 1000.0),
        ("throughput < 1000 1/s", "throughput", False, None, 1000.0),
        ("failed_trials > 0", "failed_trials", True, None, 0.0),
    ],
)
def test_rules_are_read_as_they_stand(text: str, metric: str, above: bool, share: float, bound: float) -> None:
    rule = read(text)
    assert (rule.metric, rule.above, rule.share, rule.bound) == (metric, above, pytest.approx(share), bound)


def test_a_rule_may_name_a_system_and_levels() -> None:
    rule = read("median latency_p99 of go:fast-1.2 in workload=hello connections=50 > 9ms")
    assert rule.median and rule.system == "go:fast-1.2" and rule.cell == {"workload": "hello", "connections": "50"}
    assert rule.fits("go:fast-1.2", {"workload": "hello", "connections": "50", "keepalive": "on"})
    assert not rule.fits("go:fast-1.2", {"workload": "hello", "connections": "100"})
    assert not rule.fits("go", {"workload": "hello", "connections": "50"})


@pytest.mark.parametrize(
    ("text", "problem", "mend"),
    [
        ("latency_p99", "this is no rule", "write such as"),
        ("> +10%", "this is no rule", "write such as"),
        ("latency_p99 >= +10%", "this is no rule", "write such as"),
        ("latency_p99 > 10%", "a change has a sign", "+10%"),
        ("throughput < -100%", "nothing falls by 100%", "-10%"),
        ("latency_p99 > soon", "neither a change nor a bound", "write such as"),
        ("latency_p9 > +10%", "no metric 'latency_p9'", "did you mean 'latency_p99'"),
        ("colour > +10%", "no metric 'colour'", "bakeoff show"),
        ("latency_p99 < -10%", "fail a run for being better", "latency_p99 > +10%"),
        ("throughput > +10%", "fail a run for being better", "throughput < -10%"),
        ("throughput > 1000", "fail a run for being better", "throughput <"),
        ("latency_p99 > 50", "has no unit", "50ms"),
        ("latency_p99 > 50MB", "is in s, not in MB", "that unit"),
        ("failed_trials > +10%", "no percentage", "failed_trials > 0"),
    ],
)
def test_bad_rules_say_how_to_mend_them(text: str, problem: str, mend: str) -> None:
    with pytest.raises(BadInput) as error:
        read(text)
    assert problem in error.value.problem and text in error.value.problem and mend in error.value.mend


def test_an_ending_that_several_metrics_have_is_refused() -> None:
    known = KNOWN | {"start_p99": MetricInfo("start_p99", "p99", "s", "lower")}
    with pytest.raises(BadInput, match="latency_p99, start_p99"):
        rules.resolve(rules.parse("p99 > +1%"), known)


def outcomes(found: gate.Check) -> dict[str, set[str]]:
    by_system: dict[str, set[str]] = {}
    for one in found.judgements:
        by_system.setdefault(one.group.system, set()).add(one.outcome)
    return by_system


def test_a_planted_regression_of_ten_percent_fails(store: Store) -> None:
    old, new = made(store, "one"), made(store, "two", {"b": 2.2})
    found = gate.check(old, new, ["elapsed > +5%", "rate < -5%", "peak_memory > +5%", "errors > 0"])
    assert not found.passed and outcomes(found) == {"a": {"pass"}, "b": {"fail", "pass"}}
    failed = [one for one in found.judgements if one.outcome == "fail"]
    assert {one.rule.metric for one in failed} == {"elapsed", "rate"} and len(failed) == 4
    one = failed[0]
    assert one.share == pytest.approx(0.1, abs=0.02) and one.low is not None and one.low > 0.05
    assert one.old == pytest.approx(2, rel=0.02) and one.limit == pytest.approx(2.1, rel=0.02)
    assert "+" in one.said and "95% interval" in one.said
    assert gate.check(old, new, ["elapsed of a > +5%"]).passed
    assert not gate.check(old, new, ["elapsed of b in size=small > +5%"]).passed


def test_an_improvement_passes(store: Store) -> None:
    old, new = made(store, "one"), made(store, "two", {"b": 1.5})
    assert gate.check(old, new, ["elapsed > +5%", "rate < -5%"]).outcomes() == {"fail": 0, "unsure": 0, "pass": 8}


def test_a_demanded_improvement_that_is_not_there_fails(store: Store) -> None:
    found = gate.check(made(store, "one"), made(store, "two"), ["elapsed > -5%"])
    assert found.outcomes() == {"fail": 4, "unsure": 0, "pass": 0}


def test_what_the_replications_leave_open_is_unsure(store: Store) -> None:
    old, new = made(store, "one", noise=0.2), made(store, "two", noise=0.2)
    loose, strict = (gate.check(old, new, ["elapsed > +1%"], strict) for strict in (False, True))
    assert loose.outcomes()["unsure"] and not loose.outcomes()["fail"]
    assert loose.passed and not strict.passed
    assert any("leave open" in one.said for one in loose.judgements)


def test_two_replications_never_fail_a_change_and_three_may(store: Store) -> None:
    for n, expected in ((2, "unsure"), (3, "fail")):
        size = small(replications=n)
        old = made(store, f"one-{n}", experiment=size, noise=0.001)
        new = made(store, f"two-{n}", {"b": 3.0}, experiment=size, noise=0.001)
        found = gate.check(old, new, ["elapsed of b > +5%"])
        assert {one.outcome for one in found.judgements} == {expected}
        assert all(one.low_power and "low power" in one.said for one in found.judgements)


def test_from_zero_any_percentage_is_broken(store: Store) -> None:
    found = gate.check(made(store, "one"), made(store, "two", errors=2.0), ["errors > +10%"])
    assert found.outcomes()["fail"] == 4
    assert gate.check(made(store, "three"), made(store, "four"), ["errors > +10%"]).outcomes()["pass"] == 4


def test_each_replication_must_hold_a_bound_and_failed_requests_count(store: Store) -> None:
    """A trial that is left out of the findings because requests failed is what a bound on errors is about."""

    def observe(trial: Trial) -> Outcome:
        outcome = Outcome("ok")
        bad = trial.replication == 4 and trial.system == "b" and trial.cell["size"] == "small"
        outcome.observe("elapsed", "s", 1.0 + 0.001 * random.Random(str(trial)).random())
        outcome.observe("errors", "1", 7.0 if bad else 0.0)
        if bad:
            outcome.flags.append(("errors", "7 requests failed", {}))
        if trial.replication == 5:
            outcome.observe("peak_memory", "B", 9e9)
            outcome.flags.append(("stolen_cpu", "too much", {}))
        else:
            outcome.observe("peak_memory", "B", 1e6)
        return outcome

    new = analysis.load(store, made_runs.make(store, small(), observe, run="new"))
    old = made(store, "old")
    found = gate.check(old, new, ["errors > 0", "median errors > 0", "peak_memory > 1GB"])
    failed = [one for one in found.judgements if one.outcome == "fail"]
    assert [(one.rule.text, one.group.system, one.group.cell["size"]) for one in failed] == [
        ("errors > 0", "b", "small")
    ]
    assert failed[0].failing == 1 and "1 of 9 replications beyond the bound, the worst at 7" in failed[0].said


def test_the_median_of_a_bound_is_judged_by_its_interval(store: Store) -> None:
    old, new = made(store, "one"), made(store, "two", {"a": 1.0, "b": 1.1}, noise=0.02)
    found = gate.check(old, new, ["median elapsed > 1.05s"])
    assert outcomes(found) == {"a": {"pass"}, "b": {"fail"}}
    assert outcomes(gate.check(old, new, ["median elapsed of a > 1s"]))["a"] <= {"unsure", "pass"}


def test_a_system_that_no_longer_works_fails(store: Store) -> None:
    old, new = made(store, "one"), made(store, "two", broken={"b": "it fell over"})
    found = gate.check(old, new, ["elapsed > +5%", "median elapsed > 9s", "errors > 0"])
    assert outcomes(found) == {"a": {"pass"}, "b": {"fail"}}
    assert all("no figure to judge: failed: it fell over" in j.said for j in found.judgements if j.outcome == "fail")
    assert any("20 of 20 trials of b ended badly (failed: it fell over)" in said for said in found.warnings)


def test_failed_trials_are_a_rule_of_their_own(store: Store) -> None:
    old, new = made(store, "one"), made(store, "two", broken={"b": "it fell over"})
    found = gate.check(old, new, ["failed_trials > 0"])
    assert outcomes(found) == {"a": {"pass"}, "b": {"fail"}}
    assert "20 of 20 trials ended badly (failed: it fell over)" in found.judgements[1].said
    assert gate.check(old, new, ["failed_trials of b > 20"]).passed
    with pytest.raises(BadInput, match="counted by system"):
        gate.check(old, new, ["failed_trials of c > 0"])


def test_rules_about_nothing_are_bad_input(store: Store) -> None:
    old, new = made(store, "one"), made(store, "two")
    for rule in ("elapsed of c > +5%", "elapsed in size=huge > +5%", "elapsed in colour=red > 3s"):
        with pytest.raises(BadInput, match="no figure of one fits"):
            gate.check(old, new, [rule])


def test_cells_that_cannot_be_compared_are_unsure(store: Store) -> None:
    other = small(factors={"size": {"levels": {"small": {"count": 3}, "large": {"count": 50}}}})
    found = gate.check(made(store, "one"), made(store, "two", experiment=other), ["elapsed > +5%"])
    assert found.outcomes() == {"fail": 0, "unsure": 2, "pass": 2}
    assert any("count 5 and 50" in one.said for one in found.judgements)


def test_other_machines_and_new_systems_are_warned_of(store: Store) -> None:
    old = made(store, "one", experiment=small(systems=["a"], baseline=None))
    new = made(store, "two")
    new.host["cpu"] = "Another CPU"
    found = gate.check(old, new, ["elapsed > +5%"])
    assert found.passed and outcomes(found) == {"a": {"pass"}}
    assert any("different machines (cpu)" in said for said in found.warnings)
    assert any("only in two" in said and "b size=large" in said for said in found.warnings)


def test_holm_is_over_all_changes_of_the_check(store: Store) -> None:
    """The same change that fails alone is not settled among very many rules at n = 6, unless all values lie apart."""
    size = small(
        replications=6, systems=["a"], baseline=None, factors={}, metrics={"elapsed": SMALL["metrics"]["elapsed"]}
    )
    times = [1.00, 1.01, 1.02, 1.03, 1.04, 1.05]

    def run(name: str, values: list[float]) -> Any:
        observe = made_runs.values({("a", ""): values})
        return analysis.load(store, made_runs.make(store, size, observe, run=name))

    old, new = run("one", times), run("two", [1.045, 1.12, 1.13, 1.14, 1.15, 1.16])
    assert not gate.check(old, new, ["elapsed > +1%"]).passed
    many = gate.check(old, new, ["elapsed > +1%"] * 30)
    assert many.passed and many.outcomes()["unsure"] == 30 and all(one.low_power for one in many.judgements)
    apart = run("three", [1.11, 1.12, 1.13, 1.14, 1.15, 1.16])
    assert not gate.check(old, apart, ["elapsed > +1%"] * 30).passed
