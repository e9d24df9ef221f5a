"""The rank tests and the batched bootstrap give what scipy and the plain bootstrap give."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bakeoff.analysis import bootstrap, ranks


@pytest.mark.parametrize("digits", [1, 8])
@pytest.mark.parametrize("n", [2, 3, 5, 8, 9, 12])
def test_rank_sum_is_scipys(n: int, digits: int) -> None:
    rng = np.random.default_rng([n, digits])
    for _ in range(20):
        ours, theirs = rng.normal(size=n).round(digits), rng.normal(0.4, size=max(2, n - 1)).round(digits)
        assert ranks.rank_sum(ours, theirs) == pytest.approx(stats.mannwhitneyu(ours, theirs).pvalue)


@pytest.mark.parametrize("digits", [1, 8])
@pytest.mark.parametrize("n", [10, 15, 50, 60])
def test_signed_rank_is_scipys(n: int, digits: int) -> None:
    rng = np.random.default_rng([n, digits])
    for _ in range(2 if n == 10 and digits == 1 else 10):  # scipy tries all signs there, which takes a second
        differences = rng.normal(0.2, size=n).round(digits)
        assert ranks.signed_rank(differences) == pytest.approx(stats.wilcoxon(differences).pvalue)


def test_equal_values_are_no_difference() -> None:
    assert ranks.rank_sum(np.ones(3), np.ones(3)) == 1.0


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 10, 15, 40])
def test_medians_in_one_go_are_those_one_by_one(n: int) -> None:
    rng = np.random.default_rng(n)
    values = np.exp(rng.normal(size=(12, n)))
    values[0] = 3.0
    values[1] = values[1].round()
    together = bootstrap.medians_bca(values, 9)
    assert together == pytest.approx(np.array([bootstrap.bca(row, 9) for row in values]))


@pytest.mark.parametrize("n", [1, 2, 3, 8, 15, 75, 300])
def test_resampled_medians_are_those_of_the_resamples(n: int) -> None:
    values = np.random.default_rng(n).normal(size=n).round(1)
    assert np.array_equal(bootstrap.resampled_medians(values, 9), bootstrap.median(values[bootstrap.indices(n, 9)]))
