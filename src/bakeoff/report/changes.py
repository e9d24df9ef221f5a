"""Two runs beside each other, as texts which the page, the Markdown file and the terminal share."""

from __future__ import annotations

import json
import math
import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bakeoff.analysis import numbers
from bakeoff.analysis.change import Change, Changes, Unshared
from bakeoff.analysis.differences import Difference
from bakeoff.analysis.findings import Cell, MetricInfo
from bakeoff.report import rows

MOST_LINES = 400  # of one metric on a page; the JSON document has all
MOST_NAMED = 5  # changes that the answer names
SIDES = ("slower", "worse", "lower", "faster", "better", "higher", "same", "unsure")


@dataclass(frozen=True)
class Line:
    """One change as texts. `bar` is (low, ratio, high) as shares of the drawing's width, None without an interval."""

    system: str
    cell: str
    n: str
    old: str
    new: str
    ratio: str
    p: str
    verdict: str
    side: str
    low_power: bool
    bar: tuple[float, float, float] | None


@dataclass(frozen=True)
class Table:
    """The changes of one metric; `one` and `margin` are where 1 and the equivalence margin lie in the drawing."""

    metric: MetricInfo
    unit: str
    counts: str
    lines: list[Line]
    more: int  # lines that are left out
    one: float
    margin: tuple[float, float]


def tables(found: Changes) -> list[Table]:
    """A table for each metric that has changes, the main one first."""
    names = [name for name in found.metrics if found.of(name)]
    return [table(found, name) for name in sorted(names, key=lambda name: name != found.primary)]


def table(found: Changes, metric: str) -> Table:
    """The table of one metric; what has changed comes first where there are many lines."""
    changes = found.of(metric)
    if len(changes) > MOST_LINES:
        changes = sorted(changes, key=lambda c: (c.verdict in ("same", "unsure"), -_size(c)))
    shown = changes[:MOST_LINES]
    scale = numbers.scale(found.metrics[metric].unit, [value for c in shown for value in (c.old, c.new)])
    low, high = _domain(shown, found.margin)

    def place(ratio: float) -> float:
        return (math.log(ratio) - low) / (high - low)

    lines = [_line(found, c, scale, place) for c in shown]
    return Table(
        metric=found.metrics[metric],
        unit=rows.unit_label(scale),
        counts=tally(found.of(metric)),
        lines=lines,
        more=len(changes) - len(shown),
        one=place(1.0),
        margin=(place(1 / (1 + found.margin)), place(1 + found.margin)),
    )


def _domain(changes: list[Change], margin: float) -> tuple[float, float]:
    """The logarithms of the least and the greatest ratio to draw, with some room."""
    bounds = [math.log(v) for c in changes for v in (c.low, c.ratio, c.high) if v]
    low, high = min([*bounds, -math.log(1 + margin)]), max([*bounds, math.log(1 + margin)])
    room = (high - low) * 0.05
    return low - room, high + room


def _line(found: Changes, c: Change, scale: numbers.Scale, place: Callable[[float], float]) -> Line:
    return Line(
        system=c.group.system,
        cell=cell_title(found.factors, c.group.cell) or (c.group.procedure if c.group.procedure == "build" else ""),
        n=f"{c.n_old}" if c.n_old == c.n_new else f"{c.n_old}, {c.n_new}",
        old=numbers.number(scale.of(c.old)),
        new=numbers.number(scale.of(c.new)),
        ratio=numbers.with_interval(c.ratio, c.low, c.high),
        p="" if c.p_holm is None else rows.p_text(c.p_holm),
        verdict=c.verdict + (" (low power)" if c.low_power else ""),
        side=c.verdict,
        low_power=c.low_power,
        bar=(place(c.low), place(c.ratio), place(c.high)) if c.low and c.ratio and c.high else None,
    )


def cell_title(factors: dict[str, str], cell: Cell) -> str:
    """A cell's levels, with the factors' titles where there are several."""
    return ", ".join(level if len(cell) == 1 else f"{factors.get(name, name)} {level}" for name, level in cell.items())


def _size(c: Change) -> float:
    return abs(math.log(c.ratio)) if c.ratio else math.inf


def tally(changes: list[Change]) -> str:
    """How many have which verdict, such as `2 slower, 9 same`."""
    counts = Counter(c.verdict for c in changes)
    return ", ".join(f"{counts[side]:,} {side}" for side in SIDES if counts[side])


def sentences(found: Changes) -> list[str]:
    """The answer: the main metric first, then the others in which something has changed."""
    lines = []
    names = [name for name in found.metrics if found.of(name)]
    for name in sorted(names, key=lambda name: name != found.primary):
        changes = found.of(name)
        moved = sorted((c for c in changes if c.verdict not in ("same", "unsure")), key=_size, reverse=True)
        if not moved and name != found.primary:
            continue
        of = numbers.count(len(changes), "comparison")
        line = f"{found.metrics[name].title}: {tally(changes)} (of {of})."
        if moved:
            named = "; ".join(_named(found, c) for c in moved[:MOST_NAMED])
            line += f" {named}{' …' if len(moved) > MOST_NAMED else ''}."
        lines.append(line)
    if found.other_machine:
        what = ", ".join(one.what.removesuffix("_bytes").replace("_", " ") for one in found.other_machine)
        lines.append(f"The runs are of different machines ({what}): a change may be the machine's, not the system's.")
    return lines


def _named(found: Changes, c: Change) -> str:
    cell = cell_title(found.factors, c.group.cell)
    text = (
        f"{numbers.number(c.ratio)} times"
        if c.ratio
        else f"{numbers.number(c.old)} before, {numbers.number(c.new)} after"
    )
    return f"{c.group.system}{f' at {cell}' if cell else ''} is {c.verdict}, {text}"


def differences(found: Changes) -> list[list[str]]:
    """What differs, as rows of area, thing, before, after."""
    return [[one.area, one.what.removesuffix("_bytes"), _value(one, one.old), _value(one, one.new)]
            for one in found.differences]  # fmt: skip


def _value(one: Difference, value: Any) -> str:
    if value is None:
        return numbers.ENDLESS
    if one.what.endswith("_bytes"):
        return f"{value / 2**30:.1f} GiB"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def unshared(found: Changes) -> list[list[str]]:
    """What only one run has, by reason: the run that lacks it, system, how many figures, why."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for one in found.unshared:
        counts[_lacking(found, one), one.group.system, one.why] += 1
    return [[run, system, f"{many:,}", why] for (run, system, why), many in counts.items()]


def _lacking(found: Changes, one: Unshared) -> str:
    return str((found.old if one.lacking == "old" else found.new)["id"])


def method(found: Changes) -> list[tuple[str, str]]:
    """How it was concluded, as terms and texts."""
    return [
        ("Ratio", "median after over median before"),
        ("Intervals", "95%; two-sample percentile bootstrap of the log ratio of medians (Efron & Tibshirani 1993, "
         "sec. 8.3 and ch. 13); the runs are independent samples, their blocks are not paired"),
        ("Tests", "rank sum (Mann & Whitney 1947), below 4 values t of logarithms (Welch 1947); p corrected by Holm "
         "over all systems and cells of a metric"),
        ("Same", f"the whole interval lies within {found.margin:.0%} of 1"),
        ("What an interval does not hold", "what differs from day to day and from host to host: each run is one day "
         "on one host"),
    ]  # fmt: skip


def repeat(found: Changes) -> str:
    """The command that compares again."""
    return shlex.join(["bakeoff", "compare", found.old["id"], found.new["id"]])
