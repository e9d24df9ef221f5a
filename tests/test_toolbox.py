"""Tools that cannot be installed say why."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff import toolbox
from bakeoff.system import Version
from bakeoff.toolbox import Origin, Tool

TOOL = Tool(
    title="A tool",
    origin=Origin(registry="npm", package="left-pad", version="1.0.0"),
    version=Version(command=["no-such-program"]),
    timeout=0.5,
)


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry's client of our own, first on the PATH."""
    monkeypatch.setenv("BAKEOFF_CACHE", str(tmp_path / "cache"))
    program = tmp_path / "bin/npm"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return program


def reason(client: Path, script: str) -> str:
    client.write_text(f"#!/bin/sh\n{script}\n")
    client.chmod(0o755)
    state = toolbox.state("pad", lambda _name: TOOL, install=True)
    assert not state.available
    return str(state.reason)


def test_the_useful_end_of_what_the_client_said_and_the_log(client: Path, tmp_path: Path) -> None:
    lines = "for i in $(seq 1 40); do echo \"line $i\"; done; echo 'E404 no left-pad' >&2; echo; echo 'see the log' >&2"
    said = reason(client, f"{lines}; exit 7")
    assert said.startswith("A tool could not be installed: `npm install") and "ended with 7: line 33 | " in said
    assert " | line 40 | E404 no left-pad | see the log (all of it: " in said
    log = Path(said.split("all of it: ")[1].rstrip(")"))
    assert log.is_relative_to(tmp_path / "cache") and log.read_text().splitlines()[:2] == ["line 1", "line 2"]


def test_a_client_that_takes_too_long_and_one_that_is_silent(client: Path) -> None:
    said = reason(client, "echo 'waiting for the registry'; exec sleep 30")
    assert "took longer than 0 s" in said or "took longer than 1 s" in said
    assert ": waiting for the registry (all of it: " in said
    assert "ended with 1: it said nothing (all of it: " in reason(client, "exit 1")


def test_a_missing_client_is_named(client: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(client.parent))
    assert "the program npm is missing" in str(toolbox.state("pad", lambda _name: TOOL, install=True).reason)
