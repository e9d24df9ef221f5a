"""Places: where a process runs. A place is a command prefix, nothing more."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import CannotRun

NAMESPACES = Path("/run/netns")
PREFIX = "bakeoff-"


@dataclass(frozen=True)
class Place:
    """A prefix that takes a command somewhere: nothing for this machine, `ip netns exec NAME` for a namespace."""

    name: str
    prefix: tuple[str, ...] = ()

    def command(self, words: list[str]) -> list[str]:
        """The command that runs `words` at this place."""
        return [*self.prefix, *words]


HERE = Place("here")


@contextmanager
def network_namespace(name: str) -> Iterator[Place]:
    """A new network namespace with nothing but a loopback, gone at the end.

    Its port range is its own and wide (1,024 to 65,535), and it shares no connection table with the host. The name
    carries our process id, so that `sweep` finds what a killed lab has left.
    """
    full = f"{PREFIX}{os.getpid()}-{name}"
    _ip("netns", "add", full)
    try:
        place = Place(full, ("ip", "netns", "exec", full))
        _ip("-n", full, "link", "set", "lo", "up")
        ports = place.command(["sh", "-c", "echo 1024 65535 > /proc/sys/net/ipv4/ip_local_port_range"])
        subprocess.run(ports, check=False, capture_output=True)
        yield place
    finally:
        _ip("netns", "delete", full)


def sweep() -> list[str]:
    """Removes the namespaces of labs that are no longer alive; returns their names."""
    gone = []
    for path in NAMESPACES.glob(f"{PREFIX}*") if NAMESPACES.is_dir() else ():
        owner = path.name.removeprefix(PREFIX).split("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            _ip("netns", "delete", path.name)
            gone.append(path.name)
    return gone


def why_no_namespaces() -> str | None:
    """The reason why this machine cannot have network namespaces of ours, or None."""
    if shutil.which("ip") is None:
        return "the program ip is missing"
    return None if os.geteuid() == 0 else "network namespaces need root"


def _ip(*words: str) -> None:
    if reason := why_no_namespaces():
        raise CannotRun(
            f"a network namespace cannot be made: {reason}",
            "install iproute2 and run as root, or set `place: here`",
        )
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotRun(f"`ip {' '.join(words)}` failed: {done.stderr.strip()}", "run as root, or set `place: here`")
