"""The further findings as Markdown."""

from __future__ import annotations

from collections.abc import Callable

from bakeoff.analysis.findings import Analysis
from bakeoff.report import inference
from bakeoff.report.section import Grid

MOST_LINES = 60  # a longer table is for the page


def parts(analysis: Analysis, escape: Callable[[str], str], grid: Callable[..., str]) -> list[str]:
    """Headings, sentences and tables in the order of the page; `escape` and `grid` are those of the Markdown file."""
    found = []
    for chapter in inference.chapters(analysis):
        found.append(f"## {escape(chapter.title)}")
        for section in chapter.sections:
            found += [f"### {escape(section.title)}", *(escape(sentence) for sentence in section.said)]
            for one in section.grids:
                found += _grid(one, escape, grid)
    return found


def _grid(one: Grid, escape: Callable[[str], str], grid: Callable[..., str]) -> list[str]:
    if len(one.lines) > MOST_LINES:
        return [escape(f"{one.title}: {len(one.lines):,} lines, which the page has.")]
    return [*([escape(one.title)] if one.title else []), grid(one.heads, one.lines, one.sides)]  # a note is on the left
