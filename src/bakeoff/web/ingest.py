"""The door for runs of other machines. Nothing passes without the token, and nothing that was not checked."""

from __future__ import annotations

import threading
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from sqlalchemy.exc import DataError, IntegrityError, OperationalError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from bakeoff.errors import BadInput
from bakeoff.store import Store
from bakeoff.transfer import unpack
from bakeoff.transfer.parcel import MOST_OPENING, MOST_PARCEL, Opening, Parcel
from bakeoff.web.guard import TooLarge, body
from bakeoff.web.site import site

Model = TypeVar("Model", bound=BaseModel)
_one = threading.Lock()  # parcels are checked and stored one after another: each may take much memory


async def state(request: Request) -> JSONResponse:
    """Which trials of a run are here and have ended: `{"trials": [[position, attempt], …], "more": bool}`."""
    _authorise(request)
    store = site(request).store
    after = request.query_params.get("after")
    return JSONResponse(await run_in_threadpool(_state, store, request.path_params["run"], _place(after)))


def _state(store: Store, run: str, after: tuple[int, int] | None) -> dict[str, Any]:
    found = unpack.stored(store, run, after)
    return {"trials": found, "more": len(found) == unpack.PAGE}


def _place(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    try:
        position, attempt = (int(part) for part in text[:40].split(","))
    except ValueError:
        raise HTTPException(400, "`after` is POSITION,ATTEMPT") from None
    return position, attempt


async def begin(request: Request) -> JSONResponse:
    """Opens a run, or brings its status up to date."""
    _authorise(request)
    opening = await _checked(request, Opening, MOST_OPENING)
    if opening.run.id != request.path_params["run"]:
        raise HTTPException(422, "the run's id is not that of the path")
    new = await run_in_threadpool(_kept, unpack.open_run, site(request).store, opening)
    return JSONResponse({"run": opening.run.id, "new": new}, 201 if new else 200)


async def trials(request: Request) -> JSONResponse:
    """Stores a parcel of trials."""
    _authorise(request)
    parcel = await _checked(request, Parcel, MOST_PARCEL)
    changed = await run_in_threadpool(_kept, unpack.add_trials, site(request).store, request.path_params["run"], parcel)
    return JSONResponse({"stored": changed, "kept": len(parcel.trials) - changed})


def _authorise(request: Request) -> None:
    """Refuses who does not have the token, before anything of the request's body is read."""
    token = site(request).token
    if token is None:
        raise HTTPException(403, "This server was started without a token and takes no runs.")
    header = request.headers.get("authorization")
    if header is None:
        raise HTTPException(401, "The token is missing.", {"WWW-Authenticate": "Bearer"})
    if not token.is_of(header):
        raise HTTPException(403, "This is not the token.")


async def _checked(request: Request, model: type[Model], most: int) -> Model:
    try:
        text = await body(request, most)
    except TooLarge:
        raise HTTPException(413, f"at most {most:,} bytes are taken at once") from None
    return await run_in_threadpool(_parsed, model, text)


def _parsed(model: type[Model], text: bytes) -> Model:
    try:
        with _one:
            return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise HTTPException(422, f"{place}: {first['msg']}" if place else first["msg"]) from None


def _kept(function: Any, *given: Any) -> Any:
    """Calls what stores; what it refuses becomes an answer."""
    try:
        with _one:
            return function(*given)
    except BadInput as error:
        raise HTTPException(422, str(error)) from None
    except unpack.Conflict as error:
        raise HTTPException(409, str(error)) from None
    except DataError:
        raise HTTPException(422, "a value does not fit into the store") from None
    except (IntegrityError, OperationalError):  # another server stored the same at the same time, or the store is busy
        raise HTTPException(503, "the store could not take it now; try again") from None
