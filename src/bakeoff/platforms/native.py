"""The platform `native`: a process of this machine."""

from __future__ import annotations

from collections.abc import Mapping

from bakeoff.platforms.platform import Launch, Made, Platform, Program
from bakeoff.procedure import Limits
from bakeoff.toolbox import Tool


class Native(Platform):
    """A process of this machine, started by bakeoff-exec itself, which also holds its limits."""

    name = "native"
    title = "Native process"
    about = "A process of this machine, without anything around it."
    maps_folders = False

    def launch(self, program: Program, made: Made | None, limits: Limits, paths: list[str]) -> Launch:
        """The program itself. Its folders are where they are, so their paths must be the machine's own."""
        return Launch([program.artefact, *program.arguments], program.env)


def platforms(tools: Mapping[str, Tool]) -> list[Platform]:
    """The platforms of this module."""
    return [Native()]
