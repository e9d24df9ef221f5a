"""Reports: what a reader sees of an analysis. Files and tables only; all conclusions come from `bakeoff.analysis`.

The functions import what they need when they are called, so that the command line starts without the heavy libraries.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bakeoff.analysis.findings import Analysis
    from bakeoff.report.files import Concluded
    from bakeoff.store import Store


def conclude(store: Store, runs: list[str]) -> list[Concluded]:
    """The analysis of each run with its data, to hand to `write_concluded` and `terminal`: none is made twice."""
    from bakeoff.report import files

    return files.conclude(store, runs)


def write_concluded(concluded: list[Concluded], folder: Path) -> dict[str, Path]:
    """Writes report.html, report.md, and observations and summary as CSV and Parquet; returns the paths by kind."""
    from bakeoff.report import files

    return files.write_files(concluded, folder)


def write(store: Store, runs: list[str], folder: Path) -> dict[str, Path]:
    """The files of a report of runs, as `write_concluded` writes them."""
    return write_concluded(conclude(store, runs), folder)


def terminal(analysis: Analysis) -> RenderableType:
    """The findings as a table for the terminal."""
    from bakeoff.report.screen import table

    return table(analysis)
