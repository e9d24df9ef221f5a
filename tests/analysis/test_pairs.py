"""All pairs of a cell: letters, ranks, and the same figures as one comparison after the other gives."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.analysis import bootstrap, comparison, letters, pairs, ranks
from bakeoff.analysis.findings import MetricInfo
from bakeoff.analysis.results import Ranking

TIME = MetricInfo("elapsed", "Elapsed time", "s", "lower")
RATE = MetricInfo("throughput", "Throughput", "1/s", "higher")


def columns(found: list[str]) -> set[frozenset[int]]:
    """What shares each letter."""
    return {frozenset(i for i, text in enumerate(found) if letter in text) for letter in set("".join(found))}


def cliques(count: int, different: set[tuple[int, int]]) -> set[frozenset[int]]:
    """All largest groups without a differing pair, by trying every group."""
    groups = [
        frozenset(group)
        for size in range(1, count + 1)
        for group in combinations(range(count), size)
        if not any(pair in different for pair in combinations(group, 2))
    ]
    return {group for group in groups if not any(group < other for other in groups)}


def test_letters_of_piepho() -> None:
    """Piepho 2004, Example 3: eight treatments, of which 1 differs from 7 and 8, 2 from 4 and 5, 3 from 5."""
    different = {(0, 6), (0, 7), (1, 3), (1, 4), (2, 4)}
    found = letters.display(8, different)
    assert columns(found) == cliques(8, different)
    assert found[0][0] == "a" and len(set("".join(found))) == 6


def test_letters_of_gramm() -> None:
    """Gramm et al. 2008, Comput. Stat. Data Anal. 52, Fig. 2: n = 5, H = {15, 23, 25, 35}."""
    found = letters.display(5, [(0, 4), (1, 2), (1, 4), (2, 4)])
    assert columns(found) == {frozenset({0, 1, 3}), frozenset({0, 2, 3}), frozenset({3, 4})}
    assert found == ["ab", "a", "b", "abc", "c"]


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.sampled_from(
    list(combinations(range(n), 2)) or [(0, 0)])))))  # fmt: skip
@settings(max_examples=80, deadline=None)
def test_letters_say_exactly_what_differs(case: tuple[int, set[tuple[int, int]]]) -> None:
    count, different = case[0], {pair for pair in case[1] if pair != (0, 0)}
    found = letters.display(count, different)
    for one, other in combinations(range(count), 2):
        assert bool(set(found[one]) & set(found[other])) == ((one, other) not in different)


def test_too_many_letters_are_none() -> None:
    differing = [(2 * i, 2 * i + 1) for i in range(12)]  # 2^12 groups
    assert set(letters.display(24, differing)) == {""}


@given(st.integers(2, 14), st.integers(0, 10_000), st.sampled_from([0.05, 1.0]))
@settings(max_examples=60, deadline=None)
def test_tests_in_bulk_are_the_single_ones(n: int, seed: int, grain: float) -> None:
    rng = np.random.default_rng(seed)
    ours, theirs = np.maximum(np.round(rng.lognormal(2, 0.4, (2, 6, n)) / grain), 1) * grain
    p, name = ranks.tests(ours, theirs, comparison.SIGNED_RANK_FROM)
    for row, chance in enumerate(p):
        single = comparison.rank_test(ours[row], theirs[row])
        assert single is not None and (single.name, single.p) == (name, pytest.approx(chance, abs=1e-12))
        above = ranks.sums(ours, theirs)[0][row]
        assert 2 * above / n**2 - 1 == pytest.approx(comparison.cliffs_delta(ours[row], theirs[row]))


def test_signed_ranks_of_many_pairs_are_scipys() -> None:
    from scipy import stats

    rng = np.random.default_rng(3)
    ours, theirs = rng.lognormal(0, 0.1, (2, 4, 80))
    p, _ = ranks.tests(ours, theirs, comparison.SIGNED_RANK_FROM)
    assert p == pytest.approx(stats.wilcoxon(np.log(ours) - np.log(theirs), axis=1).pvalue)


def frame(values: dict[str, list[float]], blocks: dict[str, list[int]] | None = None) -> pl.DataFrame:
    """Rows as `summary.grouped` gives them, of one cell."""
    rows: list[dict[str, Any]] = [
        {"procedure": "exec", "system": system, "metric": "elapsed", "unit": "s", "labels": "", "n": len(of),
         "median": float(np.median(of)), "values": of,
         "blocks": (blocks or {}).get(system, list(range(1, len(of) + 1)))}
        for system, of in values.items()
    ]  # fmt: skip
    return pl.DataFrame(rows)


def rank(values: dict[str, list[float]], metric: MetricInfo = TIME, **more: Any) -> Ranking:
    (found,) = pairs.rankings(frame(values, **more), [], metric, 0.05, 1)
    return found


def spread(middle: float, n: int = 12, seed: int = 0) -> list[float]:
    return list(middle * np.exp(np.random.default_rng(seed).normal(0, 0.01, n)))


def test_ranks_of_clear_groups() -> None:
    found = rank({"slow": spread(4, seed=1), "one": spread(1, seed=2), "other": spread(1.001, seed=3)})
    assert {one.system: one.rank for one in found.systems} == {"one": 1, "other": 1, "slow": 3}
    assert [one.letters for one in found.systems] == ["a", "a", "b"]
    assert len(found.pairs) == 3 and not found.low_power


def test_higher_is_better_for_rates() -> None:
    values = {"slow": spread(1, seed=1), "fast": spread(3, seed=2)}
    assert [one.system for one in rank(values, RATE).systems] == ["fast", "slow"]
    assert [one.rank for one in rank(values, RATE).systems] == [1, 2]
    neither = MetricInfo("processes", "Processes", "1", "neither")
    assert [one.rank for one in rank(values, neither).systems] == [1, 1]


def test_pairs_in_bulk_are_single_comparisons() -> None:
    values = {name: spread(middle, seed=i) for i, (name, middle) in enumerate({"a": 1.0, "b": 1.1, "c": 3.0}.items())}
    found = rank(values)
    for pair in found.pairs:
        ours, theirs = np.array(values[pair.system]), np.array(values[pair.other])
        group = comparison.Group("exec", pair.system, {}, "elapsed", "s")
        single, _ = comparison.compare(group, pair.other, ours, theirs, 1)
        for name in ("pairs", "ratio", "low", "high", "delta", "p", "test"):
            assert getattr(pair, name) == pytest.approx(getattr(single, name)), name


def test_pairs_use_the_blocks_that_both_have() -> None:
    blocks = {"a": [1, 2, 3, 4], "b": [2, 3, 4, 5], "c": [9, 10, 11, 12]}
    found = rank({"a": [1.0, 2, 3, 4], "b": [2.0, 3, 4, 5], "c": [1.0, 1, 1, 1]}, blocks=blocks)
    assert {(p.system, p.other): p.pairs for p in found.pairs} == {("a", "b"): 3}  # c shares no block with the others
    (pair,) = found.pairs
    assert pair.ratio == pytest.approx(1.0) and pair.verdict == "same"


def test_simulated_ranks_of_equal_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five equal systems in one cell: any false difference among their ten pairs in at most 5% of 300 rankings."""
    monkeypatch.setattr(bootstrap, "MOST_DRAWS", 1000)
    for cached in (bootstrap.indices, bootstrap._middles, bootstrap._times):
        cached.cache_clear()
    rng = np.random.default_rng(9)
    false = 0
    for _ in range(300):
        found = rank({name: list(np.exp(rng.normal(0, 0.15, 10))) for name in "abcde"})
        false += any(one.rank > 1 for one in found.systems)
    for cached in (bootstrap.indices, bootstrap._middles, bootstrap._times):
        cached.cache_clear()
    assert false <= 15
