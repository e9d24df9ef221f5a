"""Malformed files: exit 2, one message that names the file, the line or key, and the mend; never a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff import cli
from labs import TestLab

# What is wrong, the changes to a good file (or the whole text), the key the message must name, a word of the mend.
Case = tuple[str, dict[str, Any] | str, str, str]

METRIC = {"unit": "s", "marker": {"from": "startup", "to": "finish"}}
EXPERIMENTS: list[Case] = [
    ("empty file", "", "", "title"),
    ("a list", "- title: x\n", "", "title"),
    ("broken YAML", "title: [unclosed\n", "", "correct the line"),
    ("tabs", "title: x\n\tquestion: y\n", "", "correct the line"),
    ("a key twice", "title: x\ntitle: y\n", "", "correct the line"),
    ("no title", {"title": None}, "title", "add `title:`"),
    ("no question", {"question": None}, "question", "add `question:`"),
    ("title is a list", {"title": ["a"]}, "title", "write"),
    ("unknown key", {"replication": 3}, "replication", "did you mean `replications`"),
    ("unknown key far from any", {"zzz": 3}, "zzz", "remove it"),
    ("no systems", {"systems": []}, "systems", "write"),
    ("system twice", {"systems": ["plain", "plain"]}, "systems", "remove one"),
    ("unknown system", {"systems": ["plane"]}, "systems.0", "did you mean 'plain'"),
    ("unknown variant", {"systems": ["plain:fast"]}, "systems.0", "bakeoff show"),
    ("system name with a slash", {"systems": ["../plain"]}, "systems.0", "use only"),
    ("baseline elsewhere", {"baseline": "other"}, "baseline", "plain"),
    ("no procedure", {"procedure": None}, "procedure", "add `procedure:`"),
    ("procedure without kind", {"procedure": {"timeout": "3s"}}, "procedure", "exec"),
    ("unknown procedure", {"procedure": {"kind": "execute"}}, "procedure", "exec"),
    ("procedure's unknown key", {"procedure": {"kind": "exec", "time": "3s"}}, "procedure.time", "timeout"),
    ("timeout without unit", {"procedure": {"kind": "exec", "timeout": "3 parsecs"}}, "procedure.timeout", "30s"),
    ("negative timeout", {"procedure": {"kind": "exec", "timeout": -1}}, "procedure.timeout", "zero or more"),
    (
        "memory limit",
        {"procedure": {"kind": "exec", "limits": {"memory": "lots"}}},
        "procedure.limits.memory",
        "512MiB",
    ),
    ("CPU set", {"procedure": {"kind": "exec", "limits": {"cpus": "first"}}}, "procedure.limits.cpus", "0-1"),
    ("no metrics", {"metrics": {}}, "metrics", "write"),
    ("unknown metric", {"metrics": {"speed": {}}}, "metrics.speed", "add marker"),
    ("metric with two sources", {"metrics": {"a": METRIC | {"result": "x"}}}, "metrics.a", "keep one"),
    ("metric without unit", {"metrics": {"a": {"result": "x"}}}, "metrics.a", "add `unit:`"),
    ("metric with a bad formula", {"metrics": {"a": {"formula": "1 +", "unit": "s"}}}, "metrics.a.formula", "a * b"),
    ("metric's direction", {"metrics": {"cpu": {"better": "less"}}}, "metrics.cpu.better", "lower"),
    ("primary elsewhere", {"primary": "speed"}, "primary", "cpu"),
    ("replications zero", {"replications": 0}, "replications", "write"),
    ("replications text", {"replications": "many"}, "replications", "write"),
    ("order", {"order": "sorted"}, "order", "blocks"),
    ("factor without levels", {"factors": {"size": {"levels": []}}}, "factors.size.levels", "write"),
    ("level twice", {"factors": {"size": {"levels": [1, 1]}}}, "factors.size.levels", "remove one"),
    ("levels mixed", {"factors": {"size": {"levels": [1, {"a": 2}]}}}, "factors.size.levels", "name: {key"),
    ("factor named system", {"factors": {"system": {"levels": [1]}}}, "factors.system", "another name"),
    ("parameter nobody sets", {"factors": {"size": {"levels": [1, 2]}}}, "expect.result.count", "size"),
    (
        "level that lacks a parameter",
        {"factors": {"size": {"levels": {"a": {"count": 1}, "b": {"n": 2}}}}},
        "factors.size.levels.b",
        "add `",
    ),
    ("factor named like a column", {"factors": {"metric": {"levels": [1]}}}, "factors.metric", "another name"),
    ("factor named like a statistic", {"factors": {"median": {"levels": [1]}}}, "factors.median", "another name"),
    ("parameter of the lab", {"factors": {"size": {"levels": {"a": {"port": 1}}}}}, "factors.size", "another name"),
    (
        "parameter set twice",
        {"factors": {"a": {"levels": {"x": {"count": 1}}}, "count": {"levels": [1]}}},
        "factors.count",
        "keep one",
    ),
    ("answer with an unknown name", {"expect": {"result": {"count": "counter"}}}, "expect.result.count", "count"),
    ("answer with an unknown function", {"expect": {"result": {"count": "f(count)"}}}, "expect.result.count", "sqrt"),
    (
        "formula with an unknown name",
        {"metrics": {"a": {"formula": "speed / 2", "unit": "1"}}},
        "metrics.a.formula",
        "cpu",
    ),
    ("formula in a circle", {"metrics": {"a": {"formula": "a + 1", "unit": "1"}}}, "metrics.a.formula", "circle"),
    (
        "profile's unknown level",
        {"profiles": {"p": {"factors": {"size": {"levels": ["huge"]}}}}},
        "profiles.p.factors.size.levels",
        "show",
    ),
    ("a list as key", "? [a, b]\n: 1\n", "", "correct the line"),
    ("a tag that fits no value", "title: !!int abc\n", "", "plain values"),
    ("an endless number", "title: x\nquestion: y\nseed: 1e999\n", "", "write a number"),
    (
        "far too many trials",
        {"replications": 10000, "factors": {"size": {"levels": {str(n): {"count": n} for n in range(200)}}}},
        "",
        "at most",
    ),
    ("constraint on no factor", {"constraints": [{"exclude": {"colour": "red"}}]}, "constraints.0", "size"),
    ("constraint on no level", {"constraints": [{"exclude": {"size": "huge"}}]}, "constraints.0", "small, large"),
    ("constraint of both forms", {"constraints": [{"exclude": {}, "only": {}}]}, "constraints.0", "keep one"),
    ("constraints leave nothing", {"constraints": [{"exclude": {"system": "plain"}}]}, "constraints", "loosen"),
    ("requirement without bound", {"requirements": [{"metric": "cpu"}]}, "requirements.0", "at_most"),
    ("requirement's metric", {"requirements": [{"metric": "x", "at_most": 1}]}, "requirements.0.metric", "cpu"),
    (
        "requirement's level",
        {"requirements": [{"metric": "cpu", "at_most": 1, "cells": {"size": "huge"}}]},
        "requirements.0.cells",
        "small",
    ),
    (
        "requirement's system",
        {"requirements": [{"metric": "cpu", "at_most": 1, "systems": ["x"]}]},
        "requirements.0.systems",
        "plain",
    ),
    ("knee without a factor", {"knees": [{"metric": "cpu", "at_most": 1, "over": "rate"}]}, "knees.0.over", "size"),
    ("knee over words", {"knees": [{"metric": "cpu", "at_most": 1, "over": "size"}]}, "knees.0.over", "rise"),
    (
        "knee with two bounds",
        {"knees": [{"metric": "cpu", "at_most": 1, "at_least": 0, "over": "size"}]},
        "knees.0",
        "either",
    ),
    ("assessment without criteria", {"assessment": {"criteria": {}}}, "assessment.criteria", "write"),
    ("criterion's metric", {"assessment": {"criteria": {"a": {"metric": "x"}}}}, "assessment.criteria.a.metric", "cpu"),
    (
        "thresholds out of order",
        {"assessment": {"thresholds": [2, 1.5, 3, 4], "criteria": {"a": {"metric": "cpu"}}}},
        "assessment.thresholds",
        "rising",
    ),
    (
        "criterion's thresholds below the best",
        {"assessment": {"criteria": {"a": {"metric": "cpu", "thresholds": [0.5, 2, 3, 4]}}}},
        "assessment.criteria.a.thresholds",
        "1 or more",
    ),
    (
        "a cost without a price",
        {"metrics": {"cpu": {}, "cost_per_billion": {}}},
        "metrics.cost_per_billion",
        "usd_per_cpu_hour",
    ),
    ("a constant set twice", {"constants": {"count": 3}}, "factors.size", "keep one"),
    ("no reference file", {"references": "none.csv"}, "", "references"),
    ("profile's unknown system", {"profiles": {"p": {"systems": ["x"]}}}, "profiles.p.systems", "plain"),
    (
        "profile's unknown factor",
        {"profiles": {"p": {"factors": {"x": {"levels": [1]}}}}},
        "profiles.p.factors",
        "show",
    ),
    ("profile's unknown key", {"profiles": {"p": {"rep": 1}}}, "profiles.p.rep", "did you mean"),
    ("expectation is no formula", {"expect": {"result": {"count": "a b"}}}, "expect.result.count", "a * b"),
]
PART = {"command": ["sh"]}
BUILD = {"commands": [["true"]], "artefacts": ["x"]}
SYSTEMS: list[Case] = [
    ("empty file", "", "", "title"),
    ("a scalar", "hello\n", "", "title"),
    ("broken YAML", "title: 'x\n", "", "correct the line"),
    ("bad indentation", "title: x\n about: y\n", "", "correct the line"),
    ("a key twice", "title: x\nparts: {}\nparts: {}\n", "", "correct the line"),
    ("no title", {"title": None}, "title", "add `title:`"),
    ("unknown key", {"part": {}}, "part", "did you mean `parts`"),
    ("no parts", {"parts": None}, "parts", "add `parts:`"),
    ("parts empty", {"parts": {}}, "parts", "write"),
    ("parts a list", {"parts": [PART]}, "parts", "write"),
    ("part without command", {"parts": {"main": {"role": "x"}}}, "parts.main.command", "add `command:`"),
    ("two programs", {"parts": {"main": PART | {"artefacts": {"wasi": "x"}}}}, "parts.main.artefacts", "remove"),
    ("command is a shell line", {"parts": {"main": {"command": "sh -c x"}}}, "parts.main.command", "[sh, -c, x]"),
    ("command empty", {"parts": {"main": {"command": []}}}, "parts.main.command", "write"),
    ("part's unknown key", {"parts": {"main": PART | {"comand": 1}}}, "parts.main.comand", "did you mean `command`"),
    ("no main among several", {"parts": {"a": PART, "b": PART}}, "parts", "`main`"),
    ("part name with a space", {"parts": {"a b": PART}}, "parts.a b", "use only"),
    ("unknown parameter", {"parts": {"main": {"command": ["sh", "{sise}"]}}}, "parts.main.command", "count"),
    (
        "ready of two kinds",
        {"parts": {"main": PART | {"ready": {"tcp": "a", "marker": "b"}}}},
        "parts.main.ready",
        "keep one",
    ),
    ("ready of no kind", {"parts": {"main": PART | {"ready": {}}}}, "parts.main.ready", "keep one"),
    (
        "ready's time",
        {"parts": {"main": PART | {"ready": {"tcp": "a", "timeout": "x"}}}},
        "parts.main.ready.timeout",
        "30s",
    ),
    (
        "ready's status",
        {"parts": {"main": PART | {"ready": {"http": "a", "status": 99}}}},
        "parts.main.ready.status",
        "write",
    ),
    ("env is a list", {"parts": {"main": PART | {"env": ["A=b"]}}}, "parts.main.env", "write"),
    ("needs is a text", {"needs": "go"}, "needs", "write"),
    ("needs a path", {"needs": ["../go"]}, "needs.0", "use only"),
    ("version without command", {"version": {"pattern": "x"}}, "version.command", "add `command:`"),
    ("version pattern broken", {"version": {"command": ["a"], "pattern": "("}}, "version.pattern", "correct"),
    (
        "version pattern without group",
        {"version": {"command": ["a"], "pattern": "x"}},
        "version.pattern",
        "parentheses",
    ),
    ("build without commands", {"build": {"artefacts": ["x"]}}, "build.commands", "add `commands:`"),
    ("build without artefacts", {"build": {"commands": [["x"]]}}, "build.artefacts", "add `artefacts:`"),
    (
        "build command a text",
        {"build": {"commands": ["make all"], "artefacts": ["x"]}},
        "build.commands.0",
        "[make, all]",
    ),
    ("artefact outside", {"build": BUILD | {"artefacts": ["x", "../../etc"]}}, "build.artefacts.1", "below {out}"),
    ("artefact anywhere", {"build": BUILD | {"artefacts": ["/etc/passwd"]}}, "build.artefacts.0", "below {out}"),
    ("artefact is all", {"build": BUILD | {"artefacts": ["."]}}, "build.artefacts.0", "below {out}"),
    ("artefact winds out", {"build": BUILD | {"artefacts": ["a/../../b"]}}, "build.artefacts.0", "below {out}"),
    ("sources outside", {"build": BUILD | {"sources": [".", "../../.."]}}, "build.sources.1", "../common"),
    ("sources anywhere", {"build": BUILD | {"sources": ["/etc"]}}, "build.sources.0", "../common"),
    ("sources are all systems", {"build": BUILD | {"sources": ["../.."]}}, "build.sources.0", "../common"),
    ("sources that are not there", {"build": BUILD | {"sources": ["src"]}}, "build.sources.0", "make it"),
    ("stop signal", {"stop": {"signal": "SIGTERM"}}, "stop.signal", "TERM"),
    ("stop grace", {"stop": {"grace": "soon"}}, "stop.grace", "30s"),
    ("variant's unknown key", {"variants": {"v": {"flags": 1}}}, "variants.v.flags", "known keys"),
    (
        "variant's parameter name",
        {"variants": {"v": {"parameters": {"a-b": 1}}}},
        "variants.v.parameters.a-b",
        "use only",
    ),
    ("expect is a text", {"expect": "right"}, "expect", "write"),
]


@pytest.mark.parametrize(("what", "changes", "key", "mend"), EXPERIMENTS, ids=[case[0] for case in EXPERIMENTS])
def test_malformed_experiment(
    lab: TestLab, capsys: Any, monkeypatch: Any, what: str, changes: Any, key: str, mend: str
) -> None:
    path = lab.experiment(**changes) if isinstance(changes, dict) else lab.experiment()
    _check(lab, capsys, monkeypatch, path, changes, key, mend)


@pytest.mark.parametrize(("what", "changes", "key", "mend"), SYSTEMS, ids=[case[0] for case in SYSTEMS])
def test_malformed_system(
    lab: TestLab, capsys: Any, monkeypatch: Any, what: str, changes: Any, key: str, mend: str
) -> None:
    path = lab.system(**changes) if isinstance(changes, dict) else lab.system()
    _check(lab, capsys, monkeypatch, path, changes, key, mend)


def _check(lab: TestLab, capsys: Any, monkeypatch: Any, path: Path, changes: Any, key: str, mend: str) -> None:
    if isinstance(changes, str):
        path.write_text(changes)
    monkeypatch.setattr("sys.argv", ["bakeoff", "--lab", str(lab.root), "plan", "counting", "--profile", "full"])
    assert cli.main() == 2
    message = capsys.readouterr().err
    assert message.count("bakeoff: ") == 1 and "Traceback" not in message
    assert f"{key}: " in message
    assert mend in message.split("Mend: ")[1]
    assert ".yaml" in message or "references" in mend
    assert not (lab.root / ".bakeoff").exists(), "nothing is started on bad input"


def test_message_names_the_line(lab: TestLab, capsys: Any, monkeypatch: Any) -> None:
    path = lab.experiment()
    lines = path.read_text().splitlines()
    number = next(i for i, line in enumerate(lines) if line.startswith("replications")) + 1
    path.write_text("\n".join(lines).replace("replications: 2", "replications: two"))
    monkeypatch.setattr("sys.argv", ["bakeoff", "--lab", str(lab.root), "plan", "counting"])
    assert cli.main() == 2
    assert f"{path}:{number}: replications: " in capsys.readouterr().err


def test_not_utf8(lab: TestLab, capsys: Any, monkeypatch: Any) -> None:
    lab.experiment().write_bytes(b"title: \xff\xfe\n")
    monkeypatch.setattr("sys.argv", ["bakeoff", "--lab", str(lab.root), "plan", "counting"])
    assert cli.main() == 2
    assert "save the file as UTF-8" in capsys.readouterr().err


def test_installed_command_exits_2(lab: TestLab) -> None:
    lab.experiment(replications=0)
    done = lab.run("run", "counting", check=2)
    assert "Traceback" not in done.stderr and done.stderr.count("\n") == 1
    error = lab.json("run", "counting", check=2)["error"]
    assert error["key"] == "replications" and error["exit"] == 2 and error["mend"]
    assert not (lab.root / ".bakeoff").exists()


def test_sources_behind_a_link_outside_are_refused(lab: TestLab) -> None:
    path = lab.system(build=BUILD | {"sources": [".", "linked"]})
    (path.parent / "linked").symlink_to("/etc")
    done = lab.run("show", "plain", check=2)
    assert f"{path}:" in done.stderr and "build.sources.1: 'linked' lies outside the lab's systems/" in done.stderr


def test_list_names_what_is_broken_and_lists_the_rest(lab: TestLab) -> None:
    lab.system("broken").write_text("titel: x\n")
    lab.experiment("unclear", replications="many")
    done = lab.run("list", check=2)
    assert "plain" in done.stdout and "counting" in done.stdout
    assert "bakeoff: broken is not listed: " in done.stderr and "titel: " in done.stderr
    assert "bakeoff: unclear is not listed: " in done.stderr and "replications: " in done.stderr
    found = lab.json("list", check=2)
    assert [each["name"] for each in found["systems"]] == ["plain"]
    assert [each["name"] for each in found["experiments"]] == ["counting"]
    assert {each["name"]: each["key"] for each in found["broken"]} == {"broken": "titel", "unclear": "replications"}
    lab.experiment("users", systems=["plain", "broken"])
    assert "users" in [each["name"] for each in lab.json("list", check=2)["experiments"]], "its own file is right"
    assert lab.json("run", "counting", "--profile", "smoke", "--no-report")["trials"] == {"ok": 2}
