"""The drift of a run as a small picture: medians and quartiles of neighbouring trials, and the trend."""

from __future__ import annotations

import math

from bakeoff.analysis.results import Drift
from bakeoff.report import draw as drawing
from bakeoff.report.draw import ACCENT, INK, MUTED, RULE

HEIGHT = 170
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 10, 26


def draw(drift: Drift) -> tuple[str, str]:
    """SVGs of shapes and texts in the page's colours, for wide and narrow pages."""
    return _draw(drift, 760), _draw(drift, 350)


def _draw(drift: Drift, width: int) -> str:
    ends = (abs(drift.start), abs(drift.start + drift.change), 1e-4)
    reach = _round(max([abs(v) for _, *values in drift.points for v in values] + list(ends)))
    said = f"Drift of {drift.trials} trials: {drift.change:+.2%} from the first to the last"
    root = drawing.root(width, HEIGHT, 12, said)

    def x(order: float) -> float:
        return LEFT + order * (width - LEFT - RIGHT)

    def y(share: float) -> float:
        return TOP + (1 - share / reach) / 2 * (HEIGHT - TOP - BOTTOM)

    for share in (-reach, 0.0, reach):
        drawing.path(root, f"M{x(0):.1f} {y(share):.1f}H{x(1):.1f}", RULE)
        label = f"{share:+.{_places(reach)}%}" if share else "0%"
        drawing.text(root, LEFT - 8, y(share) + 4, label, MUTED, anchor="end")
    for order, low, middle, high in drift.points:
        about = f"around trial {max(1, round(order * drift.trials)):,}"
        mark = drawing.mark(root, f"{about}\nmedian {middle:+.2%}\nquartiles {low:+.2%} to {high:+.2%}")
        drawing.path(mark, f"M{x(order):.1f} {y(low):.1f}V{y(high):.1f}", MUTED)
        drawing.circle(mark, x(order), y(middle), 2.5, INK)
    last = (1 + drift.start) * (1 + drift.change) - 1
    trend = drawing.mark(root, f"trend over the run\n{drift.change:+.2%} from the first trial to the last")
    drawing.path(trend, f"M{x(0):.1f} {y(drift.start):.1f}L{x(1):.1f} {y(last):.1f}", ACCENT, 2)
    for order, anchor, text in ((0.0, "start", "first trial"), (1.0, "end", f"trial {drift.trials:,}")):
        drawing.text(root, x(order), HEIGHT - 6, text, MUTED, anchor=anchor)
    return drawing.svg(root)


def _round(reach: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(reach))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= reach * 0.999)


def _places(reach: float) -> int:
    return max(0, -math.floor(math.log10(reach * 100) + 1e-9))
