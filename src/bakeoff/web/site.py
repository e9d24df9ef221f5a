"""What all pages share: the store, its views, the token, and the templates."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from bakeoff.analysis import numbers
from bakeoff.plan import cell_text
from bakeoff.report import content
from bakeoff.store import Store
from bakeoff.store.url import shown_command
from bakeoff.web.progress import Watch, with_unit
from bakeoff.web.reports import Reports
from bakeoff.web.token import Token


@dataclass
class Site:
    """One served store."""

    store: Store
    token: Token | None  # without one, nothing can be sent
    names: frozenset[str]  # host names that requests may use, besides addresses
    watch: Watch = field(init=False)
    reports: Reports = field(init=False)
    closing: asyncio.Event = field(default_factory=asyncio.Event)  # set when the server is told to end
    streams: int = 0  # open event streams

    def __post_init__(self) -> None:
        self.watch = Watch(self.store)
        self.reports = Reports(self.store)


def site(request: Request) -> Site:
    """The site that a request is for."""
    found: Site = request.app.state.site
    return found


@cache
def environment() -> Environment:
    """The templates. They escape every value."""
    env = Environment(
        loader=PackageLoader("bakeoff.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.globals |= {
        "moment": content.moment,
        "duration": content.duration,
        "count": numbers.count,
        "cell_text": cell_text,
        "with_unit": with_unit,
        "labels_text": labels_text,
        "shown_command": shown_command,
        "run_path": run_path,
        "query": urlencode,
    }
    return env


def labels_text(labels: str) -> str:
    """Stored labels as words, such as `part server, phase whole`."""
    return ", ".join(f"{key} {value}" for key, value in json.loads(labels).items())


def run_path(run: str) -> str:
    """The path of a run's page."""
    return "/runs/" + quote(run, safe="")


def render(template: str, **values: Any) -> str:
    """A template with its values."""
    return environment().get_template(template).render(**values)


def page(template: str, code: int = 200, **values: Any) -> HTMLResponse:
    """A page from a template."""
    return HTMLResponse(render(template, **values), code)


@cache
def static() -> dict[str, tuple[str, str]]:
    """The files that pages load: name → (media type, text). The style begins with that of the report."""
    own = files("bakeoff.web") / "static"
    style = (files("bakeoff.report") / "templates" / "report.css").read_text(encoding="utf-8")
    return {
        "style.css": ("text/css", style + (own / "web.css").read_text(encoding="utf-8")),
        "live.js": ("text/javascript", (own / "live.js").read_text(encoding="utf-8")),
    }
