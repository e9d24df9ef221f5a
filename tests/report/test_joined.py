"""Several runs of one experiment in one report."""

from __future__ import annotations

import csv
import random
import re
from pathlib import Path
from typing import Any

import made_runs
import numpy as np
import pytest

from bakeoff import analysis, report
from bakeoff.analysis import pairs, summary
from bakeoff.analysis.joined import join
from bakeoff.cli.report import folder_name
from bakeoff.errors import BadInput
from bakeoff.experiment import Experiment
from bakeoff.plan import Trial
from bakeoff.report import content
from bakeoff.store import Store
from bakeoff.store.store import Outcome

SMALL: dict[str, Any] = {
    "title": "Small",
    "question": "Which?",
    "systems": ["a", "b"],
    "baseline": "a",
    "procedure": {"kind": "exec"},
    "metrics": {"elapsed": {"unit": "s", "better": "lower", "marker": {}}},
    "replications": 4,
}


def made(store: Store, name: str, slower: float = 1.0, warm_up: int = 0, **changes: Any) -> str:
    """A run in which b takes twice as long as a; `slower` slows the whole run."""

    def observe(trial: Trial) -> Outcome:
        draw = random.Random(f"{name} {trial.system} {trial.replication}")
        outcome = Outcome("ok")
        seconds = {"a": 1.0, "b": 2.0, "c": 3.0}[trial.system]
        outcome.observe("elapsed", "s", slower * seconds * draw.lognormvariate(0, 0.01))
        outcome.observe("stolen_cpu", "1", 0.004)
        return outcome

    experiment = Experiment.model_validate(SMALL | {"warm_up": warm_up} | changes)
    return made_runs.make(store, experiment, observe, run=name)


def test_blocks_are_kept_apart_and_pairs_are_of_one_run(store: Store) -> None:
    """A run that is slower as a whole slows both sides: the ratio stays, and its interval stays narrow."""
    parts = [analysis.load(store, made(store, "one")), analysis.load(store, made(store, "two", slower=1.5))]
    joined = join(parts)
    found = analysis.analyse(joined)
    [comparison] = found.comparisons
    assert comparison.pairs == 8 and comparison.ratio == pytest.approx(2, rel=0.05)
    assert comparison.low is not None and comparison.high is not None
    groups = summary.grouped(joined.samples.filter(joined.samples["metric"] == "elapsed"), [])
    rows = {row["system"]: row for row in summary.rows(groups)}
    assert sorted(rows["a"]["blocks"]) == list(range(1, 9)) == sorted(rows["b"]["blocks"])
    ours, theirs = pairs.paired(rows["b"], rows["a"])
    assert np.allclose(ours / theirs, 2, rtol=0.08), "a pair is of one run"
    assert found.counts == {"ok": 16} and found.run["id"] == "one + two"
    assert joined.experiment.replications == 8


def test_warm_ups_of_the_second_run_take_no_block_of_the_first(store: Store) -> None:
    parts = [analysis.load(store, made(store, name, warm_up=2)) for name in ("one", "two", "three")]
    trials = join(parts).trials
    blocks = [set(trials.filter(trials["trial"].is_in(part.trials["trial"].to_list()))["block"]) for part in parts]
    assert not (blocks[0] & blocks[1] or blocks[1] & blocks[2] or blocks[0] & blocks[2])


def test_a_system_of_one_run_only_is_compared_within_it(store: Store) -> None:
    parts = [analysis.load(store, made(store, "one")), analysis.load(store, made(store, "two", systems=["a", "c"]))]
    found = analysis.analyse(join(parts))
    assert {c.group.system: c.pairs for c in found.comparisons} == {"b": 4, "c": 4}
    assert {s.group.system: s.n for s in found.summaries if s.group.metric == "elapsed"} == {"a": 8, "b": 4, "c": 4}


def test_runs_that_do_not_agree_say_so(store: Store) -> None:
    parts = [analysis.load(store, made(store, "one", replications=7))]
    parts += [analysis.load(store, made(store, "two", slower=1.5, replications=7))]
    notes = join(parts).run["notes"]
    assert any("do not agree: against one, two differs in 2 of 2 medians of elapsed (a, b)" in note for note in notes)
    agreeing = [parts[0], analysis.load(store, made(store, "three", replications=7))]
    assert not any("do not agree" in note for note in join(agreeing).run["notes"])


def test_other_kernels_are_said_and_other_machines_refused(store: Store) -> None:
    parts = [analysis.load(store, made(store, name)) for name in ("one", "two")]
    parts[1].host.update(kernel="6.2", hostname="another")
    assert any(
        "two differs from one: hostname bench and another, kernel 6.1 and 6.2." in n for n in join(parts).run["notes"]
    )
    parts[1].host["cpu"] = "Another CPU"
    with pytest.raises(BadInput, match=r"different machines \(cpu: Example CPU and Another CPU\)") as error:
        join(parts)
    assert "bakeoff compare one two" in error.value.mend


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"procedure": {"kind": "exec", "timeout": "9s"}}, "procedure.timeout differs (600.0 and 9.0)"),
        ({"factors": {"size": {"levels": [1]}}}, "factors"),
        ({"place": "namespace"}, "place differs (here and namespace)"),
        ({"metrics": {"elapsed": {"unit": "s", "marker": {"from": "startup"}}}}, "metrics.elapsed.better differs"),
    ],
)
def test_other_settings_are_refused(store: Store, changes: dict[str, Any], said: str) -> None:
    parts = [analysis.load(store, made(store, "one")), analysis.load(store, made(store, "two", **changes))]
    with pytest.raises(BadInput) as error:
        join(parts)
    assert said in error.value.problem


def test_another_version_of_a_system_is_refused(store: Store) -> None:
    parts = [analysis.load(store, made(store, name)) for name in ("one", "two")]
    object.__setattr__(parts[1].systems[1], "key", "abc")
    with pytest.raises(BadInput, match="the sources, commands or tools of b differ"):
        join(parts)


def test_the_report_of_two_runs(store: Store, tmp_path: Path) -> None:
    runs = [made(store, "one"), made(store, "two")]
    files = report.write(store, runs, tmp_path)
    page = files["html"].read_text()
    assert re.findall(r"<h1>(.*?)</h1>", page) == ["Small"]
    assert "run one + two" in page and "Joined from 2 runs" in page
    assert "Joined from 2 runs" in files["markdown"].read_text()
    rows = list(csv.DictReader(files["observations"].open()))
    assert {(row["run"], row["block"]) for row in rows} == {(run, str(b)) for run in runs for b in range(1, 5)}
    assert {(row["run"], row["n"]) for row in csv.DictReader(files["summary"].open())} == {("one + two", "8")}
    data = analysis.load_joined(store, ["one", "two", "one"])[0]
    assert content.repeat(analysis.analyse(data))[-1] == "bakeoff report one two"


def test_runs_of_several_experiments_stand_one_after_the_other(store: Store, tmp_path: Path) -> None:
    made(store, "one"), made(store, "two", title="Other")
    _rename(store, "two", "other")
    page = report.write(store, ["one", "two"], tmp_path)["html"].read_text()
    assert re.findall(r"<h1>(.*?)</h1>", page) == ["Small", "Other"] and "Joined" not in page


def _rename(store: Store, run: str, experiment: str) -> None:
    store.set_run(run, experiment=experiment)


def test_the_folder_of_many_runs_has_a_name_that_fits() -> None:
    assert folder_name(["a", "b"]) == "a+b"
    names = [f"message-passing-20260101-00000{i}-abcd" for i in range(9)]
    assert len(folder_name(names)) < 200 and folder_name(names) != folder_name(names[::-1])
    assert folder_name(names).startswith(names[0] + "+8-")
