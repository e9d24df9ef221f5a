"""Connections to the database of a store, with the settings that each kind needs."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event

from bakeoff.errors import BadInput
from bakeoff.store.url import redacted, shown

PATIENCE_S = 10.0  # how long one writer waits for another


def engine(url: str) -> Engine:
    """The engine for a URL; raises BadInput, without the password, where there can be none."""
    if url.startswith("sqlite:///"):
        Path(url.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    try:
        made = create_engine(url, pool_pre_ping=not url.startswith("sqlite"))
    except Exception as error:  # SQLAlchemy and its drivers raise many kinds here
        problem = f"the store {shown(url)!r} cannot be opened: {redacted(str(error), url)}"
        raise BadInput(problem, "write a URL such as sqlite:///path or postgresql://user@host/name") from None
    if "@" in (made.url.host or ""):
        problem = f"the store {shown(url)!r} cannot be opened: there are two @ in it"
        raise BadInput(problem, "write an @ of a password as %40")
    if made.dialect.name == "sqlite":
        event.listen(made, "connect", _sqlite_settings)
    return made


def protect(engine: Engine) -> None:
    """Makes every further connection read-only."""
    engine.dispose()
    event.listen(engine, "connect", _read_only)


def _sqlite_settings(connection: Any, _record: Any) -> None:
    connection.execute(f"PRAGMA busy_timeout={PATIENCE_S * 1000:.0f}")
    # WAL: a kill at any instant loses at most the open transaction, and readers never wait for the writer.
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:  # SQLite does not wait where two make a new file's WAL at once
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")


def _read_only(connection: Any, _record: Any) -> None:
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA query_only=ON")
    else:
        connection.read_only = True  # psycopg
