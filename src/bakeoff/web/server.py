"""Serving until a signal comes."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn

from bakeoff.errors import CannotRun
from bakeoff.web.app import create
from bakeoff.web.site import Site

PATIENCE_S = 5  # for requests that are under way when the server is told to end


class Server(uvicorn.Server):
    """Uvicorn, told to end by any of our signals; event streams and the making of a report end first."""

    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self._site = site

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Signals end the server instead of raising something in the middle of its work."""
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for number in numbers:
            loop.add_signal_handler(number, self._end)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _end(self) -> None:
        self._site.closing.set()
        self._site.reports.close()
        self.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; raises CannotRun if it cannot be had."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        made = socket.socket(family)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(128)
    except OSError as error:
        problem = f"nothing can listen at {host}, port {port}: {error.strerror or error}"
        raise CannotRun(problem, "choose another --port (0 for any that is free) or --host") from None
    return made


def address(listening: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(site: Site, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serves the site on the socket until SIGINT, SIGTERM or SIGHUP; `ready` is called when it answers."""
    asyncio.run(_serve(site, listening, ready))


async def _serve(site: Site, listening: socket.socket, ready: Callable[[], None]) -> None:
    config = uvicorn.Config(
        create(site),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=PATIENCE_S,
    )
    ready()  # the socket listens already: who connects from now on is answered
    await Server(config, site).serve(sockets=[listening])
