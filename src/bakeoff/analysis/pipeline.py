"""All steps of the analysis in their order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bakeoff.analysis import (
    assessment,
    comparison,
    derived,
    drift,
    exclusions,
    geometric,
    judging,
    knees,
    many,
    pairs,
    published,
    references,
    summary,
    trend,
    variation,
    warmup,
)
from bakeoff.analysis.data import RunData
from bakeoff.analysis.derived import cell_parameters
from bakeoff.analysis.findings import Analysis, Cell, Comparison, FigureSpec, GeometricMean, MetricInfo, Summary
from bakeoff.analysis.results import Assessed
from bakeoff.experiment import PLACEHOLDER, Experiment, Factor
from bakeoff.metrics import DERIVED, STANDARD
from bakeoff.plan import cell_text, steps

Vector = NDArray[np.float64]
Compared = tuple[Comparison, Vector | None]  # with its resampled log ratios


def analyse(data: RunData) -> Analysis:
    """What one run supports. The same stored run gives the same findings."""
    with ThreadPoolExecutor(1) as beside:
        return _analyse(data, beside)


def _analyse(data: RunData, beside: ThreadPoolExecutor) -> Analysis:
    """The same; the rankings are made beside all else, for NumPy draws and sorts without the interpreter."""
    experiment = data.experiment
    factors = [*experiment.cell_factors, *experiment.step_factors]
    kinds = metric_infos(experiment, data.samples)
    seed = int(data.run["seed"])
    groups = summary.grouped(data.samples, factors)
    cells = _cells(experiment, data)
    parameters = {cell_text(cell): cell_parameters(experiment, data.parameters, cell) for cell in cells}
    figures = published.read(data.references, set(factors), set(kinds))
    marks = assessment.published(figures)
    figures = [figure for figure in figures if figure.metric != assessment.METRIC]
    kind = experiment.procedure.kind
    mine = (pl.col("metric") == experiment.main_metric) & (pl.col("labels") == "") & (pl.col("procedure") == kind)
    rankings = beside.submit(
        pairs.rankings, groups.filter(mine), factors, kinds[experiment.main_metric], experiment.equivalence, seed
    )
    comparisons, means = _comparisons(groups, factors, experiment, kinds, figures, seed=seed)
    summaries = summary.summarise(groups, factors, seed)
    trends = trend.trends(groups, factors, parameters, experiment.main_metric, _step_parameters(experiment))
    counted = data.samples.filter(mine & pl.col("counted"))
    steps_of = list(experiment.step_factors)
    order = {cell_text(cell): place for place, cell in enumerate(cells)}
    known = judging.evidence(data, groups, summaries, cells)
    units, titles = ({name: getattr(info, key) for name, info in kinds.items()} for key in ("unit", "title"))
    levels = {name: _numbers(factor) for name, factor in experiment.factors.items()}
    plain = [s for s in summaries if not s.group.labels]
    plain.sort(key=lambda s: s.group.procedure == kind)  # builds and such first: the main procedure's own figures count
    by_metric = _elsewhere(plain, kind)
    elsewhere = [cell for cells_of in by_metric.values() for cell in cells_of.values()]
    ours = references.Ours(
        systems={s.name: None if s.status == "ready" else s.reason or s.status for s in data.systems},
        summaries={(s.group.system, cell_text(s.group.cell), s.group.metric): s for s in plain},
        comparisons={
            (c.group.system, c.baseline, cell_text(c.group.cell), c.group.metric): c
            for c in sorted(comparisons, key=lambda c: c.group.procedure == kind)
        },
        means={(mean.system, mean.baseline, mean.metric): mean for mean in means},
        trends=trends,
        cells={cell_text(cell): cell for cell in cells},
        parameters=parameters | {cell_text(c): cell_parameters(experiment, data.parameters, c) for c in elsewhere},
        baseline=experiment.baseline,
        margin=experiment.equivalence,
        elsewhere=by_metric,
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
        figures=[
            FigureSpec(f.title, f.metric, f.x, f.where, f.systems, " ".join((f.note or "").split()))
            for f in experiment.figures
        ],
        rankings=sorted(
            rankings.result(),
            key=lambda ranking: order.get(cell_text(ranking.cell), len(cells)),
        ),
        variation=variation.allocate(counted, factors, steps_of, experiment.main_metric),
        drift=drift.drift(
            counted,
            data.trials.select("trial", "started_at"),
            list(experiment.cell_factors),
            steps_of,
            experiment.main_metric,
        ),
        warm_ups=warmup.settle(data.warm_ups),
        requirements=judging.requirements(experiment.requirements, known, units, titles),
        knees=knees.knees(experiment.knees, known, levels, titles),
        assessment=_assessed(data, known, kinds, factors, marks),
        passed_on=_passed_on(experiment),
        flags=exclusions.flag_counts(data.flags, data.trials, data.samples, list(experiment.step_factors)),
    )


def _passed_on(experiment: Experiment) -> list[str]:
    """The parameters that levels hand on under another name, such as `n: "{lines}"`: who reads `n` needs no `lines`."""
    levels = [level for factor in experiment.factors.values() for level in factor.levels.values()]
    texts = [str(value) for level in levels if isinstance(level, dict) for value in level.values()]
    return sorted({name for text in texts for name in PLACEHOLDER.findall(text)})


def _step_parameters(experiment: Experiment) -> frozenset[str]:
    """The parameters that differ between the steps of one trial."""
    names: set[str] = set()
    for name, factor in experiment.step_factors.items():
        for level in factor.levels.values():
            names |= set(level) if isinstance(level, dict) else {name}
    return frozenset(names)


def _numbers(factor: Factor) -> dict[str, float]:
    """The levels of a factor that are plain numbers, by name."""
    return {
        name: float(level)
        for name, level in factor.levels.items()
        if isinstance(level, int | float) and not isinstance(level, bool)
    }


def _assessed(
    data: RunData,
    known: judging.Evidence,
    kinds: dict[str, MetricInfo],
    factors: list[str],
    marks: dict[tuple[str, str], str],
) -> list[Assessed]:
    rule = data.experiment.assessment
    if rule is None:
        return []
    mine = data.trials.filter(pl.col("procedure") == data.experiment.procedure.kind)
    return assessment.assess(assessment.Assessing(rule, known, kinds, factors, mine, marks, int(data.run["seed"])))


def _elsewhere(summaries: list[Summary], kind: str) -> dict[str, dict[str, Cell]]:
    """The cells of metrics that the main procedure does not observe, such as those of builds, by metric."""
    own = {s.group.metric for s in summaries if s.group.procedure == kind}
    found: dict[str, dict[str, Cell]] = defaultdict(dict)
    for one in summaries:
        if one.group.metric not in own:
            found[one.group.metric][cell_text(one.group.cell)] = one.group.cell
    return dict(found)


def metric_infos(experiment: Experiment, samples: pl.DataFrame) -> dict[str, MetricInfo]:
    """The experiment's metrics in its order, then all others that were observed."""
    units: dict[str, str] = {}
    for chosen in (pl.col("labels") != "", pl.col("labels") == ""):  # what has no labels says which unit it is
        found = samples.lazy().filter(chosen).group_by("metric").agg(pl.col("unit").first())
        units |= dict(found.sort("metric").collect().iter_rows())
    infos: dict[str, MetricInfo] = {}
    worked_out = derived.formulas(experiment)
    for name in [*experiment.metrics, *sorted(set(units) - set(experiment.metrics))]:
        own, standard = experiment.metrics.get(name), STANDARD.get(name) or DERIVED.get(name)
        words = name.replace("_", " ")
        infos[name] = MetricInfo(
            name=name,
            title=(own and own.title) or (standard.title if standard else words[:1].upper() + words[1:]),
            unit=(own and own.unit) or units.get(name) or (standard.unit if standard else "1"),
            better=(own and own.better) or (standard.better if standard else "neither"),
            scale=own.scale if own else None,
            derived=str(worked_out[name]) if name in worked_out else None,
            declared=own is not None,
        )
    return infos


def _cells(experiment: Experiment, data: RunData) -> list[Cell]:
    """The cells of the main procedure in the order of the experiment's levels; also those without data.

    Where the main metric is observed for steps, or not at all, each step of a planned trial makes a cell.
    """
    names = [*experiment.cell_factors, *experiment.step_factors]
    if not names:
        return [{}]
    kind = pl.col("procedure") == experiment.procedure.kind
    main = kind & (pl.col("metric") == experiment.main_metric) & (pl.col("labels") == "")
    measured = data.samples.lazy().filter(main).select(names).unique(maintain_order=True).collect()
    found: dict[str, Cell] = {}
    stepped = not len(measured)
    for row in measured.iter_rows(named=True):
        cell = {name: row[name] for name in names if row[name] is not None}
        stepped = stepped or any(name in cell for name in experiment.step_factors)
        found[cell_text(cell)] = cell
    planned = data.trials.filter(kind).select("system", *experiment.cell_factors).unique()
    for row in planned.iter_rows(named=True):
        own = {name: row[name] for name in experiment.cell_factors if row[name] is not None}
        for step in steps(experiment, row["system"], own) if stepped else [{}]:
            found.setdefault(cell_text(own | step), own | step)
    position = {(n, level): i for n in names for i, level in enumerate(experiment.factors[n].levels)}
    return sorted(found.values(), key=lambda cell: [position.get((name, cell.get(name, "")), -1) for name in names])


def _pairs(experiment: Experiment, figures: list[published.Published]) -> dict[str, set[str] | None]:
    """Whom to compare with which baseline: all with the experiment's own (None), others as references ask."""
    asked: dict[str, set[str] | None] = {}
    for figure in figures:
        if figure.against in experiment.systems and figure.system in experiment.systems:
            wanted = asked.setdefault(str(figure.against), set())
            if wanted is not None:
                wanted.add(figure.system)
    if experiment.baseline:
        asked[experiment.baseline] = None
    return asked


def _comparisons(
    groups: pl.DataFrame,
    factors: list[str],
    experiment: Experiment,
    kinds: dict[str, MetricInfo],
    figures: list[published.Published],
    *,
    seed: int,
) -> tuple[list[Comparison], list[GeometricMean]]:
    """Each system against its baselines in each cell, and the geometric means over cells.

    Only the experiment's own metrics are compared, and observations without labels. A family for Holm is one metric
    against one baseline; its resamples are let go before the next one.
    """
    chosen = pl.col("metric").is_in([name for name, kind in kinds.items() if kind.declared])
    families: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in summary.rows(groups.filter((pl.col("labels") == "") & chosen)):
        families[row["metric"], row["procedure"]].append(row)
    comparisons: list[Comparison] = []
    means: list[GeometricMean] = []
    for baseline, systems in _pairs(experiment, figures).items():
        for (metric, procedure), rows in families.items():
            compared = _family(rows, factors, baseline, systems, seed)
            judged = comparison.judge([one for one, _ in compared], kinds[metric], experiment.equivalence)
            comparisons += judged
            many.forget(rows)
            if procedure == experiment.procedure.kind:
                means += _means(zip(judged, (resampled for _, resampled in compared), strict=True), seed)
    return comparisons, means


def _family(
    rows: list[dict[str, Any]], factors: list[str], baseline: str, systems: set[str] | None, seed: int
) -> list[Compared]:
    by_place = {_place(row, factors): row for row in rows if row["system"] == baseline}
    found = []
    for row in rows:
        other = by_place.get(_place(row, factors))
        if row["system"] == baseline or not (systems is None or row["system"] in systems) or other is None:
            continue
        if (one := pairs.against(row, other, factors, seed)) is not None:
            found.append(one)
    return found


def _place(row: dict[str, Any], factors: list[str]) -> tuple[Any, ...]:
    return (row["unit"], *(row[name] for name in factors))


def _means(compared: Iterable[Compared], seed: int) -> list[GeometricMean]:
    by_system: dict[str, list[Compared]] = defaultdict(list)
    for one in compared:
        by_system[one[0].group.system].append(one)
    means = [geometric.over_cells(family, seed) for family in by_system.values()]
    return [mean for mean in means if mean is not None]


def _procedure(experiment: Experiment) -> dict[str, Any]:
    """How the trials were carried out, as the experiment writes it."""
    written = experiment.model_dump(mode="json", by_alias=True, exclude_none=True)
    kept = ("procedure", "replications", "warm_up", "order", "seed", "place", "expect", "validity", "constraints")
    return {key: written[key] for key in kept if written.get(key) not in (None, {}, [])}
