"""Knees of load curves: up to which level of a rising factor a system holds a bound."""

from __future__ import annotations

from collections import defaultdict

from bakeoff.analysis.findings import Cell
from bakeoff.analysis.judging import Evidence, judge, places
from bakeoff.analysis.results import Judged, Knee
from bakeoff.criteria import Knee as Asked
from bakeoff.plan import cell_text


def knees(
    asked: list[Asked], known: Evidence, levels: dict[str, dict[str, float]], titles: dict[str, str]
) -> list[Knee]:
    """The knee of each curve that the experiment asks for. `levels` are the numbers of each factor's levels by name.

    A bound holds up to a level if it holds there and at all lower ones. A level without a counted value is not settled.
    """
    found = []
    for one in asked:
        curves: dict[tuple[str, str], list[tuple[float, Cell]]] = defaultdict(list)
        for system, cell in places(one, known):
            if one.over in cell:
                rest = {name: level for name, level in cell.items() if name != one.over}
                curves[system, cell_text(rest)].append((levels[one.over][cell[one.over]], cell))
        for (system, _), points in curves.items():
            ordered = sorted(points, key=lambda point: point[0])
            judged = [(level, judge(one, system, cell, known)) for level, cell in ordered]
            found.append(_knee(one, system, judged, known, titles))
    return found


def _knee(
    asked: Asked, system: str, judged: list[tuple[float, Judged]], known: Evidence, titles: dict[str, str]
) -> Knee:
    sure = possible = None
    top: Cell | None = None
    reason, certain = "", True
    for level, one in judged:
        if one.verdict == "fail":
            reason = reason or f"at {level:g} it does not hold" + (f": {one.reason}" if one.reason else "")
            break
        if one.verdict == "unsure":
            reason = reason or f"at {level:g} it is not settled: {one.reason}"
            certain = False
        possible = level
        if certain:
            sure, top = level, one.cell
    rate = known.summaries.get("throughput", {}).get((system, cell_text(top))) if top is not None else None
    rest = {name: text for name, text in judged[0][1].cell.items() if name != asked.over}
    return Knee(
        title=asked.title or titles[asked.metric],
        system=system,
        cell=rest,
        over=asked.over,
        metric=asked.metric,
        bound="at most" if asked.at_most is not None else "at least",
        limit=asked.limit,
        sure=sure,
        possible=possible,
        open=possible == judged[-1][0],
        throughput=rate.median if rate else None,
        reason=reason,
    )
