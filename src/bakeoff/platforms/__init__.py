"""Platforms: what a system's program runs on. One module a platform, or a family of them, behind one interface."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

from bakeoff.platforms.platform import Hosting, Launch, Made, Platform, Program
from bakeoff.toolbox import Tool

__all__ = ["Hosting", "Launch", "Made", "Platform", "Program", "known"]


def known(tools: Mapping[str, Tool]) -> dict[str, Platform]:
    """All platforms by name. A module of this package that has a function `platforms(tools)` gives its own."""
    found: dict[str, Platform] = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        give = getattr(importlib.import_module(module.name), "platforms", None)
        for platform in give(tools) if give else ():
            if platform.name in found:
                raise ValueError(f"two platforms are called {platform.name!r}: rename one of them")
            found[platform.name] = platform
    return found
