"""The pages about one run: its progress, its trials, one trial, the report; and two runs beside each other."""

from __future__ import annotations

import math
import zlib
from typing import Any

from sqlalchemy import func, select
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from bakeoff import flags as known_flags
from bakeoff.report import content
from bakeoff.store import Store, history
from bakeoff.store.tables import artefacts, flags, host_facts, metrics, observations, runs, trials
from bakeoff.web.guard import RAW_POLICY, REPORT_POLICY
from bakeoff.web.lists import page_number
from bakeoff.web.progress import described
from bakeoff.web.site import page, site

ROWS = 100  # trials on one page
MOST_NUMBERS = 5_000  # of one trial on its page
TAIL = 20_000  # bytes of a log that are shown at once
LARGEST = 2**31 - 1  # id of a row
OTHERS = 100  # runs of the same experiment to choose from


def run(request: Request) -> HTMLResponse:
    """One run."""
    here = site(request)
    row = _run(here.store, request.path_params["run"])
    status = request.query_params.get("status", "")
    known = here.store.counts(row["id"])
    many = known.get(status, 0) if status else sum(known.values())
    pages = max(1, math.ceil(many / ROWS))
    number = min(page_number(request.query_params), pages)
    others = history.page(here.store, history.Wanted(experiment=row["experiment"]), 0, OTHERS + 1)
    return page(
        "run.html",
        run=row,
        about=described(row["experiment_yaml"]),
        progress=here.watch.look(row["id"]),
        systems=[_system(one) for one in here.store.systems(row["id"])],
        host=content.host(_host(here.store, row["id"])),
        trials=_trials(here.store, row["id"], status, (number - 1) * ROWS),
        counts=known,
        status=status,
        number=number,
        pages=pages,
        others=[one for one in others if one.id != row["id"]][:OTHERS],
    )


def trial(request: Request) -> HTMLResponse:
    """One trial: what came of it, each number, its flags and logs."""
    store = site(request).store
    row = _trial(store, request)
    m, o = metrics.c, observations.c
    numbers = (
        select(m.name, m.labels, m.unit, o.value).join(metrics, m.id == o.metric_id).where(o.trial_id == row["id"])
    )
    files = select(artefacts.c.name, artefacts.c.media_type, artefacts.c.size, artefacts.c.data)
    with store.engine.connect() as db:
        values = db.execute(numbers.order_by(m.name, m.id).limit(MOST_NUMBERS)).mappings().all()
        raised = db.execute(select(flags).where(flags.c.trial_id == row["id"]).order_by(flags.c.flag)).mappings().all()
        kept = db.execute(files.where(artefacts.c.trial_id == row["id"]).order_by(artefacts.c.name)).mappings().all()
    return page(
        "trial.html",
        trial=row,
        values=values,
        flags=[(one, known_flags.FLAGS.get(one["flag"])) for one in raised],
        files=[{**one, "tail": zlib.decompress(one["data"])[-TAIL:].decode("utf-8", "replace")} for one in kept],
        shown=TAIL,
    )


def artefact(request: Request) -> Response:
    """A trial's log or raw result as plain text, whatever kind of file it says it is."""
    store = site(request).store
    data = store.artefact(_trial(store, request)["id"], request.path_params["name"])
    if data is None:
        raise HTTPException(404)
    return Response(data, media_type="text/plain; charset=utf-8", headers={"Content-Security-Policy": RAW_POLICY})


async def report(request: Request) -> HTMLResponse:
    """The same page as `bakeoff report` writes."""
    here = site(request)
    row = await run_in_threadpool(_run, here.store, request.path_params["run"])
    return HTMLResponse(await here.reports.report(row["id"]), headers={"Content-Security-Policy": REPORT_POLICY})


def compare(request: Request) -> HTMLResponse:
    """Two runs beside each other."""
    store = site(request).store
    names = [name.strip() for name in request.query_params.getlist("run") if name.strip()][:2]
    pair = [_run(store, name) for name in names]
    return page(
        "compare.html",
        pair=pair if len(pair) == 2 else None,
        names=[*names, "", ""][:2],
        ratios=len(pair) == 2 and pair[0]["experiment"] == pair[1]["experiment"],
    )


async def ratios(request: Request) -> HTMLResponse:
    """The same page as `bakeoff compare` writes."""
    here = site(request)
    names = [request.path_params[name] for name in ("old", "new")]
    rows = [await run_in_threadpool(_run, here.store, name) for name in names]
    text = await here.reports.comparison(rows[0]["id"], rows[1]["id"])
    return HTMLResponse(text, headers={"Content-Security-Policy": REPORT_POLICY})


def _run(store: Store, name: str) -> dict[str, Any]:
    name = name.replace("\0", "")  # PostgreSQL takes no text with it
    with store.engine.connect() as db:
        row = db.execute(select(runs).where(runs.c.id == name)).mappings().one_or_none()
    if row is None:
        raise HTTPException(404, f"There is no run {name[:120]}.")
    return dict(row)


def _system(row: Any) -> dict[str, Any]:
    about = described(row["system_yaml"])
    return {**row, "title": str(about.get("title") or ""), "tools": dict(row["tools"] or {})}


def _host(store: Store, run: str) -> dict[str, Any]:
    """What the machine said of itself at the run's start, as far as it is plain."""
    query = select(host_facts.c.facts).where(host_facts.c.run_id == run, host_facts.c.moment == "run")
    with store.engine.connect() as db:
        facts = db.execute(query.order_by(host_facts.c.id).limit(1)).scalar()
    return {str(key): value for key, value in facts.items() if value is not None} if isinstance(facts, dict) else {}


def _trials(store: Store, run: str, status: str, first: int) -> list[dict[str, Any]]:
    """A page of the attempts in the order of the plan, with the number of their flags."""
    query = select(trials).where(trials.c.run_id == run).order_by(trials.c.position, trials.c.attempt)
    query = query.where(trials.c.status == status) if status else query
    with store.engine.connect() as db:
        rows = [dict(row) for row in db.execute(query.offset(first).limit(ROWS)).mappings()]
        ids = [row["id"] for row in rows]
        counting = select(flags.c.trial_id, func.count()).where(flags.c.trial_id.in_(ids)).group_by(flags.c.trial_id)
        raised = {found[0]: found[1] for found in db.execute(counting)}
    return [row | {"flags": raised.get(row["id"], 0)} for row in rows]


def _trial(store: Store, request: Request) -> dict[str, Any]:
    """The trial of a path; it must be of the run that the path names."""
    number = min(request.path_params["trial"], LARGEST)
    same = (trials.c.id == number) & (trials.c.run_id == request.path_params["run"].replace("\0", ""))
    with store.engine.connect() as db:
        row = db.execute(select(trials).where(same)).mappings().one_or_none()
    if row is None:
        raise HTTPException(404, "There is no such trial.")
    return dict(row)
