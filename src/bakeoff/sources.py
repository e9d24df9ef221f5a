"""Source files: what counts as source in a folder, and their content for a key of the cache."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

IGNORED = {"target", "node_modules", "__pycache__", ".git", ".gradle"}


def source_files(folder: Path) -> list[Path]:
    """The files that count as source: all but what builds leave behind and the description itself."""
    return sorted(
        file
        for file in folder.rglob("*")
        if file.is_file() and not IGNORED & set(file.relative_to(folder).parts) and file.name != "system.yaml"
    )


def feed(digest: hashlib._Hash, folders: Iterable[Path], base: Path) -> None:
    """Feeds a digest with the names, relative to `base`, and the content of all source files of the folders."""
    for folder in folders:
        for file in source_files(folder):
            digest.update(os.path.relpath(file, base).encode() + b"\0")
            digest.update(hashlib.sha256(file.read_bytes()).digest())
