"""The interface of a platform: what it gets, what it gives, what it promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.procedure import Limits


@dataclass(frozen=True)
class Program:
    """What is to be run: an artefact, and what it shall see.

    `folders` maps paths as the program sees them to folders of this machine; `address` is where it serves, as
    `host:port`, for platforms that must open the port themselves; `profiled` asks a runtime to tell perf of its code.
    """

    kind: str
    artefact: str
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    address: str | None = None
    profiled: bool = False


@dataclass(frozen=True)
class Made:
    """What a platform has made of an artefact before any start, such as an image: its folder, and what it ships.

    `size` is in bytes: what has to be carried to another machine that has the platform. `facts` stand in the receipt of
    the system (a digest, the time of compiling).
    """

    folder: Path
    size: int
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Launch:
    """What bakeoff-exec starts.

    Without `inner_group` the whole tree of the command is the system. With it only what the platform puts below the
    control group `$BAKEOFF_GROUP` (the same path in every hierarchy) is accounted to the system; the rest of the tree
    is the platform's client: it is stopped and cleaned up with the system, but not counted. `holds_limits` says that
    the command itself holds the system to its limits; otherwise bakeoff-exec does.
    """

    command: list[str]
    env: Mapping[str, str] = field(default_factory=dict)
    inner_group: bool = False
    holds_limits: bool = False


class Platform(ABC):
    """One platform. It is stateless: all that it makes goes to the folder of `make`, and goes with its processes.

    What every platform promises, and tests/platforms/test_contract.py checks: markers come through standard output;
    the exit code is the program's; the limits of `limits` hold; the resources are the system's; a stop signal ends
    the system, and SIGKILL to everything leaves nothing that bakeoff-exec does not remove.
    """

    name: str
    title: str
    about: str = ""
    kinds: tuple[str, ...] = ("native",)
    """Kinds of artefacts that it runs, the best first."""
    needs: tuple[str, ...] = ()
    """Entries of the toolbox."""
    limits: frozenset[str] = frozenset({"cpus", "cpu", "memory"})
    """Limits that can be held."""
    starts: str = "start"
    """When the program's first statement runs: at the `start`, or at the first `request`."""
    state: str = "none"
    """What a start finds: `cold` (it compiles), `warm` (compiled before), `none` (there is nothing to compile)."""

    maps_folders: bool = True
    """Whether a folder can be shown under another path than its own."""
    tells_exit: bool = True
    """Whether the exit code is the program's; else it is 0 whatever the program says, and only its result counts."""
    own_kernel: bool = False
    """Whether it brings a kernel, whose CPU time and memory then count as the system's."""
    recipe: str = ""
    """What `make` depends on besides the artefact and the tools: if it changes, all is made again."""

    def missing(self, paths: list[str]) -> str | None:
        """What this machine lacks, found by trying where that is cheap; None if the platform can be had.

        It is asked when all of `needs` are there; `paths` are the folders of their programs.
        """
        return None

    def make(self, kind: str, artefact: Path, folder: Path, paths: list[str]) -> Made | None:
        """Makes what can be made before any start, in an empty folder that is kept. None if there is nothing to make.

        Raises CannotRun if it fails.
        """
        return None

    @abstractmethod
    def launch(self, program: Program, made: Made | None, limits: Limits, paths: list[str]) -> Launch:
        """What starts the program."""


@dataclass(frozen=True)
class Hosting:
    """A part of a system on its platform: the kind of artefact that was chosen, and what was made of it."""

    platform: Platform
    kind: str
    made: Made | None = None
