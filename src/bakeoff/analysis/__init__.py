"""From stored trials to findings. Everything here is made from the store alone.

The functions import what they need when they are called, so that the command line starts without the heavy libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bakeoff.analysis.change import Changes
    from bakeoff.analysis.data import RunData
    from bakeoff.analysis.findings import Analysis
    from bakeoff.analysis.reading import Reading
    from bakeoff.store import Store


def begin(store: Store, run: str) -> Reading:
    """Begins to read a run; to hand to `load` within a `with`. Other libraries can be loaded meanwhile."""
    from bakeoff.analysis.reading import begin as start

    return start(store, run)


def load(store: Store, run: str | Reading) -> RunData:
    """Reads a run from the store: its experiment, systems, trials, and one row for each observed number."""
    if isinstance(run, str):
        with begin(store, run) as reading:
            return load(store, reading)
    from bakeoff.analysis.data import load as read

    return read(store, run)


def load_joined(store: Store, runs: list[str], reading: Reading | None = None) -> list[RunData]:
    """Reads runs; those of one experiment become one. BadInput if they cannot be joined.

    `reading` is one of the runs that has been begun.
    """
    by_experiment: dict[str, list[RunData]] = {}
    for name in dict.fromkeys(runs):
        data = load(store, reading if reading is not None and reading.run == name else name)
        by_experiment.setdefault(data.run["experiment"], []).append(data)
    from bakeoff.analysis.joined import join

    return [join(parts) for parts in by_experiment.values()]


def analyse(data: RunData) -> Analysis:
    """Summaries, comparisons with the baseline, trend lines, and the published figures beside ours."""
    from bakeoff.analysis.pipeline import analyse as conclude

    return conclude(data)


def compare(old: RunData, new: RunData, margin: float | None = None) -> Changes:
    """What has changed from one run of an experiment to another one; BadInput if they share nothing."""
    from bakeoff.analysis.change import compare as conclude

    return conclude(old, new, margin)


def sentences(analysis: Analysis) -> list[str]:
    """The answer in plain sentences, made from the findings."""
    from bakeoff.analysis.answer import sentences as say

    return say(analysis)
