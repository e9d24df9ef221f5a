"""Bootstrap intervals over replications. A replication is a fresh start of a system, never a request."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
Times = NDArray[np.uint8 | np.uint16]
Statistic = Callable[[Vector], Vector]  # over the last axis

LEVEL = 0.95
MOST_DRAWS = 10_000
FEWEST_DRAWS = 1_000
WORK = 1_000_000  # draws × replications, at most
MOST_COUNTED = 255  # replications whose draws are counted in bytes; of more, medians draw only their middle places
LONG_ROW = 5_000  # draws from which on counting row by row is faster than all at once
MOST_KEPT = 20_000  # replications whose draws are counted at all
MANY_DRAWS = 1_000  # of a ratio of medians of more than MOST_COUNTED pairs
PIECE = 4_000_000  # numbers held at once


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
    values = np.sort(values)  # the order says nothing here, and `medians_bca` counts on it
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


@lru_cache(maxsize=8)
def _middles(n: int, seed: int) -> tuple[Indices, Indices, Vector]:
    """The two middle places of each resample of n ordered values, each pair once, and how often it was drawn."""
    if n > MOST_COUNTED:
        whole = np.full(MOST_DRAWS, n, dtype=np.intp)
        low, high = _drawn_middles(np.random.default_rng([seed, n]), n, whole, n)
    else:
        parted = np.partition(indices(n, seed), ((n - 1) // 2, n // 2), axis=1)
        low, high = parted[:, (n - 1) // 2], parted[:, n // 2]
    pairs, counts = np.unique(low * n + high, return_counts=True)
    return pairs // n, pairs % n, counts.astype(np.float64)


def _drawn_middles(rng: np.random.Generator, n: int, lower: Indices, places: int) -> tuple[Indices, Indices]:
    """The two middle places of resamples of n ordered values, of whose draws `lower` fell on the first `places`.

    Draws on a part are uniform there, and the k-th least of m uniform numbers is Beta(k, m + 1 - k) (David & Nagaraja
    2003, Order Statistics, sec. 2.1); so only the middle ones need to be drawn.
    """
    first, second = (n - 1) // 2, n // 2
    inside = first < lower  # the first one lies on the first places
    many = np.where(inside, lower, n - lower)
    rank = np.where(inside, first, first - lower) + 1
    share = rng.beta(rank, many - rank + 1)
    low = _place(share, inside, places, n)
    if first == second:
        return low, low
    # The second one is the least of those above the first one, or the least on the other places if there are none: of
    # m uniform numbers that is 1 - U^(1/m).
    ended = rank == many
    left = np.where(ended, n - lower, many - rank)
    above = 1 - rng.random(len(lower)) ** (1 / left)
    share = np.where(ended, above, share + (1 - share) * above)
    return low, _place(share, inside & ~ended, places, n)


def _place(share: Vector, inside: NDArray[np.bool_], places: int, n: int) -> Indices:
    """The place that a share (0 to 1) of the first places, or of the others, stands for."""
    size = np.where(inside, places, n - places)
    at = np.minimum((share * size).astype(np.intp), size - 1)
    return np.asarray(np.where(inside, at, places + at))


def medians_bca(values: Vector, seed: int) -> Vector:
    """What `bca` gives for the median of each row, shape (rows, 2), for rows of n > 1 replications.

    The median of a resample is the middle of two of the n ordered values, so each pair of places is worked out once
    and weighted by how often it was drawn.
    """
    n = values.shape[1]
    ordered = np.sort(values, axis=1)
    piece = max(1, PIECE // len(_middles(n, seed)[2]))
    parts = [_ordered_bca(ordered[at : at + piece], seed) for at in range(0, len(ordered), piece)]
    return np.concatenate(parts) if parts else np.empty((0, 2))


def _ordered_bca(ordered: Vector, seed: int) -> Vector:
    n = ordered.shape[1]
    low, high, counts = _middles(n, seed)
    drawn = counts.sum()
    estimate = ((ordered[:, (n - 1) // 2] + ordered[:, n // 2]) / 2)[:, None]
    resampled = (ordered[:, low] + ordered[:, high]) / 2
    tied = np.isclose(resampled, estimate, rtol=1e-12, atol=0)
    below = (((resampled < estimate) & ~tied) @ counts + (tied @ counts) / 2) / drawn
    bias = ndtri(np.clip(below, 0.5 / drawn, 1 - 0.5 / drawn))
    acceleration = _median_accelerations(ordered)
    tail = _widened(n)
    levels = np.empty((len(ordered), 2))
    for side, z in enumerate((-tail, tail)):
        shifted = bias + z
        scale = 1 - acceleration * shifted
        with np.errstate(divide="ignore"):
            levels[:, side] = np.where(scale > 0, ndtr(bias + shifted / scale), float(z > 0))
    order = np.argsort(resampled, axis=1)
    sums = np.cumsum(counts[order], axis=1)
    bounds = np.empty_like(levels)
    for side in (0, 1):  # linear interpolation between the drawn values, as numpy's quantile has it
        place = levels[:, side] * (drawn - 1)
        whole = np.floor(place)
        ends = []
        for at in (whole, np.minimum(whole + 1, drawn - 1)):
            index = (sums <= at[:, None]).sum(axis=1)
            ends.append(np.take_along_axis(resampled, np.take_along_axis(order, index[:, None], 1), 1)[:, 0])
        bounds[:, side] = ends[0] + (place - whole) * (ends[1] - ends[0])
    same = ordered[:, 0] == ordered[:, -1]
    bounds[same] = ordered[same][:, :1]
    return bounds


def _median_accelerations(ordered: Vector) -> Vector:
    """Efron's acceleration of the median of each row of ordered values: `_acceleration` with its places worked out."""
    n = ordered.shape[1]
    if n > 2000:
        return np.zeros(len(ordered))
    places = np.arange(n)
    lower, upper = (n - 2) // 2, (n - 1) // 2  # the middle of n - 1 values; from the one left out on, all move by one
    jackknife = (ordered[:, lower + (places <= lower)] + ordered[:, upper + (places <= upper)]) / 2
    differences = jackknife.mean(axis=1, keepdims=True) - jackknife
    flat = np.abs(differences).max(axis=1) <= 1e-12 * np.abs(jackknife).max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (differences**3).sum(axis=1) / (6 * (differences**2).sum(axis=1) ** 1.5)
    return np.where(flat, 0.0, found)


def _widened(n: int) -> float:
    """The normal quantile to use in place of 1.96 for n replications (Hesterberg 2015)."""
    return math.sqrt(n / (n - 1)) * float(stdtrit(n - 1, (1 + LEVEL) / 2))


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
    if len(ours) > MOST_COUNTED:
        return many_log_ratios((ours, baseline), (np.argsort(ours), np.argsort(baseline)), seed)
    return np.asarray(np.log(resampled_medians(ours, seed)) - np.log(resampled_medians(baseline, seed)))


def many_log_ratios(samples: tuple[Vector, Vector], orders: tuple[Indices, Indices], seed: int) -> Vector:
    """The same for many pairs, without drawing each of them; `orders` put each sample in order.

    A resample's median lies where the number of draws from the lower half of the values puts it. The numbers for both
    systems come from one multinomial draw over the four kinds of pairs (each value in the lower half or not), which
    keeps the pairs together: first those of one system, then those of the other among the draws on either half of the
    first. The place within a half is drawn for each system alone. That neglects what is left of the dependence there,
    which is smaller than the main part by the fourth root of n; it makes intervals wider, if at all.
    """
    n = len(samples[0])
    half = n // 2
    lower = np.zeros((2, n), dtype=bool)
    for side, order in enumerate(orders):
        lower[side, order[:half]] = True
    both = int(np.count_nonzero(lower[0] & lower[1]))
    drawn, *middles = _halves(n, seed)
    rng = np.random.default_rng([seed, n, 1])
    others = rng.binomial(drawn, both / half) + rng.binomial(n - drawn, (half - both) / (n - half))
    logs = []
    for values, order, (first, second) in zip(
        samples, orders, (middles, _drawn_middles(rng, n, others, half)), strict=True
    ):
        logs.append(np.log((values[order[first]] + values[order[second]]) / 2))
    return np.asarray(logs[0] - logs[1])


@lru_cache(maxsize=256)  # where trials are left out, n differs a little from pair to pair
def _halves(n: int, seed: int) -> tuple[Indices, Indices, Indices]:
    """How many of a resample's n draws fall on the lower half of n ordered values, and its two middle places."""
    rng = np.random.default_rng([seed, n])
    drawn = rng.binomial(n, (n // 2) / n, MANY_DRAWS)
    return drawn, *_drawn_middles(rng, n, drawn, n // 2)


def resampled_medians(values: Vector, seed: int, most: int | None = None) -> Vector:
    """The median of each resample of `indices` (of the first `most`), shape (draws,), without ordering each one.

    The middle of a resample lies at the first of the ordered values up to which half of its draws fall.
    """
    return _resampled_medians(values.tobytes(), seed, most)


@lru_cache(maxsize=64)  # a system meets each of the others: the last ones are worth keeping
def _resampled_medians(data: bytes, seed: int, most: int | None) -> Vector:
    values = np.frombuffer(data, dtype=np.float64)
    n = len(values)
    if n > MOST_KEPT:
        return median(values[indices(n, seed)[:most]])
    order = np.argsort(values)
    ordered = values[order]
    times = _times(n, seed)
    if n > MOST_COUNTED or len(times[0, :most]) < LONG_ROW:
        sums = np.cumsum(times[order, :most], axis=0, dtype=times.dtype)
        low, high = (np.add.reduce(sums <= middle, axis=0, dtype=times.dtype) for middle in ((n - 1) // 2, n // 2))
    else:
        low, high = _middles_of_bytes(times, order, most)
    return np.asarray((ordered[low] + ordered[high]) / 2)


def _middles_of_bytes(times: Times, order: Indices, most: int | None) -> list[Times]:
    """The first and the second middle place of each resample, row by row: whole rows of bytes are added fastest."""
    n, many = len(times), times[:1, :most].shape[1]
    sums, under = np.zeros(many, dtype=np.uint8), np.empty(many, dtype=np.bool_)
    ones = under.view(np.uint8)
    middles = [np.uint8(middle) for middle in sorted({(n - 1) // 2, n // 2})]
    found: list[Times] = [np.zeros(many, dtype=np.uint8) for _ in middles]
    for place in order:
        np.add(sums, times[place, :most], out=sums)
        for middle, count in zip(middles, found, strict=True):
            np.less_equal(sums, middle, out=under)
            np.add(count, ones, out=count)
    return [found[0], found[-1]]


@lru_cache(maxsize=4)
def _times(n: int, seed: int) -> Times:
    """How often each of n values is in each resample, shape (n, draws)."""
    drawn = indices(n, seed)
    places = drawn + n * np.arange(len(drawn))[:, None]
    counted = np.bincount(places.ravel(), minlength=drawn.size).reshape(drawn.shape)
    return np.ascontiguousarray(counted.T.astype(np.uint8 if n <= MOST_COUNTED else np.uint16))


def percentile(resampled: Vector) -> tuple[float, float]:
    """The 95% percentile interval (Efron & Tibshirani 1993, An Introduction to the Bootstrap, ch. 13).

    Ratios of medians take this one: at n = 5 it covers 94% in simulations, BCa 88% (docs/methodology.md).
    """
    last = len(resampled) - 1
    places = [last * (1 - LEVEL) / 2, last * (1 + LEVEL) / 2]
    ends = sorted({end for place in places for end in (int(place), min(int(place) + 1, last))})
    parted = np.partition(resampled, ends)
    low, high = (
        float(parted[int(at)] + (at - int(at)) * (parted[min(int(at) + 1, last)] - parted[int(at)])) for at in places
    )
    return low, high


def percentiles(resampled: Vector) -> Vector:
    """The `percentile` interval of each row, shape (rows, 2)."""
    last = resampled.shape[1] - 1
    places = np.array([last * (1 - LEVEL) / 2, last * (1 + LEVEL) / 2])
    lower = places.astype(int)
    upper = np.minimum(lower + 1, last)
    parted = np.partition(resampled, sorted({*lower.tolist(), *upper.tolist()}), axis=1)
    return np.asarray(parted[:, lower] + (places - lower) * (parted[:, upper] - parted[:, lower]))
