"""Bringing a part's program onto its platform, with what the platform makes before any start in the cache."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bakeoff import cache
from bakeoff.errors import CannotRun
from bakeoff.leftovers import owned
from bakeoff.platforms import Hosting, Made, Platform


def host(platform: Platform, programs: Mapping[str, str], paths: list[str], build: bool) -> Hosting:
    """The part's program on its platform. Raises CannotRun if what the platform makes cannot be made."""
    kind = next((kind for kind in platform.kinds if kind in programs), None)
    if kind is None or type(platform).make is Platform.make:
        return Hosting(platform, kind or platform.kinds[0])
    artefact = Path(programs[kind])
    if not artefact.is_file():
        raise CannotRun(f"{artefact} is no file, so nothing can be made of it", "name a built artefact in {out}")
    folder = cache.root() / "made" / f"{platform.name}-{_key(platform, kind, artefact, paths)}"
    receipt = folder / "receipt.json"
    if not receipt.exists():
        if not build:
            raise CannotRun("it is not made yet", "`bakeoff setup` makes it")
        with cache.lock(folder.name):
            if not receipt.exists():
                _make(platform, kind, artefact, folder, paths)
    said = json.loads(receipt.read_text())
    return Hosting(platform, kind, Made(folder, said["size"], said["facts"]) if said else None)


def facts(hosting: Hosting) -> dict[str, dict[str, str]]:
    """What a report says of the platform of a system that may stand on several."""
    platform = hosting.platform
    said = {"name": platform.name, "title": platform.title, "kind": hosting.kind}
    return {"platform": said | {"state": platform.state, "starts": platform.starts}}


def _make(platform: Platform, kind: str, artefact: Path, folder: Path, paths: list[str]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=owned("made"), dir=folder.parent))
    try:
        made = platform.make(kind, artefact, fresh, paths)
        said = None if made is None else {"size": made.size, "facts": dict(made.facts)}
        (fresh / "receipt.json").write_text(json.dumps(said))
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _key(platform: Platform, kind: str, artefact: Path, paths: list[str]) -> str:
    """What is made depends on the artefact, the platform and its tools, whose folders carry their keys."""
    digest = hashlib.sha256(f"{platform.name}\n{platform.recipe}\n{kind}\n{artefact.name}\n".encode())
    digest.update("\n".join(paths).encode())
    digest.update(artefact.read_bytes())
    return digest.hexdigest()[:16]
