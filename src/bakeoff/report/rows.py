"""The findings as rows of texts, which the page, the Markdown file and the terminal share."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.analysis import numbers
from bakeoff.analysis.findings import Analysis, Cell, Comparison, FigureSpec, MetricInfo, Reference, Summary
from bakeoff.plan import cell_text


@dataclass(frozen=True)
class Row:
    """One system in one cell, for one metric. Without a summary, `why` says what is missing."""

    system: str
    cell: Cell
    summary: Summary | None
    comparison: Comparison | None
    published: Reference | None
    why: str = ""


@dataclass(frozen=True)
class Table:
    """All rows of one metric, by cell, in one unit."""

    metric: MetricInfo
    scale: numbers.Scale
    baseline: str | None
    cells: list[tuple[Cell, list[Row]]]

    @property
    def rows(self) -> list[Row]:
        """All rows, without the cells around them."""
        return [row for _, rows in self.cells for row in rows]

    @property
    def has_published(self) -> bool:
        """Whether any row has a published ratio."""
        return any(row.published for row in self.rows)


def table(analysis: Analysis, metric: str, spec: FigureSpec | None = None) -> Table:
    """The table of one metric of the main procedure, or of the part that a figure shows.

    Unavailable systems are rows as well. A metric that is not observed for steps has the cells without their steps.
    """
    summaries = analysis.summaries_of.get(metric, {})
    comparisons = analysis.comparisons_of.get(metric, {})
    published = {
        (r.system, r.cell): r
        for r in analysis.references
        if r.kind == "ratio" and r.metric == metric and r.against == analysis.baseline
    }
    cells = []
    for cell in cells_of(analysis, metric):
        if spec is not None and not spec.shows(cell):
            continue
        rows = []
        for state in analysis.systems:
            if spec is not None and not spec.has(state.name):
                continue
            key = state.name, cell_text(cell)
            found = summaries.get(key)
            why = "" if found else absence(analysis, metric, state.name, cell)
            if found or why:
                rows.append(Row(state.name, cell, found, comparisons.get(key), published.get(key), why))
        if rows:
            cells.append((cell, rows))
    shown = [row.summary.median for _, members in cells for row in members if row.summary]
    info = analysis.metrics[metric]
    return Table(info, numbers.scale(info.unit, shown), analysis.baseline, cells)


def cells_of(analysis: Analysis, metric: str) -> list[Cell]:
    """The cells that a metric is observed in, also those without data; the main metric's where there are none."""
    texts = {text for _, text in analysis.summaries_of.get(metric, {})}
    known = {cell_text(cell) for cell in analysis.cells}
    if not texts or texts & known:
        return analysis.cells
    found = {cell_text(s.group.cell): s.group.cell for s in analysis.summaries_of[metric].values()}
    first = {text: next((i for i, c in enumerate(analysis.cells) if own.items() <= c.items()), -1)
             for text, own in found.items()}  # fmt: skip
    return [found[text] for text in sorted(found, key=lambda text: (first[text], text))]


def absence(analysis: Analysis, metric: str, system: str, cell: Cell) -> str:
    """Why a system has no figure of a metric in a cell; empty if it was never planned there."""
    state = next(s for s in analysis.systems if s.name == system)
    if state.status != "ready":
        return f"unavailable: {state.reason or 'no reason is stored'}"
    procedure = analysis.procedure_of.get(metric, analysis.kind)
    out = [one for one in analysis.left_out_of.get((procedure, system), []) if one.cell.items() <= cell.items()]
    return "; ".join(f"{one.status}: {one.reason}" if one.reason else one.status for one in out[:2])


def metrics_with_tables(analysis: Analysis) -> list[str]:
    """The metrics to show, the main one first: those the experiment names that have a figure."""
    have = analysis.summaries_of
    declared = [name for name, metric in analysis.metrics.items() if name in have and metric.declared]
    return sorted(declared, key=lambda name: name != analysis.primary)


def cell_title(analysis: Analysis, cell: Cell) -> tuple[str, str]:
    """A cell's name, and its parameters that differ between cells, save what the name says or another one passes on."""
    name = ", ".join(level if len(cell) == 1 else f"{analysis.factors[f]} {level}" for f, level in cell.items())
    settings = analysis.parameters.get(cell_text(cell), {})
    known = {*analysis.constants, *analysis.passed_on}
    more = {key: value for key, value in settings.items() if cell.get(key) != str(value) and key not in known}
    return name or "all trials", ", ".join(f"{key} {_plain(value)}" for key, value in more.items())


def constants(analysis: Analysis) -> dict[str, str]:
    """The parameters that are the same in all cells, where there are several cells."""
    return {key: _plain(value) for key, value in analysis.constants.items()}


def _plain(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def median_text(row: Row, scale: numbers.Scale) -> str:
    """The median with its interval in the table's unit."""
    s = row.summary
    return row.why if s is None else numbers.with_interval(scale.of(s.median), scale.of(s.low), scale.of(s.high))


def says(heading: str, s: Summary, scale: numbers.Scale, *more: str) -> str:
    """The exact values of a mark: a heading, and a fact a line."""
    unit = f" {scale.unit}" if scale.unit else ""
    lines = [heading, f"median {numbers.exact(scale.of(s.median))}{unit}"]
    if s.low is not None and s.high is not None:
        lines.append(f"95% interval {numbers.exact(scale.of(s.low))} to {numbers.exact(scale.of(s.high))}{unit}")
    lines.append(f"n = {s.n:,}{' (low power)' if s.low_power else ''}")
    return "\n".join([*lines, *(text for text in more if text)])


def ratio_says(heading: str, c: Comparison, published: Reference | None) -> str:
    """The exact values of a ratio, likewise."""
    lines = [heading, f"{numbers.exact(c.ratio)} times {c.baseline}"]
    if c.low is not None and c.high is not None:
        lines.append(f"95% interval {numbers.exact(c.low)} to {numbers.exact(c.high)}")
    lines.append(f"n = {c.pairs:,} pairs: {c.verdict}{' (low power)' if c.low_power else ''}")
    if published is not None:
        lines.append(f"published {numbers.exact(published.published)} ({published.source})")
    return "\n".join(lines)


def ratio_text(row: Row, baseline: str | None) -> str:
    """The ratio to the baseline with its interval; 1 for the baseline itself."""
    if row.comparison is None:
        return "1" if row.system == baseline and row.summary else ""
    c = row.comparison
    return numbers.with_interval(c.ratio, c.low, c.high)


def verdict_text(row: Row) -> str:
    """The verdict, with `low power` where n is small."""
    if row.comparison is None:
        return ""
    return row.comparison.verdict + (" (low power)" if row.comparison.low_power else "")


def published_text(row: Row) -> str:
    """The published ratio with what our figure makes of it."""
    return "" if row.published is None else numbers.number(row.published.published)


def unit_label(scale: numbers.Scale) -> str:
    """The unit for a heading, empty for plain numbers."""
    return f", {scale.unit}" if scale.unit else ""


def p_text(p: float) -> str:
    """A p value with two digits, and no more than it can mean."""
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}"
