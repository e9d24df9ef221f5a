"""Line charts: a label stands at the end of each line, and labels are moved apart where they would meet."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from bakeoff.report import draw
from bakeoff.report.draw import COLOURS, DASHES, INK, MUTED, RULE, SHAPES, Element

MOST_SIGNS = 40  # points of a line that have a sign of their own


@dataclass(frozen=True)
class Point:
    """A median with its interval, at a place on the axis."""

    x: float
    y: float
    low: float | None
    high: float | None
    says: str  # shown when pointed at: a heading, and a fact a line


@dataclass(frozen=True)
class Mark:
    """A published value. `over` and `under` say that the source gives a bound; two bounds are a bar."""

    x: float
    y: float
    low: float | None
    high: float | None
    says: str

    @property
    def over(self) -> bool:
        """Whether the source says that it was more."""
        return self.high is None and self.low is not None and self.low >= self.y

    @property
    def under(self) -> bool:
        """Whether the source says that it was less."""
        return self.high is not None and self.high <= self.y and not self.low


@dataclass(frozen=True)
class Series:
    """One system's line."""

    label: str
    style: int
    points: list[Point]
    published: list[Mark] = field(default_factory=list)


@dataclass(frozen=True)
class Axes:
    """The axes of a panel, or of several that share them. `levels` are the places on x with their labels."""

    x_title: str
    y_title: str
    levels: list[tuple[float, str]]
    low: float
    high: float
    x_log: bool
    y_log: bool
    end: float | None = None  # how far the axis goes, if beyond the last level


@dataclass(frozen=True)
class Frame:
    """Where the plot lies in the drawing, in px, and how values become places."""

    axes: Axes
    width: int
    height: int
    font: int
    left: int
    right: int
    top: int
    bottom: int = 40

    def x(self, value: float) -> float:
        """The horizontal place of a value; half a step of room at either side."""
        places = [self._x(at) for at, _ in self.axes.levels]
        places += [self._x(self.axes.end)] if self.axes.end is not None else []
        low, high = min(places), max(places)
        inner = self.width - self.left - self.right - 16
        share = 0.5 if high == low else (self._x(value) - low) / (high - low)
        return self.left + 8 + inner * share

    def _x(self, value: float) -> float:
        return math.log10(value) if self.axes.x_log else value

    def y(self, value: float) -> float:
        """The vertical place of a value, kept inside the plot."""
        low, high = self.axes.low, self.axes.high
        if self.axes.y_log:
            value, low, high = (math.log10(v) for v in (max(value, low), low, high))
        share = min(max((value - low) / (high - low), 0.0), 1.0)
        return self.height - self.bottom - share * (self.height - self.bottom - self.top)


def domain(values: list[float], log: bool) -> tuple[float, float]:
    """Bounds for an axis that shows all values; a linear one starts at 0 where no value is below."""
    if log:
        low, high = math.log10(min(values)), math.log10(max(values))
        pad = max((high - low) * 0.05, 0.03)
        return 10 ** (low - pad), 10 ** (high + pad)
    low, high = min(0.0, *values), max(0.0, *values)
    pad = (high - low) * 0.05 or 1.0
    return (low - pad if low < 0 else 0.0), high + pad


def chart(series: list[Series], axes: Axes, size: tuple[int, int, int], title: str = "") -> str:
    """One panel as SVG; the size is its width, height and type, in px."""
    width, height, font = size
    ticks = draw.ticks(axes.low, axes.high, axes.y_log, 6 if height > 240 else 5)
    labels = max((len(s.label) for s in series if s.points), default=0)
    heading = draw.wrapped(title, width * 0.88, font)
    frame = Frame(
        axes, width, height, font,
        left=int(12 + draw.LETTER * font * max((len(text) for _, text in ticks), default=1)),
        right=min(int(24 + draw.LETTER * font * labels), width // 2),
        top=int((1.3 + 1.3 * len(heading)) * font) + 8,
    )  # fmt: skip
    root = draw.root(width, height, font, _words(series, axes, title))
    for row, said in enumerate(heading):
        draw.text(root, 0, font * (1 + 1.3 * row), said, weight="600")
    _axes(root, frame, ticks)
    for one in reversed(series):
        _band(root, frame, one)
    for one in reversed(series):
        _line(root, frame, one)
    _published(root, frame, series)
    _labels(root, frame, series)
    return draw.svg(root)


def _words(series: list[Series], axes: Axes, title: str) -> str:
    names = ", ".join(s.label for s in series)
    return f"{title + ': ' if title else ''}{axes.y_title} over {axes.x_title}, a line for each of {names}"


def _axes(root: Element, frame: Frame, ticks: list[tuple[float, str]]) -> None:
    axes, end = frame.axes, frame.width - frame.right
    floor = frame.height - frame.bottom
    draw.text(root, 0, frame.top - frame.font * 0.9, axes.y_title, MUTED)
    for value, text in ticks:
        at = frame.y(value)
        draw.path(root, f"M{frame.left} {at:.1f}H{end}", RULE)
        draw.text(root, frame.left - 6, at + frame.font * 0.35, text, MUTED, anchor="end")
    reach = -math.inf
    shown: list[tuple[float, str]] = []
    for level, text in axes.levels[::-1]:  # the last level is always written
        at, half = frame.x(level), draw.width(text, frame.font) / 2
        draw.path(root, f"M{at:.1f} {floor}v4", MUTED)
        if not shown or at + half + 8 < -reach:
            shown.append((at, text))
            reach = -(at - half)
    for at, text in shown:
        draw.text(root, at, floor + 6 + frame.font, text, MUTED, anchor="middle")
    draw.text(root, (frame.left + end) / 2, frame.height - 3, axes.x_title, MUTED, anchor="middle")


def _band(root: Element, frame: Frame, one: Series) -> None:
    """The intervals as a band; of a single point as a bar."""
    known = [
        (frame.x(p.x), frame.y(p.low), frame.y(p.high)) for p in one.points if p.low is not None and p.high is not None
    ]
    if not known:
        return
    group, colour = draw.of_series(root, one.label), COLOURS[one.style]
    if len(known) == 1:
        x, low, high = known[0]
        draw.path(group, f"M{x:.1f} {low:.1f}V{high:.1f}", colour, 1.2)
        return
    there = "L".join(f"{x:.1f} {high:.1f}" for x, _, high in known)
    back = "L".join(f"{x:.1f} {low:.1f}" for x, low, _ in reversed(known))
    draw.path(group, f"M{there}L{back}z", "none", fill=colour, fill_opacity="0.13")
    for x, low, high in known if len(known) <= MOST_SIGNS else []:  # bands on one another are told apart by their ends
        draw.path(group, f"M{x - 2.5:.1f} {low:.1f}h5M{x - 2.5:.1f} {high:.1f}h5", colour, 1)


def _line(root: Element, frame: Frame, one: Series) -> None:
    colour = COLOURS[one.style]
    places = [(frame.x(p.x), frame.y(p.y)) for p in one.points]
    if len(places) > 1:
        d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        more = {"stroke_dasharray": DASHES[one.style]} if DASHES[one.style] else {}
        width = 2.4 if one.style == 0 else 1.7
        draw.path(draw.of_series(root, one.label), d, colour, width, stroke_linejoin="round", **more)
    for point, (x, y) in zip(one.points, places, strict=True):
        group = draw.mark(root, point.says, one.label)
        if len(places) <= MOST_SIGNS:
            draw.shape(group, SHAPES[one.style], x, y, colour)
        else:
            draw.circle(group, x, y, 1.6, colour)


def _published(root: Element, frame: Frame, series: list[Series]) -> None:
    """Diamonds; several systems with one published value share one."""
    places: dict[tuple[float, float, float | None, float | None], list[tuple[Series, Mark]]] = {}
    for one in series:
        for mark in one.published:
            places.setdefault((mark.x, mark.y, mark.low, mark.high), []).append((one, mark))
    for members in places.values():
        one, mark = members[0]
        x, y = frame.x(mark.x), frame.y(mark.y)
        colour = COLOURS[one.style] if len(members) == 1 else INK
        group = draw.mark(root, "\n".join(mark.says for _, mark in members), one.label if len(members) == 1 else "")
        mine = next((p for p in one.points if p.x == mark.x), None)
        if len(members) == 1 and mine is not None:  # to which line it belongs, also without colours
            draw.path(group, f"M{x:.1f} {frame.y(mine.y):.1f}V{y:.1f}", colour, 1, stroke_dasharray="1 2")
        if mark.over:
            draw.path(group, f"M{x:.1f} {y:.1f}v-15m-3.5 4.5l3.5 -4.5l3.5 4.5", colour, 1.4)
        elif mark.under:
            draw.path(group, f"M{x:.1f} {y:.1f}v15m-3.5 -4.5l3.5 4.5l3.5 -4.5", colour, 1.4)
        elif mark.low is not None and mark.high is not None:
            draw.path(group, f"M{x:.1f} {frame.y(mark.low):.1f}V{frame.y(mark.high):.1f}", colour, 1)
        draw.diamond(group, x, y, colour)


def _labels(root: Element, frame: Frame, series: list[Series]) -> None:
    """Each line's name at its end, moved up or down where two would meet, with a thin line to where it belongs."""
    ends = sorted(((frame.y(s.points[-1].y), s) for s in series if s.points), key=lambda end: end[0])
    gap = frame.font * 1.25
    places = spread([y for y, _ in ends], gap, frame.top + gap / 4, frame.height - frame.bottom)
    left = frame.width - frame.right + 18
    for (y, one), place in zip(ends, places, strict=True):
        group, colour = draw.of_series(root, one.label), COLOURS[one.style]
        x = frame.x(one.points[-1].x) + 7
        draw.path(group, f"M{x:.1f} {y:.1f}L{left - 10} {place:.1f}H{left - 4}", colour, 0.8, opacity="0.65")
        name = draw.fitted(one.label, frame.right - 18, frame.font)
        draw.text(group, left, place + frame.font * 0.35, name, colour, weight="600" if one.style == 0 else "")


def spread(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Places at least a gap apart, near the wanted ones, which are in order; between the bounds if they have room."""
    groups: list[tuple[float, int]] = []  # middle and number of labels that stand together

    def bounded(middle: float, many: int) -> float:
        half = (many - 1) * gap / 2
        return max(min(middle, high - half), low + half)

    for want in wanted:
        groups.append((bounded(want, 1), 1))
        while len(groups) > 1:
            (above, many), (below, more) = groups[-2:]
            if below - above >= (many + more) / 2 * gap - 1e-9:
                break
            middle = (above * many + below * more) / (many + more)
            groups[-2:] = [(bounded(middle, many + more), many + more)]
    return [middle + (i - (many - 1) / 2) * gap for middle, many in groups for i in range(many)]
