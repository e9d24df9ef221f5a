"""Response times by percentile: how the slow answers of each system compare, up to the slowest that can be known."""

from __future__ import annotations

import math

from bakeoff.analysis import brief, numbers
from bakeoff.analysis.findings import Analysis, Cell, Summary
from bakeoff.plan import cell_text
from bakeoff.report import curves, lines, rows
from bakeoff.report.draw import Figure

SHARES = {
    "latency_p50": 0.5, "latency_p90": 0.9, "latency_p95": 0.95, "latency_p99": 0.99, "latency_p999": 0.999,
    "latency_p9999": 0.9999,
}  # fmt: skip
FEWEST = 3  # percentiles, for a line
MOST_CELLS = 3


def figure(analysis: Analysis) -> Figure | None:
    """A panel a cell, or several where there are many systems; None where no percentiles were observed."""
    if sum(name in analysis.summaries_of for name in SHARES) < FEWEST:
        return None
    cells = [cell for cell in brief.subject(analysis)[1] if _systems(analysis, cell)]
    if not cells:
        return None
    sizes = [len(_systems(analysis, cell)) for cell in cells]
    every = max(1, math.ceil(len(cells) / MOST_CELLS))
    chosen = cells[::-1][::every][::-1]
    if max(sizes) > curves.MOST_LINES:  # several panels a cell: the last cell with most systems
        chosen = [cells[max(range(len(cells)), key=lambda i: (sizes[i], i))]]
    shown = [s for cell in chosen for name in SHARES for s in _of(analysis, name, cell).values()]
    scale = numbers.scale("s", [s.median for s in shown])
    one = _name(analysis, chosen[0]) if len(chosen) == 1 else ""
    panels = [
        (": ".join(part for part in (title, "" if one else _name(analysis, cell)) if part), series)
        for cell in chosen
        for title, members in curves.parts(analysis, _systems(analysis, cell))
        if (series := [_series(analysis, cell, name, style, scale) for style, name in members])
    ]
    values = [v for _, series in panels for s in series for p in s.points for v in (p.y, p.low, p.high) if v]
    low, high = lines.domain(values, log=True)
    furthest = max(p.x for _, series in panels for s in series for p in s.points)
    names = {place(v): f"{numbers.plain(v * 100)}%" for v in SHARES.values() if place(v) <= furthest}
    axes = lines.Axes(
        "percentile of the answers", f"response time, {scale.unit}", list(names.items()), low, high, False, True
    )
    big = len(panels) == 1
    return Figure(
        title="Response time by percentile" + (f": {one}" if one else ""),
        caption=(
            "Medians of each trial's own percentile over replications, with bands of 95% intervals; requests of "
            "several trials are never put together. The vertical axis is logarithmic; the horizontal one gives each "
            "further nine the same room. Percentiles that fewer than ten answers of a trial lie beyond are left out."
        ),
        wide=[lines.chart(s, axes, (760, 330, 12) if big else (370, 260, 12), title) for title, s in panels],
        narrow=[lines.chart(s, axes, (350, 270, 11), title) for title, s in panels],
        kind="curve-big" if big else "curve",
    )


def place(share: float) -> float:
    """Where a percentile stands: 90%, 99%, 99.9% are one, two and three."""
    return -math.log10(1 - share)


def _of(analysis: Analysis, metric: str, cell: Cell) -> dict[str, Summary]:
    """The summaries of a percentile in a cell by system, where the tail beyond it has answers enough."""
    found = {}
    text = cell_text(cell)
    for state in analysis.systems:
        s = analysis.summaries_of.get(metric, {}).get((state.name, text))
        requests = analysis.summaries_of.get("requests", {}).get((state.name, text))
        enough = requests is None or requests.median * (1 - SHARES[metric]) >= 10
        if s is not None and s.median > 0 and enough:
            found[state.name] = s
    return found


def _systems(analysis: Analysis, cell: Cell) -> set[str]:
    every = [name for metric in SHARES for name in _of(analysis, metric, cell)]
    return {name for name in every if every.count(name) >= FEWEST}


def _name(analysis: Analysis, cell: Cell) -> str:
    return rows.cell_title(analysis, cell)[0] if cell else ""


def _series(analysis: Analysis, cell: Cell, system: str, style: int, scale: numbers.Scale) -> lines.Series:
    points = []
    for metric, share in SHARES.items():
        s = _of(analysis, metric, cell).get(system)
        if s is None:
            continue
        says = rows.says(f"{system}, {numbers.plain(share * 100)}% of the answers", s, scale)
        low, high = (v if v is None or v > 0 else None for v in (s.low, s.high))
        points.append(lines.Point(place(share), s.median / scale.size, scale.of(low), scale.of(high), says))
    return lines.Series(system, style, points)
