"""The figures of a report: ratios, distributions, trend lines."""

from __future__ import annotations

from collections import defaultdict

from bakeoff.analysis import numbers
from bakeoff.analysis.data import RunData
from bakeoff.analysis.findings import Analysis, FigureSpec
from bakeoff.plan import cell_text
from bakeoff.report import curves, forest, rows, trendplot
from bakeoff.report.figure import Figure, Size, svg

MOST_CELLS = 12  # in one figure; the tables have all
MOST_POINTS = 40  # single trials drawn in one row
WIDE_RANGE = 12.0  # from here on an axis is logarithmic

WIDE = Size(left=150, plot=360, right=250, column=165, top=26)
NARROW = Size(left=104, plot=170, right=76, font=11, wide=False, top=26)


def figures(analysis: Analysis, data: RunData) -> list[Figure]:
    """The figures that the experiment names; where it names none, all that this analysis has something to show in."""
    if analysis.figures:
        return [
            points(analysis, data, spec) if spec.x is None else curves.figure(analysis, spec)
            for spec in analysis.figures
        ]
    found = [ratios(analysis), distributions(analysis, data), *trendplot.figures(analysis)]
    return [figure for figure in found if figure is not None]


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
        caption=caption + (" Diamonds are the published ratios." if published else "") + _cut(len(table.cells)),
        wide=[svg(forest.chart(blocks[True], axis, WIDE))],
        narrow=[svg(forest.chart(blocks[False], narrow_axis, NARROW))],
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
            marks.append(
                forest.Mark(
                    label=row.system,
                    value=ratio,
                    low=c.low if c else None,
                    high=c.high if c else None,
                    published=row.published.published if row.published else None,
                    text=rows.ratio_text(row, None) if wide else numbers.number(ratio) if ratio else "",
                    second=rows.published_text(row),
                    why="" if ratio else _short(row.why) or "no pair with the baseline",
                )
            )
        title, detail = rows.cell_title(analysis, cell)
        blocks.append(forest.Block(title if len(table.cells) > 1 or cell else "", detail if wide else "", marks))
    return [block for block in blocks if block.marks]


def distributions(analysis: Analysis, data: RunData) -> Figure | None:
    """Each counted trial of the main metric, with median and interval; None without any."""
    if analysis.primary not in rows.metrics_with_tables(analysis):
        return None
    title = f"{analysis.metrics[analysis.primary].title} of every system"
    return points(analysis, data, FigureSpec(title, analysis.primary, None, {}, None, ""), published=False)


def points(analysis: Analysis, data: RunData, spec: FigureSpec, published: bool = True) -> Figure:
    """Each counted trial of one metric in the cells of a figure, with median and interval, and published values."""
    table = rows.table(analysis, spec.metric, spec)
    trials = _points(analysis, data, spec.metric)
    shown = {(row.system, cell_text(row.cell)) for row in table.rows if row.summary}
    groups = {key: values for key, values in trials.items() if key in shown}
    values = [value for group in groups.values() for value in group]
    if not values:
        said = "No trial in these cells has given a figure that counts."
        return Figure(spec.title, f"{spec.note} {said}".strip(), [], [])
    log = table.metric.scale == "log" or (min(values) > 0 and max(values) / min(values) > WIDE_RANGE)
    log = log and min(values) > 0
    unit = rows.unit_label(table.scale)
    axis = forest.Axis(f"{table.metric.title}{unit}", log, text=f"median (95% interval){unit}")
    narrow_axis = forest.Axis(axis.title, log, text=f"median{unit}")
    many = any(len(group) > MOST_POINTS for group in groups.values())
    drawn = "Bars are 95% intervals around the median." if many else "Circles are single trials, bars 95% intervals."
    cells = [cell for cell, _ in table.cells]
    known = {
        (one.system, cell_text(one.cell)): one.mark.y
        for one in (curves.published_values(analysis, spec, table, cells) if published else [])
    }
    caption = (
        drawn + (" The axis is logarithmic." if log else "") + (" Diamonds are published values." if known else "")
    )
    return Figure(
        title=spec.title,
        caption=f"{spec.note} {caption}{_cut(len(cells))}".strip(),
        wide=[svg(forest.chart(_value_blocks(analysis, table, groups, known, True), axis, WIDE))],
        narrow=[svg(forest.chart(_value_blocks(analysis, table, groups, known, False), narrow_axis, NARROW))],
    )


def _value_blocks(
    analysis: Analysis,
    table: rows.Table,
    points: dict[tuple[str, str], list[float]],
    published: dict[tuple[str, str], float],
    wide: bool,
) -> list[forest.Block]:
    blocks = []
    scale = table.scale
    for cell, members in table.cells[:MOST_CELLS]:
        marks = []
        for row in members:
            s = row.summary
            group = points.get((row.system, cell_text(cell)), [])
            marks.append(
                forest.Mark(
                    label=row.system,
                    value=scale.of(s.median) if s else None,
                    low=scale.of(s.low) if s else None,
                    high=scale.of(s.high) if s else None,
                    points=[value / scale.size for value in group] if len(group) <= MOST_POINTS else [],
                    published=published.get((row.system, cell_text(cell))),
                    text=""
                    if s is None
                    else rows.median_text(row, scale)
                    if wide
                    else numbers.number(scale.of(s.median)),
                    why="" if s else _short(row.why),
                )
            )
        title, detail = rows.cell_title(analysis, cell)
        blocks.append(forest.Block(title if len(table.cells) > 1 or cell else "", detail if wide else "", marks))
    return blocks


def _points(analysis: Analysis, data: RunData, metric: str) -> dict[tuple[str, str], list[float]]:
    """The counted values of a metric by system and text of the cell."""
    factors = list(analysis.factors)
    samples = data.samples
    chosen = samples.filter(
        samples["counted"]
        & (samples["metric"] == metric)
        & (samples["labels"] == "")
        & (samples["procedure"] == analysis.kind)
    )
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in chosen.select("system", *factors, "value").iter_rows(named=True):
        cell = cell_text({name: row[name] for name in factors if row[name] is not None})
        found[row["system"], cell].append(row["value"])
    return found


def _short(why: str) -> str:
    """Why there is no figure, in one word for the chart; the tables have the reasons."""
    return why.partition(":")[0]


def _cut(many: int) -> str:
    return f" The first {MOST_CELLS} of {many} cells are drawn; the tables have all." if many > MOST_CELLS else ""
