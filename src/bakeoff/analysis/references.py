"""Published figures beside ours: does the direction agree, does the size, and what follows.

The rule (docs/methodology.md has it in prose):

* A ratio to another system is compared on a log scale. The sizes agree when the published ratio lies inside our 95%
  interval, or when the two differ by less than a factor of 2 and by less than half of the published effect, or when
  both lie inside the equivalence margin around 1. The directions agree when both lie on the same side of that margin,
  or both inside it.
* A value (a time, a size) depends on the machine. Its size agrees when it lies inside our interval or within a factor
  of 2; its direction is that of its ratio to the baseline, where the source gives both.
* Where a figure is about several cells, ours is the mean of their medians, or the geometric mean of their ratios.
  A figure may be against another level of a factor, `execution_vs_optimisation=full`, instead of another system.
* A slope agrees in size as a value does, and in direction by its sign.
* Reproduced: direction and size agree. Same direction: only the direction does. Contradicted: the direction does not.
  Not comparable: one of the two is missing, or a profile has changed what it depends on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from bakeoff.analysis import several, units
from bakeoff.analysis.findings import NO_CELL, Comparison, GeometricMean, Reference, Summary, Trend
from bakeoff.analysis.published import Published, level_settings
from bakeoff.plan import cell_text

TREND = {"scaling_slope": "slope", "scaling_intercept": "intercept"}


@dataclass(frozen=True)
class Ours:
    """Our findings, as references look them up. Cells go by their text."""

    systems: dict[str, str | None]  # name → why it is unavailable, None if it is ready
    summaries: dict[tuple[str, str, str], Summary]  # system, cell, metric
    comparisons: dict[tuple[str, str, str, str], Comparison]  # system, baseline, cell, metric
    means: dict[tuple[str, str, str], GeometricMean]  # system, baseline, metric
    trends: list[Trend]
    cells: dict[str, dict[str, str]]  # text → cell
    parameters: dict[str, dict[str, object]]  # text of a cell → parameters
    baseline: str | None
    margin: float
    elsewhere: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)  # metric of builds … → text → cell


@dataclass(frozen=True)
class Source:
    """All published figures, and what they say of each level's parameters."""

    figures: list[Published]
    scales: dict[tuple[str, str], dict[str, str]]


@dataclass(frozen=True)
class Size:
    """Our figure that a published one is set beside; None where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    verdict: str = ""


def check(figures: list[Published], ours: Ours) -> list[Reference]:
    """Each published figure beside ours, and each ratio that follows from two published values of one cell."""
    source = Source(figures, level_settings(figures))
    return [_check(figure, ours, source) for figure in [*figures, *_implied(figures, ours.baseline)]]


def _implied(figures: list[Published], baseline: str | None) -> list[Published]:
    """Ratios to the baseline that published values give, where the source does not give them itself."""
    plain = {_place(f): f for f in figures if f.against is None and f.metric not in TREND and f.value}
    given = {(f.system, f.metric, tuple(sorted(f.where.items()))) for f in figures if f.against == baseline}
    found = []
    for figure in plain.values():
        base = plain.get(_place(replace(figure, system=baseline or "")))
        known = (figure.system, figure.metric, tuple(sorted(figure.where.items()))) in given
        if base is None or base is figure or known or not base.value or not figure.value:
            continue
        source = f"from the values of {figure.source}"
        found.append(
            replace(
                figure,
                against=baseline,
                unit="ratio",
                value=figure.value / base.value,
                low=None,
                high=None,
                source=source,
            )
        )
    return found


def _place(figure: Published) -> tuple[object, ...]:
    settings = tuple(sorted(figure.settings.items()))
    return (figure.system, figure.metric, figure.unit, tuple(sorted(figure.where.items())), settings, figure.words)


def _check(figure: Published, ours: Ours, source: Source) -> Reference:
    kind = "trend" if figure.metric in TREND else "ratio" if figure.against else "value"
    where = cell_text(dict(figure.where)) or " ".join(
        [*(f"{key}={value}" for key, value in figure.settings.items()), *figure.words]
    )
    blank = Reference(
        system=figure.system,
        cell=where,
        metric=figure.metric,
        kind=kind,
        against=figure.against,
        unit=figure.unit,
        published=figure.value if figure.value is not None else math.nan,
        published_low=figure.low,
        published_high=figure.high,
        source=figure.source,
        ours=None,
        low=None,
        high=None,
        ratio=None,
        direction_agrees=None,
        size_agrees=None,
        verdict="not comparable",
        reason="",
    )
    if figure.value is None:
        return replace(blank, published=0.0, reason=f"the published figure is {figure.text!r}, which is no number")
    reason = _absent(figure, ours)
    if reason:
        return replace(blank, reason=reason)
    if kind == "trend":
        return _trend(figure, blank, ours, source)
    found = _cells(figure, ours, source)
    if isinstance(found, str):
        return replace(blank, reason=found)
    cells, note = found
    if kind == "ratio":
        return _ratio(figure, blank, ours, cells, note)
    if note:
        blank = replace(blank, reason=note)
    return _value(figure, blank, ours, cells, source)


def _absent(figure: Published, ours: Ours) -> str:
    """Why we have nothing to set beside a figure, or an empty text."""
    for system in (figure.system, figure.against):
        if system is None or "=" in system:
            continue
        if system not in ours.systems:
            return f"{system} is no system of this run"
        if ours.systems[system]:
            return f"{system} is unavailable here: {ours.systems[system]}"
    if figure.words:
        return f"the published figure is for {' '.join(figure.words)!r}, which is no cell of ours"
    return ""


def _cells(figure: Published, ours: Ours, source: Source) -> tuple[list[str], str] | str:
    """The texts of our cells that a figure is about, with a note on what is scaled; or why there is none."""
    pool = ours.elsewhere.get(figure.metric, ours.cells)
    matching = [text for text, cell in pool.items() if all(cell.get(k) == v for k, v in figure.where.items())]
    if not matching:
        return f"{NO_CELL}{cell_text(dict(figure.where))}"
    lacking = [level for level in source.scales if not any(c.get(level[0]) == level[1] for c in pool.values())]
    if not figure.where and lacking:
        absent = ", ".join(f"{factor}={level}" for factor, level in sorted(lacking))
        return f"the published figure is over all its cells, of which this run lacks {absent}"
    changed: dict[str, str] = {}
    for text in matching:
        have = ours.parameters.get(text, {})
        published = dict(figure.settings)
        for level in pool[text].items():
            published = source.scales.get(level, {}) | published
        for name, value in published.items():
            if name not in have:
                if name in figure.settings:
                    return f"the published figure is for {name}={value}, which is no parameter here"
                continue
            if not _same(have[name], value):
                changed[name] = f"{name} {have[name]} here, {value} published"
    return matching, "; ".join(changed.values())


def _same(ours: object, published: str) -> bool:
    try:
        return float(str(ours)) == float(published)
    except ValueError:
        return str(ours).lower() == published.lower()


def _value(figure: Published, blank: Reference, ours: Ours, cells: list[str], source: Source) -> Reference:
    summaries = [s for cell in cells if (s := ours.summaries.get((figure.system, cell, figure.metric))) is not None]
    if not summaries:
        return replace(blank, reason=f"we have no counted trial of {figure.metric} there")
    blank = replace(blank, placed=not blank.reason and len(cells) == 1)
    unit = summaries[0].group.unit
    scale = units.factor(figure.unit, unit)
    if scale is None or figure.value is None:
        return replace(blank, reason=f"{figure.unit} cannot be turned into {unit}")
    value = figure.value * scale
    mine, low, high = several.mean(summaries)
    found = replace(
        blank,
        unit=unit,
        published=value,
        published_low=None if figure.low is None else figure.low * scale,
        published_high=None if figure.high is None else figure.high * scale,
        ours=mine,
        low=low,
        high=high,
        ratio=mine / value if value else None,
    )
    if found.reason:  # scaled
        return found
    size = mine == value or _inside(value, low, high) or _within(mine, value, 2)
    bounds = figure.low is not None and figure.high is not None
    if bounds and figure.low is not None and figure.high is not None:
        size = size or figure.low * scale <= mine <= figure.high * scale
    direction = _direction_of_value(figure, ours, cells[0], source) if len(cells) == 1 else None
    if len(cells) > 1:
        found = replace(found, reason=f"ours is the mean of {len(summaries)} cells")
    if direction is None and not size:
        times = f"ours is {found.ratio:.3g} times the published value" if found.ratio else "the published value is 0"
        parts = (found.reason, times, "values depend on the machine")
        return replace(found, size_agrees=False, reason="; ".join(part for part in parts if part))
    return _concluded(found, direction, size)


def _direction_of_value(figure: Published, ours: Ours, cell: str, source: Source) -> bool | None:
    """Whether our ratio to the baseline lies on the side where the published values have it."""
    if ours.baseline is None or figure.system == ours.baseline:
        return None
    base = next((f for f in source.figures if _place(f) == _place(replace(figure, system=ours.baseline or ""))), None)
    comparison = ours.comparisons.get((figure.system, ours.baseline, cell, figure.metric))
    if base is None or not base.value or not figure.value or comparison is None:
        return None
    return _sides_agree(figure.value / base.value, _sized(comparison), ours.margin)


def _sized(comparison: Comparison | GeometricMean) -> Size:
    verdict = comparison.verdict if isinstance(comparison, Comparison) else ""
    return Size(comparison.ratio, comparison.low, comparison.high, verdict)


def _ratio(figure: Published, blank: Reference, ours: Ours, cells: list[str], note: str) -> Reference:
    against = figure.against or ""
    found: Comparison | GeometricMean | None
    if "=" in against:
        return _level_ratio(figure, blank, ours, cells, note)
    if len(cells) == 1:
        found = ours.comparisons.get((figure.system, against, cells[0], figure.metric))
    elif len(cells) == len(ours.cells):
        found = ours.means.get((figure.system, against, figure.metric))
        note = "; ".join(part for part in (f"ours is the geometric mean of {len(cells)} cells", note) if part)
    else:
        return _several_ratio(figure, blank, ours, cells, note)
    if found is None or found.ratio is None or not figure.value:
        return replace(blank, reason=f"we have no ratio to {against} there")
    return _sized_ratio(figure, blank, ours, _sized(found), note)


def _level_ratio(figure: Published, blank: Reference, ours: Ours, cells: list[str], note: str) -> Reference:
    pool = ours.elsewhere.get(figure.metric, ours.cells)
    chosen = [pool[text] for text in cells]
    found = several.against_level(ours.summaries, figure.system, figure.metric, chosen, figure.against or "")
    if found is None:
        return replace(blank, reason=f"we have no ratio to {figure.against} there")
    return _sized_ratio(figure, blank, ours, Size(*found), note)


def _several_ratio(figure: Published, blank: Reference, ours: Ours, cells: list[str], note: str) -> Reference:
    keys = [(figure.system, figure.against or "", text, figure.metric) for text in cells]
    compared = [c for key in keys if (c := ours.comparisons.get(key)) is not None and c.ratio is not None]
    found = several.ratio((c.ratio or 0.0, c.low, c.high) for c in compared)
    if found is None:
        return replace(blank, reason=f"we have no ratio to {figure.against} there")
    note = "; ".join(part for part in (f"ours is the geometric mean of {len(compared)} cells", note) if part)
    return _sized_ratio(figure, blank, ours, Size(*found), note)


def _sized_ratio(figure: Published, blank: Reference, ours: Ours, size: Size, note: str) -> Reference:
    """A ratio of ours beside the published one."""
    value = figure.value or 0.0
    direction = _sides_agree(value, size, ours.margin)
    ratio = (size.value or 0.0) / value if value else None
    placed = replace(blank, ours=size.value, low=size.low, high=size.high, ratio=ratio, reason=note)
    # What was counted once, such as calls, has no interval: then both are the same where both are within the margin.
    alike = direction is True or (size.low is None and _side(size.value or 0, size.value or 0, ours.margin) == 0)
    equal = alike and _side(value, value, ours.margin) == 0
    inside = figure.low is not None and figure.high is not None and figure.low <= (size.value or 0.0) <= figure.high
    return _concluded(placed, direction, equal or inside or _effects_agree(value, size))


def _trend(figure: Published, blank: Reference, ours: Ours, source: Source) -> Reference:
    parameter = figure.settings.get("x", "")
    lines = [line for line in ours.trends if line.system == figure.system and line.parameter == parameter]
    if len(lines) != 1 or figure.value is None:
        reason = (
            f"{len(lines)} trend lines of ours run over {parameter}"
            if lines
            else f"no three cells of this run differ in {parameter} alone"
        )
        return replace(blank, reason=reason)
    line = lines[0]
    for name, value in line.fixed.items():
        published = [settings[name] for settings in source.scales.values() if name in settings]
        if published and not any(_same(value, text) for text in published):
            return replace(blank, reason=f"{name} {value} here, {' or '.join(sorted(set(published)))} published")
    scale = units.factor(figure.unit.removesuffix(" per x"), line.unit)
    if scale is None:
        return replace(blank, reason=f"{figure.unit} cannot be turned into {line.unit}")
    steep = figure.metric == "scaling_slope"
    value = figure.value * scale
    mine = line.slope if steep else line.intercept
    found = replace(
        blank,
        unit=f"{line.unit} each" if steep else line.unit,
        published=value,
        published_low=None,
        published_high=None,
        ours=mine,
        low=line.slope_low if steep else None,
        high=line.slope_high if steep else None,
        ratio=mine / value if value and mine / value > 0 else None,
        reason="fixed: " + ", ".join(f"{key} {number}" for key, number in line.fixed.items()) if line.fixed else "",
    )
    agrees = _inside(value, found.low, found.high) or _within(mine, value, 2)
    return _concluded(found, (mine > 0) == (value > 0), agrees)


def _sides_agree(published: float, ours: Size, margin: float) -> bool | None:
    """Whether both lie on the same side of the margin around 1; None where our interval does not tell."""
    if ours.low is None or ours.high is None or ours.value is None:
        return None
    side = _side(published, published, margin)
    mine = _side(ours.low, ours.high, margin)
    if mine is None:
        return True if side == 0 and _inside(published, ours.low, ours.high) else None
    return side == mine


def _side(low: float, high: float, margin: float) -> int | None:
    if low > 1 + margin:
        return 1
    if high < 1 / (1 + margin):
        return -1
    return 0 if low >= 1 / (1 + margin) and high <= 1 + margin else None


def _effects_agree(published: float, ours: Size) -> bool:
    if _inside(published, ours.low, ours.high):
        return True
    if ours.value is None or ours.value <= 0 or published <= 0:
        return False
    apart = abs(math.log(ours.value / published))
    return apart < math.log(2) and apart < abs(math.log(published)) / 2


def _inside(value: float, low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and low <= value <= high


def _within(ours: float, published: float, times: float) -> bool:
    return published != 0 and 1 / times <= ours / published <= times


def _concluded(found: Reference, direction: bool | None, size: bool) -> Reference:
    if direction is False:
        verdict = "contradicted"
    elif size:
        verdict = "reproduced"
    elif direction:
        verdict = "same direction"
    else:
        verdict = "not comparable"
        why = "our interval is too wide to tell the direction"
        found = replace(found, reason="; ".join(part for part in (why, found.reason) if part))
    return replace(found, direction_agrees=direction, size_agrees=size, verdict=verdict)
