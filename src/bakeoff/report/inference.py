"""Further findings in the report: ranks, scaling, where the variation comes from, warm-up and drift."""

from __future__ import annotations

from statistics import median

from bakeoff.analysis import numbers
from bakeoff.analysis.findings import Analysis, Trend
from bakeoff.analysis.results import Ranking
from bakeoff.report import demands, driftplot, hosts
from bakeoff.report.section import Chapter, Grid, Section, percent, place

FEW = 12  # lines; a longer table is folded


def chapters(analysis: Analysis) -> list[Chapter]:
    """The chapters that this run has something for."""
    sections = [_ranks(analysis), _scaling(analysis), _variation(analysis), _warm_ups(analysis), _drift(analysis)]
    further = Chapter("Further findings", [section for section in sections if section is not None])
    return [chapter for chapter in (hosts.chapter(analysis), demands.chapter(analysis), further) if chapter.sections]


def _ranks(analysis: Analysis) -> Section | None:
    if not analysis.rankings:
        return None
    title = analysis.metrics[analysis.primary].title.lower()
    weak = sum(ranking.low_power for ranking in analysis.rankings)
    many = len(analysis.rankings)
    said = [
        f"All pairs of systems in {title}, cell by cell. A rank is 1 and how many systems are better for sure; systems "
        "that share a letter cannot be told apart. p is corrected by Holm's method over the pairs of a cell."
    ]
    if weak:
        where = f"in {weak} of {many} cells" if weak < many else "in every cell" if many > 1 else "here"
        said.append(
            f"Power is low {where}: there two systems are told apart where the corrected test reaches 5%, or where no "
            "value of one lies among those of the other."
        )
    lines = [[place(analysis, one.cell), _order(one)] for one in analysis.rankings]
    grids = [_over_cells(analysis)] if many > 1 else []
    grids.append(Grid(["cell", "ranks"], "ll", lines, title="Ranks in each cell", folded=many > FEW))
    grids.append(_pairs(analysis))
    return Section("Ranks", said, grids)


def _order(ranking: Ranking) -> str:
    return " · ".join(f"{s.rank} {s.system}{f' ({s.letters})' if s.letters else ''}" for s in ranking.systems)


def _over_cells(analysis: Analysis) -> Grid:
    ranks: dict[str, list[int]] = {}
    for ranking in analysis.rankings:
        for one in ranking.systems:
            ranks.setdefault(one.system, []).append(one.rank)
    ordered = sorted(ranks.items(), key=lambda item: (sum(item[1]) / len(item[1]), item[0]))
    lines = [
        [name, str(len(of)), str(of.count(1)), str(min(of)), numbers.plain(median(of)), str(max(of))]
        for name, of in ordered
    ]
    return Grid(["system", "cells", "first in", "best rank", "median rank", "worst rank"], "lrrrrr", lines)


def _pairs(analysis: Analysis) -> Grid:
    lines = [
        [
            place(analysis, ranking.cell), pair.system, pair.other, str(pair.pairs),
            numbers.with_interval(pair.ratio, pair.low, pair.high),
            "" if pair.p_holm is None else f"{pair.p_holm:.2g}", f"{pair.delta:.2f}",
            pair.verdict + (" (low power)" if pair.low_power else ""),
        ]
        for ranking in analysis.rankings
        for pair in ranking.pairs
    ]  # fmt: skip
    heads = ["cell", "system", "against", "n", "ratio (95% interval)", "p (Holm)", "Cliff's δ", "verdict"]
    return Grid(heads, "lllrrrrl", lines, title="All pairs", folded=True)


def _scaling(analysis: Analysis) -> Section | None:
    if not analysis.trends:
        return None
    info = analysis.metrics[analysis.primary]
    scale = numbers.scale(info.unit, [abs(y) for line in analysis.trends for y in line.y])
    order = [state.name for state in analysis.systems]
    trends = sorted(analysis.trends, key=lambda line: (line.parameter, str(line.fixed), order.index(line.system)))
    said = [
        f"{info.title} over each number that is varied while the others stay: a straight line y = a + b x, and a power "
        "law y = c x^k. An exponent k of 1 is growth in proportion, 0 none. R² of power laws is that of the logarithms."
    ]
    unit = f", {scale.unit}" if scale.unit else ""
    first, folded = ["system", "over x", "fixed"], len(trends) > FEW
    lines = [[*_place(analysis, line), *_line(line, scale)] for line in trends]
    powers = [[*_place(analysis, line), *_power(line, scale)] for line in trends if line.exponent is not None]
    grids = [Grid([*first, f"b{unit} each", f"a{unit}", "R²"], "lllrrr", lines, "Straight lines", folded)]
    if powers:
        grids.append(Grid([*first, "exponent k", f"c{unit}", "R²"], "lllrrr", powers, "Power laws", folded))
    return Section("Scaling", said, grids)


def _place(analysis: Analysis, line: Trend) -> list[str]:
    fixed = {name: value for name, value in line.fixed.items() if name not in analysis.constants}
    return [line.system, line.parameter, ", ".join(f"{name} {_level(value)}" for name, value in fixed.items())]


def _line(line: Trend, scale: numbers.Scale) -> list[str]:
    return [
        _interval(scale.of(line.slope), scale.of(line.slope_low), scale.of(line.slope_high)),
        _interval(scale.of(line.intercept), scale.of(line.intercept_low), scale.of(line.intercept_high)),
        "" if line.r_squared is None else f"{line.r_squared:.3f}",
    ]


def _power(line: Trend, scale: numbers.Scale) -> list[str]:
    return [
        numbers.with_interval(line.exponent, line.exponent_low, line.exponent_high),
        numbers.ENDLESS if line.factor is None else f"{line.factor / scale.size:.3g}",
        "" if line.power_r_squared is None else f"{line.power_r_squared:.3f}",
    ]


def _level(value: object) -> str:
    return numbers.plain(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _interval(value: float | None, low: float | None, high: float | None) -> str:
    """With an exponent where a plain number would need too many zeros."""
    if value is None or value == 0 or abs(value) >= 1e-4:
        return numbers.with_interval(value, low, high)
    bounds = "" if low is None or high is None else f" ({low:.2g} to {high:.2g})"
    return f"{value:.3g}{bounds}"


def _variation(analysis: Analysis) -> Section | None:
    found = analysis.variation
    if found is None:
        return None
    title = analysis.metrics[found.metric].title.lower()
    said = [
        f"How much of the variation of {title} (its logarithm) each factor stands for, over "
        f"{numbers.count(found.observations, 'value')} in {numbers.count(found.cells, 'cell')}. An interaction is what "
        "two factors do together beyond what each does alone; d. f. are degrees of freedom."
    ]
    if found.empty:
        some = numbers.count(found.empty, "combination")
        said.append(
            f"{some} of levels {'has' if found.empty == 1 else 'have'} no value; the shares are about the others."
        )
    if not found.balanced:
        said.append(
            "The cells are not all there equally often, so factors overlap: each share is what the factor adds to the "
            "others, and what cannot be told apart has a line of its own."
        )
    parts = [
        (found.block_deviation, "blocks differ by {}"),
        (found.start_deviation, "starts of a system within a block by {}"),
        (found.noise_deviation, "what is left by {}"),
    ]
    deviations = [text.format(f"{value:.2%}") for value, text in parts if value is not None]
    if deviations:
        said.append(f"As standard deviations of the value: {', '.join(deviations)}.")
    lines = [[_source(analysis, s.source), f"{s.share:.2%}", str(s.freedom)] for s in found.shares]
    bars = [max(s.share, 0.0) for s in found.shares]
    grid = Grid(["source", "share", "d. f."], "lrr", lines, bars=bars)
    return Section("Where the variation comes from", said, [grid])


def _source(analysis: Analysis, source: str) -> str:
    return " × ".join(analysis.factors.get(name, name).lower() for name in source.split(" × "))


def _warm_ups(analysis: Analysis) -> Section | None:
    if not analysis.warm_ups:
        return None
    order = [state.name for state in analysis.systems]
    lines = [
        [
            one.system, place(analysis, one.cell), str(one.series), f"{one.settled_at:.2f}", f"{one.latest:.2f}",
            f"{one.length:.2f}", "" if one.gain is None else percent(one.gain - 1), str(one.unsettled),
        ]
        for one in sorted(analysis.warm_ups, key=lambda one: order.index(one.system))
    ]  # fmt: skip
    heads = [
        "system", "cell", "warm-ups", "last change at, s", "latest, s", "length, s", "rate after / before", "unsettled",
    ]  # fmt: skip
    said = [
        "When the rate under the warm-up load changed for the last time: the median and the latest of a cell's trials "
        "(0 where it never changed), and how much higher it was then. Unsettled: those whose last rates still changed."
    ]
    return Section("Warm-up", said, [Grid(heads, "llrrrrrr", lines, title="Warm-ups", folded=len(lines) > FEW)])


def _drift(analysis: Analysis) -> Section | None:
    found = analysis.drift
    if found is None:
        return None
    moved = found.low is not None and found.high is not None and (found.low > 0 or found.high < 0)
    title = analysis.metrics[found.metric].title.lower()
    settled = "" if moved or found.low is None else ", which may be none"
    said = [
        f"From the first to the last of {found.trials:,} trials, {title} changed by "
        f"{percent(found.change, found.low, found.high)} relative to its cells{settled}."
    ]
    if found.left is not None:
        said.append(
            "Systems are compared within blocks; the change over one block is "
            f"{percent(found.left, found.left_low, found.left_high)}."
        )
    if found.noise_within is not None:
        less = 1 - found.noise_within / found.noise if found.noise else 0.0
        words = f"{less:.0%} less" if less >= 0.005 else "no less" if less > -0.005 else f"{-less:.0%} more"
        said.append(
            f"The noise of a trial is {found.noise:.2%} over the run, {found.noise_within:.2%} within blocks: {words}."
        )
    caption = (
        "Each trial's value over its cell's median, in the order of the trials: medians and quartiles of neighbours."
    )
    return Section("Drift over the run", said, picture=driftplot.draw(found), caption=caption)
