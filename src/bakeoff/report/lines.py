"""Line charts, drawn here: a label stands at the end of each line, and labels are moved apart where they would meet."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from xml.etree import ElementTree as Tree

from bakeoff.analysis import numbers
from bakeoff.report.figure import FONT, check
from bakeoff.report.forest import log_ticks

LETTER = 0.56  # mean width of a letter, in font sizes
# Colour, dashes and shape tell lines apart; any two of them do without the third. Style 0 is the baseline's.
COLOURS = ["var(--ink)", *(f"var(--line{i})" for i in range(1, 6))]
DASHES = ["", "7 3", "2 3", "10 3 2 3", "", "4 2"]
SHAPES = ["circle", "square", "up", "cross", "down", "plus"]


@dataclass(frozen=True)
class Point:
    """A median with its interval, at a place on the axis."""

    x: float
    y: float
    low: float | None
    high: float | None
    says: str  # shown when pointed at


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


def draw(series: list[Series], axes: Axes, size: tuple[int, int, int], title: str = "") -> str:
    """One panel as SVG; the size is its width, height and type, in px."""
    width, height, font = size
    ticks = _ticks(axes, 6 if height > 240 else 5)
    labels = max((len(s.label) for s in series if s.points), default=0)
    frame = Frame(
        axes, width, height, font,
        left=int(12 + LETTER * font * max((len(text) for _, text in ticks), default=1)),
        right=min(int(24 + LETTER * font * labels), width // 2),
        top=int((2.6 if title else 1.4) * font) + 8,
    )  # fmt: skip
    shape = {"viewBox": f"0 0 {width} {height}", "width": str(width), "height": str(height), "role": "img"}
    type_ = {"font-family": FONT, "font-size": str(font)}
    root = Tree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **shape, **type_})
    root.set("aria-label", _words(series, axes, title))
    if title:
        _text(root, 0, font, title, fill="var(--ink)", weight="600")
    _axes(root, frame, ticks)
    for one in reversed(series):
        _line(root, frame, one)
    _published(root, frame, series)
    _labels(root, frame, series)
    text = Tree.tostring(root, encoding="unicode")
    check(text)
    return text


def _words(series: list[Series], axes: Axes, title: str) -> str:
    names = ", ".join(s.label for s in series)
    return f"{title + ': ' if title else ''}{axes.y_title} over {axes.x_title}, a line for each of {names}"


def _ticks(axes: Axes, most: int) -> list[tuple[float, str]]:
    if axes.y_log:
        values = log_ticks(axes.low, axes.high, most)
    else:
        step = 10.0 ** math.floor(math.log10((axes.high - axes.low) / 3))
        step *= next((s for s in (1, 2, 5, 10) if (axes.high - axes.low) / (step * s) <= most), 10)
        first, last = math.ceil(axes.low / step), math.floor(axes.high / step)
        values = [step * i for i in range(first, last + 1)]
    return [(value, numbers.plain(value)) for value in values]


def _text(
    parent: Tree.Element, x: float, y: float, text: str, *, fill: str, anchor: str = "start", weight: str = "400"
) -> None:
    element = Tree.SubElement(parent, "text", x=f"{x:.1f}", y=f"{y:.1f}", fill=fill)
    element.set("text-anchor", anchor)
    if weight != "400":
        element.set("font-weight", weight)
    element.text = text


def _path(parent: Tree.Element, d: str, stroke: str, width: float, **more: str) -> Tree.Element:
    settings = {"d": d, "stroke": stroke, "stroke-width": f"{width:g}", "fill": "none", **more}
    return Tree.SubElement(parent, "path", {key.replace("_", "-"): value for key, value in settings.items()})


def _axes(root: Tree.Element, frame: Frame, ticks: list[tuple[float, str]]) -> None:
    axes, end = frame.axes, frame.width - frame.right
    floor = frame.height - frame.bottom
    _text(root, 0, frame.top - frame.font * 0.9, axes.y_title, fill="var(--muted)")
    for value, text in ticks:
        at = frame.y(value)
        _path(root, f"M{frame.left} {at:.1f}H{end}", "var(--rule)", 1)
        _text(root, frame.left - 6, at + frame.font * 0.35, text, fill="var(--muted)", anchor="end")
    reach = -math.inf
    shown: list[tuple[float, str]] = []
    for level, text in axes.levels[::-1]:  # the last level is always written
        at, half = frame.x(level), LETTER * frame.font * len(text) / 2
        _path(root, f"M{at:.1f} {floor}v4", "var(--muted)", 1)
        if not shown or at + half + 5 < -reach:
            shown.append((at, text))
            reach = -(at - half)
    for at, text in shown:
        _text(root, at, floor + 6 + frame.font, text, fill="var(--muted)", anchor="middle")
    _text(root, (frame.left + end) / 2, frame.height - 3, axes.x_title, fill="var(--muted)", anchor="middle")


def _line(root: Tree.Element, frame: Frame, one: Series) -> None:
    colour = COLOURS[one.style]
    places = [(frame.x(p.x), frame.y(p.y)) for p in one.points]
    if len(places) > 1:
        d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        more = {"stroke_dasharray": DASHES[one.style]} if DASHES[one.style] else {}
        _path(root, d, colour, 2.4 if one.style == 0 else 1.7, stroke_linejoin="round", **more)
    for point, (x, y) in zip(one.points, places, strict=True):
        group = Tree.SubElement(root, "g")
        Tree.SubElement(group, "title").text = point.says
        if point.low is not None and point.high is not None:
            _path(group, f"M{x:.1f} {frame.y(point.low):.1f}V{frame.y(point.high):.1f}", colour, 1.2)
        _shape(group, SHAPES[one.style], x, y, colour)


def _shape(parent: Tree.Element, shape: str, x: float, y: float, colour: str) -> None:
    outlines = {
        "square": f"M{x - 3.4:.1f} {y - 3.4:.1f}h6.8v6.8h-6.8z",
        "up": f"M{x:.1f} {y - 4.6:.1f}l4.4 7.6h-8.8z",
        "down": f"M{x:.1f} {y + 4.6:.1f}l4.4 -7.6h-8.8z",
        "cross": f"M{x - 3.5:.1f} {y - 3.5:.1f}l7 7m0 -7l-7 7",
        "plus": f"M{x - 4.5:.1f} {y:.1f}h9m-4.5 -4.5v9",
    }
    if shape == "circle":
        Tree.SubElement(parent, "circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="4", fill=colour)
    elif shape in ("cross", "plus"):
        _path(parent, outlines[shape], colour, 2)
    else:  # hollow in print and on screen, so that shapes on one another stay readable
        _path(parent, outlines[shape], colour, 1.5, fill="var(--page)")


def _published(root: Tree.Element, frame: Frame, series: list[Series]) -> None:
    """Diamonds; several systems with one published value share one."""
    places: dict[tuple[float, float, float | None, float | None], list[tuple[Series, Mark]]] = {}
    for one in series:
        for mark in one.published:
            places.setdefault((mark.x, mark.y, mark.low, mark.high), []).append((one, mark))
    for members in places.values():
        one, mark = members[0]
        x, y = frame.x(mark.x), frame.y(mark.y)
        colour = COLOURS[one.style] if len(members) == 1 else "var(--ink)"
        group = Tree.SubElement(root, "g")
        Tree.SubElement(group, "title").text = "; ".join(mark.says for _, mark in members)
        mine = next((p for p in one.points if p.x == mark.x), None)
        if len(members) == 1 and mine is not None:  # to which line it belongs, also without colours
            _path(group, f"M{x:.1f} {frame.y(mine.y):.1f}V{y:.1f}", colour, 1, stroke_dasharray="1 2")
        if mark.over:
            _path(group, f"M{x:.1f} {y:.1f}v-15m-3.5 4.5l3.5 -4.5l3.5 4.5", colour, 1.4)
        elif mark.under:
            _path(group, f"M{x:.1f} {y:.1f}v15m-3.5 -4.5l3.5 4.5l3.5 -4.5", colour, 1.4)
        elif mark.low is not None and mark.high is not None:
            _path(group, f"M{x:.1f} {frame.y(mark.low):.1f}V{frame.y(mark.high):.1f}", colour, 1)
        _path(group, f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z", colour, 1.5, fill="var(--page)")


def _labels(root: Tree.Element, frame: Frame, series: list[Series]) -> None:
    """Each line's name at its end, moved up or down where two would meet, with a thin line to where it belongs."""
    ends = sorted(((frame.y(s.points[-1].y), s) for s in series if s.points), key=lambda end: end[0])
    gap = frame.font * 1.25
    places = spread([y for y, _ in ends], gap, frame.top + gap / 4, frame.height - frame.bottom)
    left = frame.width - frame.right + 18
    for (y, one), place in zip(ends, places, strict=True):
        x = frame.x(one.points[-1].x) + 7
        _path(root, f"M{x:.1f} {y:.1f}L{left - 10} {place:.1f}H{left - 4}", COLOURS[one.style], 0.8, opacity="0.65")
        fits = int((frame.right - 18) / (LETTER * frame.font))
        name = one.label if len(one.label) <= fits + 1 else one.label[: fits - 1] + "…"
        _text(
            root,
            left,
            place + frame.font * 0.35,
            name,
            fill=COLOURS[one.style],
            weight="600" if one.style == 0 else "400",
        )


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
