"""Two-sided p values of the two rank tests, as scipy.stats gives them.

Thousands of small tests are worked out here without scipy's overhead for each; where it takes an unusual way
(signed ranks with ties), scipy itself is asked.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Vector = NDArray[np.float64]
EXACT_SUM = 8  # values of the smaller group, and no ties: exact, as scipy.stats.mannwhitneyu does
EXACT_SIGNED = 50  # pairs, and no ties: exact, as scipy.stats.wilcoxon does


def rank_sum(ours: Vector, theirs: Vector) -> float:
    """Mann & Whitney's test (1947): exact for few values without ties, else normal with corrections."""
    n, m = len(ours), len(theirs)
    both = np.concatenate([ours, theirs])
    _, place, ties = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[place]
    u = float(ranks[:n].sum()) - n * (n + 1) / 2
    u = max(u, n * m - u)
    if min(n, m) <= EXACT_SUM and len(ties) == n + m:
        return min(1.0, 2 * _above(_sums(n, m), int(u)))
    every = n + m
    variance = n * m / 12 * (every + 1 - float((ties**3 - ties).sum()) / (every * (every - 1)))
    if variance == 0:
        return 1.0
    return min(1.0, 2 * float(ndtr(-(u - n * m / 2 - 0.5) / math.sqrt(variance))))


def signed_rank(differences: Vector) -> float:
    """Wilcoxon's test (1945) of paired differences that are not all 0."""
    n = len(differences)
    sizes = np.abs(differences)
    if n > EXACT_SIGNED or not sizes.all() or len(np.unique(sizes)) < n:
        from scipy import stats

        return float(stats.wilcoxon(differences).pvalue)
    ranks = np.empty(n)
    ranks[np.argsort(sizes)] = np.arange(1, n + 1)
    w = int(ranks[differences > 0].sum())
    w = max(w, n * (n + 1) // 2 - w)
    return min(1.0, 2 * _above(_signed(n), w))


def _above(counts: Vector, least: int) -> float:
    return float(counts[least:].sum() / counts.sum())


@lru_cache(maxsize=64)
def _sums(n: int, m: int) -> Vector:
    """How many orders of n and m values give each U from 0 to n m: the coefficients of a Gaussian binomial."""
    counts = np.zeros(n * m + n + m + 1)
    counts[0] = 1
    for i in range(1, n + 1):  # times (1 - q^(m + i)), over (1 - q^i)
        counts[m + i :] -= counts[: -(m + i)].copy()
        for k in range(i, len(counts)):
            counts[k] += counts[k - i]
    return counts[: n * m + 1]


@lru_cache(maxsize=64)
def _signed(n: int) -> Vector:
    """How many choices of signs give each sum of positive ranks."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1
    for rank in range(1, n + 1):
        counts[rank:] += counts[:-rank].copy()
    return counts
