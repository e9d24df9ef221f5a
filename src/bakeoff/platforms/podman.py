"""Containers by podman, with runc or crun: a static image, the host's network, limits held by the OCI runtime.

All that podman keeps (storage, containers, locks, sockets) lies on a memory file system in a mount namespace of the
trial's own, with the image in a read-only store beside it. When the last process has ended, everything is gone.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from bakeoff import toolbox
from bakeoff.errors import CannotRun
from bakeoff.instruments import Watched, execute
from bakeoff.platforms import image, runtime
from bakeoff.platforms.platform import Launch, Made, Platform, Program
from bakeoff.platforms.runtime import CommandLine
from bakeoff.procedure import Limits
from bakeoff.toolbox import Tool

STATE = "/run/bakeoff"
IMAGE = "localhost/bakeoff:system"
MADE = "/made"
# crun refuses a machine that mounts both versions of control groups, so version 2 is hidden where it is only a part.
PRIVATE = f"""set -e
mount -t tmpfs -o mode=755 bakeoff /run
mount -t tmpfs bakeoff /dev/shm
if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi
mkdir {STATE}
cd {STATE}
"""
RUN = PRIVATE + 'exec podman run --cgroup-parent "$BAKEOFF_GROUP" "$@"\n'
TAKE = PRIVATE + 'cd "$2"\npodman pull --quiet oci:image > /run/id\nexec podman tag "$(cat /run/id)" "$1"\n'
OURS = frozenset({"podman", "unshare", "mount", "umount", "mountpoint"})


class Podman(Platform):
    """A container around a native program, or around another platform's command."""

    kinds: tuple[str, ...] = ("native",)
    limits = frozenset({"cpus", "cpu", "memory"})
    recipe = "1"

    def __init__(self, name: str, title: str, about: str, runtime: str) -> None:
        self.name, self.title, self.about, self.runtime = name, title, about, runtime
        self.needs = tuple(dict.fromkeys(("podman", runtime)))

    def missing(self, paths: list[str]) -> str | None:
        """Containers need root here, a mount namespace, and a control group to be counted in."""
        return _missing(_path(paths))

    def make(self, kind: str, artefact: Path, folder: Path, paths: list[str]) -> Made:
        """The image, in a store that podman reads. The image is the same on every machine, the store is not."""
        files = {name: file for name, file in image.closure(artefact).items() if file != artefact}
        return self.make_image(files | {f"/{artefact.name}": artefact}, folder, paths)

    def make_image(self, files: Mapping[str, Path], folder: Path, paths: list[str]) -> Made:
        """An image of these files in a store of its own."""
        written = image.write(folder / "image", files)
        env = os.environ | toolbox.environment(paths) | self._configure(folder, "make", paths)
        words = ["unshare", "--mount", "sh", "-c", TAKE, "sh", IMAGE, str(folder)]
        done = subprocess.run(words, capture_output=True, text=True, env=env, check=False)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise CannotRun(f"podman cannot take the image: {last}", "see whether podman works on this machine")
        shutil.rmtree(folder / "image")
        return Made(folder, written.size, {"image_digest": written.digest, "image_size": written.size})

    def launch(self, program: Program, made: Made | None, limits: Limits, paths: list[str]) -> Launch:
        """A container of the image, with the program as its first process."""
        return self.container(program, made, limits, paths, [f"/{Path(program.artefact).name}", *program.arguments])

    def container(
        self, program: Program, made: Made | None, limits: Limits, paths: list[str], command: list[str]
    ) -> Launch:
        """What runs a command in a container of the image."""
        assert made is not None
        words = ["--rm", "--pull=never", "--network=host", "--cgroups=no-conmon", "--log-driver=passthrough"]
        words += [f"--ulimit={name}={most}:{most}" for name, most in _most().items()]
        words += _limits(limits)
        words += [f"--env={key}={value}" for key, value in program.env.items()]
        words += [f"--volume={outside}:{inside}" for inside, outside in program.folders.items()]
        start = ["unshare", "--mount", "sh", "-c", RUN, "sh"]
        return Launch(
            [*start, *words, *self.options(), IMAGE, *command],
            self._configure(made.folder, "run", paths),
            inner_group=True,
            holds_limits=True,
        )

    def options(self) -> list[str]:
        """Further options of `podman run`."""
        return []

    def _configure(self, folder: Path, use: str, paths: list[str]) -> dict[str, str]:
        """Podman's configuration for making or running, beside the image; returns the variables that name it."""
        engine, storage = folder / f"{use}.conf", folder / f"{use}-storage.conf"
        variables = {"CONTAINERS_CONF": str(engine), "CONTAINERS_STORAGE_CONF": str(storage)}
        if engine.exists():
            return variables
        store = folder / "store" if use == "make" else f"{STATE}/store"
        images = [] if use == "make" else ["[storage.options]", f'additionalimagestores = ["{folder}/store"]']
        lines = ["[storage]", 'driver = "overlay"', f'graphroot = "{store}"', f'runroot = "{STATE}/run"', *images]
        storage.write_text("\n".join([*lines, ""]))
        runtime = shutil.which(self.runtime, path=_path(paths))
        settings = {"cgroup_manager": "cgroupfs", "events_logger": "none", "lock_type": "file", "runtime": self.runtime}
        settings |= {"tmp_dir": f"{STATE}/tmp", "volume_path": f"{STATE}/volumes"}
        lines = ["[engine]", *(f'{key} = "{value}"' for key, value in settings.items())]
        engine.write_text("\n".join([*lines, "[engine.runtimes]", f'{self.runtime} = ["{runtime}"]', ""]))
        return variables


class Around(Podman):
    """A container around a runtime: the image holds the runtime with its libraries, and the artefact."""

    def __init__(self, inner: CommandLine) -> None:
        title = f"{inner.title}, in podman with runc"
        super().__init__(
            f"podman+{inner.name}", title, f"A container whose image holds the runtime. {inner.about}", "runc"
        )
        self.inner = inner
        self.kinds, self.state, self.starts = inner.kinds, inner.state, inner.starts
        self.needs = (*self.needs, *inner.needs)
        self.recipe = f"{self.recipe} {inner.rules.model_dump_json()}"

    def make(self, kind: str, artefact: Path, folder: Path, paths: list[str]) -> Made:
        """The image; what the runtime compiles before any start is in it too."""
        compiled = folder / MADE.lstrip("/")
        compiled.mkdir()
        inner = self.inner.make(kind, artefact, compiled, paths)
        files = image.closure(self._runtime(paths)) | {f"/{artefact.name}": artefact}
        files |= {f"{MADE}/{file.relative_to(compiled)}": file for file in compiled.rglob("*") if file.is_file()}
        made = self.make_image(files, folder, paths)
        shutil.rmtree(compiled)
        return Made(folder, made.size, {**made.facts, **(inner.facts if inner else {})})

    def launch(self, program: Program, made: Made | None, limits: Limits, paths: list[str]) -> Launch:
        """The runtime's command line as the container's first process."""
        inside = replace(
            program,
            artefact=f"/{Path(program.artefact).name}",
            folders={path: path for path in program.folders},
        )
        words = self.inner.words(inside, MADE)
        own = replace(program, env=self.inner.environment(inside, MADE))
        return self.container(own, made, limits, paths, [str(self._runtime(paths)), *words[1:]])

    def _runtime(self, paths: list[str]) -> Path:
        name = self.inner.rules.run[0]
        found = shutil.which(name, path=_path(paths))
        if found is None:
            raise CannotRun(f"the program {name} is missing", "`bakeoff setup` installs it")
        return Path(found)


@cache
def _missing(path: str) -> str | None:
    if os.geteuid() != 0:
        return "containers with a mount namespace of their own need root"
    absent = sorted(name for name in OURS if shutil.which(name, path=path) is None)
    if absent:
        return f"the program {absent[0]} is missing"
    tried = subprocess.run(["unshare", "--mount", "sh", "-c", PRIVATE], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        return f"no mount namespace can be had: {tried.stderr.strip()}"
    try:
        execute(Watched(["true"], inner_group=True, sample=0))
    except CannotRun as error:
        return str(error)
    return None


def _path(paths: list[str]) -> str:
    return toolbox.environment(paths)["PATH"]


def _most() -> dict[str, int]:
    """Podman's own defaults are above what a machine without CAP_SYS_RESOURCE allows."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    bounds = {"nofile": (files, 1 << 20), "nproc": (processes, 30_000)}
    return {name: most if hard < 0 else min(hard, most) for name, (hard, most) in bounds.items()}


def _limits(limits: Limits) -> list[str]:
    """Limits in podman's words. Swap is a part of the memory, as it is with bakeoff-exec."""
    words = [f"--cpuset-cpus={limits.cpus}"] if limits.cpus else []
    words += [f"--cpus={limits.cpu}"] if limits.cpu else []
    return words + ([f"--memory={limits.memory}b", f"--memory-swap={limits.memory}b"] if limits.memory else [])


def platforms(tools: Mapping[str, Tool]) -> list[Platform]:
    """The platforms of this module."""
    about = "A container of an image with nothing but the program, on the host's network, by podman and"
    return [
        Podman("podman", "podman with runc", f"{about} runc.", "runc"),
        Podman("podman-crun", "podman with crun", f"{about} crun.", "crun"),
        *(Around(inner) for inner in runtime.platforms(tools) if inner.is_one_program),
    ]
