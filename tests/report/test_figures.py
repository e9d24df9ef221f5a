"""The experiment's own figures, their tables, and the answer for many cells."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import made_runs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff import analysis, plan, report
from bakeoff.analysis.findings import Analysis
from bakeoff.experiment import Experiment
from bakeoff.report import curves, figures, lines, matrix
from bakeoff.store import Store
from bakeoff.store.store import Outcome

CURVED: dict[str, Any] = {
    "title": "Curved",
    "question": "How?",
    "systems": ["a", "b", "c"],
    "baseline": "a",
    "factors": {
        "mode": {"levels": ["on", "off"]},
        "load": {"title": "Load", "within": True, "levels": [1, 10, 100]},
    },
    "procedure": {"kind": "exec"},
    "metrics": {"rate": {"unit": "1/s", "better": "higher", "result": "rate", "scale": "log"}},
    "figures": [
        {"title": "By load", "kind": "curve", "metric": "rate", "x": "load", "where": {"mode": "on"}, "note": "Look."},
        {"title": "At 1", "metric": "rate", "where": {"mode": "on", "load": 1}},
        {
            "title": "Nothing",
            "kind": "curve",
            "metric": "rate",
            "x": "load",
            "where": {"mode": "off"},
            "systems": ["c"],
        },
    ],
    "replications": 4,
}
SPEED = {"a": 1.0, "b": 2.0, "c": 0.5}


def observe(trial: plan.Trial) -> Outcome:
    outcome = Outcome("ok")
    for load in (1, 10, 100):
        if trial.system == "c" and trial.cell["mode"] == "off":
            outcome.flags.append(("errors", "some", {"load": str(load)}))
        rate = SPEED[trial.system] * 1000 * load**0.5 * (1 + trial.replication / 100)
        outcome.observe("rate", "1/s", rate, {"load": str(load)})
    outcome.flags.append(("not_settled", "still rising", {}))
    return outcome


def row(system: str, value: float, load: int = 10, **more: str) -> dict[str, str]:
    where = f"mode=on load={load}"
    return {"target": system, "factors": where, "metric": "rate", "unit": "1/s", "value": str(value), **more}


def made(store: Store, rows: list[dict[str, str]], **changes: Any) -> tuple[Analysis, Any]:
    run = made_runs.make(store, Experiment.model_validate(CURVED | changes), observe, reference_rows=rows)
    data = analysis.load(store, run)
    return analysis.analyse(data), data


def test_figures_are_the_experiments_in_its_order(store: Store) -> None:
    found, data = made(store, [row("b", 7000.0), row("a", 3000.0)])
    drawn = figures.figures(found, data)
    assert [figure.title for figure in drawn] == ["By load", "At 1", "Nothing", "Rate of every cell, times a"]
    assert drawn[0].caption.startswith("Look. Medians") and "Both axes are logarithmic." in drawn[0].caption
    assert "Diamonds are published values." in drawn[0].caption
    assert drawn[2].wide == [] and drawn[2].caption == "No trial in these cells has given a figure that counts."


def test_curve_has_a_line_a_label_and_tooltips(store: Store) -> None:
    found, data = made(store, [row("b", 7000.0, source="Paper", low="7000"), row("c", 1.0, load=1000)])
    svg = ElementTree.fromstring(figures.figures(found, data)[0].wide[0])
    texts = [element.text for element in svg.iter() if element.tag.endswith("}text")]
    assert {"a", "b", "c", "Load", "Rate, 1/s", "1", "10", "100"} <= set(texts)
    titles = [str(element.text) for element in svg.iter() if element.tag.endswith("}title")]
    of_b = [title.splitlines() for title in titles if title.startswith("b, Load")]
    assert len(of_b) == 3
    heading, median, interval, n, ratio = of_b[0]
    assert (heading, median, n) == ("b, Load 1", "median 2,050 1/s", "n = 4 (low power)")
    assert interval == "95% interval 2,020 to 2,080 1/s" and ratio == "2 times a"
    assert [title for title in titles if title.startswith("published")] == ["published, b: over 7,000 1/s (Paper)"]


def test_levels_that_are_no_numbers_stand_evenly(store: Store) -> None:
    figure = {"title": "By mode", "kind": "curve", "metric": "rate", "x": "mode", "where": {"load": 1}}
    found, data = made(store, [], figures=[figure])
    drawn = figures.figures(found, data)[0]
    assert ">on</text>" in drawn.wide[0] and ">off</text>" in drawn.wide[0]
    assert "horizontal" not in drawn.caption and "Both" not in drawn.caption


def test_free_factors_make_panels_of_their_own(store: Store) -> None:
    found, data = made(store, [], figures=[{"title": "t", "kind": "curve", "metric": "rate", "x": "load"}])
    drawn = figures.figures(found, data)[0]
    assert len(drawn.wide) == 2 and "mode on" in drawn.wide[0] and "mode off" in drawn.wide[1]
    assert [one.title for one in matrix.of_figure(found, found.figures[0])] == ["mode on", "mode off"]


def test_study_comes_first_and_baseline_is_everywhere(serving: Any) -> None:
    found = analysis.analyse(analysis.load(serving.store, serving.run))
    drawn = curves.figure(found, found.figures[0])
    labels = [re.findall(r'aria-label="([^"]*)"', svg)[0] for svg in drawn.wide]
    assert labels[0].startswith("Systems of the study") and len(labels) == 3
    assert all(re.search(r"each of go,", label) for label in labels)
    assert {"rust-thread", "rust-threadpool", "rust-async-std", "rust-tokio"} <= set(re.findall(r"[\w-]+", labels[0]))


def test_page_of_many_cells(serving: Any) -> None:
    text = serving.text("html")
    titles = [spec.title for spec in analysis.analyse(analysis.load(serving.store, serving.run)).figures]
    heads = re.findall(r"<h3>(.*?)</h3>", text)
    assert heads[: len(titles)] == titles
    cell = "workload hello, Keep-alive on, connections 50"
    more = ["Right answers a second of every cell, times go", f"Response time by percentile: {cell}"]
    assert heads[len(titles) : len(titles) + 2] == more
    assert heads[len(titles) + 2 : 2 * len(titles) + 2] == titles
    assert len(text) < 1_500_000


def test_answer_for_many_cells_is_short_and_true(serving: Any) -> None:
    found = analysis.analyse(analysis.load(serving.store, serving.run))
    said = analysis.sentences(found)
    assert len(said) <= 8
    assert found.figures[0].title in said[0] and any(line.startswith("Power is low") for line in said)
    named = [line for line in said if "rust-tokio" in line]
    every = [c for (system, cell), c in found.comparisons_of["throughput"].items()
             if system == "rust-tokio" and "workload=hello keepalive=on" in cell]  # fmt: skip
    assert len(named) == 1 and named[0].startswith("Faster than go in each of the 3 cells")
    assert {c.verdict for c in every} == {"faster"}
    furthest = max(every, key=lambda c: c.ratio or 0).group.cell["connections"]
    assert f"furthest at connections {furthest}" in named[0].partition("rust-tokio")[2].partition(")")[0]


def test_only_some_flags_take_out(store: Store, tmp_path: Path) -> None:
    found, _ = made(store, [])
    counts = {one.flag: one for one in found.flags}
    assert [one.flag for one in found.flags] == ["errors", "not_settled"]
    assert (counts["not_settled"].excludes, counts["not_settled"].trials, counts["not_settled"].of_trials) == (
        False,
        24,
        24,
    )
    assert (counts["errors"].excludes, counts["errors"].steps, counts["errors"].of_steps) == (True, 12, 72)
    assert {s.n for s in found.summaries if s.group.system == "c"} == {4}
    assert "12 steps with a validity flag" in analysis.sentences(found)[-1]
    text = report.write(store, [str(found.run["id"])], tmp_path / "out")["html"].read_text()
    assert "requests failed" in text and "12 of 72 steps" in text and "24 of 24 trials" in text
    assert "24 trials ended, of which 24 count." in text


@given(st.lists(st.floats(0, 200), min_size=1, max_size=8).map(sorted))
@settings(max_examples=80, deadline=None)
def test_labels_keep_apart_in_their_order(wanted: list[float]) -> None:
    places = lines.spread(wanted, 15.0, 0.0, 200.0)
    assert all(b - a >= 15 - 1e-6 for a, b in pairwise(places))
    assert places[0] >= -1e-6 and places[-1] <= 200 + 1e-6


def test_label_that_has_room_stays() -> None:
    assert lines.spread([20.0, 100.0], 15.0, 0.0, 200.0) == [20.0, 100.0]
    assert lines.spread([50.0, 50.0], 15.0, 0.0, 200.0) == [42.5, 57.5]


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (1500.0, "1,500"), (0.3, "0.3"), (1e-9, "1e-09")])
def test_plain_numbers(value: float, text: str) -> None:
    from bakeoff.analysis import numbers

    assert numbers.plain(value) == text


def spoken(store: Store, ratios: dict[str, float], systems: list[str]) -> str:
    """The answer of a run of many cells in which each system has its ratio to `base`, for each factor's level."""
    levels = [str(number) for number in range(14)]

    def observe(trial: plan.Trial) -> Outcome:
        outcome = Outcome("ok")
        ratio = ratios.get(f"{trial.system} {trial.cell['size']}", ratios.get(trial.system, 1.0))
        noise = 1 + trial.replication / 1000
        if trial.system != "base" and ratio == 1.0:
            noise = 1 + (-1) ** trial.replication * 0.2
        outcome.observe("rate", "1/s", 1000.0 * ratio * noise)
        return outcome

    experiment = Experiment.model_validate(
        {
            "title": "T", "question": "Q?", "systems": ["base", *systems], "baseline": "base", "replications": 8,
            "factors": {"size": {"levels": levels}}, "procedure": {"kind": "exec"},
            "metrics": {"rate": {"unit": "1/s", "better": "higher", "result": "rate"}},
        }
    )  # fmt: skip
    data = analysis.load(store, made_runs.make(store, experiment, observe))
    return "\n".join(analysis.sentences(analysis.analyse(data)))


def test_the_answer_puts_systems_together_by_what_is_settled(store: Store) -> None:
    ratios = {"fast": 2.0, "partly 3": 1.5, "partly 4": 3.0, "level 5": 1.0001, "mixed 1": 2.0, "mixed 2": 0.5}
    lines = spoken(store, ratios, ["fast", "partly", "level", "mixed", "alike"]).splitlines()
    assert lines[0] == (
        "Faster than base in each of the 14 cells of this run: fast (2.0 times, furthest at size 0). "
        "“Times” compares rate with base's."
    )
    assert lines[1] == (
        "Faster than base in some of them, not settled in the others: "
        "partly (2 of 14: 1.5 to 3.0 times, furthest at size 4)."
    )
    assert (
        lines[2] == "The same as base in some of them, not settled in the others: level (1 of 14: 1.0 times at size 5)."
    )
    assert lines[3].startswith("Differs from cell to cell against base: mixed (")
    assert "faster in 1" in lines[3] and "slower in 1" in lines[3] and "0.50 to 2.0 times" in lines[3]
    assert lines[4] == "Not settled against base in any cell: alike."
