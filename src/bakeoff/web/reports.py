"""Reports for the browser, made when they are first asked for and kept until the run changes."""

from __future__ import annotations

import threading
from collections import OrderedDict

from bakeoff import analysis
from bakeoff.store import Store

KEPT = 8


class Reports:
    """The newest reports. One is made at a time: it takes a CPU for seconds, and a measurement may be going on."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[object, ...], str] = OrderedDict()

    def html(self, run: str) -> str:
        """The page that `bakeoff report` writes. Raises BadInput if there is no such run."""
        from bakeoff.report import page

        with self._lock:
            row = self._store.run(run)
            key = (row["id"], row["status"], row["ended_at"], *sorted(self._store.counts(row["id"]).items()))
            if key not in self._kept:
                data = analysis.load(self._store, row["id"])
                self._kept[key] = page.html([(analysis.analyse(data), data)])
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return self._kept[key]
