"""One rule in one cell: whether it passes, fails, or cannot be told yet."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bakeoff.analysis import bootstrap, comparison, independent, summary
from bakeoff.analysis.findings import Group
from bakeoff.analysis.numbers import count, number, scale
from bakeoff.analysis.rules import Rule

Vector = NDArray[np.float64]
LEAST = 3  # replications of each run for a change to fail: two of each lie apart by chance in one of six cases


@dataclass(frozen=True)
class Judgement:
    """One rule in one cell: `outcome` is pass, fail or unsure, and `said` says why in one sentence.

    `old`, `new` and `limit` are in the group's unit; `share` is the change of the medians (0.1 is +10%), with its 95%
    interval. `failing` is how many replications lie beyond a bound, or how many trials failed.
    """

    rule: Rule
    group: Group
    outcome: str
    said: str
    n_old: int = 0
    n_new: int = 0
    old: float | None = None
    new: float | None = None
    limit: float | None = None
    share: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    low_power: bool = False
    failing: int | None = None


@dataclass(frozen=True)
class Tested:
    """A change before the tests of all changes are known."""

    judgement: Judgement  # pass or unsure
    beyond: bool  # the whole interval lies beyond the limit
    apart: bool  # every value lies beyond what every old value allows
    test: independent.Test | None


def of_change(rule: Rule, group: Group, old: Vector, new: Vector, seed: int) -> Tested:
    """A change of the median against the limit that the rule sets.

    It passes if the 95% interval of the median's excess over the limit lies within the limit. The test is whether the
    new values tend to lie beyond the old ones moved to the limit.
    """
    assert rule.share is not None
    medians = float(np.median(old)), float(np.median(new))
    interval, excess = independent.intervals(new, old, rule.share, seed)
    limits = independent.limit(old, rule.share)
    test = independent.test(new, limits)
    side = 1 if rule.above else -1
    within = excess is not None and max(side * bound for bound in excess) <= 0
    beyond = excess is not None and min(side * bound for bound in excess) > 0
    judged = Judgement(
        rule=rule,
        group=group,
        outcome="pass" if within else "unsure",
        said="",
        n_old=len(old),
        n_new=len(new),
        old=medians[0],
        new=medians[1],
        limit=float(np.median(limits)),
        share=medians[1] / medians[0] - 1 if medians[0] > 0 else None,
        low=interval[0] - 1 if interval else None,
        high=interval[1] - 1 if interval else None,
        p=test.p if test else None,
        low_power=min(len(old), len(new)) < summary.ENOUGH,
    )
    apart = side * comparison.cliffs_delta(new, limits) == 1
    return Tested(judged, beyond and min(len(old), len(new)) >= LEAST, apart, test)


def settle(tested: list[Tested]) -> list[Judgement]:
    """The judgements of all changes of a check, p corrected by Holm's method over all of them.

    A change fails if the whole interval lies beyond the limit and Holm's p is below 5%, or the test settles it
    (`independent.Test`): where power is low it is enough that every new value lies beyond what every old one allows.
    """
    with_p = [i for i, one in enumerate(tested) if one.judgement.p is not None]
    holm = dict(zip(with_p, comparison.holm([tested[i].judgement.p or 0.0 for i in with_p]), strict=True))
    settled = []
    for i, one in enumerate(tested):
        smallest = one.test.smallest if one.test else 1.0
        few = one.judgement.low_power or smallest * len(with_p) > comparison.ALPHA
        judged = replace(one.judgement, p_holm=holm.get(i), low_power=few)
        sure = holm.get(i, 1.0) < comparison.ALPHA or (one.test is not None and one.test.settles(one.apart, few))
        judged = replace(judged, outcome="fail") if one.beyond and sure else judged
        settled.append(replace(judged, said=_change_said(judged)))
    return settled


def _change_said(one: Judgement) -> str:
    unit = scale(one.group.unit, [one.old, one.new])
    label = f" {unit.unit}" if unit.unit else ""
    said = f"the median went from {number(unit.of(one.old))} to {number(unit.of(one.new))}{label}"
    if one.share is not None:
        said += f", {one.share:+.1%}"
        if one.low is not None and one.high is not None:
            said += f" (95% interval {one.low:+.1%} to {one.high:+.1%})"
    if one.outcome == "unsure":
        said += "; the replications leave open on which side of the limit it is"
    return said + (f"; low power with {one.n_old} and {one.n_new} replications" if one.low_power else "")


def of_bound(rule: Rule, group: Group, values: Vector, seed: int) -> Judgement:
    """A bound that each replication must hold."""
    assert rule.bound is not None
    if rule.median:
        return _of_median(rule, group, values, seed)
    side = 1 if rule.above else -1
    beyond = int(np.sum(side * (values - rule.bound) > 0))
    worst = float(values.max() if rule.above else values.min())
    many = count(len(values), "replication")
    said = f"{beyond} of {many} beyond the bound, the worst at {_text(group, worst)}"
    outcome = "fail" if beyond else "pass"
    middle = float(np.median(values))
    return Judgement(rule, group, outcome, said, n_new=len(values), new=middle, limit=rule.bound, failing=beyond)


def _of_median(rule: Rule, group: Group, values: Vector, seed: int) -> Judgement:
    """A bound that the median must hold, judged by its 95% interval."""
    assert rule.bound is not None
    side = 1 if rule.above else -1
    middle, few = float(np.median(values)), summary.low_power(len(values))
    interval = bootstrap.bca(values, seed)
    over = [side * (bound - rule.bound) for bound in interval] if interval else [-1.0, 1.0]
    outcome = "fail" if min(over) > 0 else "pass" if max(over) <= 0 else "unsure"
    said = f"the median is {_text(group, middle)}"
    if interval:
        said += f" (95% interval {_text(group, interval[0])} to {_text(group, interval[1])})"
    said += f"; low power with {count(len(values), 'replication')}" if few else ""
    return Judgement(rule, group, outcome, said, n_new=len(values), new=middle, limit=rule.bound, low_power=few)


def _text(group: Group, value: float) -> str:
    unit = scale(group.unit, [value])
    return f"{number(unit.of(value))} {unit.unit}".strip()
