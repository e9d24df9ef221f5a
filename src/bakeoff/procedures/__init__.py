"""Procedures: how one trial is carried out. Each takes a Task and gives an Outcome."""

from __future__ import annotations

from collections.abc import Callable

from bakeoff.procedures.build import build_trial
from bakeoff.procedures.exec import exec_trial
from bakeoff.procedures.profile import profile_trial
from bakeoff.procedures.serve import serve_trial
from bakeoff.procedures.task import Task
from bakeoff.procedures.wasm import calls_trial, wasm_trial
from bakeoff.store.store import Outcome

PROCEDURES: dict[str, Callable[[Task], Outcome]] = {
    "build": build_trial,
    "exec": exec_trial,
    "serve": serve_trial,
    "wasm": wasm_trial,
    "calls": calls_trial,
    "profile": profile_trial,
}

__all__ = ["PROCEDURES", "Task"]
