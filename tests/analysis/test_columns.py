"""Reading as columns: a process of its own and the driver of Python give the same; named columns join."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import made_runs
import made_serving
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from bakeoff import analysis
from bakeoff.analysis import columns, overtime, reading, summary
from bakeoff.errors import CannotRun
from bakeoff.experiment import Experiment
from bakeoff.plan import Trial
from bakeoff.store import Store
from bakeoff.store.store import Outcome
from bakeoff.store.tables import trials

SMALL: dict[str, Any] = {
    "title": "Small",
    "question": "Which?",
    "systems": ["a", "b"],
    "factors": {"size": {"levels": ["small", "large"]}, "load": {"within": True, "levels": [1, 2]}},
    "procedure": {"kind": "exec"},
    "metrics": {"rate": {"unit": "1/s", "better": "higher", "result": "rate"}},
    "replications": 4,
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    opened = Store(f"sqlite:///{tmp_path / 'a store?.db'}")
    yield opened
    opened.close()


def test_a_process_of_its_own_reads_the_same(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs whose trials lie among one another, with flags of steps, failed trials and a resumed one."""
    for name in ("one", "two"):
        made_serving.run(store, "smoke", name)
    store.reopen("one")
    few = analysis.load(store, "two")
    monkeypatch.setattr(reading, "MANY", 0)
    many = analysis.load(store, "two")
    for field in ("samples", "trials", "flags", "flagged_steps"):
        one, other = getattr(few, field), getattr(many, field)
        assert one.schema == other.schema and one.equals(other), field
    assert few.parameters == many.parameters and few.states == many.states
    assert dataclasses.asdict(analysis.analyse(few)) == dataclasses.asdict(analysis.analyse(many))


def test_attempts_after_a_resume_are_in_order(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A further attempt has a number far behind those around it in the plan."""
    experiment = Experiment.model_validate(SMALL | {"factors": {}, "systems": ["a"]})

    def observe(trial: Trial) -> Outcome:
        outcome = Outcome("ok")
        outcome.observe("rate", "1/s", 10.0 + trial.replication)
        return outcome

    run = made_runs.make(store, experiment, observe)
    with store.engine.begin() as db:
        first = db.execute(select(trials.c.id).order_by(trials.c.position)).scalars().first()
        db.execute(trials.update().where(trials.c.id == first).values(status="running"))
    store.reopen(run)
    again = store.planned(run)[0]
    store.begin(run, again, {})
    outcome = Outcome("ok")
    outcome.observe("rate", "1/s", 99.0)
    store.finish(run, again, outcome, {})
    for many in (10_000, 0):
        monkeypatch.setattr(reading, "MANY", many)
        found = analysis.load(store, run)
        counted = found.samples.filter("counted")
        assert counted["position"].to_list() == [0, 1, 2, 3] and counted["value"].to_list() == [99.0, 12.0, 13.0, 14.0]
        assert found.trials.filter(~pl.col("last"))["status"].to_list() == ["interrupted"]


def test_a_store_that_cannot_be_read_is_one_clear_error(store: Store) -> None:
    query = select(trials.c.id, trials.c.reason).where(trials.c.id > 0)
    with reading.Columns(store, query, {"id": "Int32", "reason": "String"}, many=True) as begun:
        path = store.engine.url.database
        assert path is not None and begun.frame().is_empty()
    store.close()
    Path(path).write_bytes(b"SQLite format 3\0" + bytes(4096))
    with (
        reading.Columns(store, query, {"id": "Int32", "reason": "String"}, many=True) as begun,
        pytest.raises(CannotRun, match=r"the store cannot be read: .*Mend: see whether its file is whole"),
    ):
        begun.frame()


def test_a_reader_that_is_not_waited_for_is_ended(store: Store) -> None:
    with reading.Columns(store, select(trials.c.id), {"id": "Int32"}, many=True) as begun:
        process = begun._process
    assert process is not None and process.returncode is not None and not begun._file.parent.exists()


def test_named_columns_join() -> None:
    one = pl.DataFrame({"a": columns.named(pl.Series(["x", None, "y"])), "b": [1, 2, 3]})
    other = pl.DataFrame({"a": columns.named(pl.Series(["z", "x"])), "c": ["p", "q"]})
    whole = columns.joined([one, other])
    assert whole["a"].to_list() == ["x", None, "y", "z", "x"] and whole["b"].to_list() == [1, 2, 3, None, None]
    assert whole["a"].dtype == pl.Enum(["x", "y", "z"])
    more = columns.append(one, pl.DataFrame({"b": [4], "a": ["new"]}))
    assert more.rows()[-1] == ("new", 4)


ROWS = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.sampled_from(["x", "y", None]), st.integers(-1, 5), st.booleans(), st.integers(0, 9)
    ),
    min_size=1, max_size=60,
)  # fmt: skip


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_groups_are_those_of_a_plain_grouping(lines: list[tuple[Any, ...]]) -> None:
    frame = pl.DataFrame(lines, schema=["system", "size", "block", "counted", "value"], orient="row").with_columns(
        pl.col("value").cast(pl.Float64),
        pl.col("block").cast(pl.Int32),
        *(pl.lit(text).alias(name) for name, text in
          (("procedure", "exec"), ("metric", "m"), ("unit", "s"), ("labels", ""))),
    ).with_columns(pl.col("size").cast(pl.String))  # fmt: skip
    named = frame.with_columns(columns.named(frame[name]) for name in frame.columns if frame.schema[name] == pl.String)
    found = {(row["system"], row["size"]): row for row in summary.rows(summary.grouped(named, ["size"]))}
    kept = [line for line in lines if line[3]]
    assert found.keys() == {(line[0], line[1]) for line in kept}
    for key, row in found.items():
        own = sorted((line[2], index, line[4]) for index, line in enumerate(kept) if (line[0], line[1]) == key)
        values = np.array([value for _, _, value in own], dtype=np.float64)
        assert row["values"].tolist() == values.tolist() and row["blocks"].tolist() == [block for block, _, _ in own]
        expected = [len(own), *np.quantile(values, (0.5, 0.25, 0.75)), values.mean()]
        assert [row[name] for name in ("n", "median", "q1", "q3", "mean")] == pytest.approx(expected)
        assert row["sd"] == (pytest.approx(values.std(ddof=1)) if len(own) > 1 else None)


def test_time_lines_are_the_middle_of_the_trials_that_count(store: Store) -> None:
    def observe(trial: Trial) -> Outcome:
        outcome = Outcome("ok")
        for load in (1, 2):
            outcome.observe("rate", "1/s", 5.0, {"load": str(load)})
            scale = load * trial.replication
            outcome.series.append(
                ("rate", "1/s", {"load": str(load)}, [0.5, 1.0, 1.5], [scale, 2.0 * scale, 4.0 * scale])
            )
        falls = trial.system == "a"  # as where many processes end before the others
        outcome.series.append(("cpu", "s", {}, [1.0, 2.0, 4.0], [0.5, 1.5, 0.2 if falls else 2.0]))
        outcome.series.append(("rate", "1/s", {"phase": "warm-up"}, [0.25, 0.5], [1.0, 2.0]))
        outcome.series.append(("rate", "1/s", {"part": "x"}, [0.25, 0.5], [1.0, 2.0]))
        if trial.replication == 4:
            outcome.flags.append(("errors", "some", {"load": "2"}))
        return outcome

    data = analysis.load(store, made_runs.make(store, Experiment.model_validate(SMALL), observe))
    found = {(one.system, one.metric, one.of): one for one in overtime.lines(data, {"size": "small", "load": "2"})}
    assert {key[1:] for key in found} == {("rate", "step"), ("cpu", "trial"), ("rate", "warm-up")}
    rate = found["a", "rate", "step"]
    assert (rate.trials, rate.of_trials, rate.unit) == (3, 4, "1/s")
    assert rate.middle.tolist() == [4.0, 8.0, 16.0] and rate.least.tolist() == [2.0, 4.0, 8.0]
    assert rate.greatest.tolist() == [6.0, 12.0, 24.0] and rate.times.tolist() == [0.5, 1.0, 1.5]
    assert ("a", "cpu", "trial") not in found
    cpu = found["b", "cpu", "trial"]
    assert cpu.unit == "CPUs" and cpu.middle.tolist() == [1.0, 0.25] and cpu.times.tolist() == [2.0, 4.0]
