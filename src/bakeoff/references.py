"""References: the figures that a paper has published, as rows of a CSV file."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from bakeoff.errors import BadInput

MARKS = ("++", "+", "o", "-", "--")  # of rows with the metric `assessment`
COLUMNS = ["target", "factors", "metric", "unit", "value", "source"]


def read(file: Path) -> list[dict[str, str]]:
    """The rows of a reference file. Raises BadInput naming the line that is wrong."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            missing = [column for column in COLUMNS if column not in (reader.fieldnames or [])]
            if missing:
                raise BadInput(
                    f"the column {missing[0]!r} is missing",
                    f"begin the file with the line {','.join(COLUMNS)}",
                    file=file,
                    line=1,
                )
            rows = []
            for line, row in enumerate(reader, start=2):
                try:
                    finite = all(math.isfinite(float(part)) for part in row["value"].split("..", maxsplit=1))
                except (TypeError, ValueError):
                    finite = row["metric"] == "assessment" and row["value"] in MARKS
                if not finite:
                    raise BadInput(
                        f"{row['value']!r} is no number",
                        "write the published figure",
                        file=file,
                        line=line,
                        key="value",
                    )
                rows.append(row)
            return rows
    except (UnicodeError, csv.Error) as error:
        raise BadInput(f"it is no CSV file: {error}", "save it as CSV in UTF-8", file=file) from None
    except OSError as error:
        raise BadInput(f"it cannot be read: {error.strerror}", "check the name in `references:`", file=file) from None
