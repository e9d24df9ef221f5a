"""The table that ends a run in the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bakeoff import analysis as analyses
from bakeoff.analysis import brief
from bakeoff.analysis.findings import Analysis
from bakeoff.report import matrix, rows

LONGEST = 60  # letters of a reason


def table(analysis: Analysis) -> RenderableType:
    """The answer, and for each cell every system's median, ratio to the baseline, published ratio and verdict."""
    # Stored strings become Text, never markup, so that none of them is read as an instruction to the terminal.
    lines: list[RenderableType] = [Text(""), Text(analysis.title, style="bold"), Text(analysis.question, style="dim")]
    lines += [Padding(Text(line), (1 if i == 0 else 0, 0, 0, 0)) for i, line in enumerate(analyses.sentences(analysis))]
    if analysis.primary in rows.metrics_with_tables(analysis) or analysis.systems:
        lines += [Text(""), *(_matrices(analysis) if analysis.many else [_table(analysis)])]
    return Group(*lines)


def _matrices(analysis: Analysis) -> list[RenderableType]:
    """For many cells: the cells that the answer is about, medians with levels in columns."""
    spec, _ = brief.subject(analysis)
    found = matrix.of_figure(analysis, spec) if spec.title else matrix.of_metric(analysis, analysis.primary)
    lines: list[RenderableType] = [Text(spec.title, style="bold")] if spec.title else []
    for one in found:
        lines += [Text(one.title)] if one.title else []
        shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
        shown.add_column(Text(one.unit))
        for i, head in enumerate(one.heads):
            shown.add_column(Text(f"{one.corner} {head}" if one.corner and i == 0 else head), justify="right")
        for name, line in one.lines:
            shown.add_row(Text(name), *(Text(f"{entry.text} {entry.sign}".rstrip()) for entry in line))
        lines.append(shown)
    return [*lines, Text(matrix.legend(analysis), style="dim")]


def _table(analysis: Analysis) -> Table:
    found = rows.table(analysis, analysis.primary)
    unit = rows.unit_label(found.scale)
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    shown.add_column(Text("system"))
    shown.add_column(Text("n"), justify="right")
    shown.add_column(Text(f"{found.metric.title.lower()}{unit} (95% interval)"), justify="right")
    if found.baseline:
        shown.add_column(Text(f"times {found.baseline} (95% interval)"), justify="right")
    if found.has_published:
        shown.add_column(Text("published"), justify="right")
    if found.baseline:
        shown.add_column(Text("verdict"))
    for cell, members in found.cells:
        if cell:
            title, detail = rows.cell_title(analysis, cell)
            shown.add_row(Text(title, style="bold"), "", Text(detail, style="dim"))
        for row in members:
            shown.add_row(*_row(row, found))
    return shown


def _short(said: str) -> str:
    """A reason on one line; the page has it whole."""
    return said if len(said) <= LONGEST else said[: LONGEST - 1] + "…"


def _row(row: rows.Row, found: rows.Table) -> list[Text]:
    s = row.summary
    median = Text(_short(rows.median_text(row, found.scale)), style="" if s else "dim italic")
    cells = [Text(("  " if row.cell else "") + row.system), Text(str(s.n) if s else ""), median]
    if found.baseline:
        cells.append(Text(rows.ratio_text(row, found.baseline)))
    if found.has_published:
        cells.append(Text(rows.published_text(row)))
    if found.baseline:
        style = {"faster": "green", "better": "green", "slower": "red", "worse": "red"}
        cells.append(
            Text(rows.verdict_text(row), style=style.get(row.comparison.verdict, "") if row.comparison else "")
        )
    return cells
