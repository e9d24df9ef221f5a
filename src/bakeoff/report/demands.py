"""What an experiment demands, in the report: requirements, knees of load curves, and the assessment."""

from __future__ import annotations

from collections import Counter

from bakeoff.analysis import numbers
from bakeoff.analysis.findings import Analysis
from bakeoff.analysis.results import Assessed, Judged, Knee, Mark, Requirement
from bakeoff.references import MARKS
from bakeoff.report.section import Chapter, Grid, Section, place

VERDICTS = ("fail", "unsure", "pass")


def chapter(analysis: Analysis) -> Chapter:
    """The sections that this run has something for."""
    found = [_requirements(analysis), _assessment(analysis), _knees(analysis)]
    return Chapter("Requirements and assessment", [section for section in found if section is not None])


def _requirements(analysis: Analysis) -> Section | None:
    if not analysis.requirements:
        return None
    systems = [s.name for s in analysis.systems if any(s.name in r.verdicts for r in analysis.requirements)]
    lines = [[name, *(r.verdicts.get(name, "–") for r in analysis.requirements)] for name in systems]
    heads = ["system", *(bound(r, r.unit) for r in analysis.requirements)]
    said = [
        "Pass or fail: the whole 95% interval of the median lies on one side of the bound, and for a pass all trials "
        "came to a good end. A system passes if it passes in every cell, and fails if it fails in one."
    ]
    grids = [Grid(heads, "l" * len(heads), lines)]
    grids += [_judged(analysis, requirement) for requirement in analysis.requirements]
    return Section("Requirements", said, grids)


def bound(asked: Requirement | Knee, unit: str) -> str:
    """A bound in words, such as `99th percentile at most 50 ms`."""
    scale = numbers.scale(unit, [asked.limit])
    return f"{asked.title} {asked.bound} {numbers.plain(asked.limit / scale.size)} {scale.unit}".rstrip()


def _judged(analysis: Analysis, requirement: Requirement) -> Grid:
    ordered = sorted(requirement.judged, key=lambda one: VERDICTS.index(one.verdict))
    scale = numbers.scale(requirement.unit, [one.median for one in ordered])
    unit = f", {scale.unit}" if scale.unit else ""
    return Grid(
        ["system", "cell", "n", f"median{unit} (95% interval)", f"inside the bound by{unit}", "verdict", "reason"],
        "llrrrln",
        [_line(analysis, one, scale) for one in ordered],
        title=f"{bound(requirement, requirement.unit)}: every cell",
        folded=True,
    )


def _line(analysis: Analysis, one: Judged, scale: numbers.Scale) -> list[str]:
    share = f" ({one.share:+.0%})" if one.share is not None else ""
    margin = "" if one.margin is None else f"{numbers.number(scale.of(one.margin))}{share}"
    interval = numbers.with_interval(scale.of(one.median), scale.of(one.low), scale.of(one.high))
    return [
        one.system, place(analysis, one.cell), str(one.n) if one.n else "",
        interval if one.n else "", margin, one.verdict, one.reason,
    ]  # fmt: skip


def _knees(analysis: Analysis) -> Section | None:
    if not analysis.knees:
        return None
    groups: dict[str, list[Knee]] = {}
    for knee in analysis.knees:
        title = f"{bound(knee, analysis.metrics[knee.metric].unit)}, over {analysis.factors[knee.over].lower()}"
        groups.setdefault(title, []).append(knee)
    grids = [
        Grid(
            ["system", "cell", "holds up to", "not ruled out up to", "throughput there, 1/s", "why not further"],
            "llrrrn",
            [_knee(analysis, knee) for knee in knees],
            title=title,
        )
        for title, knees in groups.items()
    ]
    said = [
        "A bound holds up to a level if the whole 95% interval lies within it there and at all lower levels. It is not "
        "ruled out as long as no interval lies beyond it. Between two levels nothing was measured."
    ]
    return Section("Up to where the systems hold", said, grids)


def _knee(analysis: Analysis, knee: Knee) -> list[str]:
    none = "not at the lowest level"
    sure = none if knee.sure is None else numbers.plain(knee.sure)
    possible = none if knee.possible is None else numbers.plain(knee.possible) + (", the highest" if knee.open else "")
    rate = "" if knee.throughput is None else numbers.number(knee.throughput)
    return [knee.system, place(analysis, knee.cell), sure, possible, rate, knee.reason]


def _assessment(analysis: Analysis) -> Section | None:
    if not analysis.assessment:
        return None
    names = [mark.system for mark in analysis.assessment[0].marks]
    names = list(dict.fromkeys([*names, *(m.system for one in analysis.assessment for m in one.marks)]))
    by_place = {(m.system, m.criterion): m for one in analysis.assessment for m in one.marks}
    lines = [[name, *(_mark(by_place.get((name, one.criterion))) for one in analysis.assessment)] for name in names]
    heads = ["system", *(one.title for one in analysis.assessment)]
    said = ["Marks follow from the figures by the experiment's rule, given under each criterion below."]
    said += _published(analysis.assessment)
    grids = [Grid(heads, "l" * len(heads), lines), *(_criterion(one) for one in analysis.assessment)]
    return Section("Assessment", said, grids)


def _mark(mark: Mark | None) -> str:
    if mark is None:
        return ""
    said = mark.mark or "–"
    if mark.mark and mark.best != mark.worst:
        said += f" ({mark.best} to {mark.worst})"
    return said + (f" · published {mark.published}" if mark.published else "")


def _criterion(one: Assessed) -> Grid:
    lines = [
        [
            mark.system,
            mark.mark or "–",
            numbers.with_interval(mark.ratio, mark.low, mark.high) if mark.ratio is not None else "",
            mark.published or "",
            mark.reason,
        ]
        for mark in one.marks
    ]
    share = any(mark.low is None and mark.ratio is not None and mark.ratio < 1 for mark in one.marks)
    return Grid(
        ["system", "mark", "share of trials" if share else "times the best (95% interval)", "published", "note"],
        "llrln",
        lines,
        title=f"{one.title}: {one.rule}",
        folded=True,
    )


def _published(assessed: list[Assessed]) -> list[str]:
    apart = Counter(
        abs(MARKS.index(mark.mark) - MARKS.index(mark.published))
        for one in assessed
        for mark in one.marks
        if mark.mark and mark.published in MARKS
    )
    every = apart.total()
    if not every:
        return []
    more = sum(many for steps, many in apart.items() if steps > 1)
    return [
        f"{numbers.count(every, 'published mark')} beside ours: {apart[0]} the same, {apart[1]} one step apart, "
        f"{more} further apart."
    ]
