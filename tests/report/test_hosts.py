"""The overview of platforms: facts of the run, or the reason why a system could not be had."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from bakeoff.analysis.findings import Analysis, SystemState
from bakeoff.report import hosts

FACTS = {"name": "some", "title": "Some runtime", "kind": "wasi", "state": "cold", "starts": "request"}


def state(name: str, **changes: Any) -> SystemState:
    known: dict[str, Any] = {
        "title": name,
        "about": "",
        "status": "ready",
        "reason": None,
        "version": None,
        "tools": {},
    }
    return SystemState(name, **(known | changes))


def chapter(*systems: SystemState) -> Any:
    return hosts.chapter(cast(Analysis, SimpleNamespace(systems=systems)))


def test_each_system_has_a_line_of_facts() -> None:
    there = state("a", platform=FACTS, size=4_930_000, version="some 1.2")
    absent = state("b", status="unavailable", reason="no cluster")
    (grid,) = chapter(there, absent).sections[0].grids
    assert grid.lines == [
        ["a", "Some runtime", "wasi", "nothing, it compiles", "at the first request", "4.93 MB", "some 1.2"],
        ["b", "–", "–", "–", "–", "–", "no cluster"],
    ]
    assert len(grid.heads) == len(grid.sides) == len(grid.lines[0])


def test_systems_without_a_choice_have_no_overview() -> None:
    assert chapter(state("a"), state("b")).sections == []
