"""The rules by which a toolbox entry describes a command line, and a part its programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff import platforms, yamlfile
from bakeoff.errors import BadInput
from bakeoff.platforms import Made, Program
from bakeoff.platforms.runtime import CommandLine
from bakeoff.procedure import Limits
from bakeoff.runtime import Runtime
from bakeoff.toolbox import Tool
from labs import TestLab

RULES: dict[str, Any] = {
    "title": "Some runtime",
    "kinds": ["wasi"],
    "run": ["some", "run", "{folders}", "{variables}", "{listen}", "{artefact}", "--", "{arguments}"],
    "folder": ["--dir", "{outside}::{inside}"],
    "variable": ["--env={name}={value}"],
    "listen": ["--listen", "{host}:{port}"],
    "state": "cold",
}


def rules(**changes: Any) -> Runtime:
    return yamlfile.validate(RULES | changes, Runtime, "some.yaml")


def test_a_command_line_is_filled_in() -> None:
    program = Program("wasi", "/x.wasm", ("a b", "c"), {"K": "v=w"}, {"/data": "/tmp/d"}, "127.0.0.1:80")
    launch = CommandLine("some", "some", rules()).launch(program, None, Limits(), [])
    expected = ["some", "run", "--dir", "/tmp/d::/data", "--env=K=v=w", "--listen", "127.0.0.1:80", "/x.wasm", "--"]
    assert launch.command == [*expected, "a b", "c"]
    assert not launch.inner_group and not launch.holds_limits
    bare = CommandLine("some", "some", rules()).launch(Program("wasi", "/x.wasm"), None, Limits(), [])
    assert bare.command == ["some", "run", "/x.wasm", "--"]


def test_what_was_compiled_is_run(tmp_path: Path) -> None:
    (tmp_path / "module").write_text("source")
    (tmp_path / "made").mkdir()
    warm = rules(state="warm", compile=[["cp", "{artefact}", "{made}/out"]], run=["some", "{made}/out"])
    platform = CommandLine("some", "some", warm)
    made = platform.make("wasi", tmp_path / "module", tmp_path / "made", [])
    assert made is not None and made.size == 6
    launch = platform.launch(Program("wasi", "x"), Made(tmp_path / "made", 6), Limits(), [])
    assert launch.command == ["some", f"{tmp_path}/made/out"]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"run": ["some", "{module}"]}, "module"),
        ({"run": ["some", "--dirs={folders}"]}, "word of its own"),
        ({"folder": ["{host}"]}, "host"),
        ({"state": "warm"}, "compile"),
        ({"compile": [["cp", "x"]]}, "compile"),
    ],
)
def test_bad_rules_are_named(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(BadInput, match=word):
        rules(**changes)


def test_two_platforms_of_one_name_are_refused() -> None:
    entry = {
        "title": "x",
        "origin": {"registry": "host"},
        "version": {"command": ["x"]},
        "platforms": {"native": RULES},
    }
    with pytest.raises(ValueError, match="two platforms are called 'native'"):
        platforms.known({"x": yamlfile.validate(entry, Tool, "x.yaml")})


def test_a_platform_that_is_not_there_is_named(lab: TestLab) -> None:
    lab.system(variants={"odd": {"platform": "nativ"}})
    lab.experiment(systems=["plain:odd"])
    said = lab.run("plan", "counting", check=2).stderr
    assert "variants.odd.platform" in said and "did you mean 'native'?" in said


def test_a_part_must_have_what_its_platform_runs(lab: TestLab) -> None:
    (lab.root / "toolbox/some.yaml").write_text(
        "title: x\norigin: {registry: host}\nversion: {command: [x]}\nplatforms:\n"
        '  some: {title: y, kinds: [wasi], state: none, run: ["x", "{artefact}"]}\n'
    )
    lab.system(variants={"odd": {"platform": "some"}})
    lab.experiment(systems=["plain:odd"])
    assert "the platform some runs wasi" in lab.run("plan", "counting", check=2).stderr


def test_a_part_has_one_way_to_name_its_program(lab: TestLab) -> None:
    for part, word in (
        ({}, "either a command or artefacts"),
        ({"command": ["x"], "artefacts": {"native": "x"}}, "either a command or artefacts"),
        ({"command": ["x"], "arguments": ["y"]}, "stand in it"),
    ):
        lab.system(parts={"main": part})
        assert word in lab.run("plan", "counting", check=2).stderr


@pytest.mark.real
def test_a_variant_that_cannot_be_had_stays_a_row(lab: TestLab) -> None:
    lab.system(variants={"gone": {"unavailable": "it is in no registry"}})
    lab.experiment(systems=["plain", "plain:gone"], builds=None)
    done = lab.json("run", "counting", "--profile", "smoke", "--no-report")
    assert done["trials"] == {"ok": 2, "unavailable": 2}
