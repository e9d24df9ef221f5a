"""The sources of a crate, copied into a folder: `python -m bakeoff.crates FOLDER CRATE VERSION`.

Some crates carry a project in C whole, and are the only place among the registries that does. cargo fetches the crate
and checks its digest.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bakeoff.errors import CannotRun

MANIFEST = """\
[package]
name = "sources"
version = "0.0.0"
edition = "2021"
[lib]
path = "lib.rs"
[dependencies]
{crate} = {{ version = "={version}", default-features = false }}
"""


def unpack(folder: Path, crate: str, version: str) -> None:
    """Copies the sources of one version of a crate into FOLDER/source. Raises CannotRun."""
    with tempfile.TemporaryDirectory(prefix="bakeoff-crate-") as project:
        (Path(project) / "Cargo.toml").write_text(MANIFEST.format(crate=crate, version=version))
        (Path(project) / "lib.rs").touch()
        words = ["cargo", "metadata", "--quiet", "--format-version", "1"]
        done = subprocess.run(words, cwd=project, capture_output=True, text=True, check=False)
    if done.returncode:
        said = " ".join(done.stderr.split())
        raise CannotRun(f"cargo does not fetch {crate} {version}: {said}", "see whether there is such a version")
    packages = json.loads(done.stdout)["packages"]
    place = next(package["manifest_path"] for package in packages if package["name"] == crate)
    shutil.copytree(Path(place).parent, folder / "source")


if __name__ == "__main__":
    try:
        unpack(Path(sys.argv[1]), *sys.argv[2:4])
    except CannotRun as error:
        sys.exit(str(error))
