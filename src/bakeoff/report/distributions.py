"""Distributions: a box a system with every trial, its median with the interval, and published values."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from bakeoff.analysis import numbers
from bakeoff.analysis.data import RunData
from bakeoff.analysis.findings import Analysis, Cell, FigureSpec
from bakeoff.plan import cell_text
from bakeoff.report import curves, forest, rows
from bakeoff.report.draw import Figure

MOST_POINTS = 40  # single trials drawn in one row; of more a sample
FEWEST = 4  # trials, for a box
WIDE_RANGE = 12.0  # from here on an axis is logarithmic


@dataclass(frozen=True)
class Sizes:
    """The sizes of the two drawings, and how many cells they show."""

    wide: forest.Size
    narrow: forest.Size
    most_cells: int


@dataclass(frozen=True)
class Trials:
    """The counted values of one system in one cell: how many, the least and the greatest, and those that are drawn."""

    n: int
    least: float
    greatest: float
    values: list[float]


def figure(analysis: Analysis, data: RunData, spec: FigureSpec, sizes: Sizes, published: bool = True) -> Figure:
    """The trials of one metric in the cells of a figure; without data a sentence in its place."""
    table = rows.table(analysis, spec.metric, spec)
    cells = [cell for cell, _ in table.cells]
    shown = {(row.system, cell_text(row.cell)) for row in table.rows if row.summary}
    procedure = analysis.procedure_of.get(spec.metric, analysis.kind)
    groups = {key: one for key, one in trials(analysis, data, spec.metric, procedure).items() if key in shown}
    if not groups:
        said = "No trial in these cells has given a figure that counts."
        return Figure(spec.title, f"{spec.note} {said}".strip(), [], [])
    least, greatest = min(one.least for one in groups.values()), max(one.greatest for one in groups.values())
    log = least > 0 and (table.metric.scale == "log" or greatest / least > WIDE_RANGE)
    unit = rows.unit_label(table.scale)
    axis = forest.Axis(f"{table.metric.title}{unit}", log, text=f"median (95% interval){unit}")
    narrow_axis = forest.Axis(axis.title, log, text=f"median{unit}")
    known = {
        (one.system, cell_text(one.cell)): (one.mark.y, one.mark.says)
        for one in (curves.published_values(analysis, spec, table, cells) if published else [])
    }
    drawn = [
        forest.chart(_blocks(analysis, table, groups, known, (size.wide, sizes.most_cells)), one, size)
        for size, one in ((sizes.wide, axis), (sizes.narrow, narrow_axis))
    ]
    said = caption(groups) + (" The axis is logarithmic." if log else "")
    said += " Diamonds are published values." if known else ""
    said += cut(len(cells), sizes.most_cells)
    return Figure(spec.title, f"{spec.note} {said}".strip(), [drawn[0]], [drawn[1]])


def caption(groups: dict[tuple[str, str], Trials]) -> str:
    """What the signs of these trials mean."""
    said = "Circles are single trials, the tick is the median and the bar its 95% interval."
    if any(one.n > MOST_POINTS for one in groups.values()):
        most = max(one.n for one in groups.values())
        said = said.replace("Circles are single trials,", f"Circles are a sample of up to {most:,} trials a row,")
    if any(one.n >= FEWEST for one in groups.values()):
        said += " Boxes span the quartiles, thin lines all trials."
    return said


def _blocks(
    analysis: Analysis,
    table: rows.Table,
    groups: dict[tuple[str, str], Trials],
    published: dict[tuple[str, str], tuple[float, str]],
    sizes: tuple[bool, int],
) -> list[forest.Block]:
    blocks = []
    for cell, members in table.cells[: sizes[1]]:
        keys = [(row.system, cell_text(cell)) for row in members]
        marks = [
            mark(row, table.scale, groups.get(key), published.get(key), sizes[0])
            for row, key in zip(members, keys, strict=True)
        ]
        title, detail = rows.cell_title(analysis, cell)
        blocks.append(forest.Block(title if len(table.cells) > 1 or cell else "", detail if sizes[0] else "", marks))
    return blocks


def mark(
    row: rows.Row, scale: numbers.Scale, found: Trials | None, published: tuple[float, str] | None, wide: bool
) -> forest.Mark:
    """The row of one system in one cell."""
    s = row.summary
    if s is None or found is None:
        return forest.Mark(row.system, None, why=short(row.why))
    box = None
    if found.n >= FEWEST:
        box = forest.Box(*(value / scale.size for value in (found.least, s.q1, s.q3, found.greatest)))
    heading = ", ".join(part for part in (row.system, cell_text(row.cell)) if part)
    spread = ""
    if box is not None:
        unit = f" {scale.unit}" if scale.unit else ""
        spread = (
            f"quartiles {numbers.exact(box.q1)} to {numbers.exact(box.q3)}{unit}\n"
            f"all {numbers.exact(box.least)} to {numbers.exact(box.greatest)}{unit}"
        )
    return forest.Mark(
        label=row.system,
        value=scale.of(s.median),
        low=scale.of(s.low),
        high=scale.of(s.high),
        points=[value / scale.size for value in found.values],
        box=box,
        published=published[0] if published else None,
        text=rows.median_text(row, scale) if wide else numbers.number(scale.of(s.median)),
        says=rows.says(heading, s, scale, spread, published[1] if published else ""),
    )


def trials(analysis: Analysis, data: RunData, metric: str, procedure: str) -> dict[tuple[str, str], Trials]:
    """The counted trials of a metric by system and text of the cell; at most MOST_POINTS values, evenly taken."""
    factors = list(analysis.factors)
    chosen = (
        data.samples.lazy()
        .filter("counted", pl.col("metric") == metric, pl.col("labels") == "", pl.col("procedure") == procedure)
        .group_by("system", *factors, maintain_order=True)
        .agg(
            pl.len().alias("n"),
            pl.col("value").min().alias("least"),
            pl.col("value").max().alias("greatest"),
            pl.col("value").filter(pl.int_range(pl.len()) % ((pl.len() - 1) // MOST_POINTS + 1) == 0).alias("values"),
        )
        .collect()
    )
    found = {}
    for row in chosen.iter_rows(named=True):
        cell: Cell = {name: row[name] for name in factors if row[name] is not None}
        found[row["system"], cell_text(cell)] = Trials(row["n"], row["least"], row["greatest"], row["values"])
    return found


def short(why: str) -> str:
    """Why there is no figure, in one word for the chart; the tables have the reasons."""
    return why.partition(":")[0]


def cut(many: int, most: int) -> str:
    """A sentence on the cells that are not drawn, if there are any."""
    return f" The first {most} of {many} cells are drawn; the tables have all." if many > most else ""
