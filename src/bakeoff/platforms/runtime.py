"""Platforms whose command line a toolbox entry describes under `platforms:`, such as the Wasm runtimes."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from bakeoff import toolbox
from bakeoff.errors import CannotRun
from bakeoff.experiment import PLACEHOLDER
from bakeoff.platforms.platform import Launch, Made, Platform, Program
from bakeoff.procedure import Limits
from bakeoff.runtime import Runtime
from bakeoff.toolbox import Tool

HERE = str(Path(__file__).parent)


class CommandLine(Platform):
    """A runtime started by its command line. The whole tree is the system, and bakeoff-exec holds the limits."""

    def __init__(self, name: str, tool: str, rules: Runtime) -> None:
        self.name, self.title, self.about = name, rules.title, rules.about
        self.kinds, self.needs = tuple(rules.kinds), (tool,)
        self.state, self.starts, self.maps_folders = rules.state, rules.starts, rules.maps
        self.rules = rules
        self.recipe = str(rules.compile)

    def make(self, kind: str, artefact: Path, folder: Path, paths: list[str]) -> Made | None:
        """What the runtime compiles before any start; its size is that of the files."""
        if not self.rules.compile:
            return None
        began = time.monotonic()
        env = os.environ | toolbox.environment(paths)
        for command in self.rules.compile:
            words = _fill(command, {"artefact": str(artefact), "made": str(folder), "here": HERE})
            done = subprocess.run(words, capture_output=True, text=True, env=env, cwd=folder, check=False)
            if done.returncode != 0:
                last = ((done.stderr or done.stdout).strip().splitlines() or ["no message"])[-1]
                raise CannotRun(f"`{' '.join(words)}` ended with {done.returncode}: {last}", "see what it says")
        seconds = time.monotonic() - began
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        return Made(folder, size, {"compile_seconds": seconds})

    def launch(self, program: Program, made: Made | None, limits: Limits, paths: list[str]) -> Launch:
        """The runtime's command line for this program."""
        folder = str(made.folder) if made else ""
        return Launch(self.words(program, folder), self.environment(program, folder))

    @property
    def is_one_program(self) -> bool:
        """Whether the runtime is one program, which can be put into an image as it is."""
        return not any("{here}" in word for word in self.rules.run)

    def environment(self, program: Program, made: str) -> dict[str, str]:
        """The runtime's own variables, with `made` as the folder of what was compiled."""
        values = {"artefact": program.artefact, "made": made, **_address(program)}
        return {key: _fill([value], values)[0] for key, value in self.rules.env.items()}

    def words(self, program: Program, made: str) -> list[str]:
        """The command line, with `made` as the folder of what was compiled."""
        return list(self._words(program, {"artefact": program.artefact, "made": made, "here": HERE}))

    def _words(self, program: Program, values: dict[str, str]) -> Iterator[str]:
        rules = self.rules
        for word in rules.run:
            match word:
                case "{arguments}":
                    yield from program.arguments
                case "{folders}":
                    for inside, outside in program.folders.items():
                        yield from _fill(rules.folder, {"inside": inside, "outside": outside})
                case "{variables}":
                    for name, value in program.env.items():
                        yield from _fill(rules.variable, {"name": name, "value": value})
                case "{listen}":
                    yield from _fill(rules.listen, _address(program)) if program.address else ()
                case "{profile}":
                    yield from rules.profile if program.profiled else ()
                case _:
                    yield from _fill([word], values)


def _address(program: Program) -> dict[str, str]:
    host, _, port = (program.address or "").rpartition(":")
    return {"host": host, "port": port}


def _fill(words: list[str], values: Mapping[str, str]) -> list[str]:
    return [PLACEHOLDER.sub(lambda match: values[match[1]], word) for word in words]


def platforms(tools: Mapping[str, Tool]) -> list[CommandLine]:
    """The platforms that the toolbox describes."""
    described = [(name, tool, rules) for tool, entry in tools.items() for name, rules in entry.platforms.items()]
    return [CommandLine(name, tool, rules) for name, tool, rules in described]
