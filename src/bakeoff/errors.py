"""The errors a user can cause or meet, and the exit codes they end in."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path


class Exit(IntEnum):
    """Exit codes of `bakeoff`."""

    DONE = 0
    SOME_TRIALS_FAILED = 1
    CHECK_FAILED = 1  # of `bakeoff check`
    BAD_INPUT = 2
    CANNOT_RUN = 3
    INTERRUPTED = 130


class BakeoffError(Exception):
    """An error that is told to the user in one message, without a traceback."""

    exit = Exit.CANNOT_RUN


class BadInput(BakeoffError):
    """A file or an argument is wrong: where, what, and how to mend it."""

    exit = Exit.BAD_INPUT

    def __init__(
        self,
        problem: str,
        mend: str,
        *,
        file: Path | str | None = None,
        line: int | None = None,
        key: str | None = None,
    ) -> None:
        self.problem, self.mend, self.file, self.line, self.key = problem, mend, file, line, key
        where = "" if file is None else f"{file}:{line}: " if line else f"{file}: "
        what = f"{key}: " if key else ""
        super().__init__(f"{where}{what}{problem}. Mend: {mend}")


class CannotRun(BakeoffError):
    """This machine lacks what the order needs: what, and how to mend it."""

    exit = Exit.CANNOT_RUN

    def __init__(self, problem: str, mend: str) -> None:
        self.problem, self.mend = problem, mend
        super().__init__(f"{problem}. Mend: {mend}")


def choose(wrong: str, known: Iterable[str], command: str) -> str:
    """The mend for an unknown name: the nearest known one, or the command that names them all."""
    close = difflib.get_close_matches(wrong, list(known), 1)
    return f"did you mean {close[0]!r}?" if close else f"choose one that `{command}` names"
