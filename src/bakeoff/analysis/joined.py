"""Several runs of one experiment as one: each run is a further group of blocks.

Blocks stay apart, so systems are compared only within a run, and what slowed one run slows both sides. Runs of other
machines, other versions or other settings are refused: their difference is a finding of its own (`bakeoff compare`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from bakeoff.analysis import change, columns
from bakeoff.analysis.data import RunData
from bakeoff.analysis.differences import of_hosts, other_machine, settings
from bakeoff.analysis.findings import SystemState
from bakeoff.analysis.numbers import ENDLESS
from bakeoff.errors import BadInput

# What must be the same for trials to be replications of one another.
MUST = ("factors", "constraints", "procedure", "expect", "metrics", "validity", "place")


def join(parts: list[RunData]) -> RunData:
    """One run made of several. Raises BadInput if they are not of one kind; the first one gives the words.

    Blocks are counted on from run to run. `parts` of the result are the runs as they were.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    for other in parts[1:]:
        _refuse(first, other)
    systems = _systems(parts)
    blocks = _offsets(parts)
    baseline = next((part.experiment.baseline for part in parts if part.experiment.baseline), None)
    experiment = first.experiment.model_copy(
        update={
            "systems": [system.name for system in systems],
            "baseline": baseline,
            "replications": sum(part.experiment.replications for part in parts),
        }
    )
    runs = [{key: part.run[key] for key in ("id", "profile", "seed", "created_at", "ended_at")} for part in parts]
    names = " + ".join(run["id"] for run in runs)
    done = all(part.run["status"] == "done" for part in parts)
    run = first.run | {
        "id": names,
        "joined": runs,
        "notes": _notes(parts),
        "status": "done" if done else "interrupted",
        "created_at": min(run["created_at"] for run in runs),
        "ended_at": None,
    }
    return replace(
        first,
        run=run,
        experiment=experiment,
        systems=systems,
        samples=_shifted([part.samples for part in parts], blocks),
        trials=_shifted([part.trials for part in parts], blocks),
        flagged_steps=columns.joined([part.flagged_steps for part in parts]),
        flags=columns.joined([part.flags for part in parts]),
        parameters={text: values for part in reversed(parts) for text, values in part.parameters.items()},
        states=[state for part in parts for state in part.states],
        parts=parts,
    )


def _refuse(first: RunData, other: RunData) -> None:
    """Raises BadInput unless the trials of two runs can be replications of one another."""
    names = f"{first.run['id']} and {other.run['id']}"
    mend = f"report them apart, or compare them: bakeoff compare {first.run['id']} {other.run['id']}"
    change.same_experiment(first, other)
    if machine := other_machine(first, other):
        one = machine[0]
        raise BadInput(f"{names} are of different machines ({one.what}: {one.old} and {one.new})", mend)
    ours, theirs = settings(first), settings(other)
    for key in dict.fromkeys([*ours, *theirs]):
        if key.partition(".")[0] in MUST and ours.get(key) != theirs.get(key):
            values = f"{_text(ours.get(key))} and {_text(theirs.get(key))}"
            raise BadInput(f"{names} cannot be joined: {key} differs ({values})", mend)
    known = {system.name: system for system in first.systems}
    for system in other.systems:
        mine = known.get(system.name)
        if mine is None or "ready" not in (mine.status, system.status) or mine.status != system.status:
            continue
        for what in ("version", "key", "tools"):
            if getattr(mine, what) != getattr(system, what):
                thing = "sources, commands or tools" if what == "key" else what
                raise BadInput(f"{names} cannot be joined: the {thing} of {system.name} differ", mend)


def _text(value: Any) -> str:
    return ENDLESS if value is None else str(value)


def _systems(parts: list[RunData]) -> list[SystemState]:
    """All systems in the order of their first run; one that was ready in any run is ready."""
    found: dict[str, SystemState] = {}
    for part in parts:
        for system in part.systems:
            if system.name not in found or (system.status == "ready" and found[system.name].status != "ready"):
                found[system.name] = system
    return list(found.values())


def _offsets(parts: list[RunData]) -> list[int]:
    """What to add to each run's blocks, so that none is in two runs."""
    offsets, last = [0], int(_edge(parts[0], "max"))
    for part in parts[1:]:
        offsets.append(last + 1 - int(_edge(part, "min")))
        last = offsets[-1] + int(_edge(part, "max"))
    return offsets


def _edge(part: RunData, side: str) -> Any:
    blocks = part.trials["block"]
    return (blocks.max() if side == "max" else blocks.min()) or 0


def _shifted(frames: list[pl.DataFrame], offsets: list[int]) -> pl.DataFrame:
    shifted = [frame.with_columns(pl.col("block") + by) for frame, by in zip(frames, offsets, strict=True)]
    return columns.joined(shifted)


def _notes(parts: list[RunData]) -> list[str]:
    """What a reader must know of runs that were joined."""
    first = parts[0]
    said = [
        f"Joined from {len(parts)} runs of this machine; each is a further group of blocks. Intervals are over the "
        "blocks of all runs: what changes from run to run is in them only as far as these runs show it."
    ]
    for part in parts[1:]:
        differs = [f"{one.what} {_text(one.old)} and {_text(one.new)}" for one in of_hosts(first, part)]
        differs += [
            f"{name} {_text(old)} and {_text(new)}"
            for name in dict.fromkeys([*(first.run["versions"] or {}), *(part.run["versions"] or {})])
            if (old := (first.run["versions"] or {}).get(name)) != (new := (part.run["versions"] or {}).get(name))
        ]
        if differs:
            said.append(f"{part.run['id']} differs from {first.run['id']}: {', '.join(differs)}.")
        said += _disagreement(first, part)
    return said


def _disagreement(first: RunData, part: RunData) -> list[str]:
    """A sentence if the main metric of a system differs between two runs."""
    try:
        found = change.compare(first, part, metrics=[first.experiment.main_metric])
    except BadInput:  # they share no system
        return []
    moved = [c for c in found.changes if c.verdict not in ("same", "unsure")]
    if not moved:
        return []
    names = ", ".join(dict.fromkeys(c.group.system for c in moved))
    said = f"The runs do not agree: against {first.run['id']}, {part.run['id']} differs in {len(moved)} of "
    return [f"{said}{len(found.changes)} medians of {found.metrics[found.primary].title.lower()} ({names})."]
