"""The pages that list: experiments, and runs."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from sqlalchemy import select
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse

from bakeoff.errors import BadInput
from bakeoff.store import Store, history
from bakeoff.store.tables import runs
from bakeoff.web.progress import described
from bakeoff.web.site import page, site

ROWS = 50  # on one page
LONGEST = 200  # letters of a search text
FIELDS = ("experiment", "system", "host", "version", "text", "since", "until")


def experiments(request: Request) -> HTMLResponse:
    """All experiments that have runs."""
    store = site(request).store
    found = history.experiments(store)
    return page("experiments.html", experiments=found, about={one.name: _about(store, one.last.id) for one in found})


def _about(store: Store, run: str) -> str:
    """An experiment's question, as its newest run holds it."""
    with store.engine.connect() as db:
        text = db.execute(select(runs.c.experiment_yaml).where(runs.c.id == run)).scalar_one()
    return str(described(text).get("question") or "")


def all_runs(request: Request) -> HTMLResponse:
    """Runs, the newest first, narrowed to what the form asks for."""
    store = site(request).store
    asked = {name: request.query_params.get(name, "").strip() for name in FIELDS}
    wanted = _wanted(asked)
    many = history.count(store, wanted)
    pages = max(1, math.ceil(many / ROWS))
    number = min(page_number(request.query_params), pages)
    chosen = urlencode({name: text for name, text in asked.items() if text})
    return page(
        "runs.html",
        runs=history.page(store, wanted, (number - 1) * ROWS, ROWS),
        many=many,
        number=number,
        pages=pages,
        asked=asked,
        chosen=chosen,
        choices=history.choices(store),
    )


def page_number(query: QueryParams) -> int:
    """The page that is asked for, from 1."""
    text = query.get("page", "1")
    if not (text.isascii() and text.isdigit() and int(text[:9]) >= 1 and len(text) < 10):
        raise BadInput(f"{text[:20]!r} is no page", "write a number from 1 on", key="page")
    return int(text)


def _wanted(asked: dict[str, str]) -> history.Wanted:
    for name, text in asked.items():
        if len(text) > LONGEST or "\0" in text:
            raise BadInput(f"this is no {name}", f"write at most {LONGEST} letters", key=name)
    until = _day(asked, "until")
    return history.Wanted(
        experiment=asked["experiment"],
        system=asked["system"],
        host=asked["host"],
        version=asked["version"],
        text=asked["text"],
        since=_seconds(_day(asked, "since")),
        until=None if until is None else _seconds(until + timedelta(days=1)),  # the day itself is part of it
    )


def _day(asked: dict[str, str], name: str) -> datetime | None:
    if not asked[name]:
        return None
    try:
        day = datetime.strptime(asked[name], "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise BadInput(f"{asked[name]!r} is no date", "write it as 2026-01-31", key=name) from None
    if not 1970 < day.year < 9000:
        raise BadInput(f"{asked[name]!r} is too far away", "write a year of this century", key=name)
    return day


def _seconds(day: datetime | None) -> float | None:
    return None if day is None else day.timestamp()
