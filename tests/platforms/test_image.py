"""Images are made of nothing but files, and are the same wherever they are made."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from bakeoff.platforms import image


def test_an_image_is_the_same_every_time(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"program")
    shutil.copy(tmp_path / "one", tmp_path / "two")
    (tmp_path / "two").chmod(0o600)
    first = image.write(tmp_path / "a", {"/bin/program": tmp_path / "one", "/x": tmp_path / "one"})
    second = image.write(tmp_path / "b", {"/x": tmp_path / "two", "/bin/program": tmp_path / "two"})
    assert first == second
    (tmp_path / "two").write_bytes(b"another")
    assert image.write(tmp_path / "c", {"/bin/program": tmp_path / "two", "/x": tmp_path / "two"}) != first


def test_an_image_holds_its_files_and_names_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"program")
    made = image.write(tmp_path / "image", {"/bin/program": tmp_path / "one"})
    blobs = tmp_path / "image" / "blobs" / "sha256"
    for blob in blobs.iterdir():
        assert hashlib.sha256(blob.read_bytes()).hexdigest() == blob.name
    assert made.size == sum(blob.stat().st_size for blob in blobs.iterdir())
    manifest = json.loads((blobs / made.digest.removeprefix("sha256:")).read_text())
    layer = blobs / manifest["layers"][0]["digest"].removeprefix("sha256:")
    with tarfile.open(layer) as archive:
        entries = {entry.name: entry for entry in archive.getmembers()}
    assert set(entries) == {"bin", "bin/program", "tmp"}
    assert {(entry.uid, entry.gid, entry.mtime) for entry in entries.values()} == {(0, 0, 0)}
    assert (entries["bin/program"].size, entries["bin/program"].mode) == (7, 0o755)


@pytest.mark.real
def test_a_program_comes_with_its_libraries() -> None:
    found = image.closure(Path("/bin/sh").resolve())
    names = [Path(path).name for path in found]
    assert any(name.startswith("ld-linux") for name in names) and any(name.startswith("libc.so") for name in names)
    assert all(file.is_file() for file in found.values())


def test_a_text_needs_no_library(tmp_path: Path) -> None:
    (tmp_path / "module.wasm").write_bytes(b"\0asm\1\0\0\0")
    assert image.closure(tmp_path / "module.wasm") == {str(tmp_path / "module.wasm"): tmp_path / "module.wasm"}
