"""What a killed lab leaves: folders that carry their owner in their names, so that the next lab can remove them."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from bakeoff import cache, host

_OWNED = re.compile(r"^bakeoff-(\d+)-(\d+)-")


def owned(purpose: str) -> str:
    """The beginning of a folder's name: whose it is (process id and start time), and what for."""
    pid = os.getpid()
    return f"bakeoff-{pid}-{host.process_started(pid) or 0:.0f}-{purpose}-"


def sweep(*places: Path) -> list[str]:
    """Removes folders whose owner no longer lives, in /tmp, the cache and these places; returns their names."""
    removed = []
    for place in {Path("/tmp"), Path(tempfile.gettempdir()), cache.root() / "builds", cache.root() / "made", *places}:
        for folder in place.glob("bakeoff-*") if place.is_dir() else ():
            match = _OWNED.match(folder.name)
            if match and host.process_started(int(match[1])) != float(match[2]):
                shutil.rmtree(folder, ignore_errors=True)
                removed.append(str(folder))
    return removed
