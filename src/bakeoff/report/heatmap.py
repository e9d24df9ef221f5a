"""Heat maps: systems in rows, cells in columns, the ratio to the baseline as colour, number and edge."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bakeoff.analysis import numbers
from bakeoff.analysis.findings import Analysis
from bakeoff.plan import cell_text
from bakeoff.report import draw, rows
from bakeoff.report.draw import INK, MUTED, PAGE, Figure

LINE, HEAD = 22, 38
FEWEST = 4  # cells; fewer are seen at once in the other figures
MOST_CELLS = 120
STRONGEST = 3.0  # doublings, from where on the colour is the same


@dataclass(frozen=True)
class Entry:
    """One place of the map: text, how good it is (-1 worst to 1 best, None without a value), and exact values."""

    text: str
    shade: float | None
    says: str
    settled: bool = False


@dataclass(frozen=True)
class Group:
    """Columns that belong together: what they have in common, their names, and an entry for each row and column."""

    title: str
    heads: list[str]
    lines: dict[str, list[Entry]]


def figure(analysis: Analysis) -> Figure | None:
    """The ratios to the baseline in the main metric over all cells; None without a baseline or with few cells."""
    compared = analysis.comparisons_of.get(analysis.primary, {})
    cells = rows.cells_of(analysis, analysis.primary)
    if analysis.baseline is None or not FEWEST <= len(cells) <= MOST_CELLS or not compared:
        return None
    axis = max(cells[0], key=lambda name: len({cell.get(name) for cell in cells}), default="")
    groups: dict[str, list[dict[str, str]]] = {}
    for cell in cells:
        groups.setdefault(cell_text({name: level for name, level in cell.items() if name != axis}), []).append(cell)
    systems = [s.name for s in analysis.systems if any(system == s.name for system, _ in compared)]
    found = []
    for members in groups.values():
        rest = {name: level for name, level in members[0].items() if name != axis}
        title = ", ".join(f"{analysis.factors[name]} {level}" for name, level in rest.items())
        heads = [_head(cell[axis]) for cell in members]
        entries = {name: [_entry(analysis, name, cell) for cell in members] for name in systems}
        if any(entry.shade is not None for line in entries.values() for entry in line):
            found.append(Group(title, heads, entries))
    title = analysis.metrics[analysis.primary].title
    corner = analysis.factors.get(axis, "")
    good, bad = ("higher", "lower") if analysis.metrics[analysis.primary].better == "neither" else ("better", "worse")
    return Figure(
        title=f"{title} of every cell, times {analysis.baseline}",
        caption=(
            f"Ratios of medians; columns are levels of {corner.lower()}. Blue is {good} than {analysis.baseline}, "
            f"orange is {bad}, pale is near 1. A line stands where the verdict is settled: above for {good}, "
            f"below for {bad}."
        ),
        wide=[chart(found, systems, 760, 12, corner)],
        narrow=[chart(found, systems, 350, 11, corner)],
    )


def _head(level: str) -> str:
    return f"{int(level):,}" if level.isdecimal() else level


def _entry(analysis: Analysis, system: str, cell: dict[str, str]) -> Entry:
    c = analysis.comparisons_of[analysis.primary].get((system, cell_text(cell)))
    if c is None or c.ratio is None:
        return Entry("", None, "")
    better = analysis.metrics[analysis.primary].better
    size = max(-1.0, min(1.0, math.log2(c.ratio) / STRONGEST))
    shade = -size if better == "lower" else size
    return Entry(
        _short(c.ratio),
        shade,
        rows.ratio_says(f"{system}, {cell_text(cell)}", c, None),
        c.verdict not in ("unsure", "same"),
    )


def _short(ratio: float) -> str:
    """A ratio in at most five letters."""
    if not 0.01 <= ratio < 10_000:
        return f"{ratio:.0e}".replace("e+0", "e").replace("e-0", "e-")
    return numbers.number(ratio, 2 if ratio < 10 else 1 if ratio < 100 else 0).replace(",", "")


def chart(groups: list[Group], systems: list[str], width: int, font: int, corner: str) -> str:
    """The map as SVG; groups stand beside one another, and go on below where the width is used up."""
    left = min(max(60.0, max(draw.width(name, font) for name in systems) + 10), width * 0.4)
    letters = [entry.text for group in groups for line in group.lines.values() for entry in line]
    heads = [head for group in groups for head in group.heads]
    column = max([34.0, *(draw.width(text, font) + 8 for text in (*letters, *heads))])
    fit = max(1, int((width - left) // column))
    bands = _bands(groups, fit, column, font)
    root = draw.root(
        width, len(bands) * (HEAD + LINE * len(systems) + 14), font, f"ratios of {', '.join(systems)} by {corner}"
    )
    for number, band in enumerate(bands):
        _band(root, band, systems, number * (HEAD + LINE * len(systems) + 14.0), (width, left, column, font))
    return draw.svg(root)


def _bands(groups: list[Group], fit: int, column: float, font: int) -> list[list[Group]]:
    """The groups in bands of as many columns as fit; a group too wide is cut, one with a long title has room."""
    bands: list[list[Group]] = [[]]
    used = 0.0
    for group in groups:
        for at in range(0, len(group.heads), fit):
            part = slice(at, at + fit)
            piece = Group(group.title, group.heads[part], {name: line[part] for name, line in group.lines.items()})
            need = max(float(len(piece.heads)), math.ceil(draw.width(piece.title, font) / column)) + 0.3
            if bands[-1] and used + need > fit + 0.3:
                bands.append([])
                used = 0.0
            bands[-1].append(piece)
            used += need
    return bands


def _band(
    root: draw.Element, band: list[Group], systems: list[str], top: float, sizes: tuple[int, float, float, int]
) -> None:
    width, left, column, font = sizes
    x = left
    for name, row in zip(systems, range(len(systems)), strict=True):
        draw.text(root, 0, top + HEAD + LINE * (row + 0.5) + font * 0.35, draw.fitted(name, left - 6, font))
    for group in band:
        draw.text(root, x, top + 12, draw.fitted(group.title, width - x, font), weight="600")
        for i, head in enumerate(group.heads):
            draw.text(root, x + column * (i + 0.5), top + HEAD - 8, head, MUTED, anchor="middle")
            for row, name in enumerate(systems):
                _place(root, group.lines[name][i], (x + column * i, top + HEAD + LINE * row, column, font), name)
        columns = max(len(group.heads), math.ceil(draw.width(group.title, font) / column))
        x += (columns + 0.3) * column


def _place(root: draw.Element, entry: Entry, box: tuple[float, float, float, int], system: str) -> None:
    x, y, column, font = box
    if entry.shade is None:
        draw.text(root, x + column / 2, y + LINE / 2 + font * 0.35, numbers.ENDLESS, MUTED, anchor="middle")
        return
    group = draw.mark(root, entry.says, system)
    colour = "var(--line1)" if entry.shade > 0 else "var(--line2)"
    draw.rect(group, (x, y, column, LINE), PAGE)
    draw.rect(
        group, (x + 0.5, y + 0.5, column - 1, LINE - 1), colour, fill_opacity=f"{0.06 + 0.4 * abs(entry.shade):.2f}"
    )
    if entry.settled:
        at = y + 2 if entry.shade > 0 else y + LINE - 2
        draw.path(group, f"M{x + 3:.1f} {at:.1f}h{column - 6:.1f}", INK, 1.6)
    draw.text(group, x + column / 2, y + LINE / 2 + font * 0.35, entry.text, INK, anchor="middle")
