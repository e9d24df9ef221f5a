"""The application: plain ASGI, without a framework."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

HELLO = b"Hello, world!"
MAX_SLEEP = 60_000
MAX_FIBONACCI = 50

Send = Callable[[Mapping[str, Any]], Awaitable[None]]


async def app(scope: Mapping[str, Any], _receive: Callable[[], Awaitable[Any]], send: Send) -> None:
    if scope["method"] != "GET":
        await answer(send, 405, allow=True)
        return
    match scope["path"].split("/"):
        case ["", "hello"]:
            await answer(send, 200, HELLO)
        case ["", "sleep", text] if text:
            if (milliseconds := number(text, MAX_SLEEP)) is None:
                await answer(send, 400)
            else:
                await asyncio.sleep(milliseconds / 1000)
                await answer(send, 200)
        case ["", "fibonacci", text] if text:
            if (i := number(text, MAX_FIBONACCI)) is None:
                await answer(send, 400)
            else:
                await answer(send, 200, str(fibonacci(i)).encode())
        case _:
            await answer(send, 404)


async def answer(send: Send, status: int, body: bytes = b"", allow: bool = False) -> None:
    headers = [(b"content-length", str(len(body)).encode())]
    if body:
        headers.append((b"content-type", b"text/plain; charset=utf-8"))
    if allow:
        headers.append((b"allow", b"GET"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def number(text: str, largest: int) -> int | None:
    """Digits only, and not above the largest."""
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        return None
    value = int(text)
    return value if value <= largest else None


def fibonacci(i: int) -> int:
    """By plain recursion: this is the work to be done. It holds up the event loop."""
    return i if i < 2 else fibonacci(i - 1) + fibonacci(i - 2)
