"""Time lines: what rate, latency, CPU and memory did within a trial, and while it warmed up."""

from __future__ import annotations

from bakeoff.analysis import brief, numbers, overtime
from bakeoff.analysis.data import RunData
from bakeoff.analysis.findings import Analysis, Cell
from bakeoff.plan import cell_text
from bakeoff.report import curves, draw, lines, rows
from bakeoff.report.draw import Figure

TITLES = {
    "rate": "Answers a second",
    "p99": "Response time, 99th percentile",
    "cpu": "CPUs in use",
    "memory": "Memory",
}
WIDE_RANGE = 12.0  # from here on the vertical axis is logarithmic


def figures(analysis: Analysis, data: RunData) -> list[Figure]:
    """A figure for each metric that was recorded over time, of the last cell in which most systems have a figure."""
    cells = brief.subject(analysis)[1]
    have = dict.fromkeys(map(cell_text, cells), 0)
    for _, text in analysis.summaries_of.get(analysis.primary, {}):
        have[text] = have.get(text, 0) + 1
    if not cells:
        return []
    cell = max(enumerate(cells), key=lambda pair: (have[cell_text(pair[1])], pair[0]))[1]
    found = overtime.lines(data, cell)
    drawn = []
    for of in ("trial", "step", "warm-up"):
        for metric in TITLES:
            chosen = [line for line in found if line.metric == metric and line.of == of]
            if chosen:
                drawn.append(_figure(analysis, cell, chosen))
    return drawn


def _figure(analysis: Analysis, cell: Cell, found: list[overtime.Line]) -> Figure:
    first = found[0]
    scale = numbers.scale(first.unit, [max(line.middle.max() for line in found) / 100])
    if first.unit not in ("s", "B"):
        scale = numbers.scale(first.unit, [1.0])
    by_system = {line.system: line for line in found}
    panels = [
        (title, [_series(by_system[name], style, scale) for style, name in members])
        for title, members in curves.parts(analysis, set(by_system))
    ]
    values = [
        v for _, series in panels for s in series for p in s.points for v in (p.y, p.low, p.high) if v is not None
    ]
    positive = [value for value in values if value > 0]
    log = first.metric == "p99" and len(positive) == len(values) and max(values) / min(values) > WIDE_RANGE
    low, high = lines.domain(values, log)
    longest = max(float(line.times[-1]) for line in found)
    levels = [(value, said) for value, said in draw.ticks(0, longest, False, 6)]
    axes = lines.Axes(
        f"seconds since the start of the {first.of}",
        f"{TITLES[first.metric]}, {scale.unit}" if scale.unit != "CPUs" else TITLES[first.metric],
        levels, low, high, False, log, end=longest,
    )  # fmt: skip
    place = rows.cell_title(analysis, cell)[0] if cell else ""
    what = f"{TITLES[first.metric]} while warming up" if first.of == "warm-up" else f"{TITLES[first.metric]} over time"
    big = len(panels) == 1
    return Figure(
        title=f"{what}: {place}" if place else what,
        caption=_caption(found) + (" The vertical axis is logarithmic." if log else ""),
        wide=[lines.chart(s, axes, (760, 300, 12) if big else (370, 250, 12), title) for title, s in panels],
        narrow=[lines.chart(s, axes, (350, 260, 11), title) for title, s in panels],
        kind="curve-big" if big else "curve",
    )


def _caption(found: list[overtime.Line]) -> str:
    fewest, most = min(line.trials for line in found), max(line.trials for line in found)
    many = numbers.count(most, "trial") if fewest == most else f"{fewest} to {most} trials"
    if most == 1:
        return "One trial that counts."
    sample = any(line.of_trials > line.trials for line in found) and most == overtime.MOST_TRIALS
    which = f"the first {many} that count" if sample else f"{many} that count"
    return f"Lines are the median of {which}, bands reach from the least to the greatest of them."


def _series(line: overtime.Line, style: int, scale: numbers.Scale) -> lines.Series:
    points = []
    unit = f" {scale.unit}" if scale.unit else ""
    for at, middle, least, greatest in zip(
        line.times.tolist(), line.middle.tolist(), line.least.tolist(), line.greatest.tolist(), strict=True
    ):
        value, low, high = (number / scale.size for number in (middle, least, greatest))
        says = f"{line.system}, {numbers.exact(at)} s\n{numbers.exact(value)}{unit}"
        if line.trials > 1:
            says += f"\nleast {numbers.exact(low)}, greatest {numbers.exact(high)}{unit}"
        says += f"\nn = {numbers.count(line.trials, 'trial')}"
        many = line.trials > 1
        points.append(lines.Point(at, value, low if many else None, high if many else None, says))
    return lines.Series(line.system, style, points)
