"""Running the instruments: commands that speak JSON lines. The lab knows nothing of their inside."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.errors import CannotRun
from bakeoff.places import HERE, Place
from bakeoff.procedure import Limits

Json = dict[str, Any]


def program(name: str) -> str:
    """The path of an instrument: beside our own interpreter, or on PATH."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise CannotRun(f"the instrument {name} is not installed", "install bakeoff's wheel, or run `make setup`")
    return found


@dataclass(frozen=True)
class Watched:
    """A command, and how bakeoff-exec is to run and watch it."""

    command: list[str]
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = Limits()  # noqa: RUF009 - frozen
    timeout: float | None = None
    sample: float = 0.1
    counters: bool = False
    stop_signal: str = "TERM"
    grace: float = 2.0
    stdout: Path | None = None
    stderr: Path | None = None
    log_limit: int | None = None
    scratch: Path | None = None
    clear_env: bool = False
    inner_group: bool = False
    place: Place = HERE

    def words(self, *mode: str) -> list[str]:
        """The instrument's command line."""
        words = [
            program("bakeoff-exec"),
            *mode,
            "--lifeline",
            "--grace",
            f"{self.grace:.6f}s",
            "--sample",
            f"{self.sample:.6f}s",
        ]
        words += ["--stop-signal", self.stop_signal]
        options = {
            "--timeout": f"{self.timeout:.6f}s" if self.timeout else None,
            "--cwd": self.cwd,
            "--cpus": self.limits.cpus,
            "--cpu-limit": self.limits.cpu,
            "--memory": self.limits.memory,
            "--stdout": self.stdout,
            "--stderr": self.stderr,
            "--log-limit": self.log_limit,
            "--scratch": self.scratch,
        }
        words += [part for key, value in options.items() if value is not None for part in (key, str(value))]
        words += ["--counters"] if self.counters else []
        words += ["--clear-env"] if self.clear_env else []
        words += ["--inner-group"] if self.inner_group else []
        words += [part for key, value in self.env.items() for part in ("--env", f"{key}={value}")]
        return self.place.command([*words, "--", *self.command])


class Interrupted(KeyboardInterrupt):
    """The user asked to stop while an instrument ran; `result` is what it had measured by then."""

    def __init__(self, result: Json | None) -> None:
        super().__init__("interrupted")
        self.result = result


def execute(watched: Watched) -> Json:
    """Runs a command to its end under bakeoff-exec and returns the instrument's result.

    The instrument is a session of its own, so that Ctrl-C reaches only the lab; closing its input (or our death, which
    closes it too) makes it stop everything.
    """
    process = _start(watched.words("--json"))
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    complaints = _drain(process.stderr)
    try:
        output = process.stdout.read()
        process.wait()
    except KeyboardInterrupt:
        process.stdin.close()
        output = process.stdout.read()
        process.wait()
        raise Interrupted(_last_object(output)) from None
    finally:
        process.stdin.close()
    result = _last_object(output)
    if result is None or process.returncode not in (0, 130):
        raise CannotRun(
            f"bakeoff-exec could not measure {watched.command[0]}: {complaints() or f'exit {process.returncode}'}",
            "see `bakeoff doctor` for what this machine can do",
        )
    return result


class Streaming:
    """An instrument that tells events while it runs, one JSON object a line. Closing its input ends it.

    `patience` is how long it has for that, in seconds.
    """

    def __init__(self, words: list[str], patience: float = 30.0) -> None:
        self._patience = patience
        self._process = _start(words)
        assert self._process.stderr is not None
        self._complaints = _drain(self._process.stderr)
        self._events: queue.Queue[Json | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                self._events.put(json.loads(line))
            except ValueError:
                continue
        self._events.put(None)

    def next(self, timeout: float) -> Json | None:
        """The next event, or None when none comes within `timeout` seconds or the instrument has ended."""
        try:
            event = self._events.get(timeout=timeout)
        except queue.Empty:
            return None
        if event is None:
            self._events.put(None)
        return event

    def close(self) -> int:
        """Ends the instrument and returns its exit code."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):  # what was not yet written to one that has ended
                self._process.stdin.close()
        try:
            return self._process.wait(timeout=self._patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    @property
    def pid(self) -> int:
        """The instrument's process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the instrument still runs."""
        return self._process.poll() is None

    @property
    def complaints(self) -> str:
        """What the instrument wrote to its standard error, at most its last 4 KiB."""
        return str(self._complaints())


class Service(Streaming):
    """A process tree that is kept up under `bakeoff-exec --serve`."""

    def __init__(self, watched: Watched) -> None:
        super().__init__(watched.words("--serve"), patience=30.0 + watched.grace)
        self.markers: list[Json] = []
        self.exited: Json | None = None
        self.end: Json | None = None

    def next(self, timeout: float) -> Json | None:
        """The next event; markers and ends are remembered."""
        event = super().next(timeout)
        if event is None:
            return None
        if event["event"] == "marker":
            self.markers.append(event)
        elif event["event"] == "exited":
            self.exited = event
        elif event["event"] == "end":
            self.end = event
        return event

    def catch_up(self) -> None:
        """Takes in the events that have come, without waiting."""
        while self.next(0.0) is not None:
            pass

    def order(self, order: str, answer: str, timeout: float = 10.0, **details: Any) -> Json:
        """Gives an order and returns its answer; events on the way are kept."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"order": order, **details}).encode() + b"\n")
            self._process.stdin.flush()
        while (event := self.next(timeout)) is not None:
            if event["event"] == answer:
                return event
        raise CannotRun(
            f"bakeoff-exec gave no answer to {order!r}: {self.complaints or 'it ended'}", "see the trial's logs"
        )

    def phase(self, name: str) -> Json:
        """Ends the current phase, starts the next one and returns the ended one's window."""
        return self.order("phase", "phase", name=name)

    def stop(self, timeout: float | None = None) -> Json:
        """Stops the tree and returns the instrument's result; it has its grace and half a minute for that."""
        self.catch_up()
        try:
            return self.end or self.order("stop", "end", timeout=timeout or self._patience)
        finally:
            self.close()


def sweep() -> Json | None:
    """Removes what instruments left that were killed themselves; returns what was removed, or None if it cannot run."""
    done = subprocess.run([program("bakeoff-exec"), "--sweep"], capture_output=True, check=False, timeout=60)
    return _last_object(done.stdout)


def _start(words: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {"LC_ALL": "C.UTF-8"},
    )


def _drain(stream: Any) -> Any:
    """Reads a pipe to its end in the background, so that it never fills; returns a function that tells its tail."""
    tail = bytearray()

    def read() -> None:
        for chunk in iter(lambda: stream.read1(65536), b""):
            tail.extend(chunk)
            del tail[:-4096]

    thread = threading.Thread(target=read, daemon=True)
    thread.start()

    def tell() -> str:
        thread.join(timeout=1)
        return bytes(tail).decode(errors="replace").strip()

    return tell


def _last_object(output: bytes) -> Json | None:
    for line in reversed(output.splitlines()):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return None
