"""Trend lines: one small plot a system, its own linear axis from zero, the published line drawn in."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from bakeoff.analysis import numbers
from bakeoff.analysis.findings import Analysis, Reference, Trend
from bakeoff.report.figure import ACCENT, INK, Figure, Size, base, svg

SIZE = Size(left=58, plot=176, right=14, font=11, top=44, bottom=42)
HEIGHT = 130
MOST_PLOTS = 12


def figures(analysis: Analysis) -> list[Figure]:
    """One figure for each parameter that lines run over."""
    by_parameter: dict[str, list[Trend]] = defaultdict(list)
    for trend in analysis.trends:
        by_parameter[trend.parameter].append(trend)
    return [_figure(analysis, parameter, lines[:MOST_PLOTS]) for parameter, lines in by_parameter.items()]


def _figure(analysis: Analysis, parameter: str, lines: list[Trend]) -> Figure:
    title = analysis.metrics[lines[0].metric].title
    plots = [svg(_plot(line, _published(analysis, line))) for line in lines]
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


def _plot(line: Trend, published: tuple[float, float] | None) -> dict[str, Any]:
    import altair as alt

    scale = numbers.scale(line.unit, [max(line.y)])
    ends = [min(line.x), max(line.x)]

    def straight(slope: float, intercept: float) -> list[dict[str, float]]:
        return [{"x": x, "y": max(0.0, (intercept + slope * x) / scale.size)} for x in ends]

    top = max(line.y) / scale.size * 1.08
    few = 4 if ends[1] < 10_000 else 2  # long numbers would meet
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[0, ends[1] * 1.05], nice=False),
        axis=alt.Axis(
            title=line.parameter.replace("_", " "), tickCount=few, labelExpr="format(datum.value, ',')", grid=False
        ),
    )
    y = alt.Y(
        "y:Q",
        scale=alt.Scale(domain=[0, top], nice=True),
        axis=alt.Axis(title=None, tickCount=4, labelExpr="format(datum.value, ',')"),
    )
    layers = []
    if published is not None:
        data = alt.InlineData(values=straight(*published))
        layers.append(alt.Chart(data).mark_line(color=INK, strokeDash=[4, 3], strokeWidth=1.4).encode(x=x, y=y))
    data = alt.InlineData(values=straight(line.slope, line.intercept))
    layers.append(alt.Chart(data).mark_line(color=ACCENT, strokeWidth=2).encode(x=x, y=y))
    points = alt.InlineData(values=[{"x": px, "y": py / scale.size} for px, py in zip(line.x, line.y, strict=True)])
    layers.append(alt.Chart(points).mark_point(filled=True, color=ACCENT, size=38, opacity=1).encode(x=x, y=y))
    layers.append(
        _text(f"{line.system}, {scale.unit}" if scale.unit else line.system, -34, fontWeight=600, fontSize=12)
    )
    layers.append(_text(slope_text(line), -18, fontSize=11))
    return base(alt.layer(*layers), SIZE, HEIGHT)


def _text(text: str, at: float, **style: Any) -> Any:
    import altair as alt

    data = alt.InlineData(values=[{"t": text}])
    mark = alt.Chart(data).mark_text(align="left", color=INK, baseline="middle", **style)
    return mark.encode(x=alt.value(10 - SIZE.left), y=alt.value(at), text="t:N")


def slope_text(line: Trend) -> str:
    """The slope with its interval, in a unit that fits."""
    scale = numbers.scale(line.unit, [line.slope])
    figure = numbers.with_interval(scale.of(line.slope), scale.of(line.slope_low), scale.of(line.slope_high))
    return f"{figure} {scale.unit} each"
