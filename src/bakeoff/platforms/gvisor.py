"""Containers by podman with gVisor: the program's system calls go to a kernel in user space."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bakeoff import toolbox
from bakeoff.platforms.platform import Launch, Made, Platform, Program
from bakeoff.platforms.podman import Podman
from bakeoff.procedure import Limits
from bakeoff.toolbox import Tool

# runsc would make groups of its own, and does not know a machine with both versions of them. So it is told to leave
# them alone, and started in the group that podman names in the container's description; what it starts stays there.
WRAPPER = """#!/bin/sh
for word; do
    [ "$before" != --bundle ] || bundle=$word
    before=$word
done
if [ -n "$bundle" ]; then
    group=$(sed -n 's/.*"cgroupsPath": *"\\([^"]*\\)\\/[^"\\/]*".*/\\1/p' "$bundle/config.json")
    if [ -e /sys/fs/cgroup/cgroup.procs ]; then
        mkdir -p "/sys/fs/cgroup$group/runsc"
        echo $$ > "/sys/fs/cgroup$group/runsc/cgroup.procs"
    else
        for procs in /sys/fs/cgroup/*"$group/cgroup.procs"; do echo $$ > "$procs"; done
    fi
fi
exec RUNSC --platform=ptrace --network=host --ignore-cgroups "$@"
"""


class Gvisor(Podman):
    """A container of an image with the program alone, run by runsc with ptrace. bakeoff-exec holds its limits."""

    own_kernel = True
    recipe = f"{Podman.recipe} {WRAPPER}"

    def make_image(self, files: Mapping[str, Path], folder: Path, paths: list[str]) -> Made:
        """The image, and the wrapper that podman starts as its runtime."""
        found = shutil.which("runsc", path=toolbox.environment(paths)["PATH"]) or "runsc"
        wrapper = folder / self.runtime
        wrapper.write_text(WRAPPER.replace("RUNSC", found))
        wrapper.chmod(0o755)
        return super().make_image(files, folder, [str(folder), *paths])

    def launch(self, program: Program, made: Made | None, limits: Limits, paths: list[str]) -> Launch:
        """As any container, but without limits of its own."""
        assert made is not None
        launch = super().launch(program, made, Limits(), [str(made.folder), *paths])
        return replace(launch, holds_limits=False)


def platforms(tools: Mapping[str, Tool]) -> list[Platform]:
    """The platforms of this module."""
    about = "A container of an image with nothing but the program, on the host's network; gVisor's kernel in user space"
    about = f"{about} answers its system calls, which it catches with ptrace."
    return [Gvisor("podman-gvisor", "podman with gVisor (ptrace)", about, "gvisor")]
