"""One system against another in one cell: ratio, rank test, effect size, verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from bakeoff.analysis import bootstrap, ranks
from bakeoff.analysis.findings import Comparison, Group, MetricInfo

Vector = NDArray[np.float64]

ALPHA = 0.05
SIGNED_RANK_FROM = 10  # pairs; below this the rank sum test can reach smaller p
RATES = ("1/s",)
TIMES = ("s", "ms", "us", "µs", "ns", "min")


def cliffs_delta(ours: Vector, theirs: Vector) -> float:
    """P(ours > theirs) - P(ours < theirs), from -1 to 1 (Cliff 1993, Psychological Bulletin 114)."""
    return ordered_delta(np.sort(ours), np.sort(theirs))


def ordered_delta(ours: Vector, theirs: Vector) -> float:
    """Cliff's delta of values that are in order; the search then stays in the cache."""
    below = np.searchsorted(theirs, ours, side="left")
    tied = bool((theirs[np.minimum(below, len(theirs) - 1)] == ours).any())
    up_to = np.searchsorted(theirs, ours, side="right") if tied else below
    return float(np.sum(below + up_to - len(theirs)) / (len(ours) * len(theirs)))


@dataclass(frozen=True)
class RankTest:
    """A test's name, its two-sided p, and the smallest p that it could give for these sizes."""

    name: str
    p: float
    smallest: float


def rank_test(ours: Vector, theirs: Vector) -> RankTest | None:
    """Tests whether one system's values tend to be higher; the values are paired by block. None below 2 pairs.

    From 10 pairs on the signed-rank test of the log ratios (Wilcoxon 1945, Biometrics 1); with fewer the rank sum test
    (Mann & Whitney 1947, Ann. Math. Stat. 18), which does not use the pairs and can tell more from few values. Below 4
    no rank test can reach 5%: there it is Student's t of the logarithms.
    """
    n = len(ours)
    if n < 2:
        return None
    if n < ranks.RANKS_FROM and (ours > 0).all() and (theirs > 0).all():
        return RankTest(ranks.LOG_T, float(ranks.log_t(ours, theirs)), 0.0)
    if n >= SIGNED_RANK_FROM and (ours > 0).all() and (theirs > 0).all():
        differences = np.log(ours) - np.log(theirs)
        smallest = 2.0 ** (1 - n)
        if not differences.any():
            return RankTest("signed-rank", 1.0, smallest)
        return RankTest("signed-rank", ranks.signed_rank(differences), smallest)
    smallest = 2.0 / float(comb(2 * n, n))
    return RankTest("rank sum", ranks.rank_sum(ours, theirs), smallest)


def holm(p: list[float]) -> list[float]:
    """p values corrected for their number, in the order given (Holm 1979, Scand. J. Stat. 6)."""
    order = np.argsort(p)
    corrected = np.empty(len(p))
    raised = (len(p) - np.arange(len(p))) * np.asarray(p, dtype=np.float64)[order]
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, raised))
    return [float(value) for value in corrected]


def compare(group: Group, baseline: str, ours: Vector, theirs: Vector, seed: int) -> tuple[Comparison, Vector | None]:
    """Compares values paired by block; the verdict comes later, when all tests of the family are known.

    Returns the comparison with its p as the test gave it, and the resampled log ratios. Values that are not all above
    zero have none, and no interval.
    """
    resampled: Vector | None = None
    low = high = None
    if len(ours) > 1 and (ours > 0).all() and (theirs > 0).all():
        resampled = bootstrap.log_ratios(ours, theirs, seed)
        low, high = (float(np.exp(bound)) for bound in bootstrap.percentile(resampled))
    test = rank_test(ours, theirs)
    comparison = Comparison(
        group=group,
        baseline=baseline,
        pairs=len(ours),
        ratio=_ratio(float(np.median(ours)), float(np.median(theirs))),
        low=low,
        high=high,
        ratio_of_means=_ratio(float(np.mean(ours)), float(np.mean(theirs))),
        delta=cliffs_delta(ours, theirs),
        test=test.name if test else "none",
        p=test.p if test else None,
        p_holm=None,
        verdict="unsure",
        low_power=True,
    )
    return comparison, resampled


def _ratio(ours: float, theirs: float) -> float | None:
    return ours / theirs if ours > 0 and theirs > 0 else None


@lru_cache
def _smallest(test: str, n: int) -> float:
    """The smallest p that n pairs can give; for t, which has none, that of the rank sum test."""
    return 2.0 ** (1 - n) if test == "signed-rank" else 2.0 / float(comb(2 * n, n))


def judge(family: list[Comparison], metric: MetricInfo, margin: float) -> list[Comparison]:
    """The comparisons of one metric with one baseline, with corrected p values, power and verdicts."""
    tested = [index for index, comparison in enumerate(family) if comparison.p is not None]
    corrected = dict(zip(tested, holm([family[index].p or 0.0 for index in tested]), strict=True))
    judged = []
    for index, comparison in enumerate(family):
        smallest = _smallest(comparison.test, comparison.pairs)
        low_power = comparison.pairs < 6 or smallest * len(tested) > ALPHA
        known = replace(comparison, p_holm=corrected.get(index), low_power=low_power)
        said = verdict(known, metric, margin)
        if said != "same" and known.test == ranks.LOG_T and (known.p or 0.0) >= ALPHA:
            said = "unsure"  # below 4 pairs separate values are no rare chance
        judged.append(replace(known, verdict=said))
    return judged


class Judged(Protocol):
    """What a verdict is made from: a ratio's interval, the corrected p, Cliff's delta, and whether power is low."""

    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def p_holm(self) -> float | None: ...
    @property
    def delta(self) -> float: ...
    @property
    def low_power(self) -> bool: ...


def verdict(comparison: Judged, metric: MetricInfo, margin: float) -> str:
    """`same`, `unsure`, or the word for the side that the ratio lies on.

    Same: the whole interval lies inside the margin around 1. A side: the whole interval lies beyond the margin, and the
    rank test agrees (Holm's p below 5%). Where power is low, it is enough that all values of one system lie on one side
    of all values of the other (Cliff's delta 1 or -1). Everything else is unsure.
    """
    if comparison.low is None or comparison.high is None:
        return "unsure"
    lowest, highest = 1 / (1 + margin), 1 + margin
    if lowest <= comparison.low and comparison.high <= highest:
        return "same"
    beyond = 1 if comparison.low > highest else -1 if comparison.high < lowest else 0
    if not beyond:
        return "unsure"
    tested = comparison.p_holm is not None and comparison.p_holm < ALPHA
    separate = comparison.low_power and abs(comparison.delta) == 1
    return word(metric, beyond > 0) if tested or separate else "unsure"


def word(metric: MetricInfo, higher: bool) -> str:
    """The word for a metric that is higher (or lower) than the baseline's."""
    if metric.better == "neither":
        return "higher" if higher else "lower"
    good = higher == (metric.better == "higher")
    if metric.unit in TIMES or metric.unit in RATES:
        return "faster" if good else "slower"
    return "better" if good else "worse"
