"""The toolbox: third-party parts, pinned, fetched by their registries' own clients into a folder of their own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field, PrivateAttr, model_validator

from bakeoff import cache
from bakeoff.names import Name
from bakeoff.quantities import Seconds, problem
from bakeoff.runtime import Runtime
from bakeoff.sources import feed
from bakeoff.system import Command, Version
from bakeoff.yamlfile import Strict

LINES, LONGEST_LINE = 10, 300  # of what a failed client said


class Origin(Strict):
    """Where a part comes from: a package of a registry at one version. `host` means that the machine must have it,
    `lab` that it is built from this lab's own folder `package`, `debs` that Debian's packages are unpacked into the
    part's own folder, with all that they depend on, `crate` that a crate's sources are copied into its `source`."""

    registry: Literal["host", "lab", "pypi", "npm", "cargo", "crate", "go", "debian", "debs", "rustup"]
    package: str | None = None
    version: str | None = None
    suite: str | None = Field(None, description="the suite of Debian that `debs` are of, such as bookworm")
    extra: list[str] = Field(
        [], description="further words for the registry's client, such as cargo features, or further packages"
    )
    sources: list[str] = Field(
        [], description="folders of this lab that the part is built from; the cache knows their content"
    )

    @model_validator(mode="after")
    def _pinned(self) -> Origin:
        if self.registry != "host" and self.package is None:
            raise problem(f"a part from {self.registry} needs its package", "add `package:`", "package")
        if self.registry in ("pypi", "npm", "cargo", "crate", "go", "debs") and self.version is None:
            raise problem("a part is pinned", "add `version:`, one exact version", "version")
        if self.registry == "lab" and not self.sources:
            raise problem("a part of the lab has sources", "add `sources:`", "sources")
        if (self.registry == "debs") != bool(self.suite):
            raise problem("a part of `debs`, and no other, has a suite", "add or remove `suite:`", "suite")
        return self


class Tool(Strict):
    """One part: what it is, how its version is known, where it comes from."""

    title: str
    about: str = ""
    needs: list[Name] = Field([], description="other entries of the toolbox, such as the language of its client")
    origin: Origin
    host: bool = Field(
        False, description="a program already on this machine is used if its version is at least `least`"
    )
    least: str | None = Field(None, description="lowest version that will do")
    version: Version
    programs: list[str] = Field([], description="folders with its programs (or patterns), in where it is installed")
    finish: list[Command] = Field(
        [],
        description="commands that finish the installation, in its folder {folder}; {recipe} is the first of `sources`",
    )
    platforms: dict[Name, Runtime] = Field({}, description="how it runs systems, where it is a runtime")
    mend: str | None = Field(None, description="what a person can do if it cannot be had")
    timeout: Seconds = 1800.0

    _root: Path = PrivateAttr(Path())

    def within(self, root: Path) -> Tool:
        """The tool of this lab: folders in `package` and `sources` are its."""
        copy = self.model_copy()
        copy._root = root
        return copy

    def sources(self) -> list[Path]:
        """The folders of the lab that it is built from."""
        return [self._root / source for source in self.origin.sources]

    def package(self) -> str:
        """The registry's name of the package, or the folder of a part of the lab."""
        name = self.origin.package or ""
        return str(self._root / name) if self.origin.registry == "lab" else name


@dataclass(frozen=True)
class ToolState:
    """A tool as it is on this machine: its version and folders of programs, or the reason why it is not there."""

    name: str
    version: str | None = None
    reason: str | None = None
    paths: list[str] = field(default_factory=list)
    origin: str = ""

    @property
    def available(self) -> bool:
        """Whether the tool can be used."""
        return self.reason is None


def state(name: str, load: Callable[[str], Tool], install: bool) -> ToolState:
    """The tool's state; with `install` it is fetched first where it is missing."""
    tool = load(name)
    paths: list[str] = []
    for need in tool.needs:
        below = state(need, load, install)
        if not below.available:
            return ToolState(name, reason=f"{tool.title} needs {need}: {below.reason}")
        paths += below.paths
    if tool.host or tool.origin.registry in ("host", "debian", "rustup"):
        version = read_version(tool.version, paths)
        if version and at_least(version, tool.least) and _rustup_has(tool.origin):
            return ToolState(name, version, paths=paths, origin="host")
        if tool.origin.registry == "host":
            found = f"version {version} is too old, {tool.least} is needed" if version else "it is not on this machine"
            return ToolState(name, reason=f"{tool.title}: {found}; {tool.mend or 'install it'}")
    folder = cache.root() / "tools" / f"{name}-{_key(tool)}"
    if not (folder / "receipt.json").exists():
        if not install:
            return ToolState(name, reason=f"{tool.title} is not installed yet; `bakeoff setup` installs it")
        if reason := _install(tool, folder, paths):
            return ToolState(name, reason=f"{tool.title} could not be installed: {reason}")
    own = _folders(folder, tool.programs) + paths
    version = read_version(tool.version, own)
    if version is None:
        return ToolState(
            name,
            reason=f"{tool.title} is installed but does not say its version ({' '.join(tool.version.command)})",
        )
    return ToolState(name, version, paths=own, origin=tool.origin.registry)


def _folders(folder: Path, patterns: list[str]) -> list[str]:
    """The folders of programs; a pattern stands for those that are there."""
    return [str(found) for pattern in patterns for found in sorted(folder.glob(pattern)) or [folder / pattern]]


def environment(paths: list[str]) -> dict[str, str]:
    """The environment in which the tools of these folders are found first."""
    return {"PATH": os.pathsep.join([*paths, os.environ.get("PATH", os.defpath)])}


def read_version(version: Version, paths: list[str], substitute: Callable[[str], str] = str) -> str | None:
    """What the version command says, or None if it does not run or says none."""
    env = os.environ | environment(paths)
    words = [substitute(word) for word in version.command]
    executable = shutil.which(words[0], path=env["PATH"])
    if executable is None:
        return None
    try:
        done = subprocess.run(
            [executable, *words[1:]], capture_output=True, text=True, env=env, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(version.pattern, done.stdout + done.stderr)
    return match[1] if match else None


def at_least(version: str, least: str | None) -> bool:
    """Compares versions number by number."""

    def numbers(text: str) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", text)]

    return least is None or numbers(version) >= numbers(least)


def _rustup_has(origin: Origin) -> bool:
    if origin.registry != "rustup":
        return True
    if shutil.which("rustup") is None:
        return False
    done = subprocess.run(["rustup", "target", "list", "--installed"], capture_output=True, text=True, check=False)
    return (origin.package or "") in done.stdout.split()


def _key(tool: Tool) -> str:
    digest = hashlib.sha256(tool.origin.model_dump_json(exclude_defaults=True).encode())
    digest.update(json.dumps(tool.finish).encode() if tool.finish else b"")
    if folders := tool.sources():
        feed(digest, folders, folders[0].parent)
    return digest.hexdigest()[:12]


def _install(tool: Tool, folder: Path, paths: list[str]) -> str | None:
    """Installs a tool; returns the reason if it failed."""
    with cache.lock(folder.name):
        if (folder / "receipt.json").exists():
            return None
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        began = time.monotonic()
        places = {"{folder}": str(folder), "{recipe}": str(next(iter(tool.sources()), ""))}
        finish = [[_filled(word, places) for word in command] for command in tool.finish]
        for words in [*_client(tool, folder), *finish]:
            if problem := _client_failed(words, tool, folder, paths):
                return problem
        receipt = {"origin": tool.origin.model_dump(), "seconds": time.monotonic() - began}
        (folder / "receipt.json").write_text(json.dumps(receipt))
    return None


def _client_failed(words: list[str], tool: Tool, folder: Path, paths: list[str]) -> str | None:
    """Runs one command of a registry's client; returns what it said if it failed; the cache keeps its log."""
    own = {"GOBIN": str(folder / "bin"), "DEBIAN_FRONTEND": "noninteractive"}
    log = cache.root() / "logs" / f"{folder.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        try:
            done = subprocess.run(
                words,
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=os.environ | environment(paths) | own | _targets(tool.origin),
                timeout=tool.timeout,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except FileNotFoundError:
            return f"the program {words[0]} is missing"
        except subprocess.TimeoutExpired:
            return f"`{' '.join(words)}` took longer than {tool.timeout:.0f} s{_tail(log)}"
    return f"`{' '.join(words)}` ended with {done.returncode}{_tail(log)}" if done.returncode else None


def _tail(log: Path) -> str:
    """The last lines of a log behind a colon, and where the whole of it is."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    said = " | ".join(line[:LONGEST_LINE] for line in lines[-LINES:]) or "it said nothing"
    return f": {said} (all of it: {log})"


def _targets(origin: Origin) -> dict[str, str]:
    """Where cargo builds a part of the lab: outside the lab, and kept, so that a change to it costs little."""
    if origin.registry != "lab":
        return {}
    return {"CARGO_TARGET_DIR": str(cache.root() / "targets" / Path(origin.package or "").name)}


def _filled(word: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        word = word.replace(name, place)
    return word


def _client(tool: Tool, folder: Path) -> list[list[str]]:
    """The commands by which the registry's own client installs the package into a folder."""
    origin, package, version = tool.origin, tool.package(), tool.origin.version or ""
    match origin.registry:
        case "pypi":
            python = str(folder / "bin" / "python")
            pip = [python, "-m", "pip", "install", "--quiet", f"{package}=={version}", *origin.extra]
            return [[sys.executable, "-m", "venv", str(folder)], pip]
        case "lab":
            return [["cargo", "install", "--locked", "--root", str(folder), "--path", package, *origin.extra]]
        case "npm":
            packages = [f"{package}@{version}", *origin.extra]
            return [["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *packages]]
        case "cargo":
            return [["cargo", "install", "--locked", "--root", str(folder), f"{package}@{version}", *origin.extra]]
        case "crate":
            return [[sys.executable, "-m", "bakeoff.crates", str(folder), package, version]]
        case "go":
            return [["go", "install", *origin.extra, f"{package}@{version}"]]
        case "debian":
            pinned = f"{package}={version}" if version else package
            return [
                ["apt-get", "update", "-qq"],
                ["apt-get", "install", "-y", "-qq", "--no-install-recommends", pinned],
            ]
        case "debs":
            packages = [f"{package}={version}", *origin.extra]
            return [[sys.executable, "-m", "bakeoff.debs", str(folder), origin.suite or "", *packages]]
        case "rustup":
            return [["rustup", "target", "add", package]]
        case _:
            return []
