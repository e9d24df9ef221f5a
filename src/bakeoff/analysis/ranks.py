"""Two-sided p values of the two rank tests, as scipy.stats gives them.

Thousands of small tests are worked out here without scipy's overhead for each; where it takes an unusual way
(many signed ranks with ties), scipy itself is asked.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

Vector = NDArray[np.float64]
RANKS_FROM = 4  # values of each; no rank test of fewer can reach 5%
LOG_T = "t of logarithms"
EXACT_SUM = 8  # values of the smaller group, and no ties: exact, as scipy.stats.mannwhitneyu does
EXACT_SIGNED = 50  # pairs, and no ties: exact, as scipy.stats.wilcoxon does
EXACT_TIED = 13  # pairs: exact with ties and zeros too, as there, but not by trying all signs (seconds for one test)


def rank_sum(ours: Vector, theirs: Vector) -> float:
    """Mann & Whitney's test (1947): exact for few values without ties, else normal with corrections."""
    n, m = len(ours), len(theirs)
    both = np.concatenate([ours, theirs])
    _, ties = np.unique(both, return_counts=True)
    u = float(_midranks(both)[:n].sum()) - n * (n + 1) / 2
    u = max(u, n * m - u)
    if min(n, m) <= EXACT_SUM and len(ties) == n + m:
        return min(1.0, 2 * _above(_sums(n, m), int(u)))
    every = n + m
    variance = n * m / 12 * (every + 1 - float((ties**3 - ties).sum()) / (every * (every - 1)))
    if variance == 0:
        return 1.0
    return min(1.0, 2 * float(ndtr(-(u - n * m / 2 - 0.5) / math.sqrt(variance))))


def _midranks(values: Vector) -> Vector:
    """The ranks of the values from 1 on; equal ones share the middle of theirs."""
    _, place, ties = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(ties) - (ties - 1) / 2)[place])


def signed_rank(differences: Vector) -> float:
    """Wilcoxon's test (1945) of paired differences that are not all 0."""
    n = len(differences)
    # A number's bits moved round by one are its size with the sign at the end: one sort gives the ranks and the signs.
    bits = np.ascontiguousarray(differences, dtype=np.float64).view(np.uint64)
    ordered = np.sort((bits << np.uint64(1)) | (bits >> np.uint64(63)))
    sizes = ordered >> np.uint64(1)
    unusual = sizes[0] == 0 or bool((sizes[1:] == sizes[:-1]).any())
    if unusual and n <= EXACT_TIED:
        return _signed_with_ties(differences[differences != 0])
    if unusual:
        from scipy import stats

        return float(stats.wilcoxon(differences).pvalue)
    w = int((np.flatnonzero(ordered & np.uint64(1) == 0) + 1).sum())  # the ranks of what is above 0
    w = max(w, n * (n + 1) // 2 - w)
    if n > EXACT_SIGNED:  # normal, as scipy has it
        deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        return min(1.0, 2 * float(ndtr(-(w - n * (n + 1) / 4) / deviation)))
    return min(1.0, 2 * _above(_signed(n), w))


def sums(ours: Vector, theirs: Vector) -> tuple[Vector, NDArray[np.bool_]]:
    """For each row the number of pairs in which ours is higher (ties count half), and whether there are ties.

    Both have shape (rows, n).
    """
    n = ours.shape[1]
    both = np.concatenate([ours, theirs], axis=1)
    order = np.argsort(both, axis=1)
    ordered = np.take_along_axis(both, order, axis=1)
    tied = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    found = (np.argsort(order, axis=1)[:, :n] + 1.0).sum(axis=1)
    for row in np.flatnonzero(tied):
        found[row] = _midranks(both[row])[:n].sum()
    return np.asarray(found - n * (n + 1) / 2), np.asarray(tied)


def log_t(ours: Vector, theirs: Vector) -> Vector:
    """Student's t test (1908, Biometrika 6) of the logarithms, two-sided, over the last axis of n values each."""
    n = ours.shape[-1]
    ours, theirs = np.log(ours), np.log(theirs)
    apart = np.abs(ours.mean(axis=-1) - theirs.mean(axis=-1))
    error = np.sqrt((ours.var(axis=-1, ddof=1) + theirs.var(axis=-1, ddof=1)) / n)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(apart == 0, 0.0, apart / error)
    return np.asarray(2 * stdtr(2 * n - 2, -t))


def tests(ours: Vector, theirs: Vector, signed_from: int) -> tuple[Vector, str]:
    """The p of each row of values above zero, shape (rows, n), and the test's name; n is 2 or more.

    From `signed_from` values on signed ranks of log ratios, below it rank sums, for very few t of the logarithms.
    """
    n = ours.shape[1]
    if n < RANKS_FROM:
        return log_t(ours, theirs), LOG_T
    if n >= signed_from:
        return _signed_ranks(np.log(ours) - np.log(theirs)), "signed-rank"
    above, tied = sums(ours, theirs)
    above = np.maximum(above, n * n - above)
    if n <= EXACT_SUM:
        counts = _sums(n, n)
        tail = np.cumsum(counts[::-1])[::-1] / counts.sum()
        p = np.minimum(1.0, 2 * tail[above.astype(int)])
    else:
        p = np.minimum(1.0, 2 * ndtr(-(above - n * n / 2 - 0.5) / math.sqrt(n * n / 12 * (2 * n + 1))))
    for row in np.flatnonzero(tied):
        p[row] = rank_sum(ours[row], theirs[row])
    return np.asarray(p), "rank sum"


def _signed_ranks(differences: Vector) -> Vector:
    n = differences.shape[1]
    sizes = np.sort(np.abs(differences), axis=1)
    usual = (sizes[:, 0] > 0) & (np.diff(sizes, axis=1) > 0).all(axis=1)
    p = np.ones(len(differences))
    places = np.argsort(np.argsort(np.abs(differences), axis=1), axis=1) + 1
    positive = np.where(differences > 0, places, 0).sum(axis=1)
    most = np.maximum(positive, n * (n + 1) // 2 - positive)
    if n <= EXACT_SIGNED:
        counts = _signed(n)
        tail = np.cumsum(counts[::-1])[::-1] / counts.sum()
        p[usual] = np.minimum(1.0, 2 * tail[most[usual]])
    else:  # normal, without a correction, as scipy has it
        deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        p[usual] = np.minimum(1.0, 2 * ndtr(-(most[usual] - n * (n + 1) / 4) / deviation))
    for row in np.flatnonzero(~usual):
        if differences[row].any():
            p[row] = signed_rank(differences[row])
    return p


def _signed_with_ties(differences: Vector) -> float:
    """The exact test for few differences with ties, none of them 0: every choice of signs is as likely."""
    doubled = np.rint(2 * _midranks(np.abs(differences))).astype(int)  # whole numbers
    counts = np.zeros(int(doubled.sum()) + 1)
    counts[0] = 1
    for rank in doubled:
        counts[rank:] += counts[:-rank].copy()
    w = int(doubled[differences > 0].sum())
    return min(1.0, 2 * _above(counts, max(w, int(doubled.sum()) - w)))


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
