"""Assessments: marks from ++ to -- by the experiment's written rule, made from the findings."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace

import polars as pl

from bakeoff.analysis import bootstrap, comparison, geometric, pairs, summary
from bakeoff.analysis.findings import MetricInfo
from bakeoff.analysis.judging import Evidence
from bakeoff.analysis.numbers import plain
from bakeoff.analysis.published import Published
from bakeoff.analysis.results import Assessed, Mark
from bakeoff.criteria import RELIABILITY, Assessment, Criterion
from bakeoff.plan import cell_text
from bakeoff.references import MARKS

METRIC = "assessment"  # of the rows of a reference file that give a source's marks


@dataclass(frozen=True)
class Assessing:
    """What marks are made from."""

    rule: Assessment
    known: Evidence
    metrics: dict[str, MetricInfo]
    factors: list[str]
    trials: pl.DataFrame  # of the main procedure
    published: dict[tuple[str, str], str]  # system, criterion → the source's mark
    seed: int


def assess(found: Assessing) -> list[Assessed]:
    """Each criterion with the marks of all systems."""
    assessed = []
    for name, criterion in found.rule.criteria.items():
        rule = found.rule.rule(criterion)
        reliable = criterion.metric == RELIABILITY
        title = criterion.title or ("Reliability" if reliable else found.metrics[criterion.metric].title)
        marks = _reliability(name, rule, criterion, found) if reliable else _relative(name, rule, criterion, found)
        bounds = [f"{mark} {plain(bound)}" for mark, bound in zip(MARKS, rule, strict=False)]
        kind = "at least this share right" if reliable else "at most this many times the best"
        assessed.append(Assessed(name, title, f"{kind}: {', '.join(bounds)}; else {MARKS[-1]}", marks))
    return assessed


def published(figures: list[Published]) -> dict[tuple[str, str], str]:
    """The marks that a source gives: rows with the metric `assessment` and the setting `criterion=NAME`."""
    return {
        (figure.system, figure.settings.get("criterion", "")): figure.text
        for figure in figures
        if figure.metric == METRIC
    }


def _relative(name: str, rule: list[float], criterion: Criterion, found: Assessing) -> list[Mark]:
    """Marks by how many times worse than the best a system is: the geometric mean over the cells that both have.

    The best is that of each cell. Intervals are those of ratios (`comparison.compare`, `geometric.over_cells`).
    """
    better = found.metrics[criterion.metric].better
    rows = found.known.rows.get(criterion.metric, {})
    match = criterion.cells or {}
    wanted = {
        cell_text(cell)
        for cell in found.known.cells_of(criterion.metric)
        if all(cell.get(factor) in levels for factor, levels in match.items() if factor != "system")
    }
    by_cell: dict[str, list[str]] = {}
    for system, text in rows:
        if text in wanted and system in match.get("system", [system]):
            by_cell.setdefault(text, []).append(system)
    sign = -1 if better == "higher" else 1
    best = {text: min(of, key=lambda s: sign * rows[s, text]["median"]) for text, of in by_cell.items()}
    marks = []
    for system, unavailable in found.known.systems.items():
        if system not in match.get("system", [system]):
            continue
        texts = [text for text in by_cell if system in by_cell[text]]
        blank = _blank(name, system, found, len(texts), len(by_cell))
        if not texts:
            why = f"unavailable: {unavailable}" if unavailable else "no trial counts"
            marks.append(_marked(blank, NO_RATIO, rule, why))
            continue
        if better == "neither":
            marks.append(_marked(blank, NO_RATIO, rule, "the metric does not say whether higher is better"))
            continue
        times = _times_worse([(rows[system, text], rows[best[text], text]) for text in texts], sign, found)
        missing = len(by_cell) - len(texts)
        why = f"{missing} of {len(by_cell)} cells are missing" if missing else ""
        marks.append(_marked(blank, times, rule, "a figure is not above 0" if times.ratio is None else why))
    return marks


@dataclass(frozen=True)
class Times:
    """How many times worse than the best, with its interval."""

    ratio: float | None
    low: float | None
    high: float | None


NO_RATIO = Times(None, None, None)


def _times_worse(both: list[tuple[pairs.Row, pairs.Row]], sign: int, found: Assessing) -> Times:
    """The geometric mean over rows and the best ones of their cells. A cell where both are the same counts as 1."""
    compared = []
    for row, best in both:
        ours, theirs = pairs.paired(row, best)
        if row is not best and len(ours):
            group = summary.group_of(row, found.factors)
            compared.append(comparison.compare(group, best["system"], ours, theirs, found.seed))
    if any(one.ratio is None for one, _ in compared):
        return NO_RATIO
    if not compared:
        return Times(1.0, 1.0, 1.0) if all(row is best for row, best in both) else NO_RATIO
    logs = [sign * math.log(one.ratio or 1.0) for one, _ in compared]
    share = len(compared) / sum(1 for row, best in both if row is best or len(pairs.paired(row, best)[0]))
    middle = share * sum(logs) / len(logs)
    draws = [resampled for _, resampled in compared if resampled is not None]
    if len(draws) < len(compared):
        return Times(math.exp(middle), None, None)
    low, high = (sign * share * bound for bound in bootstrap.percentile(geometric.mean_draws(draws, found.seed)))
    return Times(math.exp(middle), math.exp(min(low, high)), math.exp(max(low, high)))


def _reliability(name: str, rule: list[float], criterion: Criterion, found: Assessing) -> list[Mark]:
    """Marks by the share of a system's trials that ended right; interrupted and unavailable ones do not count."""
    match = criterion.cells or {}
    kept = found.trials.filter(pl.col("last") & ~pl.col("warm_up"))
    for factor, levels in match.items():
        if factor in kept.columns:
            kept = kept.filter(pl.col(factor).is_in(levels))
    tally: dict[str, Counter[str]] = {}
    for system, status, many in kept.group_by("system", "status").len().iter_rows():
        tally.setdefault(system, Counter())[status] += many
    marks = []
    for system, unavailable in found.known.systems.items():
        counted = tally.get(system, Counter())
        every = sum(counted[status] for status in ("ok", "wrong", "failed", "timeout"))
        blank = _blank(name, system, found, every, every)
        if not every:
            why = f"unavailable: {unavailable}" if unavailable else "no trial has ended"
            marks.append(_marked(blank, NO_RATIO, rule, why))
            continue
        share = counted["ok"] / every
        place = next((i for i, least in enumerate(rule) if share >= least), 4)
        bad = [f"{counted[s]} {s}" for s in ("wrong", "failed", "timeout") if counted[s]]
        reason = f"{', '.join(bad)} of {every} trials" if bad else f"all {every} trials"
        mark = MARKS[place]
        marks.append(replace(blank, mark=mark, best=mark, worst=mark, ratio=share, reason=reason))
    return marks


def _blank(name: str, system: str, found: Assessing, cells: int, of_cells: int) -> Mark:
    published = found.published.get((system, name))
    return Mark(name, system, None, None, None, None, None, None, cells, of_cells, published, "")


def _marked(blank: Mark, times: Times, rule: list[float], reason: str) -> Mark:
    """A mark by its rule, and the marks at the ends of its interval."""
    if times.ratio is None:
        return replace(blank, reason=reason)
    mark, best, worst = (
        MARKS[_place(times.ratio if bound is None else bound, rule)] for bound in (times.ratio, times.low, times.high)
    )
    return replace(
        blank, mark=mark, best=best, worst=worst, ratio=times.ratio, low=times.low, high=times.high, reason=reason
    )


def _place(ratio: float, rule: list[float]) -> int:
    return next((i for i, most in enumerate(rule) if ratio <= most), 4)
