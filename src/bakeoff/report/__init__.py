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


def write(store: Store, runs: list[str], folder: Path) -> dict[str, Path]:
    """Writes report.html, report.md, observations.csv and summary.csv of the runs; returns the paths by kind."""
    from bakeoff.report.files import write_files

    return write_files(store, runs, folder)


def terminal(analysis: Analysis) -> RenderableType:
    """The findings as a table for the terminal."""
    from bakeoff.report.screen import table

    return table(analysis)
