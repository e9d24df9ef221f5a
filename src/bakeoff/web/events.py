"""A run's progress as server-sent events, until the run, the reader or the server ends."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import StreamingResponse

from bakeoff.web.site import Site, render, site

INTERVAL_S = 1.0
SILENCE_S = 15.0  # after which a comment keeps proxies from closing the stream
MOST_STREAMS = 200


async def events(request: Request) -> StreamingResponse:
    """The stream of one run: `progress` with the HTML of its progress, at last `end`."""
    here = site(request)
    run: str = request.path_params["run"]
    if here.streams >= MOST_STREAMS:
        raise HTTPException(503, "Too many pages are following runs; reload this one now and then instead.")
    await run_in_threadpool(here.watch.look, run)  # a run that is not there is refused before the stream begins
    return StreamingResponse(_stream(here, run), media_type="text/event-stream")


async def _stream(here: Site, run: str) -> AsyncIterator[str]:
    here.streams += 1
    try:
        shown, said = "", time.monotonic()
        while not here.closing.is_set():
            progress = await run_in_threadpool(here.watch.look, run)
            text = render("progress.html", progress=progress)
            if text != shown:
                yield event("progress", text)
                shown, said = text, time.monotonic()
            elif time.monotonic() - said > SILENCE_S:
                yield ": still here\n\n"
                said = time.monotonic()
            if progress.status != "running":
                yield event("end", progress.status)
                return
            await _pause(here.closing)
    finally:
        here.streams -= 1


async def _pause(closing: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(closing.wait(), INTERVAL_S)
    except TimeoutError:
        return


def event(name: str, text: str) -> str:
    """One event as it is on the wire (WHATWG HTML, section 9.2.6): a line of text cannot end it early."""
    lines = re.split(r"\r\n|\r|\n", text)
    return f"event: {name}\n" + "".join(f"data: {line}\n" for line in lines) + "\n"
