"""Interrupts: SIGINT, SIGTERM and SIGHUP all mean the same, and wait while something must be finished."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_waiting = False
_held = 0


def install() -> None:
    """Makes each of the signals raise KeyboardInterrupt in the main thread."""
    for number in SIGNALS:
        signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: Any) -> None:
    global _waiting  # noqa: PLW0603 - a process has one set of signals
    if _held:
        _waiting = True
        return
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
            raise KeyboardInterrupt
