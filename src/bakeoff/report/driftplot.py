"""The drift of a run as a small picture: medians and quartiles of neighbouring trials, and the trend."""

from __future__ import annotations

import math
from html import escape

from bakeoff.analysis.results import Drift

HEIGHT = 170
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 10, 26


def draw(drift: Drift) -> tuple[str, str]:
    """SVGs of shapes and texts in the page's colours, for wide and narrow pages."""
    return _draw(drift, 760), _draw(drift, 350)


def _draw(drift: Drift, width: int) -> str:
    reach = _round(
        max(
            [abs(v) for _, *values in drift.points for v in values]
            + [abs(drift.start), abs(drift.start + drift.change), 1e-4]
        )
    )

    def x(order: float) -> str:
        return f"{LEFT + order * (width - LEFT - RIGHT):.1f}"

    def y(share: float) -> str:
        return f"{TOP + (1 - share / reach) / 2 * (HEIGHT - TOP - BOTTOM):.1f}"

    parts = []
    for share in (-reach, 0.0, reach):
        parts.append(f'<line x1="{x(0)}" x2="{x(1)}" y1="{y(share)}" y2="{y(share)}" stroke="var(--rule)"/>')
        label = f"{share:+.{_places(reach)}%}" if share else "0%"
        parts.append(
            f'<text x="{LEFT - 8}" y="{y(share)}" dy="0.32em" text-anchor="end" fill="var(--muted)">{label}</text>'
        )
    for order, low, middle, high in drift.points:
        parts.append(
            f'<line x1="{x(order)}" x2="{x(order)}" y1="{y(low)}" y2="{y(high)}" stroke="var(--muted)"/>'
            f'<circle cx="{x(order)}" cy="{y(middle)}" r="2.5" fill="var(--ink)"/>'
        )
    last = (1 + drift.start) * (1 + drift.change) - 1
    ends = f'x1="{x(0)}" y1="{y(drift.start)}" x2="{x(1)}" y2="{y(last)}"'
    parts.append(f'<line {ends} stroke="var(--accent)" stroke-width="2"/>')
    for order, anchor, text in ((0.0, "start", "first trial"), (1.0, "end", f"trial {drift.trials:,}")):
        parts.append(
            f'<text x="{x(order)}" y="{HEIGHT - 6}" text-anchor="{anchor}" fill="var(--muted)">{escape(text)}</text>'
        )
    said = escape(f"Drift of {drift.trials} trials: {drift.change:+.2%} from the first to the last", quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" '
        f'font-size="12" font-family="inherit" role="img" aria-label="{said}">{"".join(parts)}</svg>'
    )


def _round(reach: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(reach))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= reach * 0.999)


def _places(reach: float) -> int:
    return max(0, -math.floor(math.log10(reach * 100) + 1e-9))
