"""Tables for many cells: systems in rows, the levels of one factor in columns."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.analysis import numbers
from bakeoff.analysis.findings import Analysis, FigureSpec
from bakeoff.plan import cell_text
from bakeoff.report import curves, rows

SIGNS = {"faster": "↑", "better": "↑", "slower": "↓", "worse": "↓", "higher": "↑", "lower": "↓", "same": "="}


@dataclass(frozen=True)
class Entry:
    """One system in one cell: median, interval, and the sign of its verdict; `says` is shown when pointed at."""

    text: str
    interval: str = ""
    sign: str = ""
    says: str = ""
    value: float | None = None  # the median in the stored unit, to sort by


@dataclass(frozen=True)
class Matrix:
    """A table with a heading, the name of what its columns are, and a line for each system."""

    title: str
    unit: str
    corner: str
    heads: list[str]
    lines: list[tuple[str, list[Entry]]]


def of_figure(analysis: Analysis, spec: FigureSpec) -> list[Matrix]:
    """The tables of a figure: one, or one for each group of cells that its curves have."""
    table = rows.table(analysis, spec.metric, spec)
    if spec.x is None:
        heads = {cell_text(cell): rows.cell_title(analysis, cell)[0] for cell, _ in table.cells}
        return _filled([_matrix(analysis, table, ("", ""), heads)])
    groups = curves.by_level(analysis, spec, [cell for cell, _ in table.cells])
    found = []
    for rest, cells in groups:
        title = ", ".join(f"{analysis.factors[name]} {level}" for name, level in rest.items())
        heads = {cell_text(cell): _head(cell[spec.x]) for cell in cells}
        found.append(_matrix(analysis, table, (title, analysis.factors[spec.x]), heads))
    return _filled(found)


def of_metric(analysis: Analysis, metric: str) -> list[Matrix]:
    """All cells of a metric: a table for each group of cells that differ in the factor with most levels only."""
    cells = rows.cells_of(analysis, metric)
    names = list(dict.fromkeys(name for cell in cells for name in cell))
    if not names:
        return of_figure(analysis, FigureSpec("", metric, None, {}, None, ""))
    levels = {name: len({cell.get(name) for cell in cells}) for name in names}
    axis = max(names, key=lambda name: levels[name])
    return of_figure(analysis, FigureSpec("", metric, axis, {}, None, ""))


def _filled(found: list[Matrix]) -> list[Matrix]:
    return [matrix for matrix in found if any(entry.interval or entry.sign or entry.text != numbers.ENDLESS
                                              for _, line in matrix.lines for entry in line)]  # fmt: skip


def _head(level: str) -> str:
    return f"{int(level):,}" if level.isdecimal() else level


def _matrix(analysis: Analysis, table: rows.Table, titles: tuple[str, str], columns: dict[str, str]) -> Matrix:
    """A table with the headings of its cells (text of the cell → heading), its title and the name of its columns."""
    found = {(row.system, cell_text(row.cell)): row for row in table.rows}
    systems = [state.name for state in analysis.systems if any((state.name, cell) in found for cell in columns)]
    lines = [(name, [_entry(found.get((name, cell)), table) for cell in columns]) for name in systems]
    unit = f"{table.metric.title}, {table.scale.unit}" if table.scale.unit else table.metric.title
    return Matrix(titles[0], unit, titles[1], list(columns.values()), lines)


def _entry(row: rows.Row | None, table: rows.Table) -> Entry:
    if row is None:
        return Entry(numbers.ENDLESS)
    if row.summary is None:
        return Entry(numbers.ENDLESS, says=row.why)
    s, scale = row.summary, table.scale
    text, _, interval = numbers.with_interval(scale.of(s.median), scale.of(s.low), scale.of(s.high)).partition(" (")
    says = [f"n = {s.n}"]
    sign = ""
    if row.comparison is not None:
        c = row.comparison
        sign = SIGNS.get(c.verdict, "")
        says.append(f"{numbers.with_interval(c.ratio, c.low, c.high)} times {c.baseline}: {rows.verdict_text(row)}")
    return Entry(text, interval.removesuffix(")"), sign, ", ".join(says), s.median)


def text(entry: Entry) -> str:
    """An entry on one line."""
    interval = f" ({entry.interval})" if entry.interval else ""
    return f"{entry.text}{interval}{' ' + entry.sign if entry.sign else ''}"


def legend(analysis: Analysis) -> str:
    """What the signs mean, as a sentence; without a baseline there are none."""
    if analysis.baseline is None:
        return ""
    return f"↑ is better and ↓ worse than {analysis.baseline}, = the same; without a sign it is not settled."
