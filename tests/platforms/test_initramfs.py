"""Archives for Linux guests: what cpio reads out of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bakeoff.platforms import initramfs


def test_an_archive_has_folders_before_what_is_in_them() -> None:
    packed = initramfs.archive({"/a/b/c": b"12345", "/init": b"#!"}, ("/dev",))
    names = [name for name, _, _ in entries(packed)]
    assert names == ["a", "a/b", "dev", "a/b/c", "init", "TRAILER!!!"]
    assert {name: data for name, _, data in entries(packed)}["a/b/c"] == b"12345"


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    assert initramfs.archive({"/x": tmp_path / "x", "/y": b"y"}) == initramfs.archive({"/y": b"y", "/x": b"x"})


@pytest.mark.real
def test_cpio_unpacks_it(tmp_path: Path) -> None:
    if shutil.which("cpio") is None:
        pytest.skip("there is no cpio")
    packed = initramfs.archive({"/bin/say": b"#!/bin/sh\necho hello\n"}, ("/tmp",))
    subprocess.run(["cpio", "-idm", "--quiet"], input=packed, cwd=tmp_path, check=True)
    assert (tmp_path / "tmp").is_dir()
    assert subprocess.run([tmp_path / "bin/say"], capture_output=True, check=True).stdout == b"hello\n"


def entries(packed: bytes) -> list[tuple[str, int, bytes]]:
    """Name, mode and data of each entry, read by the format's rules."""
    found, at = [], 0
    while at < len(packed):
        assert packed[at : at + 6] == b"070701" and at % 4 == 0
        field = [int(packed[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        name = packed[at + 110 : at + 109 + field[11]].decode()
        data = at + 110 + field[11] + -(110 + field[11]) % 4
        found.append((name, field[1], packed[data : data + field[6]]))
        at = data + field[6] + -field[6] % 4
    return found
