"""The parts of a system that are kept up while another one is measured."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any

from bakeoff import probe
from bakeoff.instruments import Service
from bakeoff.prepare import substitute
from bakeoff.procedures.task import Task
from bakeoff.system import Part, Ready


class NotReady(Exception):
    """A part did not become ready: which, and why."""


def start_parts(stack: ExitStack, task: Task, parts: dict[str, Part], **settings: Any) -> dict[str, Service]:
    """Starts parts in the order written, each when the one before is ready; the stack stops them, the last one first.

    The first part's instrument makes the scratch folder, and so removes it after all others have ended.
    """
    services: dict[str, Service] = {}
    for name, part in parts.items():
        scratch: dict[str, Any] = {} if services else {"scratch": task.scratch}
        service = Service(task.watched(name, part, **scratch, **settings))
        stack.callback(service.close)
        services[name] = service
        if part.ready is not None:
            await_ready(task, name, part.ready, service)
    return services


def await_ready(task: Task, name: str, ready: Ready, service: Service) -> float:
    """Waits until a part is ready and returns the seconds that took; raises NotReady."""
    began = time.monotonic()
    deadline = began + ready.timeout
    if ready.marker or ready.exit is not None:
        _await_event(name, ready, service, deadline)
    else:
        target = substitute([ready.http or ready.tcp or ""], task.values)[0]
        while not _answers(task, target, ready):
            service.catch_up()
            if not service.alive or service.exited or service.end:
                raise NotReady(f"the part {name} ended before it was ready{tail(task, name)}")
            if time.monotonic() > deadline:
                raise NotReady(f"the part {name} was not ready within {ready.timeout:g} s ({target})")
            time.sleep(0.005)
    return time.monotonic() - began


def _await_event(name: str, ready: Ready, service: Service, deadline: float) -> None:
    while (event := service.next(max(0.0, deadline - time.monotonic()))) is not None:
        if event["event"] == "marker" and event["name"] == ready.marker:
            return
        if event["event"] == "exited":
            if ready.exit is not None and event.get("exit") == ready.exit:
                return
            raise NotReady(f"the part {name} ended with {event.get('exit')} before it was ready")
    raise NotReady(f"the part {name} was not ready within {ready.timeout:g} s")


def _answers(task: Task, target: str, ready: Ready) -> bool:
    """One try, made at the part's own place."""
    kind, status = ("http", str(ready.status)) if ready.http else ("tcp", "0")
    if not task.place.prefix:
        return probe.answers(kind, target, int(status))
    words = task.place.command([sys.executable, "-I", probe.__file__, kind, target, status])
    return subprocess.run(words, check=False, capture_output=True, timeout=10).returncode == 0


def tail(task: Task, name: str) -> str:
    """The last line that a part wrote to its standard error, behind a colon; empty if there is none."""
    log = task.logs / f"{name}.stderr"
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()] if log.exists() else []
    return f": {lines[-1][:300]}" if lines else ""
