"""OCI images made from scratch: the same files give the same digest on every machine.

The format is that of the OCI image specification 1.0: a folder with `oci-layout`, `index.json`, and blobs named by
their digests.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import struct
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Image:
    """An image: the digest of its manifest, and its size in bytes (layer, configuration and manifest)."""

    digest: str
    size: int


def write(folder: Path, files: Mapping[str, Path], annotations: Mapping[str, str] | None = None) -> Image:
    """Writes an image of one uncompressed layer with these files, by their paths in the image, as an OCI layout."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    layer = _blob(blobs, _layer(files))
    described = {
        "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin"], "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
    }
    config = _blob(blobs, _json(described))
    manifest_body: dict[str, Any] = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **config},
        "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", **layer}],
    }
    if annotations:
        manifest_body["annotations"] = dict(annotations)
    manifest = _blob(blobs, _json(manifest_body))
    index = {"schemaVersion": 2, "manifests": [{"mediaType": manifest_body["mediaType"], **manifest}]}
    (folder / "index.json").write_bytes(_json(index))
    (folder / "oci-layout").write_bytes(_json({"imageLayoutVersion": "1.0.0"}))
    return Image(manifest["digest"], layer["size"] + config["size"] + manifest["size"])


def closure(program: Path) -> dict[str, Path]:
    """A program with its loader and shared libraries, by the paths where it looks for them."""
    interpreter = _interpreter(program.read_bytes())
    files = {str(program): program}
    if interpreter is None:
        return files  # linked statically
    files[os.path.normpath(interpreter)] = Path(interpreter)
    for line in _said([interpreter, "--list", str(program)]).splitlines():
        path = line.partition("=>")[2].strip().split(" ")[0]
        if path.startswith("/"):
            files[os.path.normpath(path)] = Path(path)
    return files


def _layer(files: Mapping[str, Path]) -> bytes:
    """A tar archive in a fixed order, owned by root, without times."""
    folders = {str(parent) for path in files for parent in PurePosixPath(path).parents} - {"/"}
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder in sorted({*folders, "/tmp"}):
            entry = tarfile.TarInfo(folder.lstrip("/"))
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "/tmp" else 0o755
            archive.addfile(entry)
        for path, source in sorted(files.items()):
            data = source.read_bytes()
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size, entry.mode = len(data), 0o755
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def _blob(folder: Path, data: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    (folder / digest).write_bytes(data)
    return {"digest": f"sha256:{digest}", "size": len(data)}


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _interpreter(program: bytes) -> str | None:
    """The loader that a 64-bit program names in its header of type PT_INTERP (3); None if there is none."""
    if program[:5] != b"\x7fELF\x02":
        return None
    table, size, count = (*struct.unpack_from("<Q", program, 32), *struct.unpack_from("<HH", program, 54))
    for at in range(table, table + size * count, size):
        kind, offset, length = (
            struct.unpack_from("<I", program, at)[0],
            struct.unpack_from("<Q", program, at + 8)[0],
            struct.unpack_from("<Q", program, at + 32)[0],
        )
        if kind == 3:
            return program[offset : offset + length].rstrip(b"\0").decode()
    return None


def _said(words: list[str]) -> str:
    """What a command prints; nothing if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""
