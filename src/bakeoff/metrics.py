"""The standard metrics: what the procedures can observe without being told how. docs/metrics.md defines each one."""

from __future__ import annotations

from typing import NamedTuple


class Standard(NamedTuple):
    """A metric that a procedure observes by itself."""

    title: str
    unit: str
    better: str  # lower, higher or neither
    key: str  # of the instrument's result


STANDARD: dict[str, Standard] = {
    "wall": Standard("Time from start to end", "s", "lower", "wall_s"),
    "cpu": Standard("CPU time", "s", "lower", "cpu_s"),
    "cpu_user": Standard("CPU time, user", "s", "lower", "user_s"),
    "cpu_system": Standard("CPU time, kernel", "s", "lower", "system_s"),
    "peak_memory": Standard("Peak memory", "B", "lower", "peak_memory_bytes"),
    "voluntary_switches": Standard("Voluntary context switches", "1", "lower", "voluntary_context_switches"),
    "involuntary_switches": Standard("Involuntary context switches", "1", "lower", "involuntary_context_switches"),
    "minor_faults": Standard("Minor page faults", "1", "lower", "minor_page_faults"),
    "major_faults": Standard("Major page faults", "1", "lower", "major_page_faults"),
    "peak_processes": Standard("Most processes at once", "1", "neither", "peak_processes"),
    "build_time": Standard("Build time", "s", "lower", "build_time"),
    "artefact_size": Standard("Size of the artefacts", "B", "lower", "artefact_size"),
}
