"""Each statistical method on published examples, known answers and simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bakeoff.analysis import bootstrap, comparison, geometric, many, pairs, ranks, summary, trend
from bakeoff.analysis.findings import Comparison, Group, MetricInfo

TIME = MetricInfo("elapsed", "Elapsed time", "s", "lower")
GROUP = Group("exec", "b", {}, "elapsed", "s")
positive = st.lists(st.floats(0.01, 1e6), min_size=2, max_size=12).map(np.array)

# Efron & Tibshirani 1993, An Introduction to the Bootstrap, Table 2.1: survival of 16 mice, in days.
TREATED = np.array([94.0, 197, 16, 38, 99, 141, 23])
CONTROL = np.array([52.0, 104, 146, 10, 51, 30, 40, 27, 46])
# The same book, Table 14.1: the spatial test data A of 26 children; its BCa interval is for the variance (divisor n).
SPATIAL = np.array(
    [48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41], dtype=float
)


def variance(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.var(values, axis=-1))


def test_bca_acceleration_of_efron_and_tibshirani() -> None:
    """Section 14.3: the jackknife acceleration of the variance of the spatial data is 0.061."""
    assert variance(SPATIAL) == pytest.approx(171.5, abs=0.05)
    assert bootstrap._acceleration(SPATIAL, variance) == pytest.approx(0.061, abs=0.0006)


def test_bca_interval_of_efron_and_tibshirani(monkeypatch: pytest.MonkeyPatch) -> None:
    """Table 14.2: the 90% BCa interval of that variance is (115.8, 259.6) with 2,000 resamples."""
    monkeypatch.setattr(bootstrap, "_widened", lambda _n: 1.6449)
    low, high = bootstrap.bca(SPATIAL, 1, variance) or (0, 0)
    assert low == pytest.approx(115.8, rel=0.02)
    assert high == pytest.approx(259.6, rel=0.02)


def test_bootstrap_deviation_of_medians_of_efron_and_tibshirani() -> None:
    """Table 2.2: the bootstrap standard error of the median is 37.83 for the treated mice and 13.02 for the control."""
    for group, published in ((TREATED, 37.83), (CONTROL, 13.02)):
        resampled = bootstrap.median(group[bootstrap.indices(len(group), 3)])
        assert float(resampled.std(ddof=1)) == pytest.approx(published, rel=0.06)


@pytest.mark.parametrize("n", [5, 10, 30])
@pytest.mark.parametrize("shape", ["normal", "log-normal", "heavy-tailed"])
def test_median_interval_covers(n: int, shape: str) -> None:
    """95% intervals of the median hold it in 93 to 97% of 6,000 samples (0.5% more each for their noise), or power
    is low; benchmarks/power.py has the shares."""
    rng = np.random.default_rng([n, len(shape)])
    values = {
        "normal": lambda: rng.normal(100, 5, (6000, n)),
        "log-normal": lambda: 100 * np.exp(rng.normal(0, 0.5, (6000, n))),
        "heavy-tailed": lambda: 100 * np.exp(0.1 * rng.standard_t(2, (6000, n))),
    }[shape]()
    bounds = bootstrap.medians_bca(values, 1)
    share = float(np.mean((bounds[:, 0] <= 100) & (bounds[:, 1] >= 100)))
    assert summary.low_power(n) == (n == 5)
    assert (0.89 if summary.low_power(n) else 0.925) <= share <= 0.975


@pytest.mark.parametrize("n", [5, 10])
def test_ratio_interval_covers(n: int) -> None:
    rng = np.random.default_rng(n)

    def interval() -> tuple[float, float]:
        ours, theirs = np.exp(rng.normal(0, 0.2, (2, n)))
        return bootstrap.percentile(bootstrap.log_ratios(ours, theirs, 1))

    assert 0.91 <= _coverage(interval, 0.0, 1000) <= 0.98


def _coverage(interval: object, true: float, times: int) -> float:
    hits = 0
    for _ in range(times):
        low, high = interval()  # type: ignore[operator]
        hits += low <= true <= high
    return hits / times


@pytest.fixture(autouse=True)
def _few_draws(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations draw fewer resamples, to be quick."""
    if "covers" in request.node.name or "simulated" in request.node.name:
        monkeypatch.setattr(bootstrap, "MOST_DRAWS", 800)
        monkeypatch.setattr(bootstrap, "FEWEST_DRAWS", 800)
        for cached in (bootstrap.indices, bootstrap._middles, bootstrap._times):
            cached.cache_clear()
            request.addfinalizer(cached.cache_clear)


def test_low_power_below_six() -> None:
    assert [n for n in range(1, 10) if summary.low_power(n)] == [1, 2, 3, 4, 5]
    assert all((1 - 2 ** (1 - n) < 0.95) == summary.low_power(n) for n in range(1, 30))


@given(positive)
@settings(max_examples=60, deadline=None)
def test_interval_holds_the_values_range(values: np.ndarray) -> None:
    low, high = bootstrap.bca(values, 7) or (0, 0)
    assert values.min() <= low <= high <= values.max()


@given(positive, st.floats(0.1, 10))
@settings(max_examples=40, deadline=None)
def test_interval_scales_with_its_unit(values: np.ndarray, times: float) -> None:
    plain, scaled = bootstrap.bca(values, 7), bootstrap.bca(values * times, 7)
    assert plain is not None
    assert scaled == pytest.approx([bound * times for bound in plain], rel=1e-6)


@given(positive)
@settings(max_examples=40, deadline=None)
def test_ratio_of_a_system_to_itself_is_one(values: np.ndarray) -> None:
    found, _ = comparison.compare(GROUP, "a", values, values, 1)
    assert found.ratio == 1 and found.low == pytest.approx(1) and found.high == pytest.approx(1)
    assert found.delta == 0
    assert comparison.judge([found], TIME, 0.05)[0].verdict == "same"


@given(positive, st.floats(0.01, 1e3))
@settings(max_examples=40, deadline=None)
def test_ratio_and_its_inverse(values: np.ndarray, times: float) -> None:
    other = values[::-1] * times
    there, _ = comparison.compare(GROUP, "a", values, other, 1)
    back, _ = comparison.compare(GROUP, "a", other, values, 1)
    assert there.ratio and back.ratio and there.low and back.high
    assert there.ratio * back.ratio == pytest.approx(1)
    assert there.low * back.high == pytest.approx(1, rel=1e-6)
    assert there.delta == -back.delta


def test_median_is_numpys() -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 6):
        values = rng.normal(size=(20, n))
        assert np.allclose(bootstrap.median(values), np.median(values, axis=-1))


def test_holm_by_hand() -> None:
    """Worked out by the definition: the least p times their number, the next times one less, never falling."""
    assert comparison.holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert comparison.holm([0.04, 0.01]) == pytest.approx([0.04, 0.02])
    assert comparison.holm([0.9, 0.8]) == [1.0, 1.0]
    assert comparison.holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
@settings(deadline=None)
def test_holm_is_statsmodels(p: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    assert comparison.holm(p) == pytest.approx(list(multipletests(p, method="holm")[1]))


def test_cliffs_delta_of_known_pairs() -> None:
    assert comparison.cliffs_delta(np.array([3.0, 4]), np.array([1.0, 2])) == 1
    assert comparison.cliffs_delta(np.array([1.0, 2]), np.array([3.0, 4])) == -1
    assert comparison.cliffs_delta(np.array([1.0, 2, 3]), np.array([2.0])) == 0
    # 4 pairs above, 1 below, 1 tie of 6: (4 - 1) / 6
    assert comparison.cliffs_delta(np.array([2.0, 3, 5]), np.array([1.0, 3])) == pytest.approx((4 - 1) / 6)


def test_rank_sum_of_hollander_and_wolfe() -> None:
    """Hollander & Wolfe 1973, p. 69: permeability of membranes; R's wilcox.test gives one-sided 0.1272."""
    term = np.array([0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46])
    earlier = np.array([1.15, 0.88, 0.90, 0.74, 1.21])
    assert stats.mannwhitneyu(term, earlier).pvalue == pytest.approx(0.2544, abs=5e-5)
    test = comparison.rank_test(term[:5], earlier)
    assert test and test.name == "rank sum" and test.smallest == pytest.approx(2 / 252)


def test_signed_rank_from_ten_pairs() -> None:
    test = comparison.rank_test(np.arange(2.0, 12), np.arange(1.0, 11))
    assert test and test.name == "signed-rank" and test.p == pytest.approx(2**-9)
    assert test.smallest == 2**-9


def test_verdicts() -> None:
    def of(ratio: float, spread: float, n: int, metric: MetricInfo = TIME) -> Comparison:
        steps = np.exp(spread * np.linspace(-1, 1, n))
        found, _ = comparison.compare(GROUP, "a", ratio * steps, steps[::-1], 1)
        return comparison.judge([found], metric, 0.05)[0]

    assert of(2, 0.01, 12).verdict == "slower"
    assert of(0.5, 0.01, 12).verdict == "faster"
    assert of(1, 0.005, 12).verdict == "same"
    assert of(1.1, 0.5, 12).verdict == "unsure"
    assert of(1.04, 0.001, 12).verdict == "same"
    assert of(2, 0.01, 5).verdict == "slower" and of(2, 0.01, 5).low_power
    assert of(2, 0.01, 2, MetricInfo("memory", "Memory", "B", "lower")).verdict == "worse"
    assert of(2, 0.01, 12, MetricInfo("rate", "Rate", "1/s", "higher")).verdict == "faster"
    assert of(2, 0.01, 12, MetricInfo("processes", "Processes", "1", "neither")).verdict == "higher"


def test_values_of_zero_have_no_ratio() -> None:
    found, resampled = comparison.compare(GROUP, "a", np.array([0.0, 1, 2]), np.array([1.0, 2, 3]), 1)
    assert found.low is None and resampled is None
    found, _ = comparison.compare(GROUP, "a", np.zeros(3), np.zeros(3), 1)
    assert found.ratio is None and comparison.judge([found], TIME, 0.05)[0].verdict == "unsure"


def test_log_t_is_scipys() -> None:
    rng = np.random.default_rng(2)
    ours, theirs = rng.lognormal(0, 0.1, (2, 5, 3))
    expected = stats.ttest_ind(np.log(ours), np.log(theirs), axis=1).pvalue
    assert ranks.log_t(ours, theirs) == pytest.approx(expected)
    assert ranks.log_t(np.ones(3), np.ones(3)) == 1 and ranks.log_t(np.ones(3), np.full(3, 2.0)) == 0
    test = comparison.rank_test(ours[0], theirs[0])
    assert test and test.name == "t of logarithms" and test.p == pytest.approx(expected[0])


@pytest.mark.parametrize("n", [2, 3, 4, 5, 10])
def test_simulated_a_a_verdicts(n: int) -> None:
    """Two equal systems: a false faster or slower in at most 5% of 1,000 comparisons."""
    rng = np.random.default_rng(n)
    false = 0
    for _ in range(1000):
        ours, theirs = np.exp(rng.normal(0, 0.15, (2, n)))
        found, _ = comparison.compare(GROUP, "a", ours, theirs, 1)
        false += comparison.judge([found], TIME, 0.05)[0].verdict in ("faster", "slower")
    assert false <= 50


def test_simulated_power_for_ten_percent() -> None:
    """A difference of 10% with 2% noise is found in more than 90% of 200 comparisons with 10 replications."""
    rng = np.random.default_rng(1)
    right = 0
    for _ in range(200):
        theirs, ours = np.exp(rng.normal(0, 0.02, 10)), 1.1 * np.exp(rng.normal(0, 0.02, 10))
        found, _ = comparison.compare(GROUP, "a", ours, theirs, 1)
        right += comparison.judge([found], TIME, 0.05)[0].verdict == "slower"
    assert right > 180


def test_geometric_mean_of_fleming_and_wallace() -> None:
    """Fleming & Wallace 1986: the geometric mean of ratios 10 and 0.1 is 1, whichever machine is the baseline."""
    assert geometric.mean(np.array([10.0, 0.1])) == pytest.approx(1)
    assert geometric.mean(np.array([2.0, 8.0])) == pytest.approx(4)


def test_line_of_anscombe() -> None:
    """Anscombe 1973, The American Statistician 27: y = 3.00 + 0.500 x with r squared 0.667 for the first data set."""
    x = np.array([10.0, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5])
    y = np.array([8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68])
    line = trend.fit(x, y)
    assert f"{line.intercept:.2f} {line.slope:.3f}" == "3.00 0.500"
    assert line.r_squared == pytest.approx(0.667, abs=0.0005)


def test_line_is_statsmodels_hc3() -> None:
    from statsmodels.api import OLS, add_constant

    rng = np.random.default_rng(4)
    x = np.repeat([10.0, 20, 30, 40], 5)
    y = 3 + 2 * x + rng.normal(0, x / 5)
    theirs = OLS(y, add_constant(x)).fit(cov_type="HC3", use_t=True)
    line = trend.fit(x, y)
    assert [line.intercept, line.slope] == pytest.approx(list(theirs.params))
    assert [line.low, line.high] == pytest.approx(list(theirs.conf_int()[1]))


def test_intercept_is_statsmodels_hc3() -> None:
    from statsmodels.api import OLS, add_constant

    rng = np.random.default_rng(5)
    x = np.repeat([10.0, 20, 30, 40], 5)
    y = 3 + 2 * x + rng.normal(0, x / 5)
    theirs = OLS(y, add_constant(x)).fit(cov_type="HC3", use_t=True)
    line = trend.fit(x, y)
    assert [line.intercept_low, line.intercept_high] == pytest.approx(list(theirs.conf_int()[0]))


def test_grouped_line_is_the_jackknife() -> None:
    """Fitted anew without each block, one after the other, with numpy's polyfit."""
    rng = np.random.default_rng(6)
    blocks = np.repeat(np.arange(7), 4)
    x = np.tile([1.0, 2, 4, 8], 7)
    y = 5 + 3 * x + rng.normal(0, 1, 7)[blocks] + rng.normal(0, 0.2, 28)
    line = trend.fit(x, y, blocks)
    fits = np.array([np.polyfit(x[blocks != b], y[blocks != b], 1) for b in range(7)])
    errors = np.sqrt(6 / 7 * ((fits - fits.mean(axis=0)) ** 2).sum(axis=0)) * stats.t.ppf(0.975, 6)
    assert line.high == pytest.approx(line.slope + errors[0])
    assert line.intercept_high == pytest.approx(line.intercept + errors[1])


def test_power_law_of_kepler() -> None:
    """Kepler's third law: years over distances (AU) of the six planets that he knew, NASA's planetary fact sheet."""
    distance = np.array([0.387, 0.723, 1.0, 1.524, 5.203, 9.537])
    years = np.array([0.241, 0.615, 1.0, 1.881, 11.86, 29.45])
    line = trend.power_law(distance, years)
    assert line and line.low and line.high
    assert line.slope == pytest.approx(1.5, abs=0.002) and math.exp(line.intercept) == pytest.approx(1, abs=0.002)
    assert line.high - line.low < 0.01
    assert trend.power_law(distance, -years) is None


@pytest.mark.parametrize("grouped", [False, True])
def test_simulated_exponent_interval(grouped: bool) -> None:
    """Values that grow with x^0.8, 10% noise, and block levels of 10% for the grouped: 95% intervals hold 0.8."""
    rng = np.random.default_rng(7)
    x = np.tile([1.0, 2, 4, 8], 10)
    blocks = np.repeat(np.arange(10), 4)
    hits = 0
    for _ in range(800):
        level = rng.normal(0, 0.1, 10)[blocks] * (1 + np.log2(x) if grouped else 1)
        line = trend.power_law(
            x, x**0.8 * np.exp(rng.normal(0, 0.1, 40) + grouped * level), blocks if grouped else None
        )
        assert line and line.low and line.high
        hits += line.low <= 0.8 <= line.high
    assert 0.925 <= hits / 800 <= 0.98


def test_line_needs_two_x() -> None:
    with pytest.raises(ValueError, match="two different x"):
        trend.fit(np.ones(3), np.arange(3.0))
    assert trend.fit(np.array([1.0, 2]), np.array([1.0, 2])).low is None


def test_one_replication_has_no_interval() -> None:
    assert bootstrap.bca(np.array([1.0]), 1) is None
    assert comparison.rank_test(np.array([1.0]), np.array([2.0])) is None
    assert not math.isnan(comparison.cliffs_delta(np.array([1.0]), np.array([2.0])))


@pytest.mark.parametrize("n", [256, 257, 1000])
def test_many_replications_draw_only_the_middle_places(n: int) -> None:
    """The places have the distribution that whole resamples give, found here by drawing 4,000 of them."""
    low, high, counts = bootstrap._middles(n, 1)
    drawn = np.repeat((low + high) / 2, counts.astype(int))
    whole = np.sort(np.random.default_rng(2).integers(0, n, (4000, n)), axis=1)
    real = (whole[:, (n - 1) // 2] + whole[:, n // 2]) / 2
    assert (high >= low).all() and ((high == low).all() if n % 2 else (high > low).any())
    assert drawn.mean() == pytest.approx(real.mean(), abs=4 * real.std() / 4000**0.5 * 1.3)
    assert drawn.std() == pytest.approx(real.std(), rel=0.06)
    gap = np.average(high - low, weights=counts)
    assert gap == pytest.approx((whole[:, n // 2] - whole[:, (n - 1) // 2]).mean(), abs=0.1)


@pytest.mark.parametrize("shared", [0.0, 0.6, 0.9])
def test_ratio_of_many_pairs_keeps_them_together(shared: float) -> None:
    """Against resamples of whole pairs: what the blocks have in common makes the interval narrower."""
    draw = np.random.default_rng(3)
    block = draw.normal(size=600) * shared
    ours, theirs = (np.exp((block + draw.normal(size=600) * (1 - shared**2) ** 0.5) / 5) for _ in range(2))
    found = bootstrap.log_ratios(ours, theirs, 1)
    places = draw.integers(0, 600, (4000, 600))
    real = np.log(np.median(ours[places], axis=1)) - np.log(np.median(theirs[places], axis=1))
    assert found.mean() == pytest.approx(real.mean(), abs=0.25 * real.std())
    assert 0.9 * real.std() < found.std() < 1.2 * real.std()


@pytest.mark.parametrize("n", [300, 301])
def test_many_replications_are_compared_as_few_are(n: int) -> None:
    """In the blocks that both have: the same figures as from the plain comparison."""
    draw = np.random.default_rng(4)
    rows = []
    for name, left_out in (("a", [3, 50]), ("b", [7])):
        blocks = np.delete(np.arange(1, n + 3, dtype=np.int32), left_out)
        values = np.exp(draw.normal(0.02 * (name == "b"), 0.1, len(blocks)))
        rows.append({"system": name, "n": len(blocks), "values": values, "blocks": blocks, "metric": "m", "unit": "s",
                     "procedure": "exec", "labels": ""})  # fmt: skip
    group = Group("exec", "a", {}, "m", "s")
    for row, other in (rows, rows[::-1]):
        found = many.compare(group, row, other, 1)
        ours, theirs = pairs.paired(row, other)
        plain, resampled = comparison.compare(group, other["system"], ours, theirs, 1)
        assert found is not None and resampled is not None and found[0] == plain
        assert np.array_equal(found[1], resampled)
        assert plain.pairs == n - 1 and plain.p == pytest.approx(stats.wilcoxon(np.log(ours / theirs)).pvalue)
    del rows[0]["@sample"]
    zero = many.compare(group, rows[0] | {"values": rows[0]["values"] * 0}, rows[1], 1)
    assert zero is not None and zero[0].ratio is None
