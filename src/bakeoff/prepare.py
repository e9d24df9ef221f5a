"""Preparing a system: its tools, and its build in a cache keyed by content."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff import cache, hosting, toolbox
from bakeoff.errors import BadInput, CannotRun
from bakeoff.experiment import PLACEHOLDER
from bakeoff.instruments import Watched, execute
from bakeoff.lab import Lab
from bakeoff.leftovers import owned
from bakeoff.names import Scalar
from bakeoff.platforms import Hosting, Platform
from bakeoff.procedure import Limits
from bakeoff.sources import feed, source_files
from bakeoff.system import Build, Command, System
from bakeoff.toolbox import ToolState

CLEAN = {"CARGO_INCREMENTAL": "0", "GOTOOLCHAIN": "local", "CCACHE_DISABLE": "1"}


@dataclass(frozen=True)
class Prepared:
    """A system on this machine: ready with its folders, or unavailable with the reason."""

    name: str
    system: System
    folder: Path
    status: str
    reason: str | None = None
    version: str | None = None
    tools: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    key: str | None = None
    out: Path | None = None
    receipt: dict[str, Any] | None = None
    hostings: dict[str, Hosting] = field(default_factory=dict)

    @property
    def ready(self) -> bool:
        """Whether the system can be run here."""
        return self.status == "ready"

    @property
    def variant(self) -> str | None:
        """The variant's name, if this is one."""
        return self.name.partition(":")[2] or None

    def places(self) -> dict[str, str]:
        """The folders that commands may name in braces."""
        return {"out": str(self.out or self.folder), "source": str(self.folder)}


class BuildFailed(Exception):
    """A build command failed: which, and how."""


def prepare(lab: Lab, name: str, *, install: bool, build: bool = True) -> Prepared:
    """Makes a system ready; whatever hinders it becomes the reason why it is unavailable."""
    base = name.partition(":")[0]
    system, folder = lab.system(name), lab.system_folders[base]
    common: dict[str, Any] = {"name": name, "system": system, "folder": folder}
    variant = name.partition(":")[2] or None
    if absent := system.unavailable or (variant and system.variants[variant].unavailable):
        return Prepared(status="unavailable", reason=" ".join(absent.split()), **common)
    platforms = {part: lab.platform(system.platform_of(part, variant)) for part in system.parts}
    needs = [*system.needs, *(need for each in platforms.values() for need in each.needs)]
    states = [_state(lab, need, install) for need in dict.fromkeys(needs)]
    missing = [state.reason for state in states if state.reason]
    if missing:
        return Prepared(status="unavailable", reason="; ".join(missing), **common)
    common["tools"] = {state.name: state.version or "" for state in states}
    common["paths"] = [path for state in states for path in state.paths]
    lacking = [each.missing(common["paths"]) for each in platforms.values()]
    if any(lacking):
        return Prepared(status="unavailable", reason="; ".join(filter(None, lacking)), **common)
    key = content_key(system, folder, [state for state in states if state.name in system.needs])
    if system.build is None:
        return _hosted(Prepared(status="ready", key=key, **common), platforms, build)
    out = cache.root() / "builds" / f"{base}-{key[:16]}"
    common |= {"key": key, "out": out}
    if not (out / "receipt.json").exists():
        if not build:
            return Prepared(status="unavailable", reason="it is not built yet; `bakeoff setup` builds it", **common)
        try:
            with cache.lock(out.name):
                if not (out / "receipt.json").exists():
                    _build_into_cache(system, folder, common["paths"], out)
        except (BuildFailed, CannotRun) as error:
            return Prepared(status="unavailable", reason=f"it could not be built: {error}", **common)
    receipt = json.loads((out / "receipt.json").read_text())
    return _hosted(Prepared(status="ready", receipt=receipt, **common), platforms, build)


def _hosted(prepared: Prepared, platforms: dict[str, Platform], build: bool) -> Prepared:
    """Makes for each part what its platform makes before any start; the receipt and the key tell of it."""
    hostings: dict[str, Hosting] = {}
    for name, chosen in platforms.items():
        programs = {
            kind: substitute([text], prepared.places())[0]
            for kind, text in prepared.system.parts[name].programs().items()
            if set(PLACEHOLDER.findall(text)) <= set(prepared.places())  # else a trial's parameters choose it
        }
        try:
            hostings[name] = hosting.host(chosen, programs, prepared.paths, build)
        except CannotRun as error:
            reason = f"{chosen.title}: {error}"
            return Prepared(**{**prepared.__dict__, "status": "unavailable", "reason": reason})
    made = {part: each.made for part, each in hostings.items() if each.made is not None}
    changes: dict[str, Any] = {"hostings": hostings}
    if made:
        texts = [prepared.key or "", *(f"{part} {each.folder.name}" for part, each in made.items())]
        changes["key"] = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    if prepared.receipt is not None:
        ships = {part: {"size": each.size, **each.facts} for part, each in made.items()}
        main = prepared.system.main
        size = _shipped(prepared, hostings[main])
        facts = hosting.facts(hostings[main]) if prepared.system.parts[main].artefacts else {}
        changes["receipt"] = prepared.receipt | size | facts | ({"made": ships} if ships else {})
    return _with_version(Prepared(**{**prepared.__dict__, **changes}))


def _shipped(prepared: Prepared, main: Hosting) -> dict[str, int]:
    """What has to be carried to another machine that has the platform, where it is not all that was built."""
    if main.made is not None:
        return {"artefact_size": main.made.size}
    part = prepared.system.parts[prepared.system.main]
    if len(part.artefacts) < 2:
        return {}
    return {"artefact_size": _size(Path(substitute([part.artefacts[main.kind]], prepared.places())[0]))}


def _state(lab: Lab, need: str, install: bool) -> ToolState:
    try:
        return toolbox.state(need, lab.tool, install)
    except BadInput as error:
        return ToolState(need, reason=str(error))


def _with_version(prepared: Prepared) -> Prepared:
    if prepared.system.version is None:
        needs = prepared.hostings[prepared.system.main].platform.needs
        said = [f"{need} {prepared.tools[need]}" for need in needs if prepared.tools.get(need)]
        return Prepared(**{**prepared.__dict__, "version": ", ".join(said) or None})
    version = toolbox.read_version(
        prepared.system.version, prepared.paths, lambda word: substitute([word], prepared.places())[0]
    )
    if version is None:
        command = " ".join(prepared.system.version.command)
        reason = f"`{command}` does not say a version: the system is not here"
        return Prepared(**{**prepared.__dict__, "status": "unavailable", "reason": reason})
    return Prepared(**{**prepared.__dict__, "version": version})


def substitute(words: Command, values: Mapping[str, Scalar]) -> list[str]:
    """A command with its parameters filled in. Raises KeyError for a parameter that has no value."""

    def text(value: Scalar) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    return [PLACEHOLDER.sub(lambda match: text(values[match[1]]), word) for word in words]


def content_key(system: System, folder: Path, tools: list[ToolState]) -> str:
    """What a system's figures depend on: sources, commands, flags, tool versions, machine. A hexadecimal SHA-256."""
    digest = hashlib.sha256()
    described = system.build or system
    plain = {"each"} if system.build and not system.build.each else None
    digest.update(described.model_dump_json(exclude=plain).encode())
    digest.update(json.dumps([[state.name, state.version] for state in tools]).encode())
    digest.update(f"{platform.machine()} {platform.libc_ver()}".encode())
    sources = sorted(system.build.sources if system.build else ["."])
    feed(digest, ((folder / source).resolve() for source in sources), folder)
    return digest.hexdigest()


def _build_into_cache(system: System, folder: Path, paths: list[str], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=owned("new"), dir=out.parent))
    try:
        receipt = build(system, folder, paths, fresh)
        (fresh / "receipt.json").write_text(json.dumps(receipt))
        shutil.rmtree(out, ignore_errors=True)
        fresh.rename(out)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def build(
    system: System, folder: Path, paths: list[str], out: Path, only: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A clean build of a copy of the sources into `out`, compiler caches off; of what is built for `each` of several
    values, only those whose texts are in `only`.

    Returns the receipt: `build_time` (s, the commands' wall time without downloads), `cpu`, `peak_memory`,
    `artefact_size` (bytes), `built_at`. Raises BuildFailed with the failing command's last lines.
    """
    assert system.build is not None
    results: list[dict[str, Any]] = []
    made: list[str] = []
    with tempfile.TemporaryDirectory(prefix=owned("build")) as scratch:
        source = _copy_sources(system, folder, Path(scratch) / "source")
        for index, chosen in enumerate(combinations(system.build, only or {})):
            work = Path(scratch) / f"work{index}"
            work.mkdir()
            values = {**chosen, "out": str(out), "work": str(work), "source": str(source)}
            results += _commands(system.build, values, source, paths, work)
            made += [name for name in substitute(system.build.artefacts, values) if name not in made]
    if not results:
        raise BuildFailed(f"it has no build for {' '.join(f'{key}={level}' for key, level in (only or {}).items())}")
    missing = [name for name in made if not (out / name).exists()]
    if missing:
        raise BuildFailed(f"the build made no {missing[0]!r} in {{out}}")
    return {
        "build_time": sum(result["wall_s"] for result in results),
        "cpu": sum(result["cpu_s"] for result in results),
        "peak_memory": max(result["peak_memory_bytes"] for result in results),
        "artefact_size": sum(_size(out / name) for name in made),
        "built_at": time.time(),
    }


def combinations(described: Build, only: Mapping[str, str]) -> list[dict[str, Scalar]]:
    """The parameters for which a build is repeated: all combinations of levels under `each`, or those of `only`."""
    kept: list[list[dict[str, Scalar]]] = [
        [{name: level, **(values if isinstance(values, dict) else {})} for level, values in levels.items()]
        for name, levels in described.each.items()
    ]
    every = [dict(itertools.chain.from_iterable(one.items() for one in chosen)) for chosen in itertools.product(*kept)]
    return [one for one in every if all(only.get(name, one[name]) == one[name] for name in described.each)]


def _commands(
    described: Build, values: Mapping[str, Scalar], source: Path, paths: list[str], work: Path
) -> list[dict[str, Any]]:
    """Runs the downloads and then the commands of one build; returns what the instrument says of the latter.

    Downloads may use the user's caches, compilers may not: some keep one where XDG_CACHE_HOME says, without a switch.
    """
    caches = {"GOCACHE": str(work / "gocache"), "CARGO_TARGET_DIR": str(work / "target")}
    env = toolbox.environment(paths) | CLEAN | caches | described.env
    step: Callable[[Command, dict[str, str]], dict[str, Any]] = lambda command, more: _step(  # noqa: E731
        substitute(command, values), source, more | env, described.timeout, work
    )
    for command in described.fetch:
        step(command, {})
    return [step(command, {"XDG_CACHE_HOME": str(work / "cache")}) for command in described.commands]


def _copy_sources(system: System, folder: Path, target: Path) -> Path:
    """Copies the source folders so that they lie to each other as before; returns the system's own copy."""
    assert system.build is not None
    roots = [(folder / source).resolve() for source in system.build.sources]
    common = Path(os.path.commonpath([*roots, folder.resolve()]))
    for root in roots:
        for file in source_files(root):
            copy = target / file.relative_to(common)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copy)
    own = target / folder.resolve().relative_to(common)
    own.mkdir(parents=True, exist_ok=True)
    return own


def _step(command: list[str], cwd: Path, env: dict[str, str], timeout: float, work: Path) -> dict[str, Any]:
    executable = shutil.which(command[0], path=env["PATH"]) or command[0]
    log = work / "build.log"
    result = execute(
        Watched(
            [executable, *command[1:]],
            cwd=cwd,
            env=env,
            limits=Limits(),
            timeout=timeout,
            sample=0.5,
            stdout=work / "build.out",
            stderr=log,
        )
    )
    if result["outcome"] != "exited" or result["exit"] != 0:
        tail = [line for line in log.read_text(errors="replace").splitlines() if line.strip()][-5:]
        how = f"exit {result['exit']}" if result["outcome"] == "exited" else result["outcome"]
        raise BuildFailed(f"`{' '.join(command)}`: {how}: {' | '.join(tail)}")
    return result


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file() and not file.is_symlink())
