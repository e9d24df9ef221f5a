"""Bringing a store to the newest schema by Alembic migrations."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Engine, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from bakeoff.errors import BadInput
from bakeoff.store.tables import metadata

HEAD = "0001"
MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade(engine: Engine) -> None:
    """Runs the migrations that the store lacks. Alembic is loaded only if there are any."""
    try:
        with engine.connect() as db:
            tables = set(inspect(db).get_table_names())
            known = "alembic_version" in tables
            current = db.execute(text("SELECT version_num FROM alembic_version")).scalar() if known else None
    except SQLAlchemyError as error:
        raise BadInput(
            f"the store {engine.url!r} cannot be opened: {str(error).splitlines()[0]}",
            "name a store that this lab made, or a database that is reachable and empty",
        ) from None
    if current == HEAD:
        return
    if current is None and tables & set(metadata.tables):
        raise BadInput(f"the store {engine.url!r} has tables of another program", "name a database of its own")
    if current is not None and current > HEAD:
        raise BadInput(f"the store has the newer schema {current}, this lab knows {HEAD}", "use a newer bakeoff")

    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as db:
        config.attributes["connection"] = db
        command.upgrade(config, HEAD)
