"""Drawing: the shapes and texts that all charts are made of, as SVG elements. The SVG runs nothing and loads nothing.

A mark is a group with a title. Without script browsers show the title when it is pointed at; with script the page does,
also from the keyboard (templates/report.js). `data-s` names the series of a mark, so that the page can hide it.
"""

from __future__ import annotations

import math
import re
import textwrap
from dataclasses import dataclass
from xml.etree import ElementTree as Tree

from bakeoff.analysis import numbers

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
ALLOWED = {"svg", "g", "path", "rect", "text", "circle", "title"}
LETTER = 0.56  # mean width of a letter, in font sizes
WIDE = 0.62  # in a wide typeface, or in bold: texts that must be cut are cut for it
INK, MUTED, RULE, BAND, ACCENT, PAGE = (
    f"var(--{name})" for name in ("ink", "muted", "rule", "band", "accent", "page")
)  # fmt: skip
# Colour, dashes and shape tell lines apart; any two of them do without the third. Style 0 is the baseline's.
COLOURS = [INK, *(f"var(--line{i})" for i in range(1, 6))]
DASHES = ["", "7 3", "2 3", "10 3 2 3", "", "4 2"]
SHAPES = ["circle", "square", "up", "cross", "down", "plus"]

Element = Tree.Element


@dataclass(frozen=True)
class Figure:
    """A figure of the report: SVGs for wide and narrow pages, and what it shows in words."""

    title: str
    caption: str
    wide: list[str]
    narrow: list[str]
    kind: str = "points"  # curve: several panels, curve-big: the first one over the whole width


def root(width: float, height: float, font: int, words: str) -> Element:
    """An empty drawing; the words say what it shows to those who do not see it."""
    shape = {"viewBox": f"0 0 {width:g} {height:g}", "width": f"{width:g}", "height": f"{height:g}"}
    element = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **shape, "role": "img"})
    element.set("font-family", FONT)
    element.set("font-size", str(font))
    element.set("aria-label", words)
    return element


def svg(element: Element) -> str:
    """The drawing as text. Raises ValueError if it holds anything but shapes and texts."""
    check(element)
    return Tree.tostring(element, encoding="unicode")


def check(drawing: Element) -> None:
    """Raises ValueError if a drawing has elements other than shapes and texts, handlers, or addresses."""
    for element in drawing.iter():
        if element.tag not in ALLOWED:
            raise ValueError(f"the figure holds an element <{element.tag}>")
        for key, value in element.attrib.items():
            if key.startswith("on") or "href" in key or key == "style" or "url(" in value:
                raise ValueError(f"the figure holds an attribute {key!r}")


def mark(parent: Element, says: str, series: str = "") -> Element:
    """A group whose parts belong together; `says` has a heading and a fact a line."""
    group = Tree.SubElement(parent, "g", {"class": "m"})
    if series:
        group.set("data-s", series)
    Tree.SubElement(group, "title").text = clean(says)
    return group


def of_series(parent: Element, series: str) -> Element:
    """A group for what belongs to a series and has no value of its own."""
    return Tree.SubElement(parent, "g", {"data-s": clean(series)} if series else {})


def text(
    parent: Element,
    x: float,
    y: float,
    said: str,
    fill: str = INK,
    *,
    anchor: str = "start",
    weight: str = "",
    **more: str,
) -> Element:
    """A text whose baseline starts (or has its middle or end) at a place."""
    element = Tree.SubElement(parent, "text", x=f"{x:.1f}", y=f"{y:.1f}", fill=fill)
    if anchor != "start":
        element.set("text-anchor", anchor)
    if weight:
        element.set("font-weight", weight)
    for key, value in more.items():
        element.set(key.replace("_", "-"), value)
    element.text = clean(said)
    return element


def path(parent: Element, d: str, stroke: str, width: float = 1.0, **more: str) -> Element:
    """A line; with `fill` a shape."""
    settings = {"d": d, "stroke": stroke, "stroke-width": f"{width:g}", "fill": "none", **more}
    return Tree.SubElement(parent, "path", {key.replace("_", "-"): value for key, value in settings.items()})


def rect(parent: Element, box: tuple[float, float, float, float], fill: str, **more: str) -> Element:
    """A rectangle: x, y, width, height."""
    x, y, width, height = box
    settings = {
        "x": f"{x:.1f}",
        "y": f"{y:.1f}",
        "width": f"{width:.1f}",
        "height": f"{height:.1f}",
        "fill": fill,
        **more,
    }
    return Tree.SubElement(parent, "rect", {key.replace("_", "-"): value for key, value in settings.items()})


def circle(parent: Element, x: float, y: float, radius: float, fill: str, **more: str) -> Element:
    """A circle."""
    settings = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{radius:g}", "fill": fill, **more}
    return Tree.SubElement(parent, "circle", {key.replace("_", "-"): value for key, value in settings.items()})


def shape(parent: Element, kind: str, x: float, y: float, colour: str) -> None:
    """The sign of a point."""
    outlines = {
        "square": f"M{x - 3.4:.1f} {y - 3.4:.1f}h6.8v6.8h-6.8z",
        "up": f"M{x:.1f} {y - 4.6:.1f}l4.4 7.6h-8.8z",
        "down": f"M{x:.1f} {y + 4.6:.1f}l4.4 -7.6h-8.8z",
        "cross": f"M{x - 3.5:.1f} {y - 3.5:.1f}l7 7m0 -7l-7 7",
        "plus": f"M{x - 4.5:.1f} {y:.1f}h9m-4.5 -4.5v9",
    }
    if kind == "circle":
        circle(parent, x, y, 4, colour)
    elif kind in ("cross", "plus"):
        path(parent, outlines[kind], colour, 2)
    else:  # hollow in print and on screen, so that shapes on one another stay readable
        path(parent, outlines[kind], colour, 1.5, fill=PAGE)


def diamond(parent: Element, x: float, y: float, colour: str = INK) -> None:
    """The sign of a published value."""
    path(parent, f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z", colour, 1.5, fill=PAGE)


def width(said: str, font: float) -> float:
    """About how wide a text is, in px."""
    return LETTER * font * len(said)


def fitted(said: str, room: float, font: float) -> str:
    """The text, cut where it would be wider than the room."""
    if width(said, font) <= room:
        return said
    letters = int(room / (WIDE * font))
    return said[: max(letters - 1, 1)] + "…"


def wrapped(said: str, room: float, font: float, most: int = 2) -> list[str]:
    """The text in lines that fit the room; the last one is cut if there are more than `most`. Nothing is no line."""
    found = textwrap.wrap(said, max(int(room / (WIDE * font)), 1))
    rest = " ".join(found[most - 1 :])
    return [*found[: most - 1], fitted(rest, room, font)] if rest else found


def clean(said: str) -> str:
    """A text without the control characters that no XML may hold."""
    return re.sub(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", said)


def ticks(low: float, high: float, log: bool, most: int) -> list[tuple[float, str]]:
    """Round values between two bounds, with their texts."""
    values = log_ticks(low, high, most) if log else linear_ticks(low, high, most)
    return [(value, numbers.plain(value)) for value in values]


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two bounds."""
    step = 10.0 ** math.floor(math.log10((high - low) / 3 or 1.0))
    step *= next((s for s in (1, 2, 5, 10) if (high - low) / (step * s) <= most), 10)
    return [round(step * i, 12) for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Round values between two bounds: decades where there are enough, else 1-2-5, else even steps."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        found = [round(s * 10.0**e, 12) for e in range(first, last + 1) for s in steps if low <= s * 10.0**e <= high]
        if len(found) <= most:
            break
    else:
        every = math.ceil(len(found) / most)
        found = found[::-1][::every][::-1]
    even = linear_ticks(low, high, most) if len(found) < 4 and high < 4 * low else []
    if len(even) > len(found):
        return even
    return found if len(found) >= 2 else linear_ticks(low, high, most)


def slug(said: str) -> str:
    """A text as a name for an anchor."""
    return re.sub(r"[^a-z0-9]+", "-", said.lower()).strip("-") or "figure"
