"""A part of the report that the page and the Markdown file share: sentences, tables, and perhaps a picture."""

from __future__ import annotations

from dataclasses import dataclass, field

from bakeoff.analysis.findings import Analysis, Cell
from bakeoff.report import rows

MOST_LINES = 200


@dataclass(frozen=True)
class Grid:
    """A table of texts. `sides` says l, r or n (a note, which may be long) for each column.

    `bars` are shares (0 to 1) drawn beside the lines.
    """

    heads: list[str]
    sides: str
    lines: list[list[str]]
    title: str = ""
    folded: bool = False
    bars: list[float] | None = None

    @property
    def shown(self) -> list[list[str]]:
        """The lines that a page has room for."""
        return self.lines[:MOST_LINES]

    @property
    def rest(self) -> str:
        """What is said of the lines that are not shown."""
        return f"The first {MOST_LINES} lines of {len(self.lines):,}." if len(self.lines) > MOST_LINES else ""


@dataclass(frozen=True)
class Section:
    """One heading with what stands under it."""

    title: str
    said: list[str]
    grids: list[Grid] = field(default_factory=list)
    picture: tuple[str, ...] = ()  # SVGs of our own, for wide and narrow pages
    caption: str = ""


@dataclass(frozen=True)
class Chapter:
    """Sections under one larger heading."""

    title: str
    sections: list[Section]


def place(analysis: Analysis, cell: Cell) -> str:
    """A cell in words; `all trials` where there are no factors."""
    return rows.cell_title(analysis, cell)[0]


def percent(share: float | None, low: float | None = None, high: float | None = None) -> str:
    """A change as signed percent with its interval, such as `+1.2% (-0.3% to +2.8%)`."""
    if share is None:
        return "–"
    text = f"{share:+.2%}" if abs(share) < 0.0995 else f"{share:+.0%}"
    if low is None or high is None:
        return text
    return (
        f"{text} ({low:+.2%} to {high:+.2%})"
        if max(abs(low), abs(high)) < 0.0995
        else f"{text} ({low:+.0%} to {high:+.0%})"
    )
