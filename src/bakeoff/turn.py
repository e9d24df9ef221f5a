"""One lab at a time measures on a machine: a lock in a well-known place, held for the time of the trials."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from bakeoff.errors import CannotRun

PLACE = "/tmp/.bakeoff-measuring"  # the same for all users of the machine


def place() -> Path:
    """The lock's file: `BAKEOFF_LOCK`, else one for the whole machine."""
    return Path(os.environ.get("BAKEOFF_LOCK") or PLACE)


@contextmanager
def measuring(what: str, *, wait: bool, waiting: Callable[[str], None]) -> Iterator[None]:
    """Holds the lock for the block; it goes with the process, also after a crash.

    Another lab that holds it is waited for, and `waiting` is told which one. Raises CannotRun if it is not to be waited
    for, or the file cannot be opened.
    """
    handle = _open(place())
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(handle)
            if not wait:
                mend = "wait for its end, or leave out --no-wait and this run waits by itself"
                raise CannotRun(f"another lab measures on this machine: {holder}", mend) from None
            waiting(holder)
            fcntl.flock(handle, fcntl.LOCK_EX)
        _sign(handle, what)
        yield
    finally:
        os.close(handle)


def _open(path: Path) -> int:
    """The file, made for all users if it is not there yet."""
    with suppress(FileNotFoundError):
        return _opened(path, os.O_RDWR)
    # Linux refuses to create what another user has made in /tmp meanwhile; then it is there to be opened.
    with suppress(PermissionError):
        handle = _opened(path, os.O_RDWR | os.O_CREAT)
        with suppress(PermissionError):
            os.fchmod(handle, 0o666)
        return handle
    return _opened(path, os.O_RDWR)


def _opened(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except (FileNotFoundError, PermissionError):
        if flags & os.O_CREAT or not path.exists():
            raise
        problem = f"the lock of this machine's labs, {path}, cannot be opened"
        raise CannotRun(problem, "make it writable for all, or name another file by BAKEOFF_LOCK") from None


def _sign(handle: int, what: str) -> None:
    text = json.dumps({"pid": os.getpid(), "since": time.time(), "what": what})
    os.ftruncate(handle, 0)
    os.pwrite(handle, text.encode(), 0)


def _holder(handle: int) -> str:
    """Who has signed last, as text."""
    try:
        said = json.loads(os.pread(handle, 4096, 0))
        since = datetime.fromtimestamp(float(said["since"])).astimezone()
        return f"{said['what']} (process {said['pid']}, since {since:%H:%M:%S})"
    except (ValueError, KeyError, TypeError):  # it has the lock and has not signed yet
        return "one that has just begun"
