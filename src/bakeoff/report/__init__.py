"""Reports: what a reader sees of an analysis. Files and tables only; all conclusions come from `bakeoff.analysis`.

The functions import what they need when they are called, so that the command line starts without the heavy libraries.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bakeoff.analysis.findings import Analysis
    from bakeoff.store import Store


def make(store: Store, runs: list[str], folder: Path) -> tuple[dict[str, Path], list[Analysis]]:
    """Writes report.html, report.md, and observations and summary as CSV and Parquet.

    Returns the paths by kind, and the analyses, so that none is made twice.
    """
    from bakeoff import analysis

    with analysis.begin(store, runs[0]) as reading:  # before the libraries are loaded, which takes as long
        from bakeoff.report import files

        return files.make(store, runs, folder, reading)


def write(store: Store, runs: list[str], folder: Path) -> dict[str, Path]:
    """Writes the same files; returns their paths by kind."""
    return make(store, runs, folder)[0]


def terminal(analysis: Analysis) -> RenderableType:
    """The findings as a table for the terminal."""
    from bakeoff.report.screen import table

    return table(analysis)
