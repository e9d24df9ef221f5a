"""Requirements, knees, marks, derived metrics, warm-ups and drift on runs whose answers are known by their making."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import made_demands
import made_runs
import numpy as np
import polars as pl
import pytest

from bakeoff import analysis, plan, references, settling
from bakeoff.analysis import drift
from bakeoff.analysis.findings import Analysis
from bakeoff.experiment import Experiment
from bakeoff.store import Store
from bakeoff.store.store import Outcome


@pytest.fixture(scope="module")
def demands(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    opened = Store(f"sqlite:///{tmp_path_factory.mktemp('demands') / 'store.db'}")
    found = analysis.analyse(analysis.load(opened, made_demands.run(opened)))
    opened.close()
    return found


def test_requirements(demands: Analysis) -> None:
    first, second = demands.requirements
    assert first.verdicts == {"fast": "pass", "middle": "pass", "slow": "fail", "broken": "unsure"}
    assert second.verdicts == {"fast": "pass", "slow": "fail"}
    assert {one.cell["rate"] for one in first.judged} == {"200"}
    one = next(one for one in first.judged if one.system == "fast" and one.cell["mode"] == "tls")
    assert one.median is not None and one.margin == pytest.approx(0.05 - one.median)
    assert one.share == pytest.approx(one.margin / 0.05) and one.n == 8
    broken = next(one for one in first.judged if one.system == "broken")
    assert broken.verdict == "unsure" and broken.reason == "4 trials gave a wrong answer"


def test_the_answer_says_who_meets_the_requirements(demands: Analysis) -> None:
    said = " ".join(analysis.sentences(demands))
    assert "fast and middle meet all requirements." in said
    assert "slow fails “Answers in time at 200 a second” and “Small”." in said
    assert "It is not settled whether broken meets" in said


def test_knees(demands: Analysis) -> None:
    found = {(knee.system, knee.cell["mode"]): knee for knee in demands.knees}
    assert len(found) == 8
    for system, limit in made_demands.LIMIT.items():
        for mode in ("plain", "tls"):
            knee = found[system, mode]
            assert (knee.sure, knee.possible) == (limit, limit)
            assert knee.throughput == limit and knee.open == (system == "fast")
    assert found["slow", "tls"].reason == "at 200 it does not hold"
    broken = found["broken", "plain"]
    assert broken.sure is None and broken.possible == 800 and "wrong answer" in broken.reason


def test_no_demand_says_nothing(paper: Analysis) -> None:
    assert paper.knees == [] and paper.requirements == [] and paper.assessment == []


def test_marks(demands: Analysis) -> None:
    marks = {(mark.criterion, mark.system): mark for one in demands.assessment for mark in one.marks}
    assert {system: marks["latency", system].mark for system in ("fast", "middle", "slow")} == {
        "fast": "++", "middle": "++", "slow": "++",
    }  # fmt: skip
    memory = {system: marks["memory", system].mark for system in ("fast", "middle", "slow", "broken")}
    assert memory == {"fast": "++", "middle": "+", "slow": "-", "broken": "-"}
    slow = marks["memory", "slow"]
    assert slow.ratio == pytest.approx(3.1, rel=0.02) and slow.low and slow.high and slow.low < slow.ratio < slow.high
    assert (slow.published, slow.cells, slow.of_cells) == ("++", 8, 8)
    assert marks["memory", "fast"].ratio == 1
    assert marks["reliable", "fast"].mark == "++"
    broken = marks["reliable", "broken"]
    assert (broken.mark, broken.ratio, broken.published) == ("--", 0.5, "-")
    assert not any(r.metric == "assessment" for r in demands.references)


def test_derived_metrics_by_hand(demands: Analysis) -> None:
    def of(metric: str, rate: str) -> float:
        return next(
            s.median
            for s in demands.summaries
            if s.group.metric == metric and s.group.system == "fast" and s.group.cell.get("rate") == rate
        )

    # 1 ms of CPU time a request at 0.0275 USD a CPU hour: 1e9 * 1e-3 / 3600 * 0.0275
    assert of("cost_per_billion", "400") == pytest.approx(7.638888, rel=1e-6)
    # From the start: 0.5 s of CPU time until ready, then 1 ms a request.
    assert of("cumulative_requests_per_cpu", "100") == pytest.approx(100 / 0.6)
    assert of("cumulative_requests_per_cpu", "800") == pytest.approx(1500 / 2.0)
    assert of("memory_per_throughput", "800") == pytest.approx(of("peak_memory", "800") / 800)
    assert demands.metrics["cost_per_billion"].unit == "USD"
    assert demands.metrics["cost_per_billion"].derived == "1e9 * cpu_per_request / 3600 * usd_per_cpu_hour"


def test_warm_ups_end_at_their_change(demands: Analysis) -> None:
    assert len(demands.warm_ups) == 8
    for one in demands.warm_ups:
        assert one.settled_at == one.latest == 2.0 and one.length == 6.0
        assert one.gain == pytest.approx(2.0, rel=0.02) and one.unsettled == 0
    assert {one.series for one in demands.warm_ups if one.system == "fast"} == {8}


def test_change_points_of_a_staircase() -> None:
    rng = np.random.default_rng(2)
    rates = np.concatenate([rng.normal(level, 1, 20) for level in (100, 120, 150)])
    assert settling.change_points(rates) == [20, 40]
    assert settling.change_points(rng.normal(100, 1, 60)) == []


MADE: dict[str, Any] = {
    "title": "Drift",
    "question": "Does it drift?",
    "systems": ["a", "b", "c"],
    "factors": {"size": {"levels": ["1", "2"]}},
    "procedure": {"kind": "exec"},
    "metrics": {"elapsed": {"unit": "s", "better": "lower", "marker": {}}},
    "replications": 12,
}


def drifting(store: Store, change: float, seed: int = 1) -> Analysis:
    """A run whose values grow by `change` from the first trial to the last, with 1% noise."""
    draw = random.Random(seed)
    last = 3 * 2 * 12 - 1

    def observe(trial: plan.Trial) -> Outcome:
        outcome = Outcome("ok")
        value = {"a": 1.0, "b": 2.0, "c": 5.0}[trial.system] * int(trial.cell["size"])
        value *= (1 + change) ** (trial.position / last) * (1 + draw.gauss(0, 0.01))
        outcome.observe("elapsed", "s", value)
        return outcome

    run = made_runs.make(store, Experiment.model_validate(MADE), observe, run=f"drift-{change}-{seed}")
    return analysis.analyse(analysis.load(store, run))


def test_drift_is_found_and_blocks_remove_it(store: Store) -> None:
    found = drifting(store, 0.3).drift
    assert found is not None and found.low is not None and found.high is not None
    assert found.change == pytest.approx(0.3, abs=0.03) and found.low < 0.3 < found.high
    assert found.left is not None and abs(found.left) < 0.04
    assert found.noise_within is not None and found.noise_within < 0.02 and found.noise > 0.05
    assert (found.trials, found.blocks, len(found.points)) == (72, 12, 18)


@pytest.mark.parametrize("many", [3, 12])
def test_simulated_drift_interval_covers_none(many: int) -> None:
    """Runs without drift whose blocks differ by 2%: the interval holds 0 in 92 to 98.5% of 400."""
    rng = np.random.default_rng(3)
    each = 6
    block = np.repeat(np.arange(many), each)
    started = pl.DataFrame({"trial": np.arange(many * each), "started_at": np.arange(many * each, dtype=float)})
    holds = inside = 0
    for _ in range(400):
        system = np.concatenate([rng.permutation(each) for _ in range(many)])
        y = rng.normal(0, 0.02, many)[block] + rng.normal(0, 0.01, many * each) + system
        frame = started.select("trial", pl.col("trial").alias("position")).with_columns(
            block=block, value=np.exp(y), system=pl.Series(system).cast(pl.String)
        )
        found = drift.drift(frame, started, [], [], "elapsed")
        assert found and found.low is not None and found.high is not None
        holds += found.low <= 0 <= found.high
        assert found.left_low is not None and found.left_high is not None
        inside += found.left_low <= 0 <= found.left_high
    assert 0.92 <= holds / 400 <= 0.985
    assert 0.92 <= inside / 400 <= 0.985


def test_few_replications_need_all_values_inside(store: Store) -> None:
    def observe(trial: plan.Trial) -> Outcome:
        outcome = Outcome("ok")
        outcome.observe("elapsed", "s", {"a": 0.9, "b": 1.5, "c": 0.9}[trial.system])
        if trial.system == "c" and trial.replication == 1:
            outcome.observations[-1] = ("elapsed", "s", {}, 1.2)
        return outcome

    bound = {"requirements": [{"metric": "elapsed", "at_most": 1.0}], "replications": 4}
    run = made_runs.make(store, Experiment.model_validate(MADE | bound), observe)
    (found,) = analysis.analyse(analysis.load(store, run)).requirements
    assert found.verdicts == {"a": "pass", "b": "fail", "c": "unsure"}


def test_references_take_marks_only_for_assessments(tmp_path: Path) -> None:
    file = tmp_path / "reference.csv"
    file.write_text("target,factors,metric,unit,value,source\na,criterion=size,assessment,mark,++,Tab. 4\n")
    assert references.read(file)[0]["value"] == "++"
    file.write_text("target,factors,metric,unit,value,source\na,,elapsed,s,++,Tab. 4\n")
    with pytest.raises(Exception, match="is no number"):
        references.read(file)
