"""The load generator: running bakeoff-load on a job, and what it says of a step."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bakeoff.instruments import Json, Streaming, program
from bakeoff.places import HERE, Place
from bakeoff.procedure import Load
from bakeoff.quantities import seconds

Job = dict[str, Any]


def job(load: Load, url: str, fill: Any, cpus: int) -> Job:
    """The generator's job for a load whose parameters `fill` gives (a function from a text or value to its value).

    A rate of 0 is no rate: the loop is closed. That lets one factor have levels of both kinds.
    """
    rate = float(fill(load.rate) or 0)
    requests = int(float(fill(load.requests) or 0))
    document: Job = {
        "url": fill(url),
        "connections": int(float(fill(load.connections))),
        "rate": rate or None,
        "spacing": load.spacing,
        "max_connections": int(float(fill(load.max_connections))) if load.max_connections is not None else None,
        "duration": seconds(fill(load.duration)),
        "requests": requests or None,
        "timeout": seconds(fill(load.timeout)),
        "keepalive": truth(fill(load.keepalive)),
        # A reset leaves no TIME_WAIT behind, which would use up the ports within a second.
        "reset_close": not truth(fill(load.keepalive)),
        "threads": load.threads or cpus,
        "histograms": True,
        "templates": [
            {
                "name": request.name,
                "weight": float(fill(request.weight)),
                "method": request.method,
                "path": fill(request.path),
                "headers": [[name, fill(value)] for name, value in request.headers.items()],
                "body": fill(request.body),
                "check": {"status": [request.status], "body": fill(request.answer)},
            }
            for request in load.requests_to_send
        ],
    }
    return {key: value for key, value in document.items() if value is not None}


def truth(value: Any) -> bool:
    """`true`, `on`, `yes` and numbers other than 0 are true."""
    return str(value).lower() in ("true", "on", "yes") or (isinstance(value, int | float) and bool(value))


class Generator(Streaming):
    """One run of bakeoff-load. Iterating gives its events; closing it early ends the load."""

    def __init__(self, document: Job, file: Path, cpus: str | None = None, place: Place = HERE) -> None:
        file.write_text(json.dumps(document))
        words = [program("bakeoff-load"), "--job", str(file), "--json", "--lifeline"]
        if cpus is not None and shutil.which("taskset"):
            words = ["taskset", "--cpu-list", cpus, *words]
        super().__init__(place.command(words))

    def __iter__(self) -> Iterator[Json]:
        while (event := self.next(timeout=600.0)) is not None:
            yield event


def cpu_sets(system: str | None, load: str | None) -> tuple[str | None, str | None]:
    """The CPU sets of system and generator: as asked for, else the usable CPUs in two halves; one CPU is shared."""
    usable = sorted(os.sched_getaffinity(0))
    half = len(usable) // 2
    if half == 0:
        return system, load
    return system or _listed(usable[:-half]), load or _listed(usable[-half:])


def _listed(cpus: list[int]) -> str:
    return ",".join(map(str, cpus))


def count(cpus: str | None) -> int:
    """How many CPUs a set such as `0,2-3` has."""
    if cpus is None:
        return 1
    spans = [part.split("-") for part in cpus.split(",")]
    return sum(int(span[-1]) - int(span[0]) + 1 for span in spans)
