"""Bootstrap intervals over replications. A replication is a fresh start of a system, never a request."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import t as student

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
Statistic = Callable[[Vector], Vector]  # over the last axis

LEVEL = 0.95
MOST_DRAWS = 10_000
FEWEST_DRAWS = 1_000
WORK = 1_000_000  # draws × replications, at most


def draws(n: int) -> int:
    """How many resamples are drawn for n replications: 10,000, and fewer where n is large."""
    return max(FEWEST_DRAWS, min(MOST_DRAWS, WORK // max(n, 1)))


@lru_cache(maxsize=4)
def indices(n: int, seed: int) -> Indices:
    """The resamples of n replications, shape (draws, n). The same n and seed give the same ones.

    Groups of the same n share them, so that a run is analysed alike however many groups it has.
    """
    return np.random.default_rng([seed, n]).integers(0, n, (draws(n), n))


def median(values: Vector) -> Vector:
    """The median over the last axis."""
    n = values.shape[-1]
    parted = np.partition(values, (n // 2, (n - 1) // 2), axis=-1)
    return np.asarray((parted[..., n // 2] + parted[..., (n - 1) // 2]) / 2)


def bca(values: Vector, seed: int, statistic: Statistic = median) -> tuple[float, float] | None:
    """The 95% bias-corrected and accelerated interval of a statistic of n replications; None for n below 2.

    Efron 1987, Better Bootstrap Confidence Intervals, J. Am. Stat. Assoc. 82; ties of the resamples at the
    estimate count half. The levels are widened for small n (Hesterberg 2015, What Teachers Should Know About the
    Bootstrap, Am. Stat. 69, on expanded percentiles), because resamples vary less than samples by (n - 1) / n.
    """
    n = len(values)
    if n < 2:
        return None
    if values.min() == values.max():
        return float(values[0]), float(values[0])
    estimate = float(statistic(values))
    resampled = statistic(values[indices(n, seed)])
    tied = np.isclose(resampled, estimate, rtol=1e-12, atol=0)
    below = float(np.mean((resampled < estimate) & ~tied) + np.mean(tied) / 2)
    bias = float(ndtri(min(max(below, 0.5 / len(resampled)), 1 - 0.5 / len(resampled))))
    acceleration = _acceleration(values, statistic)
    tail = _widened(n)
    levels = [_bca_level(bias, acceleration, z) for z in (-tail, tail)]
    low, high = np.quantile(resampled, levels)
    return float(low), float(high)


def _widened(n: int) -> float:
    """The normal quantile to use in place of 1.96 for n replications (Hesterberg 2015)."""
    return math.sqrt(n / (n - 1)) * float(student.ppf((1 + LEVEL) / 2, n - 1))


def _bca_level(bias: float, acceleration: float, z: float) -> float:
    shifted = bias + z
    scale = 1 - acceleration * shifted
    return float(ndtr(bias + shifted / scale)) if scale > 0 else float(z > 0)


def _acceleration(values: Vector, statistic: Statistic) -> float:
    """Efron's acceleration from the jackknife: sum(d^3) / (6 sum(d^2)^1.5)."""
    n = len(values)
    if n > 2000:  # it goes to zero with the root of n
        return 0.0
    left_out = np.broadcast_to(values, (n, n))[~np.eye(n, dtype=bool)].reshape(n, n - 1)
    jackknife = statistic(left_out)
    differences = jackknife.mean() - jackknife
    if np.max(np.abs(differences)) <= 1e-12 * np.max(np.abs(jackknife)):  # nothing but rounding
        return 0.0
    return float(np.sum(differences**3) / (6 * np.sum(differences**2) ** 1.5))


def log_ratios(ours: Vector, baseline: Vector, seed: int) -> Vector:
    """Resampled log ratios of medians, shape (draws,). Blocks are resampled, so that pairs stay together.

    Raises ValueError unless both have the same length and all values are above zero.
    """
    if len(ours) != len(baseline) or not len(ours):
        raise ValueError("pairs are needed: as many values of one system as of the other, at least one")
    if not (ours > 0).all() or not (baseline > 0).all():
        raise ValueError("a ratio needs values above zero")
    chosen = indices(len(ours), seed)
    return np.asarray(np.log(median(ours[chosen])) - np.log(median(baseline[chosen])))


def percentile(resampled: Vector) -> tuple[float, float]:
    """The 95% percentile interval (Efron & Tibshirani 1993, An Introduction to the Bootstrap, ch. 13).

    Ratios of medians take this one: at n = 5 it covers 94% in simulations, BCa 88% (docs/methodology.md).
    """
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
