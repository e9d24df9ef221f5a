"""What a platform could leave behind on this machine, as texts. Things of living instruments do not count."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("/run", "/run/runc", "/run/crun", "/run/libpod", "/run/containers", "/run/netns", "/run/user/0", "/dev/shm")
STORES = ("/var/lib/containers/storage/overlay-containers", "/var/lib/containers/storage/overlay-images")


def traces() -> set[str]:
    """All of them."""
    found = {f"process {pid}: {what}" for pid, what in _orphans()}
    found |= {f"group {folder}" for folder in _groups()}
    found |= {f"mount {line.split()[4]}" for line in _read("/proc/self/mountinfo").splitlines()}
    for place in (*FOLDERS, *STORES):
        found |= {str(entry) for entry in Path(place).glob("*")} if Path(place).is_dir() else set()
    for line in _read("/proc/net/unix").splitlines()[1:]:
        name = line.split()[7:]
        if name and any(word in name[0] for word in ("podman", "conmon", "libpod", "attach", "crun", "runc")):
            found.add(f"socket {name[0]}")
    return {thing for thing in found if not _of_another_lab(thing)}


def _of_another_lab(thing: str) -> bool:
    """Whether a network namespace belongs to a lab that lives; its name has the lab's process id."""
    owner = thing.partition("/run/netns/bakeoff-")[2].partition("-")[0]
    return owner.isdigit() and Path("/proc", owner).exists()


def _orphans() -> Iterator[tuple[str, str]]:
    for process in Path("/proc").glob("[0-9]*"):
        variables = _read(process / "environ").split("\0")
        trees = [text.partition("=")[2] for text in variables if text.startswith("BAKEOFF_TREE=")]
        groups = [text for text in _read(process / "cgroup").splitlines() if "/bakeoff/" in text]
        trees += [text.partition("/bakeoff/")[2].split("/")[0] for text in groups]
        if any(not _lives(tree) for tree in trees) and ") Z " not in _read(process / "stat"):
            yield process.name, _read(process / "cmdline").replace("\0", " ")[:100]


def _groups() -> Iterator[str]:
    for folder, folders, _ in os.walk("/sys/fs/cgroup"):
        if Path(folder).name == "bakeoff":
            yield from (f"{folder}/{name}" for name in folders if not _lives(name))


def _lives(tree: str) -> bool:
    """Whether the instrument that owns a tree lives; its name begins with its process id and its start."""
    pid, _, rest = tree.partition("-")
    stat = _read(Path("/proc", pid, "stat")).rpartition(")")[2].split()
    return len(stat) > 19 and stat[19] == rest.partition("-")[0]


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""
