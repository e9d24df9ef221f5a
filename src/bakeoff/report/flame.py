"""Flame graphs: for each system, where its CPU time went under load (Gregg, The Flame Graph, CACM 59(6), 2016).

A box is a function, as wide as the share of samples in which it was on the stack; what it called stands above it. The
picture is an SVG that needs no script; with the page's script a click makes one box as wide as the picture.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from html import escape

import polars as pl

from bakeoff.analysis.data import RunData

ARTEFACT = "profile.folded"
WIDTH, ROW = 1000.0, 17
LEAST = 0.001  # share of samples below which a box is left out
LETTER = 6.6  # width of a letter
FEW = 10


@dataclass
class Box:
    """A function at a place in the stacks: how many samples have it there, and what it called."""

    count: int = 0
    called: dict[str, Box] = field(default_factory=dict)


@dataclass(frozen=True)
class Flame:
    """One system's picture, and the functions in which it was itself, with their shares of samples."""

    system: str
    samples: int
    svg: str
    busiest: list[tuple[str, float]]


def flames(data: RunData) -> list[Flame]:
    """A graph for each profiled system of a run, in the experiment's order."""
    found = []
    for part in data.parts or [data]:
        mine = part.trials.filter((pl.col("procedure") == "profile") & (pl.col("status") == "ok") & pl.col("last"))
        for trial, system in mine.select("trial", "system").iter_rows():
            stacks = part.store.artefact(trial, ARTEFACT) if part.store is not None else None
            if stacks:
                found.append(flame(system, stacks.decode(errors="replace")))
    return found


def flame(system: str, stacks: str) -> Flame:
    """The graph of stacks: a line each, frames joined by `;`, then how often it was seen."""
    root, own, depth = Box(), Counter[str](), 0
    for line in stacks.splitlines():
        text, _, count = line.rpartition(" ")
        names, box = text.split(";"), root
        root.count += int(count)
        own[names[-1]] += int(count)
        for name in names:
            box = box.called.setdefault(name, Box())
            box.count += int(count)
        depth = max(depth, len(names))
    total = max(root.count, 1)
    shapes: list[str] = []
    deepest = _draw(shapes, "all", root, (0.0, 0), total)
    height = (deepest + 1) * ROW
    label = f"flame graph of {system}"
    head = f'<svg class="flame" viewBox="0 0 {WIDTH:g} {height}" role="img" aria-label="{escape(label)}">'
    turned = f'<g transform="translate(0 {height - ROW})">{"".join(shapes)}</g>'
    return Flame(system, root.count, f"{head}{turned}</svg>", [(n, c / total) for n, c in own.most_common(FEW)])


def _draw(shapes: list[str], name: str, box: Box, at: tuple[float, int], total: int) -> int:
    """Adds a box and all above it; returns the highest row."""
    left, row = at
    share = box.count / total
    kind = "kernel" if name.endswith("[kernel]") else "unknown" if name.startswith("[") else "own"
    width = share * WIDTH
    room = int((width - 6) / LETTER)
    short = name if len(name) <= room else f"{name[: room - 1]}…" if room > 3 else ""
    name = "".join(letter if letter.isprintable() else "\ufffd" for letter in name)
    says = escape(f"{name}: {share:.1%} of {total:,} samples")
    place = f'x="{left * WIDTH:.2f}" y="{-row * ROW}" width="{width:.2f}" height="{ROW - 1}"'
    text = f'<text x="{left * WIDTH + 3:.2f}" y="{-row * ROW + 12}">{escape(short)}</text>'
    data = f'data-l="{left:.6f}" data-w="{share:.6f}" data-r="{row}"'
    shapes.append(f'<g class="f {kind}" {data}><title>{says}</title><rect {place}/>{text}</g>')
    highest = row
    for other, inside in sorted(box.called.items()):
        if inside.count / total >= LEAST:
            highest = max(highest, _draw(shapes, other, inside, (left, row + 1), total))
        left += inside.count / total
    return highest
