"""Forest plots: one row a system, by cell, with median, interval, box, single trials and published figures."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from bakeoff.report import draw
from bakeoff.report.draw import ACCENT, BAND, INK, MUTED, PAGE, RULE, Element, log_ticks

__all__ = ["Axis", "Block", "Box", "Mark", "Size", "chart", "log_ticks"]

LINE, TALL = 21, 34  # height of a row in px; of one with single trials and a box
HEADER = 27


@dataclass(frozen=True)
class Size:
    """The widths of a chart in px: labels at the left, plot, texts at the right. `column` is one column of texts."""

    left: int
    plot: int
    right: int
    column: int = 0
    font: int = 12
    wide: bool = True
    top: int = 26
    bottom: int = 44

    def fitted(self, labels: list[str]) -> Size:
        """The same width in all, with as much of it for the labels as the longest one needs."""
        longest = max((len(label) for label in labels), default=0)
        left = min(max(int(28 + 0.56 * self.font * longest), 70), (self.left + self.plot) // 2)
        return replace(self, left=left, plot=self.plot + self.left - left)


@dataclass(frozen=True)
class Box:
    """Least value, quartiles around the median, and greatest value."""

    least: float
    q1: float
    q3: float
    greatest: float


@dataclass(frozen=True)
class Mark:
    """One system: its figure with interval, single trials, the published figure, and texts at the right."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    points: list[float] = field(default_factory=list)
    box: Box | None = None
    published: float | None = None
    text: str = ""
    second: str = ""
    why: str = ""
    says: str = ""  # shown when the row's figure is pointed at: a heading and a fact a line


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
    zero: bool = False  # bars from zero


@dataclass(frozen=True)
class Frame:
    """How values become places."""

    size: Size
    low: float
    high: float
    log: bool
    height: float

    def x(self, value: float) -> float:
        """The horizontal place of a value, kept inside the plot."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log10(low), math.log10(high), math.log10(max(value, self.low))
        share = min(max((at - low) / (high - low), 0.0), 1.0)
        return self.size.left + share * self.size.plot


def chart(blocks: list[Block], axis: Axis, size: Size) -> str:
    """The plot as SVG."""
    marks = [mark for block in blocks for mark in block.marks]
    size = size.fitted([mark.label for mark in marks])
    titled = any(block.title for block in blocks)
    height = 4.0 + sum((HEADER if block.title else 0) + sum(map(_height, block.marks)) + 3 for block in blocks)
    frame = Frame(size, *_domain(marks, axis), axis.log, height)
    names = ", ".join(dict.fromkeys(mark.label for mark in marks))
    root = draw.root(
        size.left + size.plot + size.right,
        size.top + height + size.bottom,
        size.font,
        f"{axis.title}, a row for each of {names}",
    )
    _axis(root, frame, axis)
    if axis.at is not None:
        _reference_line(root, frame, axis)
    top = size.top + 4.0
    for block in blocks:
        if block.title:
            _heading(root, frame, block, top)
            top += HEADER
        for mark in block.marks:
            _row(root, frame, mark, (top, 10 if titled else 0), axis.zero)
            top += _height(mark)
        top += 3
    for column, said in enumerate((axis.text, axis.second if size.wide and any(m.second for m in marks) else "")):
        if said:
            x = size.left + size.plot + 12 + column * size.column
            room = size.right - 12 - column * size.column
            if draw.width(said, size.font) * 1.1 > room:  # it may stand over the plot, but not be cut off
                draw.text(root, x + room, size.top - 6, said, MUTED, anchor="end")
            else:
                draw.text(root, x, size.top - 6, said, MUTED)
    return draw.svg(root)


def _height(mark: Mark) -> float:
    return TALL if mark.points or mark.box else LINE


def _domain(marks: list[Mark], axis: Axis) -> tuple[float, float]:
    seen = [v for m in marks for v in (m.value, m.low, m.high, m.published, *m.points) if v is not None]
    seen += [v for m in marks if m.box for v in (m.box.least, m.box.greatest)]
    seen += [] if axis.at is None else [axis.at]
    if axis.log:
        seen = [v for v in seen if v > 0] or [1.0]
        low, high = math.log10(min(seen)), math.log10(max(seen))
        pad = max((high - low) * 0.06, 0.02)
        return 10 ** (low - pad), 10 ** (high + pad)
    low, high = min(seen, default=0.0), max(seen, default=1.0)
    if axis.zero:
        return 0.0, high * 1.06 or 1.0
    pad = (high - low) * 0.06 or abs(high) * 0.05 or 1.0
    return (low - pad if low > pad or low < 0 else 0.0), high + pad


def _axis(root: Element, frame: Frame, axis: Axis) -> None:
    size, floor = frame.size, frame.size.top + frame.height
    most = (8 if axis.log else 6) if size.wide else (4 if axis.log else 3)
    ends = -math.inf
    for value, said in draw.ticks(frame.low, frame.high, axis.log, most):
        x, half = frame.x(value), draw.width(said, size.font) / 2
        draw.path(root, f"M{x:.1f} {size.top}V{floor:.1f}", RULE)
        if x - half > ends:
            draw.text(root, x, floor + 6 + size.font, said, MUTED, anchor="middle")
            ends = x + half + 4
    draw.text(root, size.left + size.plot / 2, floor + size.bottom - 6, axis.title, MUTED, anchor="middle")


def _reference_line(root: Element, frame: Frame, axis: Axis) -> None:
    at, top = axis.at or 1.0, frame.size.top
    left, right = (frame.x(value) for value in (at / (1 + axis.margin), at * (1 + axis.margin)))
    draw.rect(root, (left, top, right - left, frame.height), BAND)
    draw.path(root, f"M{frame.x(at):.1f} {top}v{frame.height:.1f}", MUTED)


def _heading(root: Element, frame: Frame, block: Block, top: float) -> None:
    """The heading of a cell on a ground that hides the grid, with a thin line above."""
    size = frame.size
    width = size.left + size.plot + size.right
    draw.rect(root, (0, top - 4, width, HEADER), PAGE)
    draw.path(root, f"M0 {top + 1:.1f}H{width}", RULE)
    base = top + HEADER / 2 + 2 + size.font * 0.35
    draw.text(root, 0, base, block.title, weight="600")
    gap = 8 + 0.62 * size.font * len(block.title)
    if block.detail:
        draw.text(root, gap, base, draw.fitted(block.detail, width - gap, size.font), MUTED)


def _row(root: Element, frame: Frame, mark: Mark, place: tuple[float, int], zero: bool) -> None:
    """A row at its place: its top, and how far its label is moved in; with a bar from zero if asked for."""
    top, indent = place
    size, height = frame.size, _height(mark)
    base = top + height / 2 + size.font * 0.35
    label = draw.fitted(mark.label, size.left - indent - 12, size.font)
    if mark.why:
        width = size.left + size.plot + size.right
        draw.rect(root, (0, top, width, height), PAGE)
        room = size.plot + size.right - 10
        draw.text(root, size.left + 6, base, draw.fitted(mark.why, room, size.font), MUTED, font_style="italic")
    draw.text(root, indent, base, label)
    x = size.left + size.plot + 12
    draw.text(root, x, base, mark.text)
    if size.wide and mark.second:
        draw.text(root, x + size.column, base, mark.second)
    if mark.value is None and mark.published is None:
        return
    group = draw.mark(root, mark.says or f"{mark.label}\n{mark.text}", mark.label)
    middle = top + height / 2
    if mark.points or mark.box:
        _points(group, frame, mark, top + 9)
        middle = top + 24
    if zero and mark.value is not None:
        left = frame.x(0.0)
        draw.rect(group, (left, middle - 6, frame.x(mark.value) - left, 12), ACCENT, fill_opacity="0.35")
    _figure(group, frame, mark, middle)


def _points(group: Element, frame: Frame, mark: Mark, middle: float) -> None:
    """Every trial as a circle; those that would lie on one another are moved up and down."""
    taken: list[tuple[float, int]] = []
    for value in mark.points:
        if frame.log and value <= 0:
            continue
        x = frame.x(value)
        near = {place for other, place in taken if abs(other - x) < 5.5}
        place = next((p for p in (0, 1, -1, 2, -2) if p not in near), len(taken) % 5 - 2)
        taken.append((x, place))
        draw.circle(group, x, middle + place * 3.2, 2.6, "none", stroke=INK, stroke_opacity="0.6")


def _figure(group: Element, frame: Frame, mark: Mark, middle: float) -> None:
    if mark.box is not None:
        least, q1, q3, greatest = (
            frame.x(value) for value in (mark.box.least, mark.box.q1, mark.box.q3, mark.box.greatest)
        )
        draw.path(group, f"M{least:.1f} {middle:.1f}H{q1:.1f}M{q3:.1f} {middle:.1f}H{greatest:.1f}", MUTED)
        draw.rect(group, (q1, middle - 5, max(q3 - q1, 0.5), 10), BAND, stroke=MUTED)
    if mark.published is not None and (not frame.log or mark.published > 0):
        draw.diamond(group, frame.x(mark.published), middle)
    visible = not frame.log or (mark.value or 0) > 0
    if mark.low is not None and mark.high is not None and (not frame.log or mark.low > 0):
        draw.path(group, f"M{frame.x(mark.low):.1f} {middle:.1f}H{frame.x(mark.high):.1f}", ACCENT, 2.5)
    if mark.value is not None and visible:
        draw.path(group, f"M{frame.x(mark.value):.1f} {middle - 6.5:.1f}v13", ACCENT, 3.5)
