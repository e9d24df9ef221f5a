"""The procedures `wasm` and `calls` with small modules, by the real instrument where it is built."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from bakeoff import cache
from labs import ROOT, TestLab


def instrument() -> Path | None:
    """The built instrument: the one of `BAKEOFF_WASM`, of the source tree, of the cache of tools, or of PATH."""
    target = ROOT / "instruments/wasm/target"
    places = [Path(given).resolve()] if (given := os.environ.get("BAKEOFF_WASM")) else []
    places += [target / profile / "bakeoff-wasm" for profile in ("release", "debug")]
    places += sorted(cache.root().glob("tools/bakeoff-wasm*/bin/bakeoff-wasm"))
    places += [Path(found)] if (found := shutil.which("bakeoff-wasm")) else []
    return next((place for place in places if place.is_file()), None)


INSTRUMENT = instrument()
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(INSTRUMENT is None, reason="bakeoff-wasm is not built; `make test-wasm` builds it"),
]

# (import "bakeoff" "startup") (import "bakeoff" "finish") (import wasi "fd_write") (import wasi "proc_exit"):
# startup, a loop, finish, write the text at 64, proc_exit. Bytes, so that the test needs no compiler of texts.
IMPORTS = [("bakeoff", "startup", 0), ("bakeoff", "finish", 0)]
IMPORTS += [("wasi_snapshot_preview1", "fd_write", 1), ("wasi_snapshot_preview1", "proc_exit", 2)]
TYPES = [([], []), ([0x7F] * 4, [0x7F]), ([0x7F], [])]


def number(value: int) -> bytes:
    """A LEB128, signed where it matters to none of ours (all below 64, or padded)."""
    out = bytearray()
    while True:
        value, byte = value >> 7, value & 0x7F
        if value == 0 and not byte & 0x40:
            return bytes([*out, byte])
        out.append(byte | 0x80)


def listed(items: list[bytes]) -> bytes:
    return number(len(items)) + b"".join(items)


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return number(len(data)) + data


def module(says: str = '@bakeoff result {"sum": 7}\n', exit_code: int = 0, body: bytes = b"") -> bytes:
    """A module that does `body` between startup and finish, writes a text and ends with an exit code."""

    def section(kind: int, content: bytes) -> bytes:
        return bytes([kind]) + text(content)

    def constant(value: int) -> bytes:
        return b"\x41" + number(value)

    write = constant(1) + constant(16) + constant(1) + constant(8) + b"\x10\x02\x1a"
    code = b"\x10\x00" + body + b"\x10\x01" + write + constant(exit_code) + b"\x10\x03\x0b"
    vector = (64).to_bytes(4, "little") + len(says.encode()).to_bytes(4, "little")
    return b"".join(
        [
            b"\0asm\x01\0\0\0",
            section(1, listed([b"\x60" + text(bytes(p)) + text(bytes(r)) for p, r in TYPES])),
            section(2, listed([text(m) + text(n) + b"\0" + number(t) for m, n, t in IMPORTS])),
            section(3, b"\x01\x00"),
            section(5, b"\x01\x00\x01"),
            section(7, listed([text("memory") + b"\x02\x00", text("_start") + b"\x00\x04"])),
            section(10, listed([text(b"\x00" + code)])),
            section(
                11,
                listed(
                    [b"\0" + constant(at) + b"\x0b" + text(data) for at, data in ((16, vector), (64, says.encode()))]
                ),
            ),
        ]
    )


TRAP = b"\x00"
ENDLESS = b"\x03\x40\x0c\x00\x0b"
METRICS: dict[str, Any] = {
    name: {} for name in ("startup", "execution", "shutdown", "compile", "instantiate", "linear_memory", "peak_memory")
}


@pytest.fixture
def wasm(lab: TestLab, monkeypatch: pytest.MonkeyPatch) -> TestLab:
    """A lab whose tool bakeoff-wasm is the built one, with a system of one module."""
    assert INSTRUMENT is not None
    monkeypatch.setenv("PATH", f"{INSTRUMENT.parent}:{os.environ['PATH']}")
    tool = "title: the instrument\norigin: {registry: host}\nversion: {command: [bakeoff-wasm, --version]}\n"
    (lab.root / "toolbox/bakeoff-wasm.yaml").write_text(tool)
    make(lab, "plain", module())
    experiment(lab)
    return lab


def make(lab: TestLab, name: str, wasm: bytes, *options: str, expect: Any = None) -> None:
    path = lab.system(
        name,
        needs=["bakeoff-wasm"],
        parts={"main": {"command": ["bakeoff-wasm", "{source}/module.wasm", *options], "env": {"SIZE": "{size}"}}},
        expect=expect or {"result": {"sum": "7"}},
    )
    (path.parent / "module.wasm").write_bytes(wasm)
    (path.parent / "input.txt").write_text("given")


def experiment(lab: TestLab, **changes: Any) -> None:
    settings = {"systems": ["plain"], "metrics": METRICS, "factors": {"size": {"levels": ["small"]}}, "replications": 2}
    procedure = {"kind": "wasm", "timeout": "20s"} | changes.pop("procedure", {})
    lab.experiment(**(settings | changes), procedure=procedure)


def run(lab: TestLab, check: int = 0) -> list[dict[str, Any]]:
    """Runs the experiment; its observations."""
    lab.run("run", "counting", "--profile", "full", "--no-report", check=check)
    return [json.loads(line) for line in lab.run("export", "last", "--json").stdout.splitlines()]


def endings(lab: TestLab) -> dict[str, tuple[str, str]]:
    """Status and reason of each system's first timed trial."""
    trials = lab.json("status", "last")["all_trials"]
    return {t["system"]: (t["status"], t["reason"] or "") for t in trials if t["procedure"] == "wasm"}


def test_phases_are_observations_and_calls_have_a_trial_of_their_own(wasm: TestLab) -> None:
    rows = run(wasm)
    timed = [row for row in rows if row["procedure"] == "wasm"]
    for name in METRICS:
        values = [row["value"] for row in timed if row["metric"] == name]
        assert len(values) == 2 and all(value > 0 for value in values), name
    assert {row["value"] for row in timed if row["metric"] == "linear_memory"} == {65536}
    assert len([row for row in timed if row["metric"] == "evaluator_startup"]) == 2
    counted = {(row["metric"], row["labels"]): row["value"] for row in rows if row["procedure"] == "calls"}
    assert counted["wasi_calls", "call=fd_write"] == counted["wasi_calls", "call=proc_exit"] == 1
    assert counted["wasi_calls", ""] == 2 and counted["wasi_bytes_written", ""] == 27
    assert not {name for name, _ in counted} & set(METRICS) - {"peak_memory"}, "what was counted was not timed"


def test_replications_in_one_process_are_a_median_and_a_series(wasm: TestLab) -> None:
    experiment(wasm, procedure={"replications": 5, "warm_up": 2, "count_calls": False}, replications=1)
    rows = run(wasm)
    assert len([row for row in rows if row["metric"] == "startup"]) == 1
    assert not [row for row in rows if row["procedure"] == "calls"]


def test_each_failure_is_a_row_with_its_reason(wasm: TestLab) -> None:
    made = {
        "liar": module('@bakeoff result {"sum": 8}\n'),
        "mute": module("nothing\n"),
        "falls": module(exit_code=3),
        "traps": module(body=TRAP),
        "hangs": module(body=ENDLESS),
        "broken": b"\0asm\x01\0\0\0\x07",
    }
    for name, content in made.items():
        make(wasm, name, content)
    experiment(wasm, systems=["plain", *made], replications=1, procedure={"timeout": "500ms", "count_calls": False})
    run(wasm, check=1)
    found = endings(wasm)
    assert found["plain"] == ("ok", "")
    assert found["liar"] == ("wrong", "sum is 8 instead of 7")
    assert found["mute"] == ("wrong", "sum is missing instead of 7")
    assert found["falls"] == ("failed", "it ended with 3 instead of 0")
    assert found["hangs"] == ("timeout", "it was in execution when its time was over")
    assert found["traps"][0] == "failed" and "trapped in execution" in found["traps"][1]
    assert found["broken"][0] == "failed" and "refused in compile" in found["broken"][1]


def test_files_are_given_and_checked(wasm: TestLab) -> None:
    make(wasm, "plain", module(), "--fresh-dir", ".")
    procedure = {"copy": ["{source}/input.txt"], "check": ["grep", "-qx", "given", "input.txt"]}
    experiment(wasm, procedure=procedure, replications=1)
    run(wasm)
    experiment(wasm, procedure=procedure | {"check": ["sh", "-c", "echo no such file; exit 1"]}, replications=1)
    run(wasm, check=1)
    assert endings(wasm)["plain"] == ("wrong", "the check of the files says: no such file")
    assert not list(Path("/tmp").glob("bakeoff-wasm-*"))


def test_the_engine_can_be_a_factor(wasm: TestLab) -> None:
    experiment(wasm, procedure={"engine": "{engine}"}, factors={
        "size": {"levels": ["small"]}, "engine": {"levels": ["wasmtime", "wasmi", "no-such"]},
    }, replications=1)  # fmt: skip
    run(wasm, check=1)
    trials = [t for t in wasm.json("status", "last")["all_trials"] if t["procedure"] == "wasm"]
    found = {t["cell"]["engine"]: (t["status"], t["reason"]) for t in trials}
    assert found["wasmtime"][0] == found["wasmi"][0] == "ok"
    assert found["no-such"][0] == "failed" and "possible values" in found["no-such"][1]


def test_a_system_that_is_no_module_is_found_before_anything_starts(wasm: TestLab) -> None:
    wasm.system("plain", expect={})
    error = wasm.json("run", "counting", check=2)["error"]
    assert error["key"] == "parts.main.command" and "bakeoff-wasm" in error["mend"]
