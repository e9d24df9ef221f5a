"""Reports and comparisons for the browser: our own commands make them when they are first asked for.

They are kept until a run of theirs changes.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from bakeoff.errors import Exit
from bakeoff.store import Store

KEPT = 8
NICENESS = 10
Key = tuple[object, ...]


class Reports:
    """The reports of a store.

    One is made at a time, by a process of its own with low priority: it takes a CPU for seconds, while others follow
    a run here and a measurement may be going on.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = asyncio.Lock()
        self._kept: OrderedDict[Key, str] = OrderedDict()
        self._process: asyncio.subprocess.Process | None = None

    async def report(self, run: str) -> str:
        """The page that `bakeoff report` writes of a run, by its whole id."""
        return await self._page("report", run)

    async def comparison(self, old: str, new: str) -> str:
        """The page that `bakeoff compare` writes of two runs, by their whole ids."""
        return await self._page("compare", old, new)

    async def _page(self, command: str, *names: str) -> str:
        async with self._lock:
            key = (command, *[await run_in_threadpool(self._state, run) for run in names])
            if key not in self._kept:
                self._kept[key] = await self._make(command, names)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return self._kept[key]

    def close(self) -> None:
        """Ends the process that makes a report, if there is one."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()

    def _state(self, run: str) -> Key:
        """What a page about a run depends on."""
        row = self._store.run(run)
        return (row["id"], row["status"], row["ended_at"], *sorted(self._store.counts(run).items()))

    async def _make(self, command: str, names: tuple[str, ...]) -> str:
        with tempfile.TemporaryDirectory(prefix="served-page-") as folder:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bakeoff", command, "--json", "--out", folder, "--", *names),
                env=os.environ | {"BAKEOFF_STORE": self._store.url},  # not an argument: it may hold a password
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, NICENESS)
            _, said = await self._process.communicate()
            code, self._process = self._process.returncode, None
            if code == 0:
                return (Path(folder) / f"{command}.html").read_text(encoding="utf-8")
        words = said.decode(errors="replace").strip()
        if code == Exit.BAD_INPUT:
            raise HTTPException(422, words)
        print(f"bakeoff serve: bakeoff {command} {' '.join(names)}: {words}", file=sys.stderr)
        raise HTTPException(503, "This page could not be made; the server's log says more.")
