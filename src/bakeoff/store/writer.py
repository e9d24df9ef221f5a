"""One transaction that writes numbers, and the ids of the metrics that they belong to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Engine, select
from sqlalchemy.dialects import postgresql, sqlite

from bakeoff.store.tables import metrics

Key = tuple[str, str, str]  # name, unit, canonical labels
INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


@dataclass
class Writer:
    """An open transaction."""

    db: Connection
    _known: dict[Key, int]  # of committed transactions; an id that was rolled back may come again for another metric
    _fresh: dict[Key, int] = field(default_factory=dict)

    def metric(self, name: str, unit: str, labels: str) -> int:
        """The id of a metric, which is made if the store lacks it; another process may make it at the same time."""
        key = (name, unit, labels)
        found = self._known.get(key) or self._fresh.get(key)
        if found is None:
            where = (metrics.c.name == name) & (metrics.c.unit == unit) & (metrics.c.labels == labels)
            query = select(metrics.c.id).where(where)
            found = self.db.execute(query).scalar()
            if found is None:
                row = {"name": name, "unit": unit, "labels": labels}
                self.db.execute(INSERT[self.db.dialect.name](metrics).values(row).on_conflict_do_nothing())
                found = self.db.execute(query).scalar_one()
            self._fresh[key] = found
        return found


@contextmanager
def writing(engine: Engine, known: dict[Key, int]) -> Iterator[Writer]:
    """A transaction; `known` learns the ids that it used once it is committed."""
    with engine.begin() as db:
        writer = Writer(db, known)
        yield writer
    known.update(writer._fresh)
