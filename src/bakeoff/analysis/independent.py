"""Two independent samples: replications of one cell in one run, and of the same cell in another run.

Nothing pairs the blocks of two runs, so each sample is resampled on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bakeoff.analysis import bootstrap, ranks
from bakeoff.analysis.comparison import ALPHA

Vector = NDArray[np.float64]
Interval = tuple[float, float]


@dataclass(frozen=True)
class Test:
    """A two-sided p, and the smallest p that the test could give for these sizes. `ranks` is false for Welch's test."""

    __test__ = False  # not one of pytest's

    p: float
    smallest: float
    ranks: bool = True

    def settles(self, apart: bool, few: bool) -> bool:
        """Whether a side may be named although p corrected for many tests is not below 5%.

        Where power is low it is enough that all values of one run lie beyond all of the other; below 4 values, which
        chance separates often, Welch's test must agree.
        """
        return few and apart and (self.ranks or self.p < ALPHA)


def medians(new: Vector, old: Vector, seed: int) -> tuple[Vector, Vector]:
    """Resampled medians of both, each shape (draws,): the two-sample bootstrap.

    Efron & Tibshirani 1993, An Introduction to the Bootstrap, sec. 8.3: each sample is drawn from by itself.
    """
    one = bootstrap.resampled_medians(np.sort(new), seed)  # in order, so that the order of the blocks changes nothing
    other = bootstrap.resampled_medians(np.sort(old), seed + 1)
    draws = min(len(one), len(other))
    return one[:draws], other[:draws]


def ratio_interval(new: Vector, old: Vector, seed: int) -> Interval | None:
    """The 95% percentile interval of the ratio of medians, new over old; None below 2 values or with values <= 0.

    Worked out on the log scale. docs/comparing.md has the simulated coverage, and why it is not BCa.
    """
    return intervals(new, old, 0.0, seed)[0]


def intervals(new: Vector, old: Vector, share: float, seed: int) -> tuple[Interval | None, Interval | None]:
    """The interval of the ratio, and that of the excess: new's median less the limit that old's median sets.

    The excess is in the values' unit; the limit is old + share * |old|. For values above zero it lies above 0 exactly
    where the ratio lies above 1 + share, and it allows zeros. Both are None below 2 values.
    """
    if min(len(new), len(old)) < 2:
        return None, None
    one, other = medians(new, old, seed)
    excess = bootstrap.percentile(one - limit(other, share))
    if not ((new > 0).all() and (old > 0).all()):
        return None, excess
    low, high = bootstrap.percentile(np.log(one) - np.log(other))
    return (float(np.exp(low)), float(np.exp(high))), excess


def limit(old: Vector, share: float) -> Vector:
    """The values of old, moved by a share of themselves."""
    return old + share * np.abs(old)


def test(new: Vector, old: Vector) -> Test | None:
    """The rank sum test (Mann & Whitney 1947, Ann. Math. Stat. 18); None below 2 values.

    Below 4 values of either no rank test can reach 5%: there it is Welch's t of the logarithms (1947, Biometrika 34).
    """
    n, m = len(new), len(old)
    if min(n, m) < 2:
        return None
    if min(n, m) < ranks.RANKS_FROM and (new > 0).all() and (old > 0).all():
        return Test(_welch(np.log(new), np.log(old)), 0.0, ranks=False)
    return Test(ranks.rank_sum(new, old), smallest(n, m))


def _welch(new: Vector, old: Vector) -> float:
    """The two-sided p of Welch's test; of values without any spread it is 1 or 0."""
    if np.ptp(new) == 0 and np.ptp(old) == 0:
        return float(new[0] == old[0])
    from scipy import stats  # a second to load, for what few runs need

    return float(stats.ttest_ind(new, old, equal_var=False).pvalue)


@lru_cache(maxsize=256)
def smallest(n: int, m: int) -> float:
    """The p of the rank sum test where every one of n values lies above every one of m."""
    return ranks.rank_sum(np.arange(m, n + m, dtype=np.float64), np.arange(m, dtype=np.float64))
