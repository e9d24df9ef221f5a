"""The plan: every trial of a run, in the order in which it will be run."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bakeoff.errors import BadInput
from bakeoff.experiment import PLACEHOLDER, Constraint, Experiment
from bakeoff.names import Scalar

Cell = dict[str, str]
MOST_TRIALS = 1_000_000


@dataclass(frozen=True)
class Trial:
    """One planned trial. `position` counts from 0 in running order; blocks from 1, warm-up blocks are 0 and below."""

    position: int
    block: int
    replication: int
    procedure: str
    system: str
    cell: Cell
    parameters: dict[str, Scalar]
    warm_up: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def cell_text(cell: Cell) -> str:
    """A cell as text: `factor=level` in the order of the factors."""
    return " ".join(f"{factor}={level}" for factor, level in cell.items())


def cells(experiment: Experiment, system: str) -> list[Cell]:
    """The combinations of levels that the constraints leave for a system."""
    factors = experiment.cell_factors
    combinations = itertools.product(*(factor.levels for factor in factors.values()))
    every = [dict(zip(factors, levels, strict=True)) for levels in combinations]
    return [cell for cell in every if _allowed(experiment.constraints, {"system": system, **cell})]


def steps(experiment: Experiment, system: str, cell: Cell) -> list[Cell]:
    """The steps of one trial: the combinations of the levels of the factors within, in the order written."""
    factors = experiment.step_factors
    combinations = itertools.product(*(factor.levels for factor in factors.values()))
    every = [dict(zip(factors, levels, strict=True)) for levels in combinations]
    return [step for step in every if _allowed(experiment.constraints, {"system": system, **cell, **step})]


def replications(experiment: Experiment, system: str, cell: Cell) -> int:
    """How often a cell is repeated."""
    fitting = [each for each in experiment.repeat if _matches(each.cells, {"system": system, **cell})]
    return fitting[-1].replications if fitting else experiment.replications


def parameters(experiment: Experiment, cell: Cell) -> dict[str, Scalar]:
    """The parameters that a cell's levels set together."""
    values: dict[str, Scalar] = {}
    for factor, level in cell.items():
        value = experiment.factors[factor].levels[level]
        values |= value if isinstance(value, dict) else {factor: value}
    return {name: _followed(values, value) for name, value in values.items()}


def _followed(values: dict[str, Scalar], value: Scalar) -> Scalar:
    """A level may set a parameter to another one, as `n: "{iterations}"`; one step, so it cannot go round."""
    named = PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    return values.get(named[1], value) if named else value


def builds(experiment: Experiment, system: str) -> list[Cell]:
    """What is built apart: the system's cells, of which only the factors of `builds:` count."""
    factors = experiment.builds.factors if experiment.builds else []
    apart = {cell_text(cell): cell for cell in ({f: c[f] for f in factors} for c in cells(experiment, system))}
    return list(apart.values())


def make(experiment: Experiment, seed: int | None = None, file: Path | str | None = None) -> list[Trial]:
    """All trials in running order.

    `blocks`: randomised complete blocks, each replication one shuffled pass over all cells (Box, Hunter & Hunter
    2005, ch. 4). `random`: one shuffle over everything. `fixed`: as written. A shuffle sorts by a hash of seed, block
    and cell, so it depends on no library's generator.
    """
    seed = experiment.seed if seed is None else seed
    kind: str = experiment.procedure.kind
    units = [(system, cell) for system in experiment.systems for cell in cells(experiment, system)]
    if not units:
        raise BadInput("the constraints leave no cell", "loosen them", file=file, key="constraints")
    ordered: list[tuple[int, str, str, Cell]] = []
    most = experiment.warm_up + max([experiment.replications, *(r.replications for r in experiment.repeat)])
    if len(units) * most > MOST_TRIALS:
        problem = f"{len(units)} cells × {most} replications are too many"
        raise BadInput(problem, f"plan at most {MOST_TRIALS:,} trials", file=file, key="replications")
    apart = [(system, cell) for system in experiment.systems for cell in builds(experiment, system)]
    often = {(system, cell_text(cell)): replications(experiment, system, cell) for system, cell in units}
    last = max(often.values())
    for block in range(1 - experiment.warm_up, last + 1):
        trials = [(block, kind, system, cell) for system, cell in units if block <= often[system, cell_text(cell)]]
        if block == 1 and getattr(experiment.procedure, "count_calls", False):
            trials += [(block, "calls", system, cell) for system, cell in units]
        if experiment.builds and kind != "build" and 1 <= block <= experiment.builds.replications:
            trials += [(block, "build", *unit) for unit in apart]
        ordered += trials if experiment.order == "fixed" else sorted(trials, key=lambda t: _draw(seed, t))
    for block in range(last + 1, (experiment.builds.replications if experiment.builds else 0) + 1):
        trials = [(block, "build", *unit) for unit in apart]
        ordered += sorted(trials, key=lambda t: _draw(seed, t))
    if experiment.order == "random":
        warm = [trial for trial in ordered if trial[0] < 1]
        ordered = warm + sorted((t for t in ordered if t[0] >= 1), key=lambda t: _draw(seed, t))
    return [
        Trial(position, block, max(block, 0), procedure, system, cell, parameters(experiment, cell), block < 1)
        for position, (block, procedure, system, cell) in enumerate(ordered)
    ]


def profiling(experiment: Experiment, position: int) -> list[Trial]:
    """A trial more for each system, from this position on, in which nothing is measured but stacks are sampled."""
    if experiment.procedure.kind != "serve":
        mend = "leave out --profile-systems, or choose an experiment whose procedure is `serve`"
        raise BadInput("only systems that serve have a load under which they can be profiled", mend)
    first = {system: found[0] for system in experiment.systems if (found := cells(experiment, system))}
    return [
        Trial(position + index, 0, 0, "profile", system, cell, parameters(experiment, cell), False)
        for index, (system, cell) in enumerate(first.items())
    ]


def _draw(seed: int, trial: tuple[int, str, str, Cell]) -> bytes:
    block, procedure, system, cell = trial
    return hashlib.sha256(f"{seed}|{block}|{procedure}|{system}|{cell_text(cell)}".encode()).digest()


def _allowed(constraints: list[Constraint], cell: Cell) -> bool:
    for constraint in constraints:
        if constraint.exclude is not None and _matches(constraint.exclude, cell):
            return False
        if constraint.only is not None and _matches(constraint.when or {}, cell):
            known = {factor: levels for factor, levels in constraint.only.items() if factor in cell}
            if not _matches(known, cell):
                return False
    return True


def _matches(match: dict[str, list[str]], cell: Cell) -> bool:
    return all(cell.get(factor) in levels for factor, levels in match.items())
