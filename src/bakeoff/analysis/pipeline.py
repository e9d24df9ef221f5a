"""All steps of the analysis in their order."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bakeoff.analysis import comparison, exclusions, geometric, published, references, summary, trend
from bakeoff.analysis.data import RunData
from bakeoff.analysis.derived import cell_parameters
from bakeoff.analysis.findings import Analysis, Cell, Comparison, GeometricMean, MetricInfo
from bakeoff.experiment import Experiment
from bakeoff.metrics import STANDARD
from bakeoff.plan import cell_text

Vector = NDArray[np.float64]
Compared = tuple[Comparison, Vector | None]  # with its resampled log ratios


def analyse(data: RunData) -> Analysis:
    """What one run supports. The same stored run gives the same findings."""
    experiment = data.experiment
    factors = [*experiment.cell_factors, *experiment.step_factors]
    kinds = metric_infos(experiment, data.samples)
    seed = int(data.run["seed"])
    groups = summary.grouped(data.samples, factors)
    cells = _cells(experiment, groups, data)
    parameters = {cell_text(cell): cell_parameters(experiment, data.parameters, cell) for cell in cells}
    figures = published.read(data.references, set(factors), set(kinds))
    compared = _comparisons(groups, factors, experiment, kinds, figures, seed=seed)
    comparisons = [one for one, _ in compared]
    means = _means(compared, experiment, seed)
    summaries = summary.summarise(groups, factors, seed)
    trends = trend.trends(groups, factors, parameters, experiment.main_metric)
    kind = experiment.procedure.kind
    plain = [s for s in summaries if s.group.procedure == kind and not s.group.labels]
    ours = references.Ours(
        systems={s.name: None if s.status == "ready" else s.reason or s.status for s in data.systems},
        summaries={(s.group.system, cell_text(s.group.cell), s.group.metric): s for s in plain},
        comparisons={
            (c.group.system, c.baseline, cell_text(c.group.cell), c.group.metric): c
            for c in comparisons
            if c.group.procedure == kind
        },
        means={(mean.system, mean.baseline, mean.metric): mean for mean in means},
        trends=trends,
        cells={cell_text(cell): cell for cell in cells},
        parameters=parameters,
        baseline=experiment.baseline,
        margin=experiment.equivalence,
    )
    return Analysis(
        run=data.run,
        title=experiment.title,
        question=experiment.question,
        about=experiment.about or "",
        scaled=getattr(experiment, "scaled", None),
        baseline=experiment.baseline,
        primary=experiment.main_metric,
        equivalence=experiment.equivalence,
        counts={str(status): count for status, count in data.trials["status"].value_counts(sort=True).iter_rows()},
        metrics=kinds,
        factors={name: experiment.factors[name].title or name for name in factors},
        parameters=parameters,
        cells=cells,
        systems=data.systems,
        summaries=summaries,
        comparisons=comparisons,
        means=means,
        trends=trends,
        references=references.check(figures, ours),
        left_out=exclusions.left_out(data.trials, list(experiment.cell_factors), data.flagged_steps),
        conditions=exclusions.conditions(data.samples, data.states),
        procedure=_procedure(experiment),
        host=data.host,
        versions=dict(data.run.get("versions") or {}),
    )


def metric_infos(experiment: Experiment, samples: pl.DataFrame) -> dict[str, MetricInfo]:
    """The experiment's metrics in its order, then all others that were observed."""
    units = dict(samples.select("metric", "unit").unique(maintain_order=True).iter_rows())
    infos: dict[str, MetricInfo] = {}
    for name in [*experiment.metrics, *sorted(set(units) - set(experiment.metrics))]:
        own, standard = experiment.metrics.get(name), STANDARD.get(name)
        words = name.replace("_", " ")
        infos[name] = MetricInfo(
            name=name,
            title=(own and own.title) or (standard.title if standard else words[:1].upper() + words[1:]),
            unit=(own and own.unit) or units.get(name) or (standard.unit if standard else "1"),
            better=(own and own.better) or (standard.better if standard else "neither"),
            scale=own.scale if own else None,
            derived=own.formula if own else None,
            declared=own is not None,
        )
    return infos


def _cells(experiment: Experiment, groups: pl.DataFrame, data: RunData) -> list[Cell]:
    """The cells of the main procedure in the order of the experiment's levels; also those without data."""
    names = [*experiment.cell_factors, *experiment.step_factors]
    kind = pl.col("procedure") == experiment.procedure.kind
    measured = groups.filter(kind & (pl.col("metric") == experiment.main_metric)).select(names).unique()
    planned = data.trials.filter(kind).select(list(experiment.cell_factors)).unique()
    found = [{name: row[name] for name in names if row.get(name)} for row in measured.iter_rows(named=True)]
    known = [{name: cell[name] for name in experiment.cell_factors if name in cell} for cell in found]
    for row in planned.iter_rows(named=True):
        cell = {name: level for name, level in row.items() if level is not None}
        if cell not in known:
            found.append(cell)
    if not names:
        return [{}]
    position = {(n, level): i for n in names for i, level in enumerate(experiment.factors[n].levels)}
    return sorted(found, key=lambda cell: [position.get((name, cell.get(name, "")), -1) for name in names])


def _pairs(experiment: Experiment, figures: list[published.Published]) -> dict[str, set[str] | None]:
    """Whom to compare with which baseline: all with the experiment's own (None), others as references ask."""
    pairs: dict[str, set[str] | None] = {}
    for figure in figures:
        if figure.against in experiment.systems and figure.system in experiment.systems:
            wanted = pairs.setdefault(str(figure.against), set())
            if wanted is not None:
                wanted.add(figure.system)
    if experiment.baseline:
        pairs[experiment.baseline] = None
    return pairs


def _comparisons(
    groups: pl.DataFrame,
    factors: list[str],
    experiment: Experiment,
    kinds: dict[str, MetricInfo],
    figures: list[published.Published],
    *,
    seed: int,
) -> list[Compared]:
    """Each system against its baselines in each cell; a family for Holm is one metric against one baseline."""
    rows = list(groups.filter(pl.col("labels") == "").iter_rows(named=True))
    by_place = {(row["system"], *_place(row, factors)): row for row in rows}
    families: dict[tuple[str, str, str], list[Compared]] = defaultdict(list)
    for baseline, systems in _pairs(experiment, figures).items():
        for row in rows:
            other = by_place.get((baseline, *_place(row, factors)))
            wanted = row["system"] != baseline and (systems is None or row["system"] in systems)
            if not wanted or other is None:
                continue
            ours, theirs = paired(row, other)
            if len(ours):
                group = summary.group_of(row, factors)
                compared = comparison.compare(group, baseline, ours, theirs, seed)
                families[baseline, row["metric"], row["procedure"]].append(compared)
    found: list[Compared] = []
    for (_, metric, _), family in families.items():
        judged = comparison.judge([one for one, _ in family], kinds[metric], experiment.equivalence)
        found += zip(judged, (resampled for _, resampled in family), strict=True)
    return found


def _place(row: dict[str, Any], factors: list[str]) -> tuple[Any, ...]:
    return (row["procedure"], row["metric"], row["unit"], *(row[name] for name in factors))


def paired(ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[Vector, Vector]:
    """The values of two groups in the blocks that both have, in the order of the blocks."""
    _, left, right = np.intersect1d(ours["blocks"], theirs["blocks"], return_indices=True)
    return (
        np.asarray(ours["values"], dtype=np.float64)[left],
        np.asarray(theirs["values"], dtype=np.float64)[right],
    )


def _means(compared: list[Compared], experiment: Experiment, seed: int) -> list[GeometricMean]:
    by_system: dict[tuple[str, str, str], list[Compared]] = defaultdict(list)
    for one in compared:
        group = one[0].group
        if group.procedure == experiment.procedure.kind:
            by_system[group.system, one[0].baseline, group.metric].append(one)
    means = [geometric.over_cells(family, seed) for family in by_system.values()]
    return [mean for mean in means if mean is not None]


def _procedure(experiment: Experiment) -> dict[str, Any]:
    """How the trials were carried out, as the experiment writes it."""
    written = experiment.model_dump(mode="json", by_alias=True, exclude_none=True)
    kept = ("procedure", "replications", "warm_up", "order", "seed", "place", "expect", "validity", "constraints")
    return {key: written[key] for key in kept if written.get(key) not in (None, {}, [])}
