"""Curves: one metric over the levels of a factor, a line a system, in panels of a few lines each."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from bakeoff.analysis import numbers, units
from bakeoff.analysis.findings import Analysis, Cell, FigureSpec
from bakeoff.plan import cell_text
from bakeoff.report import lines, rows
from bakeoff.report.draw import Figure

STUDY = "Systems of the study"
MOST_LINES = 6  # in one panel, the baseline among them
MOST_GROUPS = 6  # of cells that differ in more than the axis
WIDE_RANGE = 12.0  # from here on an axis of levels is logarithmic


@dataclass(frozen=True)
class Panel:
    """Some systems' lines in cells that differ only in the axis."""

    title: str
    series: list[lines.Series]
    study: bool = False  # of the systems that the study has figures of, where there are others


def figure(analysis: Analysis, spec: FigureSpec) -> Figure:
    """The chart that the experiment asks for; without data a sentence in its place."""
    assert spec.x is not None
    table = rows.table(analysis, spec.metric, spec)
    groups = by_level(analysis, spec, [cell for cell, _ in table.cells])
    panels = [panel for rest, cells in groups for panel in _panels(analysis, spec, table, cells, _rest(analysis, rest))]
    if not any(series.points for panel in panels for series in panel.series):
        return Figure(spec.title, _joined(spec.note, "No trial in these cells has given a figure that counts."), [], [])
    shared = _axes(analysis, spec, table, panels)
    own = [_axes(analysis, spec, table, [panel]) for panel in panels]
    # One system, far away, must not press the lines of the other panels flat.
    apart = any(_reach(one) < _reach(shared) / 2 for one in own)
    drawn = [
        (replace(panel, series=_visible(panel.series, axes)), axes)
        for panel, axes in zip(panels, own if apart else [shared] * len(panels), strict=True)
    ]
    if not any(series.points for panel, _ in drawn for series in panel.series):
        return Figure(spec.title, _joined(spec.note, "All figures in these cells are 0."), [], [])
    big = len(drawn) == 1 or panels[0].study
    return Figure(
        title=spec.title,
        caption=_caption(spec, table, [panel for panel, _ in drawn], drawn[0][1], apart),
        wide=[
            lines.chart(p.series, axes, (760, 330, 12) if big and i == 0 else (370, 260, 12), p.title)
            for i, (p, axes) in enumerate(drawn)
        ],
        narrow=[lines.chart(p.series, axes, (350, 270, 11), p.title) for p, axes in drawn],
        kind="curve-big" if big else "curve",
    )


def _reach(axes: lines.Axes) -> float:
    """How far an axis goes, in decades if it is logarithmic."""
    return math.log10(axes.high / axes.low) if axes.y_log else axes.high - axes.low


def level_number(analysis: Analysis, factor: str, cell: Cell) -> float | None:
    """The number that a cell's level of a factor stands for, if it is one."""
    value = analysis.parameters.get(cell_text(cell), {}).get(factor, cell.get(factor))
    try:
        return None if isinstance(value, bool) else float(str(value))
    except ValueError:
        return None


def by_level(analysis: Analysis, spec: FigureSpec, cells: list[Cell]) -> list[tuple[Cell, list[Cell]]]:
    """Cells that differ only in the axis, in its order, with what each group has in common beyond the figure."""
    groups: dict[str, tuple[Cell, list[Cell]]] = {}
    for cell in cells:
        if spec.x not in cell:
            continue
        rest = {name: level for name, level in cell.items() if name != spec.x}
        groups.setdefault(cell_text(rest), (rest, []))[1].append(cell)
    every = [rest for rest, _ in groups.values()]
    same = {name for rest in every for name in rest if all(other.get(name) == rest[name] for other in every)}
    found = []
    for rest, members in list(groups.values())[:MOST_GROUPS]:
        known = [(level_number(analysis, spec.x or "", cell), cell) for cell in members]
        if all(number is not None for number, _ in known):
            known.sort(key=lambda pair: pair[0] or 0.0)
        own = {name: level for name, level in rest.items() if name not in same}
        found.append((own, [cell for _, cell in known]))
    return found


def _rest(analysis: Analysis, rest: Cell) -> str:
    return ", ".join(f"{analysis.factors[name]} {level}" for name, level in rest.items())


def _panels(analysis: Analysis, spec: FigureSpec, table: rows.Table, cells: list[Cell], rest: str) -> list[Panel]:
    """The study's systems first, then the others, a few in each panel."""
    wanted = {cell_text(cell) for cell in cells}
    have = {row.system for row in table.rows if row.summary and cell_text(row.cell) in wanted}
    places = _places(analysis, spec, cells)
    marks = published_values(analysis, spec, table, cells)
    found: list[Panel] = []
    for title, chosen in parts(analysis, have):
        series = [
            lines.Series(
                name,
                style,
                _medians(analysis, spec, [row for row in table.rows if row.system == name], places, table.scale),
                # the baseline's published values stand in the first panel
                [replace(one.mark, x=places[cell_text(one.cell)]) for one in marks if one.system == name]
                if style or not found
                else [],
            )
            for style, name in chosen
        ]
        found.append(Panel(": ".join(part for part in (title, rest) if part), series, title == STUDY))
    return found


def parts(analysis: Analysis, have: set[str]) -> list[tuple[str, list[tuple[int, str]]]]:
    """These systems in parts of a few each, the baseline in all: a title, and each one's style and name."""
    names = [state.name for state in analysis.systems if state.name in have]
    published = {r.system for r in analysis.references}
    others = [name for name in names if name != analysis.baseline]
    first = [(0, str(analysis.baseline))] if analysis.baseline in names else []
    if not others:
        return [("", first or [(0, name) for name in names])] if names else []
    groups: list[tuple[str, list[str]]] = [("", others)]
    if len(names) > MOST_LINES:
        own = [name for name in others if name in published]
        rest = [name for name in others if name not in published]
        groups = [(STUDY, own), ("Other systems" if own else "", rest)]
    found = []
    for title, members in groups:
        many = -(-len(members) // (MOST_LINES - len(first)))
        size = -(-len(members) // many) if many else 1
        for at in range(0, len(members), size):
            start = 1 if first else 0
            chosen = [(start + i, name) for i, name in enumerate(members[at : at + size])]
            found.append((title, [*first, *chosen]))
    return found


def _medians(
    analysis: Analysis, spec: FigureSpec, members: list[rows.Row], places: dict[str, float], scale: numbers.Scale
) -> list[lines.Point]:
    """One system's points in the order of the axis."""
    points = []
    for row in members:
        at = places.get(cell_text(row.cell))
        if at is None or row.summary is None:
            continue
        s, x = row.summary, spec.x or ""
        ratio = f"{numbers.exact(row.comparison.ratio)} times {row.comparison.baseline}" if row.comparison else ""
        says = rows.says(f"{row.system}, {analysis.factors[x]} {row.cell[x]}", s, scale, ratio)
        points.append(lines.Point(at, s.median / scale.size, scale.of(s.low), scale.of(s.high), says))
    return sorted(points, key=lambda point: point.x)


def _places(analysis: Analysis, spec: FigureSpec, cells: list[Cell]) -> dict[str, float]:
    """Where each cell lies on the axis: at its number, or evenly where levels are no numbers."""
    every = [level_number(analysis, spec.x or "", cell) for cell in _all_cells(analysis, spec)]
    if all(number is not None for number in every):
        return {cell_text(cell): level_number(analysis, spec.x or "", cell) or 0.0 for cell in cells}
    order = list(dict.fromkeys(cell[spec.x or ""] for cell in _all_cells(analysis, spec)))
    return {cell_text(cell): float(order.index(cell[spec.x or ""])) for cell in cells}


def _all_cells(analysis: Analysis, spec: FigureSpec) -> list[Cell]:
    return [cell for cell in analysis.cells if spec.shows(cell) and spec.x in cell]


@dataclass(frozen=True)
class PublishedValue:
    """A published value of one of a figure's systems in one of its cells, in the figure's unit."""

    system: str
    cell: Cell
    mark: lines.Mark


def published_values(
    analysis: Analysis, spec: FigureSpec, table: rows.Table, cells: list[Cell]
) -> list[PublishedValue]:
    """The published values that belong to one cell each."""
    found = []
    for r in analysis.references:
        if r.kind != "value" or r.metric != spec.metric or not r.placed or not spec.has(r.system):
            continue
        where = dict(word.split("=", 1) for word in r.cell.split(" ") if "=" in word)
        fitting = [cell for cell in cells if where.items() <= cell.items()]
        size = units.factor(r.unit, table.metric.unit)
        if len(fitting) != 1 or size is None:
            continue
        value, low, high = (
            None if v is None else v * size / table.scale.size for v in (r.published, r.published_low, r.published_high)
        )
        mark = lines.Mark(0.0, value or 0.0, low, high, "")
        word = "over " if mark.over else "under " if mark.under else ""
        says = f"published, {r.system}: {word}{numbers.plain(round(value or 0.0, 6))} {table.scale.unit} ({r.source})"
        found.append(PublishedValue(r.system, fitting[0], replace(mark, says=says)))
    return found


def _axes(analysis: Analysis, spec: FigureSpec, table: rows.Table, panels: list[Panel]) -> lines.Axes:
    x = spec.x or ""
    cells = _all_cells(analysis, spec)
    levels = {at: cell[x] for cell in cells for at in (_places(analysis, spec, [cell])[cell_text(cell)],)}
    numeric = all(level_number(analysis, x, cell) is not None for cell in cells)
    labels = [(at, numbers.plain(at) if numeric else name) for at, name in sorted(levels.items())]
    smallest, largest = labels[0][0], labels[-1][0]
    values = [v for p in panels for s in p.series for q in s.points for v in (q.y, q.low, q.high) if v is not None]
    marks = [mark for panel in panels for s in panel.series for mark in s.published]
    values += [mark.y * (1.3 if mark.over else 0.75 if mark.under else 1.0) for mark in marks]  # room for its arrow
    log = table.metric.scale == "log" and any(value > 0 for value in values)
    low, high = lines.domain([value for value in values if value > 0 or not log], log)
    return lines.Axes(
        x_title=_with_unit(analysis.factors[x], ""),
        y_title=_with_unit(table.metric.title, table.scale.unit),
        levels=labels,
        low=low,
        high=high,
        x_log=numeric and smallest > 0 and largest / smallest > WIDE_RANGE,
        y_log=log,
    )


def _with_unit(title: str, unit: str) -> str:
    return f"{title}, {unit}" if unit else title


def _visible(series: list[lines.Series], axes: lines.Axes) -> list[lines.Series]:
    """Without what a logarithmic axis has no place for."""
    if not axes.y_log:
        return series
    return [
        replace(
            one,
            points=[point for point in one.points if point.y > 0],
            published=[mark for mark in one.published if mark.y > 0],
        )
        for one in series
    ]


def _caption(spec: FigureSpec, table: rows.Table, panels: list[Panel], axes: lines.Axes, apart: bool) -> str:
    every = [series for panel in panels for series in panel.series]
    log = [name for name, is_log in (("horizontal", axes.x_log), ("vertical", axes.y_log)) if is_log]
    said = ["Medians over replications, with bands of 95% intervals."]
    if log:
        said.append("Both axes are logarithmic." if len(log) == 2 else f"The {log[0]} axis is logarithmic.")
    marks = [mark for series in every for mark in series.published]
    if marks:
        arrows = any(mark.over or mark.under for mark in marks)
        said.append(
            "Diamonds are published values" + (", arrows where the source says over or under." if arrows else ".")
        )
    if apart:
        said.append("Each panel has a vertical axis of its own.")
    drawn = {series.label for series in every if series.points}
    missing = [name for name in dict.fromkeys(row.system for row in table.rows) if name not in drawn]
    zero = [name for name in missing if any(row.summary for row in table.rows if row.system == name)]
    missing = [name for name in missing if name not in zero]
    if zero:
        said.append(f"At 0, which a logarithmic axis cannot show: {', '.join(zero)}.")
    if missing:
        said.append(f"No figure that counts: {', '.join(missing)}.")
    return _joined(spec.note, *said)


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)
