"""A program: the rows of a query on a SQLite file as an Arrow file. `bakeoff.analysis.reading` runs it, and says why.

python -m bakeoff.analysis.arrowfile DATABASE FILE KIND,… QUERY
"""

from __future__ import annotations

import sys

import adbc_driver_sqlite
import polars as pl
from adbc_driver_manager import AdbcConnection, AdbcStatement

PIECE = "8192"  # rows fetched at once; more of them do not fit the cache
KINDS = {"Int32": pl.Int32, "Float64": pl.Float64, "String": pl.String, "Categorical": pl.Categorical}


def write(database: str, file: str, kinds: str, query: str) -> None:
    """Writes the rows, each column cast to its kind and named by its number."""
    uri = "file:" + database.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?mode=rw"
    with (
        adbc_driver_sqlite.connect(uri) as opened,
        AdbcConnection(opened) as connection,
        AdbcStatement(connection) as statement,
    ):
        statement.set_options(**{"adbc.sqlite.query.batch_rows": PIECE})
        statement.set_sql_query(query)
        stream, _ = statement.execute_query()
        columns = pl.DataFrame(stream).get_columns()
    done = []
    for number, kind in enumerate(kinds.split(",")):  # one after another, so that no two whole frames are held
        done.append(columns.pop(0).cast(KINDS[kind]()).alias(str(number)))
    pl.DataFrame(done).write_ipc(file)


if __name__ == "__main__":
    write(*sys.argv[1:])
