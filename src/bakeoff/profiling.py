"""Where a running system spends its CPU time: stacks sampled by Linux's perf, put together as text.

The text has a line for each stack, its frames from the outermost inwards joined by `;`, a space, and how often it was
seen (the format of flame graphs: Gregg, The Flame Graph, CACM 59(6), 2016).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from bakeoff.errors import CannotRun

RATE = 199  # samples a second of each CPU: no divisor of what a system may do a round number of times a second
STACK = 16384  # bytes of a stack that are kept, from which its callers are worked out
FRAME = re.compile(r"^\s+[0-9a-f]+ (.*) \((.*)\)$")


def members(instrument: int) -> list[int]:
    """The processes that a bakeoff-exec accounts to its system; empty where there is no control group."""
    own = f"/bakeoff/{instrument}-"
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            lines = (process / "cgroup").read_text().splitlines()
        except OSError:
            continue
        groups = [line.partition(":")[2].partition(":")[2] for line in lines if own in line]
        if any("/client" not in group for group in groups):
            found.append(int(process.name))
    return found


def record(processes: Iterable[int], seconds: float, folder: Path) -> str:
    """Samples the stacks of processes, kernel included; returns them put together. Raises CannotRun if perf fails."""
    if shutil.which("perf") is None:
        raise CannotRun("the program perf is missing", "install linux-perf")
    among = ["perf", "--buildid-dir", str(folder / "buildid")]
    data, who = str(folder / "perf.data"), ",".join(map(str, processes))
    unwound = ["--call-graph", f"dwarf,{STACK}"]
    _perf([*among, "record", "-q", "-F", str(RATE), *unwound, "-o", data, "-p", who, "--", "sleep", str(seconds)])
    said = _perf([*among, "script", "--no-inline", "-F", "comm,ip,sym,dso", "-i", data])
    return folded(said)


def folded(said: str) -> str:
    """What `perf script -F comm,ip,sym,dso` prints, as a line for each stack."""
    counts: Counter[str] = Counter()
    for block in said.split("\n\n"):
        head, *lines = block.strip("\n").splitlines() or [""]
        frames = [_frame(*found.groups()) for line in lines if (found := FRAME.match(line))]
        if frames:
            counts[";".join([head.strip() or "?", *reversed(frames)])] += 1
    return "".join(f"{stack} {count}\n" for stack, count in sorted(counts.items()))


def _frame(symbol: str, place: str) -> str:
    """A function's name without its hash, or the file that it is in; `;` parts frames and is none of a name."""
    if symbol == "[unknown]":
        symbol = f"[{Path(place).name}]"
    elif place.startswith("[kernel") or place.startswith("[guest.kernel"):
        symbol = f"{symbol} [kernel]"
    return re.sub(r"::h[0-9a-f]{16}$", "", symbol).replace(";", ":")


def _perf(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise CannotRun(
            f"perf ended with {done.returncode}: {last}", "see `bakeoff doctor` for what this machine allows"
        )
    return done.stdout
