"""What every answer and every request must have: safe headers, a known host name, a small enough body."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import socket
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Our pages: own style and script from files, nothing else, and nobody may frame them.
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# The report has its style and its one script inside, which is named by its digest: no other runs. It shares no origin.
_SCRIPT = Path(__file__).parents[1] / "report" / "templates" / "report.js"
_DIGEST = base64.b64encode(hashlib.sha256(_SCRIPT.read_bytes()).digest()).decode()
REPORT_POLICY = (
    f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_DIGEST}'; img-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; sandbox allow-scripts"
)
# Stored files are text, whatever is in them.
RAW_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"


class SafeHeaders:
    """Adds the headers that forbid scripts, frames and guesses to each answer that does not bring its own policy."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Content-Security-Policy", PAGE_POLICY)
                headers.setdefault("X-Content-Type-Options", "nosniff")
                headers.setdefault("Referrer-Policy", "no-referrer")
                headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
                headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self.app(scope, receive, sent if scope["type"] == "http" else send)


class KnownHost:
    """Refuses requests to a host name that is not ours.

    A page of another site can point its own name at a loopback address and then read what answers there (DNS
    rebinding). Such a request carries the other site's name, so addresses and our own names are all we take.
    """

    def __init__(self, app: ASGIApp, names: frozenset[str]) -> None:
        self.app, self.names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self.knows(Headers(scope=scope).get("host", "")):
            text = "This is not a name of this server; start it with --name to add one.\n"
            await PlainTextResponse(text, 421)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def knows(self, host: str) -> bool:
        """Whether a Host header names this server, with or without a port."""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        try:
            ipaddress.ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
        except ValueError:
            return name.lower().rstrip(".") in self.names
        return True


def own_names(more: list[str]) -> frozenset[str]:
    """The names of this machine and those that the user adds."""
    return frozenset(name.lower().rstrip(".") for name in ("localhost", socket.gethostname(), socket.getfqdn(), *more))


class TooLarge(Exception):
    """A request's body is larger than it may be."""


async def body(request: Request, most: int) -> bytes:
    """The body of a request; raises TooLarge as soon as it has more bytes than it may have."""
    said = request.headers.get("content-length", "")
    if said.isdigit() and int(said) > most:
        raise TooLarge
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise TooLarge
        pieces.append(piece)
    return b"".join(pieces)
