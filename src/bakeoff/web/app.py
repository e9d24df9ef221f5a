"""The web application: which path leads where. Every other path is refused."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bakeoff.errors import BadInput
from bakeoff.web import ingest, lists, runs
from bakeoff.web.events import events
from bakeoff.web.guard import KnownHost, SafeHeaders
from bakeoff.web.site import Site, page, static

ROUTES = [
    Route("/", lists.experiments),
    Route("/runs", lists.all_runs),
    Route("/runs/{run}", runs.run),
    Route("/runs/{run}/events", events),
    Route("/runs/{run}/report", runs.report),
    Route("/runs/{run}/trials/{trial:int}", runs.trial),
    Route("/runs/{run}/trials/{trial:int}/files/{name}", runs.artefact),
    Route("/compare", runs.compare),
    Route("/compare/{old}/{new}", runs.ratios),
    Route("/ingest/{run}", ingest.state, methods=["GET"]),
    Route("/ingest/{run}", ingest.begin, methods=["PUT"]),
    Route("/ingest/{run}/trials", ingest.trials, methods=["POST"]),
]
WORDS = {404: "There is no such page.", 405: "This page cannot be asked for in that way."}


def create(site: Site) -> Starlette:
    """The application over one store."""
    made = Starlette(
        routes=[*ROUTES, Route("/static/{name}", _static)],
        middleware=[Middleware(SafeHeaders), Middleware(KnownHost, names=site.names)],
        exception_handlers={HTTPException: _refused, BadInput: _bad_input, Exception: _fault},
    )
    made.router.redirect_slashes = False
    made.state.site = site
    return made


def _static(request: Request) -> Response:
    found = static().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return PlainTextResponse(found[1], media_type=found[0], headers={"Cache-Control": "no-cache"})


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = error.detail != HTTPStatus(error.status_code).phrase
    text = error.detail if known else WORDS.get(error.status_code, error.detail)
    return _answer(request, error.status_code, text, error.headers)


def _bad_input(request: Request, error: Exception) -> Response:
    return _answer(request, 400, str(error))


def _fault(request: Request, error: Exception) -> Response:
    print(f"bakeoff serve: a fault at {request.url.path!r}", file=sys.stderr)
    traceback.print_exception(error, file=sys.stderr)
    return _answer(request, 500, "A fault of this server; its log says more.")


def _answer(request: Request, status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    if request.url.path.startswith("/ingest/"):
        return JSONResponse({"error": text}, status, headers)
    return page("error.html", status, status=status, text=text)
