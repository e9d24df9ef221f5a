"""The programs of the wasm languages, compiled by their real toolchains and run by the real instrument.

A language whose toolchain is not installed is skipped with its reason; `make test-wasm-languages` installs them all.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.lab import Lab
from bakeoff.prepare import Prepared, prepare, substitute
from labs import ROOT

KIND = ROOT / "systems/wasm-language"
SYSTEMS = sorted(file.parent.name for file in KIND.glob("*/system.yaml"))
SHORTAGE = {"emscripten": "its C library has no files in a standalone module"}
INTERPRETED = {"cpython"}  # these cannot call the host's functions
ONE_LEVEL = {"cpython", "javascript"}  # nothing to optimise, or no way to leave it out
INSTALL = bool(os.environ.get("BAKEOFF_TEST_INSTALL"))


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, KIND / "common" / f"{name}.py")
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


numbers, check = module("numbers"), module("check")


@pytest.fixture(scope="module", params=SYSTEMS)
def language(request: pytest.FixtureRequest) -> Prepared:
    prepared = prepare(Lab(ROOT), request.param, install=INSTALL, build=INSTALL)
    if not prepared.ready:
        pytest.skip(prepared.reason or "it is not ready")
    return prepared


def run(language: Prepared, optimisation: str, workload: str, n: int, *more: str) -> dict[str, Any]:
    """One replication, as the procedure `wasm` has it run."""
    build = language.system.build
    assert build is not None
    if optimisation not in build.each["optimisation"]:
        pytest.skip("it has no such level")
    values = {**language.places(), "optimisation": optimisation, "workload": workload, "n": n}
    words = substitute(language.system.parts["main"].command, values)
    env = os.environ | {"PATH": os.pathsep.join([*language.paths, os.environ["PATH"]])}
    done = subprocess.run([*words, "--json", *more], capture_output=True, text=True, env=env, check=True, timeout=600)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    marked = next(line for line in lines if line["event"] == "module")["markers"]
    assert marked is (language.name not in INTERPRETED)
    return next(line for line in lines if line["event"] == "replication")


def result(one: dict[str, Any]) -> object:
    assert one["outcome"] == "exited" and one["exit"] == 0, one["outputs"]["stderr"]["text"] or one["reason"]
    text = one["outputs"]["stdout"]["text"]
    return json.loads(text.removeprefix("@bakeoff result "))


@pytest.mark.real
@pytest.mark.parametrize("optimisation", ["none", "full"])
@pytest.mark.parametrize(
    ("workload", "n", "value"),
    [("fib-rec", 5, 5), ("fib-rec", 20, 6765), ("fib-it", 0, 0), ("fib-it", 90, 2880067194370816120)],
)
def test_fibonacci(language: Prepared, optimisation: str, workload: str, n: int, value: int) -> None:
    one = run(language, optimisation, workload, n)
    assert result(one) == {"value": value}
    assert one["entry_s"] > 0
    if language.name not in INTERPRETED:
        assert one["startup_s"] > 0 and one["execution_s"] > 0 and one["shutdown_s"] > 0


@pytest.mark.real
@pytest.mark.parametrize("optimisation", ["none", "full"])
def test_filesplit(language: Prepared, optimisation: str, tmp_path: Path) -> None:
    assert language.out is not None
    given = language.out / "input/1000/numbers.txt"
    more = ["--copy", str(given), "--keep", str(tmp_path), "--count-calls"]
    one = run(language, optimisation, "filesplit", 1000, *more)
    if language.name in SHORTAGE:
        assert one["exit"] == 1, SHORTAGE[language.name]
        return
    assert result(one) == {"value": 1000}
    assert check.wrong(Path(one["files"])) is None
    # Each number opens, writes and closes a file of its own.
    calls = one["wasi"]["calls"]
    assert calls["path_open"] >= 1001 and calls["fd_close"] >= 1000 and calls["fd_write"] >= 1000


def test_inputs_are_always_the_same(tmp_path: Path) -> None:
    numbers.write(tmp_path, 1000)
    lines = (tmp_path / "1000/numbers.txt").read_text().splitlines()
    assert len(lines) == 1000 and lines[:5] == ["69", "37", "57", "70", "40"]
    assert {int(line) for line in lines} == set(range(1, 101))


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(1, 100), max_size=40))
def test_check_takes_what_is_right_and_nothing_else(tmp_path_factory: pytest.TempPathFactory, drawn: list[int]) -> None:
    folder = tmp_path_factory.mktemp("files")
    (folder / "numbers.txt").write_text("".join(f"{number}\n" for number in drawn))
    for digit in range(10):
        mine = "".join(f"{number}\n" for number in drawn if number % 10 == digit)
        if mine:
            (folder / f"{digit}.txt").write_text(mine)
    assert check.wrong(folder) is None
    for file in folder.glob("?.txt"):
        right = file.read_text()
        for wrong in (right[:-1], right + right.splitlines()[0] + "\n", "", "x" + right):
            file.write_text(wrong)
            assert check.wrong(folder) is not None
        file.unlink()
        assert file.name in (check.wrong(folder) or "")
        file.write_text(right)


def test_check_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "numbers.txt").write_text("12\n2\n")
    (tmp_path / "2.txt").write_text("2\n12\n")
    done = subprocess.run(
        [sys.executable, KIND / "common/check.py", "filesplit", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and done.stderr.strip() == "line 1 of 2.txt is '2' instead of '12'"


def test_levels_are_those_of_the_experiment() -> None:
    experiment = yaml.safe_load((ROOT / "experiments/wasm-languages/experiment.yaml").read_text())
    for name in SYSTEMS:
        each = yaml.safe_load((KIND / name / "system.yaml").read_text())["build"]["each"]
        for factor in experiment["builds"]["factors"]:
            known = list(experiment["factors"][factor]["levels"])
            left_out = name in ONE_LEVEL and factor == "optimisation"
            assert list(each[factor]) == (["full"] if left_out else known), f"{name}: {factor}"
