"""The figures of a report: those that the experiment names, and what else the run has stored that a reader can see."""

from __future__ import annotations

from bakeoff.analysis import numbers
from bakeoff.analysis.data import RunData
from bakeoff.analysis.findings import Analysis, FigureSpec
from bakeoff.plan import cell_text
from bakeoff.report import builds, curves, distributions, forest, heatmap, percentiles, rows, timelines, trendplot
from bakeoff.report.draw import Figure

MOST_CELLS = 12  # in one figure; the tables have all

WIDE = forest.Size(left=150, plot=360, right=250, column=165)
NARROW = forest.Size(left=104, plot=170, right=76, font=11, wide=False)


def figures(analysis: Analysis, data: RunData) -> list[Figure]:
    """The experiment's figures, or the main metric's; then a map of ratios, latencies, time, builds."""
    if analysis.figures:
        found: list[Figure | None] = [
            distributions.figure(analysis, data, spec, _sizes()) if spec.x is None else curves.figure(analysis, spec)
            for spec in analysis.figures
        ]
    else:
        found = [ratios(analysis), _main(analysis, data), *trendplot.figures(analysis)]
    found += [heatmap.figure(analysis), percentiles.figure(analysis), *timelines.figures(analysis, data)]
    found += builds.figures(analysis, data, _sizes())
    return [figure for figure in found if figure is not None]


def _sizes() -> distributions.Sizes:
    return distributions.Sizes(WIDE, NARROW, MOST_CELLS)


def _main(analysis: Analysis, data: RunData) -> Figure | None:
    """Each counted trial of the main metric, with median and interval; None without any."""
    if analysis.primary not in rows.metrics_with_tables(analysis):
        return None
    title = f"{analysis.metrics[analysis.primary].title} of every system"
    spec = FigureSpec(title, analysis.primary, None, {}, None, "")
    return distributions.figure(analysis, data, spec, _sizes(), published=False)


def ratios(analysis: Analysis) -> Figure | None:
    """Ratios to the baseline in the main metric, with the published ones drawn in; None without a comparison."""
    if analysis.baseline is None or analysis.primary not in rows.metrics_with_tables(analysis):
        return None
    table = rows.table(analysis, analysis.primary)
    blocks = {wide: _ratio_blocks(analysis, table, wide) for wide in (True, False)}
    if not any(mark.value for block in blocks[True] for mark in block.marks):
        return None
    axis = forest.Axis(
        title=f"{table.metric.title}, times that of {analysis.baseline}",
        log=True,
        at=1.0,
        margin=analysis.equivalence,
        text="ratio (95% interval)",
        second="published",
    )
    narrow_axis = forest.Axis(axis.title, True, 1.0, axis.margin, text="ratio")
    published = any(mark.published for block in blocks[True] for mark in block.marks)
    caption = (
        "Bars are 95% intervals around the ratio of medians. The band around 1 is the margin within which two systems "
        "count as the same."
    )
    return Figure(
        title=f"{table.metric.title} against {analysis.baseline}",
        caption=caption
        + (" Diamonds are the published ratios." if published else "")
        + distributions.cut(len(table.cells), MOST_CELLS),
        wide=[forest.chart(blocks[True], axis, WIDE)],
        narrow=[forest.chart(blocks[False], narrow_axis, NARROW)],
    )


def _ratio_blocks(analysis: Analysis, table: rows.Table, wide: bool) -> list[forest.Block]:
    blocks = []
    for cell, members in table.cells[:MOST_CELLS]:
        marks = []
        for row in members:
            if row.system == analysis.baseline:
                continue
            c = row.comparison
            ratio = c.ratio if c else None
            heading = ", ".join(part for part in (row.system, cell_text(cell)) if part)
            marks.append(
                forest.Mark(
                    label=row.system,
                    value=ratio,
                    low=c.low if c else None,
                    high=c.high if c else None,
                    published=row.published.published if row.published else None,
                    text=rows.ratio_text(row, None) if wide else numbers.number(ratio) if ratio else "",
                    second=rows.published_text(row),
                    why="" if ratio else distributions.short(row.why) or "no pair with the baseline",
                    says=rows.ratio_says(heading, c, row.published) if c and ratio else "",
                )
            )
        title, detail = rows.cell_title(analysis, cell)
        blocks.append(forest.Block(title if len(table.cells) > 1 or cell else "", detail if wide else "", marks))
    return [block for block in blocks if block.marks]
