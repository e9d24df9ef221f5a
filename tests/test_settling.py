"""When a warm-up is over."""

from __future__ import annotations

import numpy as np
import pytest

from bakeoff import settling


def test_a_step_is_seen_and_passes() -> None:
    rates = [100.0, 101, 99, 100, 200, 201, 199, 200, 202, 198]
    assert not settling.settled(rates[:8]), "the step lies inside the window"
    assert settling.settled([*rates, *[200.0, 201, 199, 200, 202, 198, 200, 201]]), "it has left the window"


def test_a_climb_has_not_settled() -> None:
    assert not settling.settled([float(rate) for rate in range(100, 180, 10)])


def test_too_few_and_dead() -> None:
    assert not settling.settled([100.0] * 7)
    assert not settling.settled([0.0] * 10)
    assert settling.settled([100.0] * 8)


def test_probability_of_a_known_case() -> None:
    """Of the 20 ways to order three zeros and three ones, two go as far as 1.5: all zeros first, and all ones first."""
    assert settling.probability(np.array([0.0, 0, 0, 1, 1, 1])) == pytest.approx(2 / 20)


def test_noise_alone_settles() -> None:
    draws = np.random.default_rng(1).normal(100, 10, (400, 10))
    share = np.mean([settling.settled(list(row)) for row in draws])
    assert share >= 0.93
