"""The report as one HTML file: no network, no script needed. Every stored text is escaped by the template.

The page's policy names the digest of its one script, so that no other script can run, whatever a stored text holds.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bakeoff import analysis as analyses
from bakeoff.analysis import numbers
from bakeoff.analysis.data import RunData
from bakeoff.analysis.findings import Analysis
from bakeoff.report import content, figures, flame, inference, matrix, rows
from bakeoff.report.draw import Figure


@cache
def environment() -> Environment:
    """The templates, escaping by default."""
    env = Environment(
        loader=PackageLoader("bakeoff.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.globals |= {"rows": rows, "content": content, "matrix": matrix, "numbers": numbers, "inference": inference}
    return env


def html(found: list[tuple[Analysis, RunData]]) -> str:
    """The page of one or several runs."""
    env = environment()
    loader = env.loader
    assert loader is not None
    style, script = (loader.get_source(env, name)[0] for name in ("report.css", "report.js"))
    runs = [
        {
            "analysis": analysis,
            "sentences": analyses.sentences(analysis),
            "figures": [_figure(figure) for figure in figures.figures(analysis, data)],
            "tables": []
            if analysis.many
            else [rows.table(analysis, name) for name in rows.metrics_with_tables(analysis)],
            "flames": flame.flames(data),
            "readme": data.run.get("readme") or "",
        }
        for analysis, data in found
    ]
    return env.get_template("report.html").render(
        runs=runs, style=Markup(style), script=Markup(script), digest=digest(script)
    )


def digest(script: str) -> str:
    """What a Content-Security-Policy calls this script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _figure(figure: Figure) -> dict[str, object]:
    """A figure for the template. Its SVGs were checked to hold shapes and texts only, and are markup as they are."""
    return {
        "title": figure.title,
        "caption": figure.caption,
        "kind": figure.kind,
        "wide": [Markup(text) for text in figure.wide],
        "narrow": [Markup(text) for text in figure.narrow],
    }
