"""The answer for many cells: a few sentences on the cells of one figure, systems put together by their verdicts."""

from __future__ import annotations

import math
from collections import Counter

from bakeoff.analysis.findings import Analysis, Cell, Comparison, FigureSpec
from bakeoff.analysis.numbers import decimals, number
from bakeoff.plan import cell_text

GOOD, BAD = ("faster", "better", "higher"), ("slower", "worse", "lower")


def sentences(analysis: Analysis) -> list[str]:
    """At most six sentences on the main metric; none without a comparison."""
    spec, cells = subject(analysis)
    found = {
        state.name: [
            c
            for cell in cells
            if (c := analysis.comparisons_of.get(analysis.primary, {}).get((state.name, cell_text(cell))))
            and c.ratio is not None
        ]
        for state in analysis.systems
        if state.name != analysis.baseline and spec.has(state.name)
    }
    groups: dict[str, list[str]] = {}
    for system, compared in sorted(found.items(), key=lambda pair: -_middle(pair[1])):
        if compared:
            groups.setdefault(_kind(compared, len(cells)), []).append(system)
    if not groups:
        return []
    where = f"of “{spec.title}”" if spec.title else "of this run"
    each = "the one cell" if len(cells) == 1 else f"each of the {len(cells)} cells"
    lines: list[str] = []
    for kind in [*GOOD, *BAD, "same", *(f"some {verdict}" for verdict in (*GOOD, *BAD, "same")), "mixed", "unsure"]:
        if kind not in groups:
            continue
        texts = [_system(analysis, name, found[name], cells, kind) for name in groups[kind]]
        place = f"{each} {where}" if not lines else "each of them" if len(cells) > 1 else "it"
        heading = _heading(analysis, kind, place, "" if lines else f" {where}")
        lines.append(f"{heading}: {_listed(texts)}.")
    if set(groups) - {"same", "unsure"}:
        title = analysis.metrics[analysis.primary].title
        lines[0] += f" “Times” compares {title[:1].lower()}{title[1:]} with {analysis.baseline}'s."
    return [*_passed_over(analysis, spec), *lines]


def subject(analysis: Analysis) -> tuple[FigureSpec, list[Cell]]:
    """The first figure of the main metric that has a comparison, with its cells; all cells if no figure shows it."""
    specs = [spec for spec in analysis.figures if spec.metric == analysis.primary]
    found = [*specs, FigureSpec("", analysis.primary, None, {}, None, "")]
    spec = next((spec for spec in found if _compared(analysis, spec)), found[0])
    have = {cell for _, cell in analysis.summaries_of.get(analysis.primary, {})}
    return spec, [cell for cell in analysis.cells if spec.shows(cell) and cell_text(cell) in have]


def _compared(analysis: Analysis, spec: FigureSpec) -> bool:
    every = analysis.comparisons_of.get(analysis.primary, {}).values()
    return any(spec.shows(c.group.cell) and spec.has(c.group.system) and c.ratio is not None for c in every)


def _passed_over(analysis: Analysis, chosen: FigureSpec) -> list[str]:
    """A sentence on the figures of the main metric before the chosen one, which have nothing to compare."""
    specs = [spec for spec in analysis.figures if spec.metric == analysis.primary]
    before = specs[: specs.index(chosen)] if chosen in specs else specs
    if not before:
        return []
    names = _listed([f"“{spec.title}”" for spec in before])
    return [f"In the cells of {names} no trial of {analysis.baseline} counts beside one of another system."]


def _middle(compared: list[Comparison]) -> float:
    return math.exp(sum(math.log(c.ratio or 1.0) for c in compared) / len(compared)) if compared else 0.0


def _kind(compared: list[Comparison], cells: int) -> str:
    verdicts = {c.verdict for c in compared}
    if verdicts == {"unsure"}:
        return "unsure"
    if len(verdicts) == 1 and len(compared) == cells:
        return next(iter(verdicts))
    sides = verdicts - {"unsure"}
    return f"some {sides.pop()}" if len(sides) == 1 else "mixed"


def _heading(analysis: Analysis, kind: str, place: str, where: str) -> str:
    if kind == "same":
        return f"The same as {analysis.baseline} within {number(analysis.equivalence * 100)}% in {place}"
    if kind == "mixed":
        return f"Differs from cell to cell against {analysis.baseline}{where}"
    if kind.startswith("some "):
        cells = f"the cells{where}" if where else "them"
        side = (
            f"The same as {analysis.baseline}"
            if kind == "some same"
            else f"{kind[5:].capitalize()} than {analysis.baseline}"
        )
        return f"{side} in some of {cells}, not settled in the others"
    if kind == "unsure":
        return f"Not settled against {analysis.baseline} in any cell{where}"
    return f"{kind.capitalize()} than {analysis.baseline} in {place}"


def _system(analysis: Analysis, system: str, compared: list[Comparison], cells: list[Cell], kind: str) -> str:
    if kind in ("same", "unsure"):
        return system
    settled = [c for c in compared if c.verdict != "unsure"]
    ratios = [c.ratio for c in settled if c.ratio is not None]
    furthest = max(settled, key=lambda c: abs(math.log(c.ratio or 1.0)))
    least, most = min(ratios), max(ratios)
    span = _ratio(least) if _ratio(least) == _ratio(most) else f"{_ratio(least)} to {_ratio(most)}"
    place = _place(analysis, furthest.group.cell, cells)
    said = f"{span} times"
    if kind == "mixed":
        verdicts = Counter(c.verdict for c in settled)
        said = ", ".join(f"{verdict} in {many}" for verdict, many in verdicts.most_common()) + f": {said}"
    elif kind.startswith("some "):
        said = f"{len(settled)} of {len(cells)}: {said}"
    if place and len(cells) > 1:
        said += f", furthest at {place}" if len(settled) > 1 else f" at {place}"
    return f"{system} ({said})"


def _ratio(value: float) -> str:
    return number(value, min(max(decimals(value) - 1, 1), 4) if value >= 0.01 else None)


def _place(analysis: Analysis, cell: Cell, cells: list[Cell]) -> str:
    """The levels of a cell that differ between the cells."""
    differing = {name: level for name, level in cell.items() if any(other.get(name) != level for other in cells)}
    return ", ".join(f"{analysis.factors[name].lower()} {level}" for name, level in differing.items())


def _listed(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
