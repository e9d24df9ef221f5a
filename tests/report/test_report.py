"""The written report: its parts, its escaping, and what it says when a run has little to say."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import made_runs
import polars as pl
import pytest
from rich.console import Console

from bakeoff import analysis, report
from bakeoff.analysis.findings import Analysis
from bakeoff.experiment import Experiment
from bakeoff.plan import Trial
from bakeoff.report import content, draw, files, forest
from bakeoff.store import Store
from bakeoff.store.store import Outcome

EVIL = '<script>alert("x")</script><img src=x onerror=alert(1)>'
SMALL: dict[str, Any] = {
    "title": "Small",
    "question": "Which?",
    "systems": ["a", "b"],
    "procedure": {"kind": "exec"},
    "metrics": {"elapsed": {"unit": "s", "better": "lower", "marker": {}}, "peak_memory": {}},
    "replications": 3,
}


class Elements(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def small(**changes: Any) -> Experiment:
    return Experiment.model_validate(SMALL | changes)


def said(found: Analysis) -> str:
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(report.terminal(found))
    return console.export_text()


def conclude(store: Store, run: str) -> Any:
    return analysis.analyse(analysis.load(store, run))


def test_files(paper: Any) -> None:
    assert {kind: path.name for kind, path in paper.files.items()} == {
        "html": "report.html",
        "markdown": "report.md",
        "observations": "observations.csv",
        "summary": "summary.csv",
        "observations_parquet": "observations.parquet",
        "summary_parquet": "summary.parquet",
    }


def test_page_is_in_order_and_whole(paper: Any) -> None:
    text = paper.text("html")
    heads = re.findall(r"<h2>(.*?)</h2>", text)
    assert heads == [
        "Figures", "Tables", "Further findings", "Published figures beside ours", "Validity", "How it was measured",
        "Host and versions", "How to repeat it",
    ]  # fmt: skip
    assert text.index("What does it cost") < text.index("http-services is slower") < text.index("<h2>Figures")
    assert "939 (887 to 1,087)" in text and ">977<" in text
    assert "bakeoff run made --profile full --seed 2021" in text


def test_page_needs_no_network_and_its_policy_allows_its_own_script_alone(paper: Any) -> None:
    text = paper.text("html")
    found = Elements(text)
    assert found.tags.count("script") == 1 and "link" not in found.tags
    assert not [a for a in found.attributes if a[0] in ("src", "href") or a[0].startswith("on")]
    assert not re.findall(r"url\((?!#)", text)
    script = text.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policies = [value or "" for name, value in found.attributes if name == "content" and "default-src" in (value or "")]
    assert len(policies) == 1 and f"script-src 'sha256-{digest}'" in policies[0]
    assert len(script) < 12_000


def test_page_has_a_chart_of_each_kind_for_both_widths(paper: Any) -> None:
    text = paper.text("html")
    assert text.count("<svg") == 2 + 2 + 6 + 2 + 2  # ratios, distributions, trends, map, drift
    assert "var(--ink)" in text and "#1b1f24" not in text.partition("</style>")[2]


def test_observations_are_every_number(paper: Any) -> None:
    rows = list(csv.DictReader(paper.files["observations"].open()))
    elapsed = [row for row in rows if row["metric"] == "elapsed"]
    assert len(elapsed) == 135
    assert {row["set"] for row in elapsed} == {f"s{i}" for i in range(1, 10)}
    assert sorted(float(row["value"]) for row in elapsed) == sorted(chain(*made_runs.paper_times().values()))
    assert all(row["counted"] == "true" and row["run"] == "paper-1" for row in elapsed)


def test_summary_has_ratio_and_published_value(paper: Any) -> None:
    rows = list(csv.DictReader(paper.files["summary"].open()))
    row = next(
        r for r in rows if (r["system"], r["set"], r["metric"]) == ("uds-services", "s1", "elapsed")
    )  # fmt: skip
    assert float(row["published_ratio"]) == 265.165
    assert float(row["ratio_low"]) < float(row["ratio"]) < float(row["ratio_high"])
    assert row["verdict"] == "slower" and row["n"] == "5"


def test_markdown(paper: Any) -> None:
    text = paper.text("markdown")
    assert text.startswith("# Threads or services?")
    assert "| s1 | uds-services | 5 | 33.0 (31.1 to 33.2) | 264 (249 to 288) | 265 | slower (low power) |" in text


def test_terminal(paper: Any) -> None:
    text = said(conclude(paper.store, paper.run))
    assert re.search(r"uds-services +5 +33.0 \(31.1 to 33.2\) +264 \(249 to 288\) +265 +slower", text)


def test_stored_text_never_becomes_markup(store: Store, tmp_path: Path) -> None:
    """Titles, reasons, references, flags: all are stored by others, and none may run or be read as an element."""

    def observe(trial: Trial) -> Outcome:
        if trial.replication == 3:
            return Outcome("failed", EVIL)
        outcome = Outcome("ok")
        outcome.observe("elapsed", "s", 1.0 + trial.replication)
        if trial.replication == 2:
            outcome.flags.append(("stolen_cpu", EVIL, {}))
        return outcome

    rows = [
        {"target": system, "factors": "", "metric": "elapsed", "unit": "s", "value": "1", "source": EVIL}
        for system in ("a", EVIL)
    ]
    experiment = small(
        title=EVIL, question=EVIL, about=EVIL, systems=["a", "b", "c"], baseline="a",
        factors={"f": {"title": EVIL, "levels": {"<b>x</b>": {"n": 1}, "<i>y</i>": {"n": 2}}}},
        metrics={"elapsed": {"title": EVIL, "unit": "s", "better": "lower", "marker": {}}},
    )  # fmt: skip
    run = made_runs.make(store, experiment, observe, title=EVIL + "{}", reference_rows=rows, unavailable={"c": EVIL})
    store.set_run(run, readme=EVIL, versions={EVIL: EVIL})
    written = report.write(store, [run], tmp_path / "out")
    text = written["html"].read_text()
    found = Elements(text)
    assert found.tags.count("script") == 1 and "img" not in found.tags
    assert not [a for a in found.attributes if a[0].startswith("on")]
    assert "&lt;script&gt;" in text
    assert "<script" not in written["markdown"].read_text().replace("\\<script", "")
    assert "alert" in said(conclude(store, run))


def test_figures_refuse_what_is_no_shape() -> None:
    fine = draw.root(10, 10, 12, "a drawing")
    draw.text(fine, 0, 0, EVIL)
    assert "&lt;script&gt;" in draw.svg(fine)
    for tag, attribute in (("script", "x"), ("g", "onclick"), ("path", "href"), ("image", "x"), ("g", "style")):
        bad = draw.root(10, 10, 12, "a drawing")
        ElementTree.SubElement(bad, tag, {attribute: "x"})
        with pytest.raises(ValueError, match="the figure holds"):
            draw.svg(bad)


def test_control_characters_do_not_break_a_drawing() -> None:
    drawing = draw.root(10, 10, 12, "a drawing")
    draw.mark(drawing, "a\x00b\nc\x1b[0m\ud800", "s")
    assert ElementTree.fromstring(draw.svg(drawing)).find(".//{*}title").text == "a\ufffdb\nc\ufffd[0m\ufffd"


def test_many_observations_are_written_as_parquet_alone(store: Store, tmp_path: Path, monkeypatch: Any) -> None:
    values = {("a", ""): [1.0, 1.1, 1.2], ("b", ""): [2.0, 2.1, 2.2]}
    run = made_runs.make(store, small(), made_runs.values(values))
    before = report.write(store, [run], tmp_path)
    monkeypatch.setattr(files, "MOST_LINES", 11)
    after = report.write(store, [run], tmp_path)
    assert before["observations"].name == "observations.csv" and not before["observations"].exists()
    assert "observations" not in after and len(pl.read_parquet(after["observations_parquet"])) == 12


def test_parquet_holds_what_the_csv_holds(paper: Any) -> None:
    for name in ("observations", "summary"):
        texts = pl.read_csv(paper.files[name], infer_schema=False)
        same = pl.read_parquet(paper.files[f"{name}_parquet"])
        assert texts.columns == same.columns
        assert texts.equals(pl.read_csv(io.BytesIO(same.write_csv().encode()), infer_schema=False))


def test_unavailable_system_stays_a_row(store: Store, tmp_path: Path) -> None:
    values = {("a", ""): [1.0, 1.1, 1.2]}
    run = made_runs.make(store, small(baseline="a"), made_runs.values(values), unavailable={"b": "no compiler for b"})
    written = report.write(store, [run], tmp_path / "out")
    assert "unavailable: no compiler for b" in written["html"].read_text()
    assert "b is unavailable here: no compiler for b." in analysis.sentences(conclude(store, run))
    assert "unavailable: no compiler for b" in said(conclude(store, run))


@pytest.mark.parametrize("baseline", [None, "a"])
def test_run_without_any_number(store: Store, tmp_path: Path, baseline: str | None) -> None:
    run = made_runs.make(store, small(baseline=baseline), lambda _trial: Outcome("failed", "it broke"))
    written = report.write(store, [run], tmp_path / "out")
    text = written["html"].read_text()
    assert "No trial of this run has given a figure that counts yet." in text
    assert "it broke" in text and "6 trials that failed" in text
    assert "it broke" in said(conclude(store, run))


def test_run_without_baseline(store: Store, tmp_path: Path) -> None:
    values = {("a", ""): [1.0, 1.1, 1.2], ("b", ""): [2.0, 2.1, 2.2]}
    run = made_runs.make(store, small(), made_runs.values(values))
    text = report.write(store, [run], tmp_path / "out")["html"].read_text()
    assert "names no baseline" in text and "1.10 (1.00 to 1.20)" in text


@pytest.mark.parametrize(
    ("low", "high", "most"),
    [(0.9, 1100, 8), (0.9, 1100, 4), (0.93, 1.2, 8), (0.5, 30, 4), (1e-9, 1e9, 6), (99, 101, 8)],
)
def test_log_ticks(low: float, high: float, most: int) -> None:
    ticks = forest.log_ticks(low, high, most)
    assert 2 <= len(ticks) <= most + 1
    assert ticks == sorted(ticks) and low <= ticks[0] and ticks[-1] <= high


def test_what_is_not_set_beside_ours_is_one_sentence_a_reason(store: Store) -> None:
    names = ["a", "b"]
    rows = [
        {"target": system, "factors": f"f={level}", "metric": "elapsed", "unit": "s", "value": "1", "source": "Paper"}
        for system in names
        for level in ("8", "9")
    ]
    experiment = small(systems=names, baseline="a", factors={"f": {"levels": [1]}})
    values = {("a", "f=1"): [1.0, 1.1, 1.2], ("b", "f=1"): [2.0, 2.1, 2.2]}
    run = made_runs.make(store, experiment, made_runs.values(values), reference_rows=rows)
    table = next(one for one in content.published(conclude(store, run)) if "times" not in one.title)
    assert table.lines == []
    assert table.left_out == ["4 figures of a, b not set beside ours: this run has no cell f=8; f=9."]


def test_the_procedure_is_written_in_words() -> None:
    written = {"kind": "serve", "send": [{"name": "", "path": "/a", "headers": {}}, {"path": "/b", "weight": 2.0}]}
    assert content.in_words(written) == "kind serve, send (path /a), (path /b, weight 2)"
