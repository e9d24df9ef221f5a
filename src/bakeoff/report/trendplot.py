"""Trend lines: one small plot a system, its own linear axis from zero, the published line drawn in."""

from __future__ import annotations

from collections import defaultdict

from bakeoff.analysis import numbers
from bakeoff.analysis.findings import Analysis, Reference, Trend
from bakeoff.report import draw
from bakeoff.report.draw import ACCENT, INK, MUTED, RULE, Figure

WIDTH, HEIGHT, FONT = 248, 216, 11
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 44, 42
MOST_PLOTS = 12


def figures(analysis: Analysis) -> list[Figure]:
    """One figure for each parameter that lines run over."""
    by_parameter: dict[str, list[Trend]] = defaultdict(list)
    for trend in analysis.trends:
        by_parameter[trend.parameter].append(trend)
    return [_figure(analysis, parameter, lines[:MOST_PLOTS]) for parameter, lines in by_parameter.items()]


def _figure(analysis: Analysis, parameter: str, lines: list[Trend]) -> Figure:
    title = analysis.metrics[lines[0].metric].title
    plots = [_plot(line, _published(analysis, line)) for line in lines]
    drawn = any(_published(analysis, line) for line in lines)
    caption = "Points are means, lines least squares; slopes with 95% intervals. Each system has its own axis." + (
        " Dashed: the published line." if drawn else ""
    )
    return Figure(f"{title} over {parameter.replace('_', ' ')}", caption, plots, [])


def _published(analysis: Analysis, line: Trend) -> tuple[float, float] | None:
    """Slope and intercept of the published line, if it can be set beside ours."""
    found: dict[str, Reference] = {
        r.metric: r
        for r in analysis.references
        if r.kind == "trend" and r.system == line.system and r.cell == f"x={line.parameter}" and r.ours is not None
    }
    slope, intercept = found.get("scaling_slope"), found.get("scaling_intercept")
    return (slope.published, intercept.published) if slope and intercept else None


def _plot(line: Trend, published: tuple[float, float] | None) -> str:
    scale = numbers.scale(line.unit, [max(line.y)])
    right, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
    furthest, top = max(line.x) * 1.05, max(*line.y, line.intercept + line.slope * max(line.x)) * 1.08
    root = draw.root(WIDTH, HEIGHT, FONT, f"{line.system}: {line.metric} over {line.parameter}")

    def x(value: float) -> float:
        return LEFT + (right - LEFT) * value / furthest

    def y(value: float) -> float:
        return floor - (floor - TOP) * min(max(value / (top or 1.0), 0.0), 1.0)

    def straight(slope: float, intercept: float) -> str:
        ends = (min(line.x), max(line.x))
        return "L".join(f"{x(end):.1f} {y(intercept + slope * end):.1f}" for end in ends)

    parameter = line.parameter.replace("_", " ")
    draw.text(root, 0, 12, f"{line.system}, {scale.unit}" if scale.unit else line.system, weight="600", font_size="12")
    draw.text(root, 0, 28, slope_text(line))
    for value, said in draw.ticks(0, top / scale.size, False, 4):
        at = y(value * scale.size)
        draw.path(root, f"M{LEFT} {at:.1f}H{right}", RULE)
        draw.text(root, LEFT - 6, at + 4, said, MUTED, anchor="end")
    few = 4 if furthest < 10_000 else 2  # long numbers would meet
    for value, said in draw.ticks(0, furthest, False, few):
        draw.path(root, f"M{x(value):.1f} {floor}v4", MUTED)
        draw.text(root, x(value), floor + 17, said, MUTED, anchor="middle")
    draw.text(root, (LEFT + right) / 2, HEIGHT - 6, parameter, MUTED, anchor="middle")
    if published is not None:
        says = f"{line.system}, published line\n{numbers.number(published[0] / scale.size)} {scale.unit} each"
        draw.path(draw.mark(root, says), f"M{straight(*published)}", INK, 1.4, stroke_dasharray="4 3")
    draw.path(
        draw.mark(root, f"{line.system}\n{slope_text(line)}"), f"M{straight(line.slope, line.intercept)}", ACCENT, 2
    )
    for px, py in zip(line.x, line.y, strict=True):
        says = f"{line.system}, {parameter} {numbers.plain(px)}\nmean {numbers.exact(py / scale.size)} {scale.unit}"
        draw.circle(draw.mark(root, says), x(px), y(py), 3.5, ACCENT)
    return draw.svg(root)


def slope_text(line: Trend) -> str:
    """The slope with its interval, in a unit that fits."""
    scale = numbers.scale(line.unit, [line.slope])
    figure = numbers.with_interval(scale.of(line.slope), scale.of(line.slope_low), scale.of(line.slope_high))
    return f"{figure} {scale.unit} each"
