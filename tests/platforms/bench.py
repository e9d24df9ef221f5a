"""A platform with the subject on it, started as the lab starts a part: by what `launch` says, under bakeoff-exec."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bakeoff import toolbox
from bakeoff.instruments import Json, Service, Watched, execute
from bakeoff.lab import Lab
from bakeoff.platforms import Platform, Program
from bakeoff.procedure import Limits

ROOT = Path(__file__).parent.parent.parent
LAB = Lab.find(ROOT)
TARGETS = {"native": "x86_64-unknown-linux-musl", "wasi": "wasm32-wasip1"}
MIB = 1 << 20


class Unavailable(Exception):
    """This machine cannot have the platform, or the subject for it."""


@dataclass
class Bench:
    """One platform; what it makes goes to `folder`."""

    platform: Platform
    folder: Path

    def __post_init__(self) -> None:
        kinds = [kind for kind in self.platform.kinds if kind in TARGETS]
        if not kinds:
            raise Unavailable(f"{self.platform.name} runs {' or '.join(self.platform.kinds)}, which the subject is not")
        self.kind = kinds[0]
        if reason := missing(self.platform):
            raise Unavailable(reason)
        self.subject = subject(self.kind, self.folder.parent)
        self.folder.mkdir()
        self.made = self.platform.make(self.kind, self.subject, self.folder, self.paths)

    @cached_property
    def paths(self) -> list[str]:
        """The folders of the platform's tools."""
        return [path for need in self.platform.needs for path in toolbox.state(need, LAB.tool, False).paths]

    def watched(self, *arguments: str, limits: Limits | None = None, **settings: Any) -> Watched:
        """The subject with these arguments, as bakeoff-exec is to run it."""
        limits = limits or Limits()
        about = {key: settings.pop(key) for key in ("env", "folders") if key in settings}
        program = Program(self.kind, str(self.subject), arguments, **about)
        launch = self.platform.launch(program, self.made, limits, self.paths)
        env = {"HOME": os.environ["HOME"]} | toolbox.environment(self.paths) | dict(launch.env)
        return Watched(
            launch.command,
            env=env,
            clear_env=True,
            limits=Limits() if launch.holds_limits else limits,
            inner_group=launch.inner_group,
            **({"timeout": 120.0, "sample": 0.05, "grace": 3.0} | settings),
        )

    def run(self, *arguments: str, **settings: Any) -> Json:
        """Runs the subject to its end; where it fails, what it wrote to its standard error is in the result."""
        log = self.folder.parent / f"{self.folder.name}.stderr"
        result = execute(self.watched(*arguments, stderr=log, **settings))
        return result | {"said": log.read_text(errors="replace")}

    def serve(self, *arguments: str, **settings: Any) -> Service:
        """Keeps the subject up."""
        return Service(self.watched(*arguments, **settings))


def missing(platform: Platform) -> str | None:
    """Why this machine cannot have a platform now; nothing is installed."""
    states = [toolbox.state(need, LAB.tool, install=False) for need in platform.needs]
    reason = next((state.reason for state in states if state.reason), None)
    return reason or platform.missing([path for state in states for path in state.paths])


def subject(kind: str, folder: Path) -> Path:
    """The subject, built by rustc; it needs the target's standard library."""
    target = TARGETS[kind]
    built = folder / f"subject-{kind}{'.wasm' if kind == 'wasi' else ''}"
    if built.exists():
        return built
    if shutil.which("rustc") is None:
        raise Unavailable("there is no rustc to build the subject")
    source = Path(__file__).parent / "subject.rs"
    words = ["rustc", "--edition", "2024", "-O", "--target", target, "-o", str(built), str(source)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "can't find crate for `std`" in done.stderr:
        raise Unavailable(f"the Rust target {target} is not installed: rustup target add {target}")
    assert done.returncode == 0, done.stderr
    return built


def answer(result: Json) -> dict[str, Any]:
    """The data of the result marker."""
    found: dict[str, Any] = {}
    for marker in result["markers"]:
        if marker["name"] == "result":
            found |= marker["data"]
    return found


def names(result: Json) -> list[str]:
    """The names of the markers."""
    return [marker["name"] for marker in result["markers"]]


def await_marker(service: Service, name: str, patience: float = 60.0) -> Json:
    """Waits for a marker of a served subject."""
    while (event := service.next(patience)) is not None:
        if event["event"] == "marker" and event["name"] == name:
            return event
        assert event["event"] not in ("exited", "end"), f"it ended before {name}: {event} {service.complaints}"
    raise AssertionError(f"no marker {name}: {service.complaints}")
