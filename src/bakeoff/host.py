"""What the host says of itself: what it is, and how busy it was around each trial."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any


def name() -> str:
    """The name that this machine gives itself."""
    return platform.node()


def facts() -> dict[str, Any]:
    """CPU, memory, kernel, governor, cgroup version, virtualisation hints: what does not change during a run."""
    cpu = _fields(_read("/proc/cpuinfo").split("\n\n")[0])
    return {
        "hostname": name(),
        "cpu": cpu.get("model name") or platform.processor() or platform.machine(),
        "cpus": os.cpu_count(),
        "usable_cpus": sorted(os.sched_getaffinity(0)),
        "hypervisor": "hypervisor" in cpu.get("flags", "").split(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "system": _fields(_read("/etc/os-release"), "=").get("PRETTY_NAME", "").strip('"') or platform.system(),
        "machine": platform.machine(),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or None,
        "turbo_off": _read("/sys/devices/system/cpu/intel_pstate/no_turbo") or None,
        "cgroup": cgroup_version(),
        "clock": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource") or None,
    }


def state() -> dict[str, Any]:
    """Load, free memory, and the CPU's times so far: taken before and after each trial.

    `cpu_ticks` are clock ticks since boot by kind, of which `steal` went to other guests of the same machine.
    """
    kinds = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    ticks = _read("/proc/stat").split("\n")[0].split()[1:9]
    memory = _fields(_read("/proc/meminfo"))
    return {
        "monotonic_s": time.monotonic(),
        "load": list(os.getloadavg()),
        "cpu_ticks": dict(zip(kinds, map(int, ticks), strict=False)),
        "memory_available_bytes": int(memory.get("MemAvailable", "0 kB").split()[0]) * 1024,
        "mhz": _mhz(),
    }


def stolen_share(before: dict[str, Any], after: dict[str, Any]) -> float:
    """The share of all CPU time between two states that was stolen, 0 to 1."""
    spent = {kind: after["cpu_ticks"][kind] - ticks for kind, ticks in before["cpu_ticks"].items()}
    total = sum(spent.values())
    return spent.get("steal", 0) / total if total else 0.0


def cgroup_version() -> str:
    """`v2`, `v1`, `hybrid` (v1 controllers with an empty v2) or `none`."""
    v2 = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    v1 = Path("/sys/fs/cgroup/memory").is_dir() or Path("/sys/fs/cgroup/cpu").is_dir()
    if v2:
        return "v2"
    if v1:
        return "hybrid" if Path("/sys/fs/cgroup/unified").is_dir() else "v1"
    return "none"


def process_started(pid: int) -> float | None:
    """When a process started, in clock ticks since boot; None if there is none. With the pid it names one process."""
    stat = _read(f"/proc/{pid}/stat")
    return float(stat.rpartition(")")[2].split()[19]) if stat else None


def _mhz() -> list[float]:
    lines = _read("/proc/cpuinfo").splitlines()
    return [float(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def _fields(text: str, separator: str = ":") -> dict[str, str]:
    pairs = (line.partition(separator) for line in text.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
