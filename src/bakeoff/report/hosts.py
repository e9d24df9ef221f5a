"""What systems ran on, in the report: an overview of platforms, from what was there when the run was made."""

from __future__ import annotations

from bakeoff.analysis import numbers
from bakeoff.analysis.findings import Analysis, SystemState
from bakeoff.report.section import Chapter, Grid, Section

FINDS = {"cold": "nothing, it compiles", "warm": "machine code", "none": "all it needs"}
STARTS = {"start": "at the start", "request": "at the first request"}
HEADS = ["system", "platform", "runs", "a start finds", "first statement", "is shipped as", "version"]


def chapter(analysis: Analysis) -> Chapter:
    """The overview, where a system of the run stands on one of several platforms."""
    if not any(state.platform for state in analysis.systems):
        return Chapter("Platforms", [])
    said = ["As the lab found them: the versions are what the programs said, the sizes those of the files."]
    lines = [_line(state) for state in analysis.systems]
    return Chapter("Platforms", [Section("Overview", said, [Grid(HEADS, "lllllrn", lines)])])


def _line(state: SystemState) -> list[str]:
    facts = state.platform
    if facts is None:
        return [state.name, *["–"] * 5, state.reason or state.status]
    scale = numbers.scale("B", [state.size])
    size = "–" if state.size is None else f"{numbers.number(scale.of(state.size))} {scale.unit}"
    finds, starts = FINDS.get(facts["state"], facts["state"]), STARTS.get(facts["starts"], facts["starts"])
    return [state.name, facts["title"], facts["kind"], finds, starts, size, state.version or "–"]
