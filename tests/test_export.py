"""`bakeoff export`: tables and formats."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import made_runs
import polars as pl
import pytest

from bakeoff import export
from bakeoff.cli.export import TABLES
from bakeoff.experiment import Experiment
from bakeoff.plan import Trial
from bakeoff.store import Store
from bakeoff.store.store import Outcome
from labs import TestLab

EXPERIMENT = {
    "title": "Small",
    "question": "Which?",
    "systems": ["a", "b"],
    "baseline": "a",
    "factors": {"size": {"levels": ["small"]}},
    "procedure": {"kind": "exec"},
    "metrics": {"elapsed": {"unit": "s", "better": "lower", "marker": {}}},
    "replications": 3,
}


@pytest.fixture
def stored(lab: TestLab) -> TestLab:
    """A lab with one run: every kind of stored thing is in it."""

    def observe(trial: Trial) -> Outcome:
        outcome = Outcome("ok")
        outcome.observe("elapsed", "s", 1.5 * trial.replication)
        outcome.series.append(("memory", "B", {"part": "main"}, [0.0, 0.1], [10.0, 20.0]))
        outcome.histograms.append(("latency", "s", {}, "HISTFAAAAA=="))
        if trial.system == "b":
            outcome.flags.append(("stolen_cpu", 'so much, "12%"', {}))
        return outcome

    (lab.root / ".bakeoff").mkdir()
    store = Store(f"sqlite:///{lab.root}/.bakeoff/store.db")
    made_runs.make(store, Experiment.model_validate(EXPERIMENT), observe, run="one")
    store.close()
    return lab


def rows(lab: TestLab, *words: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(lab.run("export", "one", *words).stdout)))


def test_tables_as_csv(stored: TestLab) -> None:
    observed = rows(stored)
    assert len(observed) == 6 and observed[0]["metric"] == "elapsed" and observed[0]["size"] == "small"
    assert {row["counted"] for row in observed if row["system"] == "b"} == {"false"}
    assert {row["status"] for row in rows(stored, "--table", "trials")} == {"ok"}
    assert [row["detail"] for row in rows(stored, "--table", "flags")] == ['so much, "12%"'] * 3
    assert [row["n"] for row in rows(stored, "--table", "summary")] == ["3"]
    points = rows(stored, "--table", "series")
    assert len(points) == 12 and {(p["t_s"], p["value"]) for p in points} == {("0.0", "10.0"), ("0.1", "20.0")}
    assert points[0]["labels"] == "part=main" and points[0]["cell"] == "size=small" and points[0]["unit"] == "B"
    assert {row["data"] for row in rows(stored, "--table", "histograms")} == {"HISTFAAAAA=="}


def test_all_formats_hold_the_same(stored: TestLab, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in stored.run("export", "one", "--json").stdout.splitlines()]
    whole = json.loads(stored.run("export", "one", "--format", "json").stdout)
    assert whole == lines and len(lines) == 6 and lines[0]["value"] in (1.5, 3.0, 4.5)
    values = sorted(float(row["value"]) for row in rows(stored))
    assert sorted(line["value"] for line in lines) == values
    for ending in ("csv", "json", "jsonl", "ndjson", "parquet"):
        stored.run("export", "one", "--out", str(tmp_path / f"o.{ending}"))
    assert json.loads((tmp_path / "o.json").read_text()) == whole
    assert (tmp_path / "o.jsonl").read_text() == (tmp_path / "o.ndjson").read_text()
    assert pl.read_parquet(tmp_path / "o.parquet").write_csv() == (tmp_path / "o.csv").read_text()
    assert (tmp_path / "o.csv").read_text() == stored.run("export", "one").stdout


def test_findings_are_one_document(stored: TestLab) -> None:
    found = json.loads(stored.run("export", "one", "--table", "findings").stdout)
    assert found["title"] == "Small" and found["summaries"][0]["median"] == 3.0
    assert "write --format json" in stored.run("export", "one", "-t", "findings", "-f", "csv", check=2).stderr


def test_empty_tables_and_bad_words(stored: TestLab) -> None:
    store = Store(f"sqlite:///{stored.root}/.bakeoff/store.db")
    made_runs.make(store, Experiment.model_validate(EXPERIMENT), lambda _: Outcome("failed", "x"), run="two")
    for table in export.TABLES:
        for kind in export.FORMATS:
            assert isinstance(export.write(store, "two", table, kind), bytes)
    store.close()
    assert set(TABLES) == {*export.TABLES, "findings"}
    assert "did you mean 'series'" in stored.run("export", "one", "--table", "serie", check=2).stderr
    assert "csv, json" in stored.run("export", "one", "--format", "xlsx", check=2).stderr
    assert "no format has the ending 'xlsx'" in stored.run("export", "one", "-o", "x.xlsx", check=2).stderr
