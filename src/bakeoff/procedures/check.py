"""Checks before the load: is the right answer given, so that a wrong one cannot win?"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from bakeoff import probe
from bakeoff.procedure import Request
from bakeoff.procedures.task import Task


def wrong_answer(task: Task, url: str, request: Request, fill: Callable[[Any], Any]) -> str | None:
    """Sends one request at the system's place; returns what is wrong with the answer, or None."""
    path = fill(request.path)
    question = {
        "url": url + path,
        "method": request.method,
        "headers": {name: fill(value) for name, value in request.headers.items()},
        "body": fill(request.body),
    }
    answer = probe.ask(question) if not task.place.prefix else _ask_there(task, question)
    if "error" in answer:
        return f"{request.method} {path} got no answer: {answer['error']}"
    if answer["status"] != request.status:
        return f"{request.method} {path} was answered with {answer['status']} instead of {request.status}"
    right = fill(request.answer)
    if right is not None and answer["body"] != str(right):
        return f"{request.method} {path} was answered with {answer['body'][:80]!r} instead of {str(right)[:80]!r}"
    return None


def _ask_there(task: Task, question: dict[str, Any]) -> dict[str, Any]:
    words = task.place.command([sys.executable, "-I", probe.__file__, "ask", json.dumps(question)])
    done = subprocess.run(words, check=False, capture_output=True, timeout=60)
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {"error": done.stderr.decode(errors="replace").strip()[-300:] or "the probe said nothing"}
    return answer
