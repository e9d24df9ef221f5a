"""The token that lets other machines send runs."""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path

from bakeoff.errors import BadInput

VARIABLE = "BAKEOFF_TOKEN"
LEAST = 16  # letters


class Token:
    """A secret word. Only its digest is kept, so that nothing can print it."""

    def __init__(self, word: str) -> None:
        self._digest = _digest(word)

    def is_of(self, header: str | None) -> bool:
        """Whether an Authorization header carries this token; the time taken does not tell how much was right."""
        kind, _, word = (header or "").partition(" ")
        return hmac.compare_digest(self._digest, _digest(word.strip())) and kind.lower() == "bearer"


def _digest(word: str) -> bytes:
    return hashlib.sha256(word.encode("utf-8", "surrogateescape")).digest()


def read(file: Path | None) -> str | None:
    """The token of a file, else of the environment variable BAKEOFF_TOKEN; None if there is neither."""
    word = os.environ.get(VARIABLE) if file is None else _text(file)
    if word is None:
        return None
    word = word.strip()
    where = file or VARIABLE
    if len(word) < LEAST or not word.isascii() or not word.isprintable() or " " in word:
        raise BadInput(
            f"a token is one word of at least {LEAST} letters, digits and signs",
            "make one with `openssl rand -hex 32`",
            file=where,
        )
    return word


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadInput(f"the token cannot be read: {why}", "name a file that holds the token", file=file) from None
