"""Bounds on what systems may need: whether a system holds one in a cell, is beyond it, or it is not settled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from bakeoff.analysis import summary
from bakeoff.analysis.data import RunData
from bakeoff.analysis.findings import Cell, Summary
from bakeoff.analysis.numbers import count
from bakeoff.analysis.results import Judged, Requirement
from bakeoff.criteria import Bound
from bakeoff.flags import FLAGS
from bakeoff.plan import cell_text

TROUBLES = {"wrong": "gave a wrong answer", "failed": "failed", "timeout": "timed out"}
OWN_FLAGS = ("errors", "rate_not_reached", "arrivals_unsent")  # where it is the system that did not do its work


@dataclass(frozen=True)
class Trouble:
    """Trials (or steps) of a system in a cell that it did not bring to a good end."""

    system: str
    cell: Cell
    many: int
    what: str


@dataclass(frozen=True)
class Evidence:
    """What the judging looks at: rows of `summary.grouped` and summaries by metric, system and cell, and troubles."""

    systems: dict[str, str | None]  # name → why it is unavailable, None if it is ready
    cells: list[Cell]
    rows: dict[str, dict[tuple[str, str], dict[str, Any]]]
    summaries: dict[str, dict[tuple[str, str], Summary]]
    troubles: dict[str, list[Trouble]]

    def cells_of(self, metric: str) -> list[Cell]:
        """The cells that a metric is observed in: all cells of the run, or its own where it has others."""
        own = {text: found.group.cell for (_, text), found in self.summaries.get(metric, {}).items()}
        if not own or set(own) & {cell_text(cell) for cell in self.cells}:
            return self.cells
        return list(own.values())


def evidence(data: RunData, groups: pl.DataFrame, summaries: list[Summary], cells: list[Cell]) -> Evidence:
    """The evidence of a run. A metric that the main procedure does not observe is taken from clean builds.

    Only the metrics that the experiment makes demands on are looked at.
    """
    experiment = data.experiment
    factors = [*experiment.cell_factors, *experiment.step_factors]
    kind = experiment.procedure.kind
    rows: dict[str, dict[tuple[str, str], dict[str, Any]]] = defaultdict(dict)
    known: dict[str, dict[tuple[str, str], Summary]] = defaultdict(dict)
    asked = {one.metric for one in (*experiment.requirements, *experiment.knees)}
    asked |= {one.metric for one in experiment.assessment.criteria.values()} if experiment.assessment else set()
    wanted = [*asked, "throughput"] if asked else []
    chosen = groups.with_row_index("@row").filter(pl.col("metric").is_in(wanted) & (pl.col("labels") == ""))
    main = set(chosen.filter(pl.col("procedure") == kind)["metric"].unique())
    for row in summary.rows(chosen):
        metric, found = row["metric"], summaries[row["@row"]]
        if row["procedure"] == kind or metric not in main:
            key = row["system"], cell_text(found.group.cell)
            rows[metric][key], known[metric][key] = row, found
    return Evidence(
        systems={s.name: None if s.status == "ready" else s.reason or s.status for s in data.systems},
        cells=cells,
        rows=dict(rows),
        summaries=dict(known),
        troubles=_troubles(data, factors) if asked else {},
    )


def _troubles(data: RunData, factors: list[str]) -> dict[str, list[Trouble]]:
    cell_factors = list(data.experiment.cell_factors)
    last = data.trials.filter(
        pl.col("last") & ~pl.col("warm_up") & (pl.col("procedure") == data.experiment.procedure.kind)
    )
    ended = last.filter(pl.col("status").is_in(list(TROUBLES)))
    whole = ended.group_by("system", *cell_factors, pl.col("status").alias("what"), maintain_order=True).len()
    flagged = data.flags.filter(pl.col("flag").is_in(OWN_FLAGS)).join(
        last.filter(pl.col("status") == "ok").select("trial", "system", *cell_factors), on="trial"
    )
    steps = flagged.group_by("system", *factors, pl.col("flag").alias("what"), maintain_order=True).len()
    found: dict[str, list[Trouble]] = defaultdict(list)
    for names, frame in ((cell_factors, whole), (factors, steps)):
        for row in frame.iter_rows(named=True):
            cell = {name: row[name] for name in names if row[name] is not None}
            said = TROUBLES.get(row["what"]) or FLAGS[row["what"]].meaning
            thing = "trial" if row["what"] in TROUBLES else "step" if len(names) > len(cell_factors) else "trial"
            text = f"{count(row['len'], thing)} {said}" if row["what"] in TROUBLES else (
                f"in {count(row['len'], thing)} {said}"
            )  # fmt: skip
            found[row["system"]].append(Trouble(row["system"], cell, row["len"], text))
    return dict(found)


def judge(bound: Bound, system: str, cell: Cell, known: Evidence) -> Judged:
    """Whether a system holds a bound in a cell.

    Pass or fail: the whole 95% interval of the median lies on one side of the bound (at most and at least include it).
    Below 6 replications, where such an interval is too short, all values must. A pass also needs that the system
    brought all its trials there to a good end; one that brought none to a good end fails.
    """
    found = known.summaries.get(bound.metric, {}).get((system, cell_text(cell)))
    troubles = [t for t in known.troubles.get(system, []) if t.cell.items() <= cell.items()]
    why = "; ".join(t.what for t in troubles)
    if found is None:
        unavailable = known.systems.get(system)
        blank = Judged(system, cell, 0, None, None, None, None, None, "unsure", "")
        if unavailable:
            return _with(blank, "unsure", f"unavailable: {unavailable}")
        return _with(blank, "fail", why) if troubles else _with(blank, "unsure", "no trial counts")
    sign = 1 if bound.at_most is not None else -1
    margin = sign * (bound.limit - found.median)
    judged = Judged(
        system, cell, found.n, found.median, found.low, found.high, margin,
        margin / abs(bound.limit) if bound.limit else None, "unsure", "",
    )  # fmt: skip
    if found.low is None or found.high is None:
        return _with(judged, "unsure", "one replication")
    values = known.rows[bound.metric][system, cell_text(cell)]["values"]
    least, most = (min(values), max(values)) if summary.low_power(found.n) else (found.low, found.high)
    inside = most <= bound.limit if sign > 0 else least >= bound.limit
    outside = least > bound.limit if sign > 0 else most < bound.limit
    if outside:
        return _with(judged, "fail", why)
    if inside:
        return _with(judged, "unsure", why) if troubles else _with(judged, "pass", "")
    few = f"{count(found.n, 'replication')} on both sides of the bound" if summary.low_power(found.n) else ""
    return _with(judged, "unsure", "; ".join(part for part in (few or "the interval holds the bound", why) if part))


def _with(judged: Judged, verdict: str, reason: str) -> Judged:
    return replace(judged, verdict=verdict, reason=reason)


def places(bound: Bound, known: Evidence) -> list[tuple[str, Cell]]:
    """The systems and cells that a bound is about, in the order of the experiment; those never planned are left out."""
    match = {name: levels for name, levels in (bound.cells or {}).items() if name != "system"}
    wanted = (bound.cells or {}).get("system")
    found = []
    for system in known.systems:
        if (bound.systems is not None and system not in bound.systems) or (wanted and system not in wanted):
            continue
        for cell in known.cells_of(bound.metric):
            if not all(cell.get(name) in levels for name, levels in match.items()):
                continue
            observed = (system, cell_text(cell)) in known.summaries.get(bound.metric, {})
            if observed or known.systems[system] or _planned(system, cell, known):
                found.append((system, cell))
    return found


def _planned(system: str, cell: Cell, known: Evidence) -> bool:
    """Whether anything was observed or went wrong for a system in a cell."""
    here = any(t.cell.items() <= cell.items() for t in known.troubles.get(system, []))
    return here or any((system, cell_text(cell)) in found for found in known.summaries.values())


def requirements(
    bounds: Sequence[Bound], known: Evidence, units: dict[str, str], titles: dict[str, str]
) -> list[Requirement]:
    """Each requirement, judged for every system in every cell that it is about."""
    found = []
    for bound in bounds:
        judged = [judge(bound, system, cell, known) for system, cell in places(bound, known)]
        by_system: dict[str, set[str]] = defaultdict(set)
        for one in judged:
            by_system[one.system].add(one.verdict)
        verdicts = {
            system: "fail" if "fail" in of else "unsure" if "unsure" in of else "pass"
            for system, of in by_system.items()
        }
        found.append(
            Requirement(
                title=bound.title or titles[bound.metric],
                metric=bound.metric,
                unit=units[bound.metric],
                bound="at most" if bound.at_most is not None else "at least",
                limit=bound.limit,
                verdicts=verdicts,
                judged=judged,
            )
        )
    return found
