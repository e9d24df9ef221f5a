"""Interrupts: SIGINT, SIGTERM and SIGHUP all mean the same, and wait while something must be finished."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STILL = b"bakeoff: still ending what runs; a system has its grace to stop\n"
_waiting = False
_held = 0
_once = False
_asked = False


def install() -> None:
    """Makes each of the signals raise KeyboardInterrupt in the main thread."""
    global _waiting, _held, _once, _asked
    _waiting, _held, _once, _asked = False, 0, False, False
    for number in SIGNALS:
        signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: Any) -> None:
    global _waiting  # noqa: PLW0603
    if _held:
        _waiting = True
    else:
        _raise()


def _raise() -> None:
    """Raises KeyboardInterrupt; inside `once` only the first time."""
    global _asked  # noqa: PLW0603
    if _once and _asked:
        os.write(2, STILL)
        return
    _asked = True
    raise KeyboardInterrupt


@contextmanager
def held() -> Iterator[None]:
    """Interrupts wait until the end of the block."""
    global _waiting, _held  # noqa: PLW0603
    _held += 1
    try:
        yield
    finally:
        _held -= 1
        if _waiting and not _held:
            _waiting = False
            _raise()


@contextmanager
def once() -> Iterator[None]:
    """In the block the first interrupt is raised and all later ones are not, so that what it ends is ended to the end.

    After an interrupt later ones are ignored until the process ends, which it is about to do. The first is raised again
    at the end of the block if it was lost on the way.
    """
    global _once, _asked  # noqa: PLW0603
    _once, _asked = True, False
    try:
        yield
        if _asked:
            raise KeyboardInterrupt
    finally:
        _once = _asked


def asked() -> bool:
    """Whether there was an interrupt since `once` began."""
    return _once and _asked
