"""What differs between two runs besides their figures: host, versions, profile, sources, settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bakeoff.analysis import exclusions
from bakeoff.analysis.data import RunData
from bakeoff.analysis.findings import Conditions
from bakeoff.analysis.numbers import percent

# What the host says that tells one machine from another; the rest may change on the same one.
MACHINE = ("cpu", "cpus", "usable_cpus", "memory_bytes", "machine", "hypervisor")
# Keys of an experiment that no figure depends on.
WORDS = ("title", "question", "about", "figures", "requirements", "references", "scaled", "profiles", "systems")
SAME_MEMORY = 0.02  # the kernel keeps a little for itself, more or less of it from boot to boot


@dataclass(frozen=True)
class Difference:
    """One thing that differs. `area` is run, host, versions, experiment, system or conditions; None is absence."""

    area: str
    what: str
    old: Any
    new: Any


def differences(old: RunData, new: RunData) -> list[Difference]:
    """All that differs, by area."""
    found = _of("run", *(_run(data) for data in (old, new)))
    found += [Difference("host", one.what, one.old, one.new) for one in of_hosts(old, new)]
    found += _of("versions", *({k: v for k, v in (d.run.get("versions") or {}).items() if v} for d in (old, new)))
    found += _of("experiment", *(settings(data) for data in (old, new)))
    found += _of("system", *(_systems(data) for data in (old, new)))
    found += _of("conditions", *(_conditions(data) for data in (old, new)))
    return found


def of_hosts(old: RunData, new: RunData) -> list[Difference]:
    """What the two hosts said of themselves differently; a little more or less memory is no difference."""
    found = _of("host", old.host, new.host)
    return [one for one in found if not (one.what == "memory_bytes" and _close(one.old, one.new))]


def other_machine(old: RunData, new: RunData) -> list[Difference]:
    """The differences that make two hosts two machines; empty where the runs may come from the same one."""
    return [one for one in of_hosts(old, new) if one.what in MACHINE]


def settings(data: RunData) -> dict[str, Any]:
    """What the experiment of a run sets, as flat keys (`procedure.timeout`), without its words."""
    written = data.experiment.model_dump(mode="json", by_alias=True, exclude_none=True)
    return _flat({key: value for key, value in written.items() if key not in (*WORDS, "seed")})


def _run(data: RunData) -> dict[str, Any]:
    return {"profile": data.run.get("profile") or "full", "seed": data.run.get("seed"), "status": data.run["status"]}


def _systems(data: RunData) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for system in data.systems:
        found[f"{system.name}: status"] = system.status
        found[f"{system.name}: version"] = system.version
        found[f"{system.name}: sources, commands or tools"] = system.key[:12] if system.key else None
        found |= {f"{system.name}: tool {tool}": version for tool, version in system.tools.items()}
    return {key: value for key, value in found.items() if value not in (None, "")}


def _conditions(data: RunData) -> dict[str, Any]:
    quiet: Conditions = exclusions.conditions(data.samples, data.states)
    found = {
        "CPU time taken by other guests, median": percent(quiet.stolen_median),
        "CPU time taken by other guests, most": percent(quiet.stolen_max),
    }
    return found if quiet.stolen_max is not None else {}


def _of(area: str, old: dict[str, Any], new: dict[str, Any]) -> list[Difference]:
    return [
        Difference(area, key, old.get(key), new.get(key))
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key)
    ]


def _flat(value: dict[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, inside in value.items():
        flat |= _flat(inside, f"{above}{key}.") if isinstance(inside, dict) and inside else {f"{above}{key}": inside}
    return flat


def _close(old: Any, new: Any) -> bool:
    both = isinstance(old, int | float) and isinstance(new, int | float)
    return both and abs(old - new) <= SAME_MEMORY * max(old, new)
