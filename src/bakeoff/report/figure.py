"""From a chart to SVG: sizes, colours, and the rendering. The SVG runs nothing and loads nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any
from xml.etree import ElementTree

INK, MUTED, RULE, BAND, ACCENT, PAGE = "#1b1f24", "#5b6470", "#dfe3e8", "#eef1f4", "#0b6b8f", "#fffffe"
VARIABLES = {INK: "--ink", MUTED: "--muted", RULE: "--rule", BAND: "--band", ACCENT: "--accent", PAGE: "--page"}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
ALLOWED = {"svg", "g", "path", "rect", "text", "tspan", "line", "circle", "defs", "clipPath", "title", "desc", "image"}


@dataclass(frozen=True)
class Size:
    """The widths of a figure in px: labels at the left, plot, texts at the right. `column` is one column of texts."""

    left: int
    plot: int
    right: int
    column: int = 0
    font: int = 12
    wide: bool = True
    top: int = 8
    bottom: int = 44

    def fitted(self, labels: list[str]) -> Size:
        """The same width in all, with as much of it for the labels as the longest one needs."""
        longest = max((len(label) for label in labels), default=0)
        left = min(max(int(28 + 0.56 * self.font * longest), 70), (self.left + self.plot) // 2)
        return replace(self, left=left, plot=self.plot + self.left - left)


@dataclass(frozen=True)
class Figure:
    """A figure of the report: SVGs for wide and narrow pages, and what it shows in words."""

    title: str
    caption: str
    wide: list[str]
    narrow: list[str]
    kind: str = "points"  # curve: several panels, curve-big: the first one over the whole width


def base(chart: Any, size: Size, height: float) -> dict[str, Any]:
    """A chart's specification with our type, colours and fixed sizes."""
    import altair as alt

    styled = chart.properties(
        width=size.plot,
        height=height,
        autosize=alt.AutoSizeParams(type="none"),
        padding={"left": size.left, "right": size.right, "top": size.top, "bottom": size.bottom},
    ).configure(
        font=FONT,
        background="transparent",
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=MUTED, titleColor=MUTED, titleFontWeight="normal",
            labelFontSize=size.font, titleFontSize=size.font,
            gridColor=RULE, domainColor=RULE, tickColor=RULE, titlePadding=8, labelPadding=5,
        ),
    )  # fmt: skip
    specification: dict[str, Any] = styled.to_dict(validate=False)
    return specification


def svg(specification: dict[str, Any]) -> str:
    """Renders a specification with colours as CSS variables. Raises ValueError if the SVG holds anything but shapes."""
    import vl_convert

    text: str = vl_convert.vegalite_to_svg(specification)
    check(text)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, f"var({variable})")
    return text


def check(text: str) -> None:
    """Raises ValueError if an SVG has elements other than shapes and texts, handlers, or addresses."""
    for element in ElementTree.fromstring(text).iter():
        name = element.tag.rpartition("}")[2]
        if name not in ALLOWED:
            raise ValueError(f"the figure holds an element <{name}>")
        for key in element.attrib:
            short = key.rpartition("}")[2].lower()
            if short.startswith("on") or short == "href":
                raise ValueError(f"the figure holds an attribute {short!r}")


def slug(text: str) -> str:
    """A text as a name for an anchor."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "figure"
