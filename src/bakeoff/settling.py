"""When a warm-up is over: the rate has no change point any more."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

INTERVAL = 0.25  # seconds that one rate is of
LEAST = 8  # rates; with fewer, hardly any order of them is rare enough to show a change
WINDOW = 12  # the last rates that are looked at
SMALL = 0.02  # a change of less than this share does not matter
PERMUTATIONS = 500


def settled(rates: Sequence[float]) -> bool:
    """Whether the last rates (1/s, one an interval of equal length) show no change point that matters.

    A permutation test on cumulative sums (after Taylor, Change-Point Analysis, 2000): the largest distance of the sums
    of the deviations from the mean is compared with that of reordered rates: all orders of up to 6 rates, else 500
    random ones. A change is significant if at most 5% of the orders go as far, and matters if the means before and
    after it differ by over 2%.
    """
    if len(rates) < LEAST:
        return False
    recent = np.asarray(rates[-WINDOW:], dtype=float)
    if recent.mean() <= 0:
        return False
    sums = np.cumsum(recent - recent.mean())
    at = int(np.argmax(np.abs(sums[:-1]))) + 1
    if abs(recent[:at].mean() - recent[at:].mean()) <= SMALL * recent.mean():
        return True
    return probability(recent) > 0.05


def change_points(rates: NDArray[np.float64]) -> list[int]:
    """Where the rates change: the place of the first rate after each change, rising.

    The test of `settled` on all rates, then on those before and after each change that it finds (binary segmentation,
    Taylor 2000), as long as a piece has 8 rates.
    """
    found: list[int] = []
    pieces = [(0, len(rates))]
    while pieces:
        start, end = pieces.pop()
        piece = np.asarray(rates[start:end], dtype=float)
        if len(piece) < LEAST or piece.mean() <= 0:
            continue
        at = int(np.argmax(np.abs(np.cumsum(piece - piece.mean())[:-1]))) + 1
        matters = abs(piece[:at].mean() - piece[at:].mean()) > SMALL * piece.mean()
        if matters and probability(piece) <= 0.05:
            found.append(start + at)
            pieces += [(start, start + at), (start + at, end)]
    return sorted(found)


def probability(rates: NDArray[np.float64]) -> float:
    """The share of orders of the rates whose cumulative sums go at least as far from 0 as in the order given."""
    deviations = rates - rates.mean()
    farthest = np.abs(np.cumsum(deviations[_orders(len(rates))], axis=1)).max(axis=1)
    return float(np.mean(farthest >= np.abs(np.cumsum(deviations)).max() * (1 - 1e-12)))


@lru_cache(maxsize=64)
def _orders(count: int) -> NDArray[np.intp]:
    if count <= 6:
        return np.array(list(itertools.permutations(range(count))))
    generator = np.random.default_rng(0)
    return np.array([generator.permutation(count) for _ in range(PERMUTATIONS)])
