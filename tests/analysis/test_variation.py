"""Allocation of variation on Jain's worked examples, against statsmodels, and with blocks and steps by simulation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

from bakeoff.analysis import variation
from bakeoff.analysis.results import Variation


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Samples of one metric; trial and block are counted up where they are not given."""
    return pl.DataFrame([{"trial": i, "block": 1} | row for i, row in enumerate(rows)])


def squares(table: np.ndarray, names: list[str]) -> dict[str, tuple[float, int]]:
    """What `factorial` makes of a complete table of cell means, each of one value."""
    places = np.indices(table.shape).reshape(table.ndim, -1)
    codes = {name: place.astype(np.int64) for name, place in zip(names, places, strict=True)}
    found = variation.factorial(table.ravel(), np.ones(table.size), codes)
    return {name: (squares, freedom) for name, squares, freedom in found}


def shares(found: Variation | None) -> dict[str, float]:
    assert found is not None
    assert sum(one.share for one in found.shares) == pytest.approx(1)
    return {one.source: one.share for one in found.shares}


def test_two_by_two_with_replications_of_jain() -> None:
    """Jain 1991, Example 18.1 to 18.4: A (memory) 78.88%, B (cache) 15.40%, AB 4.27%, errors 1.45%."""
    table = {("4", "1"): [15, 18, 12], ("16", "1"): [45, 48, 51], ("4", "2"): [25, 28, 19], ("16", "2"): [75, 75, 81]}
    # `allocate` takes the logarithm, so it is given exponentials: the response is Jain's own, scaled down.
    rows = [
        {"system": memory, "cache": cache, "value": float(np.exp(y / 100)), "block": block}
        for (memory, cache), ys in table.items()
        for block, y in enumerate(ys)
    ]
    found = shares(variation.allocate(frame(rows), ["cache"], [], "mips"))
    assert found["system"] == pytest.approx(5547 / 7032, abs=1e-6)
    assert found["cache"] == pytest.approx(1083 / 7032, abs=1e-6)
    assert found["system × cache"] == pytest.approx(300 / 7032, abs=1e-6)
    assert found["blocks"] + found["rest"] == pytest.approx(102 / 7032, abs=1e-6)


def test_one_factor_of_jain() -> None:
    """Jain 1991, Example 20.1 to 20.3: code size of three processors; SSA 10,992.1, SSE 94,365.2, 10.4% explained."""
    table = {"R": [144, 120, 176, 288, 144], "V": [101, 144, 211, 288, 72], "Z": [130, 180, 141, 374, 302]}
    rows = [{"system": s, "value": float(np.exp(y / 100))} for s, ys in table.items() for y in ys]
    found = variation.allocate(frame(rows), [], [], "size")
    assert found is not None
    by_name = {one.source: one for one in found.shares}
    assert by_name["system"].squares * 1e4 == pytest.approx(10_992.13, abs=0.1)
    assert by_name["rest"].squares * 1e4 == pytest.approx(94_365.20, abs=0.1)
    assert f"{by_name['system'].share:.1%}" == "10.4%" and by_name["rest"].freedom == 12


def test_two_factors_without_replications_of_jain() -> None:
    """Jain 1991, Example 21.1 to 21.3: caches 95.9%, workloads 2.3%, the rest 1.8%; SST 13,402.41."""
    table = np.array([[54, 55, 106], [60, 60, 123], [43, 43, 120], [49, 52, 111], [49, 50, 108.0]])
    found = squares(table, ["workload", "cache"])
    total = sum(one for one, _ in found.values())
    assert total == pytest.approx(13_402.4, abs=0.1)
    assert [f"{found[name][0] / total:.1%}" for name in ("cache", "workload", "workload × cache")] == [
        "95.9%", "2.3%", "1.8%",
    ]  # fmt: skip
    assert [found[name][1] for name in ("cache", "workload", "workload × cache")] == [2, 4, 8]


def unbalanced(seed: int = 5, holes: bool = False) -> pl.DataFrame:
    """Two factors and a system, with trials missing at random; with holes two whole cells are missing as well."""
    rng = np.random.default_rng(seed)
    rows = []
    for block in range(6):
        level = rng.normal(0, 0.05)
        for system in "xyz":
            for size in ("1", "2", "3"):
                if rng.random() < 0.25 or (holes and (system, size) in (("x", "3"), ("z", "1"))):
                    continue
                y = {"x": 0, "y": 0.3, "z": 0.5}[system] + 0.4 * int(size) + level + rng.normal(0, 0.1)
                y += 0.2 * (system == "z" and size == "3")
                rows.append({"system": system, "size": size, "block": block, "value": float(np.exp(y))})
    return frame(rows)


def test_unbalanced_terms_are_statsmodels_type_two() -> None:
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    samples = unbalanced()
    found = variation.allocate(samples, ["size"], [], "t")
    assert found is not None and not found.balanced and found.empty == 0
    data = samples.with_columns(y=pl.col("value").log()).to_dict(as_series=False)
    table = anova_lm(ols("y ~ C(system) * C(size)", data).fit(), typ=2)
    ours = {one.source: one for one in found.shares}
    for theirs, name in (("C(system)", "system"), ("C(size)", "size"), ("C(system):C(size)", "system × size")):
        assert ours[name].squares == pytest.approx(table["sum_sq"][theirs])
        assert ours[name].freedom == table["df"][theirs]
    blocked = anova_lm(ols("y ~ C(system) * C(size) + C(block)", data).fit(), typ=2)
    assert ours["blocks"].squares == pytest.approx(blocked["sum_sq"]["C(block)"])
    assert ours["rest"].squares == pytest.approx(blocked["sum_sq"]["Residual"])
    assert ours["rest"].freedom == blocked["df"]["Residual"]
    assert variation.OVERLAP in ours
    shares(found)


def test_missing_cells_are_said() -> None:
    found = variation.allocate(unbalanced(holes=True), ["size"], [], "t")
    assert found is not None and (found.empty, found.cells) == (2, 7)
    assert next(one.freedom for one in found.shares if one.source == "system × size") == 2
    shares(found)


def test_blocks_are_the_reml_estimate_of_statsmodels() -> None:
    """In complete blocks the variance of the random effect is REML's (MixedLM)."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    rng = np.random.default_rng(8)
    level = rng.normal(0, 0.2, 12)
    rows = [
        {"system": system, "block": block, "value": float(np.exp(mean + level[block] + rng.normal(0, 0.05)))}
        for block in range(12)
        for mean, system in enumerate("abcd")
    ]
    samples = frame(rows)
    found = variation.allocate(samples, [], [], "t")
    assert found is not None and found.block_deviation is not None and found.noise_deviation is not None
    y = samples["value"].log().to_numpy()
    design = samples["system"].to_dummies().to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = MixedLM(y, design, groups=samples["block"].to_numpy()).fit(reml=True)
    assert np.log1p(found.block_deviation) ** 2 == pytest.approx(float(theirs.cov_re[0, 0]), rel=1e-3)
    assert np.log1p(found.noise_deviation) ** 2 == pytest.approx(float(theirs.scale), rel=1e-3)


def test_simulated_deviations_of_starts_and_steps() -> None:
    """Starts of a system that differ by 10%, steps by 2%, blocks by 5%: found within their own noise."""
    rng = np.random.default_rng(4)
    rows = []
    for block in range(200):
        level = rng.normal(0, 0.05)
        for system in "ab":
            start = rng.normal(0, 0.1)
            for step in "123":
                y = int(step) + level + start + rng.normal(0, 0.02)
                trial = block * 2 + (system == "b")
                rows.append({"system": system, "step": step, "block": block, "trial": trial, "value": float(np.exp(y))})
    found = variation.allocate(frame(rows), ["step"], ["step"], "t")
    assert found is not None
    assert found.start_deviation == pytest.approx(0.1, rel=0.15)
    assert found.noise_deviation == pytest.approx(0.02, rel=0.15)
    assert found.block_deviation == pytest.approx(0.05, rel=0.5)
    assert {one.source: one.freedom for one in found.shares}["starts of a system"] == 199
    assert {one.source: one.freedom for one in found.shares}["rest"] == 2 * 2 * 199


def test_nothing_to_allocate() -> None:
    assert variation.allocate(frame([{"system": "a", "value": 1.0}] * 4), [], [], "t") is None
    zero = frame([{"system": s, "value": v} for s, v in (("a", 0.0), ("b", 1.0), ("b", 2.0))])
    assert variation.allocate(zero, [], [], "t") is None
