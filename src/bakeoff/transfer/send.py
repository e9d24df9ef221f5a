"""Sending a stored run to a server that `bakeoff serve` started with a token."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlsplit

from bakeoff.errors import BadInput, CannotRun
from bakeoff.store import Store
from bakeoff.transfer import pack

TRIES = 5
TIMEOUT_S = 60.0
LOOPBACK = ("localhost", "127.0.0.1", "::1")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Sent:
    """What came of sending a run."""

    run: str
    status: str  # of the run, here and there
    stored: int  # trials that the server took
    kept: int  # trials that it had already


class Door:
    """A connection to the server, opened again when it breaks. It follows no redirects: they would carry the token."""

    def __init__(self, url: str, token: str) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        odd = parts.username or parts.password or parts.query or parts.fragment
        if parts.scheme not in ("http", "https") or not parts.hostname or odd:
            mend = "write the address that `bakeoff serve` prints, such as http://127.0.0.1:8000/"
            raise BadInput("this is no address of a server", mend, key="URL")
        self._open: Callable[[], http.client.HTTPConnection]
        host = parts.hostname
        if parts.scheme == "https":
            context = ssl.create_default_context()
            self._open = lambda: http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=context)
        else:
            self._open = lambda: http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
        self.bare = parts.scheme == "http" and host not in LOOPBACK  # the token goes over a network as it is
        self._where = f"{parts.scheme}://{parts.netloc}"
        self._base = parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._line: http.client.HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def ask(self, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
        """An answer as JSON. Tries again where that can help; raises CannotRun or BadInput where it cannot."""
        problem = ""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(0.2 * 2**attempt)
            try:
                self._line = self._line or self._open()
                self._line.request(method, self._base + path, body, self._headers)
                answer = self._line.getresponse()
                status, text = answer.status, answer.read(2**24)
            except (OSError, http.client.HTTPException) as error:
                self._close()
                problem = str(error) or type(error).__name__
                continue
            if status >= 500 and status != 501:
                problem = _said(status, text)
                continue
            return self._taken(status, text)
        raise CannotRun(
            f"{self._where} could not be reached or did not take it: {problem}",
            "see that `bakeoff serve` runs there; send again, and only what is missing goes over",
        )

    def _taken(self, status: int, text: bytes) -> dict[str, Any]:
        if status in (200, 201):
            try:
                data = json.loads(text)
            except ValueError:
                data = None
            if isinstance(data, dict):
                return data
        if status in (401, 403):
            mend = "start it with the same token as here (--token-file or BAKEOFF_TOKEN)"
            raise CannotRun(f"{self._where} refuses: {_said(status, text)}", mend)
        if status in (400, 409, 413, 422):
            raise BadInput(f"{self._where} refuses the run: {_said(status, text)}", "see what it says of the run")
        raise CannotRun(f"{self._where} answers {status}", "write the address that `bakeoff serve` prints")

    def _close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None


def _said(status: int, text: bytes) -> str:
    """What the server says of a refusal, for a terminal."""
    try:
        words = str(json.loads(text)["error"])
    except (ValueError, KeyError, TypeError):
        words = f"it answers {status}"
    return "".join(letter if letter.isprintable() else " " for letter in words)[:500]


def send(store: Store, run: str, door: Door, say: Say) -> Sent:
    """Sends a run, or what the server lacks of it. Whole trials go over, so a broken send loses at most one parcel."""
    opening = pack.opening(store, run)
    status, path = opening["run"]["status"], "/ingest/" + quote(run, safe="")
    first = opening["run"] | {"status": "running" if status == "running" else "interrupted"}
    door.ask("PUT", path, pack.text(opening | {"run": first}))  # it is not done there before all has arrived
    there = _there(door, path)
    stored = 0
    for many, parcel in pack.parcels(store, run, there):
        door.ask("POST", f"{path}/trials", parcel)
        stored += many
        say(f"sent {stored} trials")
    door.ask("PUT", path, pack.text(opening))
    return Sent(run, status, stored, len(there))


def _there(door: Door, path: str) -> set[tuple[int, int]]:
    """The trials that the server has and that have ended: position and attempt."""
    found: set[tuple[int, int]] = set()
    after = ""
    while True:
        answer = door.ask("GET", path + after)
        try:
            page = [(int(position), int(attempt)) for position, attempt in answer["trials"]]
        except (KeyError, TypeError, ValueError):
            raise CannotRun("the server's answer cannot be read", "use the same version of bakeoff there") from None
        found.update(page)
        if not page or not answer.get("more"):
            return found
        after = f"?after={page[-1][0]},{page[-1][1]}"
