"""What this machine can measure and what not, with the mend for each."""

from __future__ import annotations

import os
import resource
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from bakeoff import host, instruments, places, toolbox
from bakeoff.errors import BakeoffError
from bakeoff.instruments import Watched, execute
from bakeoff.lab import Lab
from bakeoff.prepare import prepare


@dataclass(frozen=True)
class Check:
    """One thing looked at. `limited`: some numbers are missing or worse; `missing`: nothing can be run."""

    name: str
    state: Literal["good", "limited", "missing"]
    found: str
    mend: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def examine() -> list[Check]:
    """Looks at the machine. Each check is done by trying, where that is possible."""
    return [check for look in _LOOKS for check in look()]


def examine_systems(lab: Lab, experiment: str) -> list[Check]:
    """Looks at each system of an experiment: its tools and its build, without installing anything."""
    checks = []
    for name in lab.experiment(experiment).systems:
        prepared = prepare(lab, name, install=False, build=False)
        found = f"ready, {prepared.version or 'built'}" if prepared.ready else prepared.reason or ""
        mend = "" if prepared.ready else f"`bakeoff setup {experiment}`, or what the reason says"
        checks.append(Check(f"system {name}", "good" if prepared.ready else "limited", found, mend))
    return checks


def examine_platforms(lab: Lab) -> list[Check]:
    """Says of each platform whether it can be had, without installing anything."""
    checks = []
    for name, platform in lab.platforms.items():
        states = [toolbox.state(need, lab.tool, install=False) for need in platform.needs]
        reason = next((state.reason for state in states if state.reason), None)
        reason = reason or platform.missing([path for state in states for path in state.paths])
        found = ", ".join(f"{state.name} {state.version}" for state in states if state.version) or platform.title
        checks.append(Check(f"platform {name}", "limited" if reason else "good", reason or found))
    return checks


def _measuring() -> list[Check]:
    try:
        result = execute(Watched(["true"], counters=True, sample=0))
    except BakeoffError as error:
        return [Check("bakeoff-exec", "missing", str(error), "install the wheel again: `make setup`")]
    accounting = result["accounting"]
    checks = [
        Check(
            "bakeoff-exec",
            "good",
            f"version {result['version']}, ran `true` in {result['wall_s'] * 1000:.2f} ms",
        )
    ]
    if accounting["cgroup"] == "none":
        why = accounting.get("cgroup_missing") or "unknown"
        mend = "run as root with a writable /sys/fs/cgroup, or in `systemd-run --user --scope -p Delegate=yes`"
        checks.append(Check("cgroups", "limited", f"none: {why}; no memory or CPU limits, memory is sampled", mend))
    else:
        checks.append(Check("cgroups", "good", f"{accounting['cgroup']} (the host has {host.cgroup_version()})"))
    if result.get("counters"):
        checks.append(Check("hardware counters", "good", ", ".join(result["counters"])))
    else:
        mend = "set kernel.perf_event_paranoid to 1 or less; some virtual machines have none"
        checks.append(Check("hardware counters", "limited", str(result.get("counters_missing")), mend))
    return checks


def _processors() -> list[Check]:
    facts = host.facts()
    cpus = len(facts["usable_cpus"])
    few = "one CPU: system and load generator share it" if cpus < 2 else f"{cpus} CPUs, {facts['cpu']}"
    checks = [
        Check(
            "processors",
            "limited" if cpus < 2 else "good",
            few,
            "use a machine with two or more" if cpus < 2 else "",
        )
    ]
    governor = facts["governor"]
    if governor is None:
        checks.append(
            Check(
                "CPU frequency",
                "limited",
                "the machine does not say its governor (a virtual machine?)",
                "none on a guest; repeat more often",
            )
        )
    elif governor != "performance":
        checks.append(
            Check("CPU frequency", "limited", f"governor {governor}", "cpupower frequency-set -g performance")
        )
    else:
        checks.append(Check("CPU frequency", "good", "governor performance"))
    return checks


def _quiet() -> list[Check]:
    before = host.state()
    time.sleep(1.0)
    after = host.state()
    stolen = host.stolen_share(before, after)
    ticks = {kind: after["cpu_ticks"][kind] - count for kind, count in before["cpu_ticks"].items()}
    busy = 1 - (ticks.get("idle", 0) + ticks.get("iowait", 0)) / max(1, sum(ticks.values()))
    found = f"{busy:.0%} of the CPU busy in one second, {stolen:.1%} stolen by other guests"
    loud = busy > 0.2 or stolen > 0.02
    return [
        Check(
            "quiet",
            "limited" if loud else "good",
            found,
            "end other work; trials with too much stolen time are flagged" if loud else "",
        )
    ]


def _descriptors() -> list[Check]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = hard != resource.RLIM_INFINITY and hard < 65_536
    return [
        Check(
            "open files",
            "limited" if few else "good",
            f"at most {hard} a process",
            "raise the hard limit (ulimit -Hn)" if few else "",
        )
    ]


def _network() -> list[Check]:
    reason = places.why_no_namespaces()
    if reason is None:
        try:
            with places.network_namespace("doctor"):
                pass
        except BakeoffError as error:
            reason = str(error)
    state: Check = (
        Check("network namespaces", "good", "one was made and removed")
        if reason is None
        else Check(
            "network namespaces",
            "limited",
            reason,
            "install iproute2 and run as root; experiments with `place: namespace` need them",
        )
    )
    low, _, high = _read("/proc/sys/net/ipv4/ip_local_port_range").partition("\t")
    somaxconn = _read("/proc/sys/net/core/somaxconn")
    return [
        state,
        Check("ports", "good", f"{low} to {high} for outgoing connections, listen backlog up to {somaxconn}"),
    ]


def _disk() -> list[Check]:
    free = shutil.disk_usage(Path.home()).free / 1e9
    return [
        Check(
            "disk",
            "limited" if free < 5 else "good",
            f"{free:.0f} GB free for tools and builds",
            "free some space" if free < 5 else "",
        )
    ]


def _virtual_machines() -> list[Check]:
    usable = os.access("/dev/kvm", os.R_OK | os.W_OK)
    mend = (
        "" if usable else "only experiments with microVMs need it; load the kvm module, or allow nested virtualisation"
    )
    return [Check("KVM", "good" if usable else "limited", "/dev/kvm opens" if usable else "no usable /dev/kvm", mend)]


def _leftovers() -> list[Check]:
    removed = instruments.sweep() or {}
    count = sum(len(value) for value in removed.values() if isinstance(value, list))
    namespaces = places.sweep()
    found = (
        "nothing left by earlier runs"
        if not count and not namespaces
        else f"removed {count + len(namespaces)} things that a killed run had left"
    )
    return [Check("leftovers", "good", found)]


def _tools() -> list[Check]:
    found = {name: shutil.which(name) for name in ("git", "perf", "apt-get", "npm", "cargo", "go")}
    there = [name for name, path in found.items() if path]
    missing = [name for name, path in found.items() if not path]
    text = f"there: {', '.join(there)}" + (f"; not there: {', '.join(missing)}" if missing else "")
    return [Check("clients", "good", text, "only needed by the tools that come through them" if missing else "")]


def _read(path: str) -> str:
    return Path(path).read_text().strip() if Path(path).exists() else "?"


_LOOKS: tuple[Callable[[], list[Check]], ...] = (
    _measuring,
    _processors,
    _quiet,
    _descriptors,
    _network,
    _disk,
    _virtual_machines,
    _tools,
    _leftovers,
)
