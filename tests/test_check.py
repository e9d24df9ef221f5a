"""`bakeoff compare` and `check` from the shell: real runs of a small lab, and made runs in its store."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import made_runs
import pytest

from bakeoff.experiment import Experiment
from bakeoff.plan import Trial
from bakeoff.store import Store
from bakeoff.store.store import Outcome
from labs import TestLab

# What a trial costs is what the system says, not a time: a busy machine changes nothing.
SCRIPT = """i=0; while [ $i -lt $1 ]; do i=$((i+1)); done
echo "@bakeoff result {\\"count\\": $i, \\"cost\\": $((BASE + $$ % 20))}"
"""
METRICS = {"cost": {"unit": "1", "better": "lower", "result": "cost"}}


def costing(lab: TestLab, base: int) -> None:
    """The lab's system in a version that costs so much, with 2% of noise."""
    lab.system(script=SCRIPT.replace("BASE", str(base)))
    lab.experiment(metrics=METRICS, replications=7, factors={"count": {"levels": [3]}})


def run(lab: TestLab) -> str:
    return str(lab.json("run", "counting", "--profile", "full", "--no-report")["run"])


@pytest.mark.real
def test_a_regression_of_ten_percent_fails_in_ci_and_the_same_version_passes(lab: TestLab, tmp_path: Path) -> None:
    costing(lab, 1000)
    old, same = run(lab), run(lab)
    costing(lab, 1100)
    worse = run(lab)
    rule = ["--fail-if", "cost > +5%", "--fail-if", "failed_trials > 0"]
    files = ["--junit", str(tmp_path / "junit.xml"), "--markdown", str(tmp_path / "check.md")]

    done = lab.run("check", same, "--against", old, *rule, *files)
    assert "passed: 2 pass" in done.stdout
    suite = junit(tmp_path / "junit.xml")
    assert suite.attrib["tests"] == "2" and suite.attrib["failures"] == suite.attrib["skipped"] == "0"

    done = lab.run("check", "last", "--against", "last~2", *rule, *files, check=1)
    assert "fail  cost > +5%" in done.stdout and "check failed: 1 fail, 1 pass" in done.stderr
    suite = junit(tmp_path / "junit.xml")
    assert suite.attrib["failures"] == "1"
    [case] = [case for case in suite.iter("testcase") if case.find("failure") is not None]
    assert case.attrib["classname"] == "counting.plain" and case.attrib["name"] == "cost > +5% [count=3]"
    failure = case.find("failure")
    assert failure is not None and "the median went from 1,0" in failure.attrib["message"]
    assert "sources, commands or tools" in (tmp_path / "check.md").read_text()

    found = lab.json("check", worse, "--against", old, *rule, check=1)
    assert found["passed"] is False and found["outcomes"] == {"fail": 1, "unsure": 0, "pass": 1}
    assert found["judgements"][0]["share"] == pytest.approx(0.1, abs=0.02)

    changes = lab.json("compare", old, worse)
    assert [change["verdict"] for change in changes["changes"]] == ["worse"]
    assert [d["what"] for d in changes["differences"] if d["area"] == "system"] == ["plain: sources, commands or tools"]
    said = lab.run("compare", old, worse, "--out", str(tmp_path / "pages")).stdout
    assert "Cost: 1 worse" in said
    assert "<svg" in (tmp_path / "pages/compare.html").read_text()
    assert json.loads((tmp_path / "pages/compare.json").read_text())["changes"] == changes["changes"]


def junit(path: Path) -> ElementTree.Element:
    top = ElementTree.parse(path).getroot()
    assert top.tag == "testsuites"
    suite = top.find("testsuite")
    assert suite is not None and len(list(suite.iter("testcase"))) == int(suite.attrib["tests"])
    return suite


EXPERIMENT: dict[str, Any] = {
    "title": "Small",
    "question": "Which?",
    "systems": ["a", "b"],
    "baseline": "a",
    "procedure": {"kind": "exec"},
    "metrics": {"elapsed": {"unit": "s", "better": "lower", "marker": {}}},
    "replications": 10,
}


def made(
    lab: TestLab, name: str, seconds: float = 1.0, *, noise: float = 0.01, file: str = "store.db", **changes: Any
) -> str:
    """A run in the lab's store in which both systems take so many seconds."""
    (lab.root / ".bakeoff").mkdir(exist_ok=True)
    store = Store(f"sqlite:///{lab.root}/.bakeoff/{file}")

    def observe(trial: Trial) -> Outcome:
        outcome = Outcome("ok")
        draw = random.Random(f"{name} {trial.system} {trial.replication}")
        outcome.observe("elapsed", "s", seconds * draw.lognormvariate(0, noise))
        return outcome

    made_runs.make(store, Experiment.model_validate(EXPERIMENT | changes), observe, run=name)
    store.close()
    return name


def test_exit_codes_of_check(lab: TestLab) -> None:
    made(lab, "base"), made(lab, "equal"), made(lab, "slow", 1.1), made(lab, "noisy", 1.0, noise=0.3)
    rule = ["--against", "base", "--fail-if"]
    assert lab.run("check", "equal", *rule, "elapsed > +5%").returncode == 0
    lab.run("check", "slow", *rule, "elapsed > +5%", check=1)
    done = lab.run("check", "noisy", *rule, "elapsed > +5%")
    assert "unsure passes without --strict" in done.stdout
    assert "unsure fails (--strict)" in lab.run("check", "noisy", *rule, "elapsed > +5%", "--strict", check=1).stdout
    for words in (["elapsed > 5%"], ["elapsed < -5%"], ["speed > +5%"], ["elapsed of c > +5%"]):
        done = lab.run("check", "slow", *rule, *words, check=2)
        assert done.stderr.startswith("bakeoff: --fail-if: ") and "Mend: " in done.stderr
    assert "Missing option '--fail-if'" in lab.run("check", "slow", "--against", "base", check=2).stderr
    assert "there is no run 'none'" in lab.run("check", "none", *rule, "elapsed > +5%", check=2).stderr
    assert "named twice" in lab.run("check", "base", *rule, "elapsed > +5%", check=2).stderr
    error = lab.json("check", "slow", *rule, "elapsed > 5%", check=2)["error"]
    assert error["key"] == "--fail-if" and error["exit"] == 2


def test_unsure_is_skipped_in_junit_and_a_failure_when_strict(lab: TestLab, tmp_path: Path) -> None:
    made(lab, "base"), made(lab, "noisy", 1.0, noise=0.3)
    words = ["check", "noisy", "--against", "base", "--fail-if", "elapsed > +5%", "--junit", str(tmp_path / "j.xml")]
    lab.run(*words)
    suite = junit(tmp_path / "j.xml")
    skipped = [case for case in suite.iter("testcase") if case.find("skipped") is not None]
    assert int(suite.attrib["skipped"]) == len(skipped) >= 1 and suite.attrib["failures"] == "0"
    lab.run(*words, "--strict", check=1)
    suite = junit(tmp_path / "j.xml")
    failures = [failure.attrib["type"] for failure in suite.iter("failure")]
    assert failures == ["unsure"] * len(skipped) and suite.attrib["skipped"] == "0"


def test_junit_holds_whatever_a_log_says(lab: TestLab, tmp_path: Path) -> None:
    evil = "it said \x1b[31m<]]>& \x00\ufffe"
    made(lab, "base")
    store = Store(f"sqlite:///{lab.root}/.bakeoff/store.db")
    made_runs.make(store, Experiment.model_validate(EXPERIMENT), lambda _: Outcome("failed", evil), run="broken")
    store.close()
    file = tmp_path / "j.xml"
    lab.run("check", "broken", "--against", "base", "--fail-if", "elapsed > +5%", "--junit", str(file), check=1)
    assert "it said \ufffd[31m<]]>& \ufffd\ufffd" in ElementTree.parse(file).getroot()[0][1][0].attrib["message"]


def test_the_other_run_may_be_in_another_store(lab: TestLab) -> None:
    made(lab, "base", file="main.db"), made(lab, "slow", 1.2)
    words = ["--against", "base", "--fail-if", "elapsed > +5%"]
    lab.run("check", "slow", *words, check=2)
    lab.run("check", "slow", *words, "--against-store", ".bakeoff/main.db", check=1)
    url = f"sqlite:///{lab.root}/.bakeoff/main.db"
    assert lab.json("compare", "base", "slow", "--before-store", url)["changes"][0]["verdict"] == "slower"
    done = lab.run("compare", "base", "slow", "--before-store", "none.db", check=2)
    assert "there is no store 'none.db'" in done.stderr


def test_compare_says_when_runs_share_nothing(lab: TestLab) -> None:
    made(lab, "one", systems=["a"]), made(lab, "two", systems=["b"], baseline="b")
    done = lab.run("compare", "one", "two", check=2)
    assert "share nothing that can be compared: no system is in both (a; b)" in done.stderr
    assert lab.json("compare", "one", "two", check=2)["error"]["mend"]


def test_last_and_those_before_it(lab: TestLab) -> None:
    store = Store(f"sqlite:///{lab.root}/.bakeoff/store.db")
    for number, name in enumerate(("first", "second", "third")):
        made(lab, name)
        store.set_run(name, created_at=1000.0 + number)
    assert [store.run(name)["id"] for name in ("last", "last~0", "last~1", "last~2")] == [
        "third", "third", "second", "first",
    ]  # fmt: skip
    store.close()
    assert "there is no run 'last~3'" in lab.run("status", "last~3", check=2).stderr
