"""Bringing a store to the newest schema by Alembic migrations."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from bakeoff.errors import BadInput
from bakeoff.store.tables import metadata
from bakeoff.store.url import redacted, shown

HEAD = "0002"
MIGRATIONS = Path(__file__).parent / "migrations"
LOCK = 0x62616B65  # the number of our advisory lock in PostgreSQL: any, as long as it is always the same


def upgrade(engine: Engine, url: str) -> None:
    """Runs the migrations that the store lacks, one process at a time. Alembic is loaded only if there are any."""
    address = shown(url)
    try:
        with engine.connect() as db:
            if _current(db, address) == HEAD:
                return
        with engine.begin() as db:
            # Several first commands may open a new store at once: all but one wait here and find the work done.
            if db.dialect.name == "sqlite":
                db.exec_driver_sql("BEGIN IMMEDIATE")
            elif db.dialect.name == "postgresql":
                db.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
            if _current(db, address) != HEAD:
                _migrate(db)
    except SQLAlchemyError as error:
        said = redacted(str(error), url)
        raise BadInput(
            f"the store {address!r} cannot be opened: {said}",
            "name a store that this lab made, or a database that is reachable and empty",
        ) from None


def _current(db: Connection, address: str) -> str | None:
    """The schema that the store has; None if it is empty. Refuses what is not ours, or too new."""
    tables = set(inspect(db).get_table_names())
    known = "alembic_version" in tables
    current: str | None = db.execute(text("SELECT version_num FROM alembic_version")).scalar() if known else None
    if current is None and tables & set(metadata.tables):
        raise BadInput(f"the store {address!r} has tables of another program", "name a database of its own")
    if current is not None and current > HEAD:
        raise BadInput(f"the store has the newer schema {current}, this lab knows {HEAD}", "use a newer bakeoff")
    return current


def _migrate(db: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = db
    command.upgrade(config, HEAD)
