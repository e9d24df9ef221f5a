"""What has changed between two runs of one experiment: two versions of a system, two machines, two days.

The runs are independent samples: nothing pairs the blocks of one with those of the other. What differs between the
runs besides the system (host, day, tools) is part of the change and is listed beside it (`differences.py`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from bakeoff.analysis import comparison, exclusions, independent, summary
from bakeoff.analysis.data import RunData
from bakeoff.analysis.derived import cell_parameters
from bakeoff.analysis.differences import Difference, differences, other_machine
from bakeoff.analysis.findings import Cell, Group, LeftOut, MetricInfo
from bakeoff.analysis.pipeline import metric_infos
from bakeoff.errors import BadInput
from bakeoff.plan import cell_text

Key = tuple[str, str, str, str, str]  # procedure, system, text of the cell, metric, unit


@dataclass(frozen=True)
class Change:
    """One system in one cell and one metric: the new run's median over the old one's.

    Medians are in the group's unit. `low` and `high` bound the ratio with 95% confidence. `verdict` is about the new
    run: same, unsure, or the side it lies on (faster, slower, better, worse, higher, lower).
    """

    group: Group
    n_old: int
    n_new: int
    old: float
    new: float
    ratio: float | None
    low: float | None
    high: float | None
    delta: float  # Cliff's delta, -1 (all new values below all old ones) to 1
    p: float | None
    p_holm: float | None
    verdict: str
    low_power: bool
    test: independent.Test | None = None


@dataclass(frozen=True)
class Unshared:
    """A figure that only one of the runs has, and why it is not in the other: `lacking` is old or new."""

    group: Group
    lacking: str
    why: str


@dataclass(frozen=True)
class Changes:
    """All that is concluded from two runs."""

    experiment: str
    title: str
    question: str
    old: dict[str, Any]  # the runs as the store has them
    new: dict[str, Any]
    margin: float
    primary: str
    metrics: dict[str, MetricInfo]
    factors: dict[str, str]  # name → title
    changes: list[Change]
    unshared: list[Unshared]
    not_compared: list[str]  # sentences: what both have and what is not comparable all the same
    differences: list[Difference]
    other_machine: list[Difference]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    def of(self, metric: str) -> list[Change]:
        """The changes of one metric."""
        return [one for one in self.changes if one.group.metric == metric]


def compare(old: RunData, new: RunData, margin: float | None = None, metrics: list[str] | None = None) -> Changes:
    """Compares two runs of one experiment; `margin` is the new run's `equivalence:` if not given.

    `metrics` are those to compare, the experiment's own if not given. Raises BadInput if the runs share nothing.
    """
    same_experiment(old, new)
    infos = metric_infos(old.experiment, old.samples) | metric_infos(new.experiment, new.samples)
    wanted = metrics or [n for n in infos if n in old.experiment.metrics and n in new.experiment.metrics]
    unlike, sentences = unlike_metrics(old, new, wanted)
    rows = [values_of(data, [name for name in wanted if name not in unlike]) for data in (old, new)]
    scaled = unlike_cells(old, new, *rows)
    margin = new.experiment.equivalence if margin is None else margin
    families: dict[tuple[str, str], list[Change]] = defaultdict(list)
    unshared: list[Unshared] = []
    out = {"old": left_out(old), "new": left_out(new)}
    for key in dict.fromkeys([*rows[1], *rows[0]]):
        before, after = rows[0].get(key), rows[1].get(key)
        if before is None or after is None:
            row, lacking = (after, "old") if before is None else (before, "new")
            group = summary.group_of(row or {}, list((row or {})["cell"]))
            unshared.append(Unshared(group, lacking, absence(old if lacking == "old" else new, out[lacking], group)))
        elif key[2] not in scaled:
            group = summary.group_of(after, _factors(new))
            families[key[3], key[0]].append(changed(group, after, before, int(new.run["seed"])))
    changes = [c for family in families.values() for c in judge(family, infos[family[0].group.metric], margin)]
    if not changes:
        raise BadInput(_nothing_shared(old, new, rows, [*sentences, *put_together(scaled)]), MEND)
    return Changes(
        experiment=str(new.run["experiment"]),
        title=new.experiment.title,
        question=new.experiment.question,
        old=old.run,
        new=new.run,
        margin=margin,
        primary=new.experiment.main_metric,
        metrics={name: infos[name] for name in wanted},
        factors={name: new.experiment.factors[name].title or name for name in _factors(new)},
        changes=changes,
        unshared=unshared,
        not_compared=[*sentences, *put_together(scaled)],
        differences=differences(old, new),
        other_machine=other_machine(old, new),
    )


MEND = "compare two runs of one experiment and profile; `bakeoff status RUN` names what a run has"


def same_experiment(old: RunData, new: RunData) -> None:
    """Raises BadInput unless these are two runs of one experiment."""
    if old.run["id"] == new.run["id"]:
        raise BadInput(f"{new.run['id']} is named twice", "name two runs, such as last~1 and last")
    if old.run["experiment"] != new.run["experiment"]:
        raise BadInput(
            f"the runs are of two experiments: {old.run['experiment']} ({old.run['id']}) and "
            f"{new.run['experiment']} ({new.run['id']})",
            MEND,
        )


def changed(group: Group, after: dict[str, Any], before: dict[str, Any], seed: int) -> Change:
    """The figures of one change; the verdict comes when all tests of its family are known."""
    new, old = np.asarray(after["values"], dtype=np.float64), np.asarray(before["values"], dtype=np.float64)
    medians = float(np.median(new)), float(np.median(old))
    interval = independent.ratio_interval(new, old, seed)
    test = independent.test(new, old)
    return Change(
        group=group,
        n_old=len(old),
        n_new=len(new),
        old=medians[1],
        new=medians[0],
        ratio=medians[0] / medians[1] if min(medians) > 0 else None,
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        delta=comparison.cliffs_delta(new, old),
        p=test.p if test else None,
        p_holm=None,
        verdict="unsure",
        low_power=True,
        test=test,
    )


def judge(family: list[Change], metric: MetricInfo, margin: float) -> list[Change]:
    """The changes of one metric with p corrected by Holm's method, power and verdicts."""
    tested = [i for i, one in enumerate(family) if one.p is not None]
    corrected = dict(zip(tested, comparison.holm([family[i].p or 0.0 for i in tested]), strict=True))
    judged = []
    for i, one in enumerate(family):
        smallest = one.test.smallest if one.test else 1.0
        few = min(one.n_old, one.n_new) < summary.ENOUGH or smallest * len(tested) > comparison.ALPHA
        known = replace(one, p_holm=corrected.get(i), low_power=few)
        judged.append(replace(known, verdict=_verdict(known, metric, margin)))
    return judged


def _verdict(one: Change, metric: MetricInfo, margin: float) -> str:
    """As between two systems; where the old run has only zeros, which have no ratio, the test and the side decide."""
    sure = (one.p_holm is not None and one.p_holm < comparison.ALPHA) or (
        one.test is not None and one.test.settles(abs(one.delta) == 1, one.low_power)
    )
    if one.low is not None or one.old != 0 or one.test is None:
        said = comparison.verdict(one, metric, margin)
        return said if sure or said == "same" else "unsure"
    if one.new == 0 and one.delta == 0:
        return "same"
    return comparison.word(metric, one.delta > 0) if sure else "unsure"


def _factors(data: RunData) -> list[str]:
    return [*data.experiment.cell_factors, *data.experiment.step_factors]


def values_of(data: RunData, metrics: list[str]) -> dict[Key, dict[str, Any]]:
    """The counted values of these metrics as rows of `summary.grouped` with their cells, by group.

    They are in the order of the metrics, systems and levels. Observations of one part or phase are left out.
    """
    chosen = data.samples.filter((pl.col("labels") == "") & pl.col("metric").is_in(metrics))
    rows: dict[Key, dict[str, Any]] = {}
    for row in summary.rows(summary.grouped(chosen, _factors(data))):
        cell = {name: row[name] for name in _factors(data) if row[name] is not None}
        rows[row["procedure"], row["system"], cell_text(cell), row["metric"], row["unit"]] = row | {"cell": cell}
    systems = {system.name: i for i, system in enumerate(data.systems)}
    levels = {n: {level: i for i, level in enumerate(data.experiment.factors[n].levels)} for n in _factors(data)}

    def place(item: tuple[Key, dict[str, Any]]) -> tuple[int, str, list[int], int]:
        (procedure, system, _, metric, _), row = item
        cell = [levels[name].get(row["cell"].get(name), -1) for name in levels]
        return metrics.index(metric), procedure, cell, systems.get(system, -1)

    return dict(sorted(rows.items(), key=place))


def unlike_metrics(old: RunData, new: RunData, names: list[str]) -> tuple[set[str], list[str]]:
    """The metrics that the two experiments define differently, and a sentence for each."""
    unlike: dict[str, str] = {}
    for name in names:
        before, after = old.experiment.metrics.get(name), new.experiment.metrics.get(name)
        for key in ("unit", "marker", "result", "formula"):
            if before and after and getattr(before, key) != getattr(after, key):
                unlike[name] = f"{name} is another metric in each run (its {key} differs)"
    return set(unlike), list(unlike.values())


def unlike_cells(old: RunData, new: RunData, *rows: dict[Key, dict[str, Any]]) -> dict[str, str]:
    """The cells of the same name with other parameters, such as a level that a profile scales, and what differs."""
    cells: dict[str, Cell] = {key[2]: row["cell"] for one in rows for key, row in one.items()}
    unlike = {}
    for text, cell in cells.items():
        before, after = (cell_parameters(data.experiment, data.parameters, cell) for data in (old, new))
        wrong = [name for name in before if name in after and before[name] != after[name]]
        if wrong:
            unlike[text] = ", ".join(f"{name} {before[name]} and {after[name]}" for name in wrong)
    return unlike


def put_together(unlike: dict[str, str]) -> list[str]:
    """A sentence for all cells in which the same differs."""
    by_what: dict[str, list[str]] = {}
    for text, what in unlike.items():
        by_what.setdefault(what, []).append(text)
    return [
        f"the cell {cells[0]} is another one in each run ({what})"
        if len(cells) == 1
        else f"{len(cells)} cells are others in each run ({what}): {'; '.join(cells)}"
        for what, cells in by_what.items()
    ]


def left_out(data: RunData) -> list[LeftOut]:
    """What no figure of a run counts, and why."""
    return exclusions.left_out(data.trials, list(data.experiment.cell_factors), data.flagged_steps)


def absence(data: RunData, out: list[LeftOut], group: Group) -> str:
    """Why a run has no counted figure of a group; `out` is what the run left out."""
    state = next((s for s in data.systems if s.name == group.system), None)
    if state is None:
        return f"{group.system} is not in the run"
    if state.status != "ready":
        return f"{group.system} is unavailable: {state.reason or 'no reason is stored'}"
    mine = [o for o in out if o.system == group.system and o.procedure == group.procedure]
    why = [f"{o.status}: {o.reason}" if o.reason else o.status for o in mine if o.cell.items() <= group.cell.items()]
    return "; ".join(why[:2]) or "the run has no such cell or metric"


def _nothing_shared(old: RunData, new: RunData, rows: list[dict[Key, dict[str, Any]]], sentences: list[str]) -> str:
    """Says what keeps two runs apart: the first of systems, cells and metrics that they do not share."""
    both = f"{old.run['id']} and {new.run['id']} share nothing that can be compared"
    for data, one in zip((old, new), rows, strict=True):
        if not one:
            return f"{both}: {data.run['id']} has no figure that counts"
    for place, things in ((1, "system"), (0, "procedure"), (3, "metric"), (2, "cell")):
        names = [sorted({key[place] for key in one}) for one in rows]
        if not set(names[0]) & set(names[1]):
            parts = [", ".join(each[:4]) + (" …" if len(each) > 4 else "") for each in names]
            return f"{both}: no {things} is in both ({parts[0]}; {parts[1]})"
    return f"{both}: {sentences[0]}" if sentences else both
