"""Forest plots: one line a system, by cell, with median, interval, single trials and published figures."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from bakeoff.report.figure import ACCENT, BAND, INK, MUTED, PAGE, RULE, Size, base

LINE = 21  # height of a row, px
HEADER = 27


@dataclass(frozen=True)
class Mark:
    """One system: its figure with interval, single trials, the published figure, and texts at the right."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    points: list[float] = field(default_factory=list)
    published: float | None = None
    text: str = ""
    second: str = ""
    why: str = ""


@dataclass(frozen=True)
class Block:
    """One cell: a heading, and its marks."""

    title: str
    detail: str
    marks: list[Mark]


@dataclass(frozen=True)
class Axis:
    """The horizontal axis. `at` is a line to mark (such as 1) with a band of `margin` around it."""

    title: str
    log: bool
    at: float | None = None
    margin: float = 0.0
    text: str = ""  # heading of the first column of texts
    second: str = ""


def chart(blocks: list[Block], axis: Axis, size: Size) -> dict[str, Any]:
    """The plot as a Vega-Lite specification of a fixed size."""
    import altair as alt

    size = size.fitted([mark.label for block in blocks for mark in block.marks])
    rows, height = _places(blocks)
    low, high = _domain([mark for block in blocks for mark in block.marks], axis)
    ticks = log_ticks(low, high, 8 if size.wide else 4) if axis.log else None
    scale = alt.Scale(type="log" if axis.log else "linear", domain=[low, high], nice=not axis.log, zero=False)
    x_axis = alt.Axis(
        title=axis.title, values=ticks if ticks else alt.Undefined, labelExpr="format(datum.value, ',')",
        tickCount=alt.Undefined if ticks else (6 if size.wide else 3), grid=True,
    )  # fmt: skip
    x = alt.X("x:Q", scale=scale, axis=x_axis)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[0, height], reverse=True, nice=False), axis=None)
    layers = _headings(rows, size)
    if axis.at is not None:
        layers = [*_reference_line(axis, height, scale, (low, high)), *layers]
    layers += _marks(rows, x, y, scale)
    layers += _texts(rows, y, size, axis)
    return base(alt.layer(*layers), size, height + 1)


def _places(blocks: list[Block]) -> tuple[list[dict[str, Any]], float]:
    """Each heading and mark with its vertical place in px, and the height of all."""
    rows: list[dict[str, Any]] = []
    top = 4.0
    for block in blocks:
        if block.title:
            rows.append({"y": top + HEADER / 2 + 2, "title": block.title, "detail": block.detail})
            top += HEADER
        for mark in block.marks:
            rows.append({"y": top + LINE / 2, "mark": mark})
            top += LINE
        top += 3
    return rows, top


def _domain(marks: list[Mark], axis: Axis) -> tuple[float, float]:
    seen = [v for m in marks for v in (m.value, m.low, m.high, m.published, *m.points) if v is not None]
    seen += [] if axis.at is None else [axis.at]
    if axis.log:
        seen = [v for v in seen if v > 0] or [1.0]
        low, high = math.log10(min(seen)), math.log10(max(seen))
        pad = max((high - low) * 0.06, 0.02)
        return 10 ** (low - pad), 10 ** (high + pad)
    low, high = min(seen, default=0.0), max(seen, default=1.0)
    pad = (high - low) * 0.06 or abs(high) * 0.05 or 1.0
    return (low - pad if low > pad or low < 0 else 0.0), high + pad


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Round values between two bounds: decades where there are enough, else 1-2-5, else even steps."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        ticks = [round(s * 10.0**e, 12) for e in range(first, last + 1) for s in steps if low <= s * 10.0**e <= high]
        if len(ticks) <= most:
            break
    else:
        every = math.ceil(len(ticks) / most)
        ticks = ticks[::-1][::every][::-1]
    if len(ticks) >= 2:
        return ticks
    step = 10.0 ** math.floor(math.log10((high - low) / 3 or 1.0))
    step *= next((s for s in (1, 2, 5, 10) if (high - low) / (step * s) <= most), 10)
    return [round(step * i, 12) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _headings(rows: list[dict[str, Any]], size: Size) -> list[Any]:
    """The ground of headings and of rows without a figure, which hides the grid; a thin line above each cell."""
    import altair as alt

    tops = [row["y"] - HEADER / 2 - 1 for row in rows if "title" in row]
    data = alt.InlineData(values=[{"y": top, "above": top - 5, "y2": top + HEADER - 2} for top in tops])
    empty = [row["y"] - LINE / 2 for row in rows if "mark" in row and row["mark"].why]
    bare = alt.InlineData(values=[{"y": top, "y2": top + LINE} for top in empty])
    y = alt.Y("y:Q", axis=None)
    left, right = alt.value(-size.left), alt.value(size.plot + size.right)
    return [
        alt.Chart(data).mark_rect(color=PAGE).encode(x=left, x2=right, y=alt.Y("above:Q", axis=None), y2="y2:Q"),
        alt.Chart(bare).mark_rect(color=PAGE).encode(x=left, x2=right, y=y, y2="y2:Q"),
        alt.Chart(data).mark_rule(color=RULE).encode(x=left, x2=right, y=y),
    ]


def _reference_line(axis: Axis, height: float, scale: Any, domain: tuple[float, float]) -> list[Any]:
    import altair as alt

    at = axis.at or 1.0
    ends = {
        "low": max(at / (1 + axis.margin), domain[0]),
        "high": min(at * (1 + axis.margin), domain[1]),
        "at": at,
    }
    data = alt.InlineData(values=[ends])
    band = (
        alt.Chart(data)
        .mark_rect(color=BAND)
        .encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=alt.value(0), y2=alt.value(height))
    )
    line = alt.Chart(data).mark_rule(color=MUTED).encode(x=alt.X("at:Q", scale=scale))
    return [band, line]


def _marks(rows: list[dict[str, Any]], x: Any, y: Any, scale: Any) -> list[Any]:
    import altair as alt

    marks = [(row["y"], row["mark"]) for row in rows if "mark" in row]
    positive = scale.to_dict()["type"] != "log"

    def data(values: list[dict[str, Any]]) -> Any:
        return alt.InlineData(values=[v for v in values if positive or v["x"] > 0])

    spans = data([{"y": at, "x": m.low, "x2": m.high} for at, m in marks if m.low is not None])
    medians = data([{"y": at, "x": m.value} for at, m in marks if m.value is not None])
    points = data([{"y": at, "x": v} for at, m in marks for v in m.points])
    published = data([{"y": at, "x": m.published} for at, m in marks if m.published is not None])
    return [
        alt.Chart(points).mark_point(shape="circle", size=26, stroke=INK, strokeOpacity=0.55, strokeWidth=1)
        .encode(x=x, y=y),
        alt.Chart(spans).mark_rule(color=ACCENT, strokeWidth=2.5).encode(x=x, x2="x2:Q", y=y),
        alt.Chart(medians).mark_tick(orient="vertical", color=ACCENT, thickness=3.5, size=13).encode(x=x, y=y),
        alt.Chart(published).mark_point(shape="diamond", size=85, stroke=INK, strokeWidth=1.6).encode(x=x, y=y),
    ]  # fmt: skip


def _texts(rows: list[dict[str, Any]], y: Any, size: Size, axis: Axis) -> list[Any]:
    """Labels at the left, figures at the right; a narrow plot has only the first column."""
    import altair as alt

    def text(values: list[dict[str, Any]], x: float, **style: Any) -> Any:
        settings = {"fontSize": size.font, "align": "left", "baseline": "middle", "color": INK, **style}
        return alt.Chart(alt.InlineData(values=values)).mark_text(**settings).encode(x=alt.value(x), y=y, text="t:N")

    marks = [(row["y"], row["mark"]) for row in rows if "mark" in row]
    titles = [(row["y"], row["title"], row["detail"]) for row in rows if "title" in row]
    layers = [
        text([{"y": at, "t": title} for at, title, _ in titles], -size.left, fontWeight=600),
        text([{"y": at, "t": m.label} for at, m in marks], -size.left + (10 if titles else 0), limit=size.left - 14),
        text([{"y": at, "t": m.text} for at, m in marks if m.text], size.plot + 12),
        text([{"y": at, "t": m.why} for at, m in marks if m.why], 6,
             color=MUTED, fontStyle="italic", limit=size.plot + size.right - 10),
        text([{"y": -10, "t": axis.text}], size.plot + 12, color=MUTED),
    ]  # fmt: skip
    if titles:
        gap = 8 + 0.62 * size.font * max(len(title) for _, title, _ in titles)
        layers.append(text([{"y": at, "t": detail} for at, _, detail in titles], gap - size.left, color=MUTED))
    if size.wide and any(m.second for _, m in marks):
        at_x = size.plot + 12 + size.column
        layers.append(text([{"y": at, "t": m.second} for at, m in marks if m.second], at_x))
        layers.append(text([{"y": -10, "t": axis.second}], at_x, color=MUTED))
    return layers
