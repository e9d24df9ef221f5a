"""Archives that Linux unpacks as its first file system: cpio in the format `newc`.

The format is that of the kernel's documentation, "initramfs buffer format". The same files give the same bytes.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

FOLDER, PROGRAM = stat.S_IFDIR | 0o755, stat.S_IFREG | 0o755


def archive(files: Mapping[str, Path | bytes], folders: tuple[str, ...] = ()) -> bytes:
    """An archive of these files by their paths, all of them executable, with their parents and further folders."""
    parents = {str(parent) for path in files for parent in PurePosixPath(path).parents} | set(folders)
    entries = [(path, FOLDER, b"") for path in sorted(parents - {"/", "."})]
    for path, content in sorted(files.items()):
        entries.append((path, PROGRAM, content.read_bytes() if isinstance(content, Path) else content))
    packed = b"".join(_entry(number, *entry) for number, entry in enumerate(entries, start=1))
    return packed + _entry(0, "TRAILER!!!", 0, b"")


def _entry(number: int, path: str, mode: int, data: bytes) -> bytes:
    name = path.lstrip("/").encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
    return _even(head) + _even(data)


def _even(data: bytes) -> bytes:
    """Filled up to a multiple of four bytes."""
    return data + b"\0" * (-len(data) % 4)
