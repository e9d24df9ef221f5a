"""The cache of tools and builds: a folder that many labs share, with a lock a name."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def root() -> Path:
    """`$BAKEOFF_CACHE`, else `bakeoff` in the user's cache folder."""
    if given := os.environ.get("BAKEOFF_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bakeoff"


@contextmanager
def lock(name: str) -> Iterator[None]:
    """Holds the lock of a name; it goes with the process, also after a crash."""
    folder = root() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
