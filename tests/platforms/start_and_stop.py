"""Starts and stops each platform many times, killing the lab's side now and then, and looks for what is left.

    python tests/platforms/start_and_stop.py --count 100 [PLATFORM …]

A third of the starts is stopped, a third ends because the starter's end of the pipe closes (as when the lab is killed),
and a third because bakeoff-exec itself is killed with SIGKILL; then the sweep that every run begins with is made.
Prints a line of figures for each platform; exits 1 and names what is left if there is anything.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bakeoff import instruments
from bench import LAB, Bench, Unavailable, await_marker
from traces import traces


def main() -> int:
    """Runs the whole check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("platforms", nargs="*", default=list(LAB.platforms))
    asked = parser.parse_args()
    left = 0
    with tempfile.TemporaryDirectory(prefix="bakeoff-platforms-") as folder:
        for name in asked.platforms:
            try:
                bench = Bench(LAB.platforms[name], Path(folder) / name)
            except Unavailable as reason:
                print(f"{name}: not here: {reason}")
                continue
            before = traces()
            began = time.monotonic()
            ways = start_and_stop(bench, asked.count)
            found = sorted(traces() - before)
            took = (time.monotonic() - began) / asked.count
            print(f"{name}: {dict(ways)}, {took:.2f} s each, {len(found)} things left", flush=True)
            for thing in found:
                print(f"  {thing}", file=sys.stderr)
            left += len(found)
    return 1 if left else 0


def start_and_stop(bench: Bench, count: int) -> Counter[str]:
    """Starts and ends a platform so many times; returns how often in which way."""
    ways: Counter[str] = Counter()
    for number in range(count):
        service = bench.serve("pulse", "0", "0", grace=1.0)
        await_marker(service, "ready")
        way = ("stopped", "abandoned", "killed")[number % 3]
        if way == "stopped":
            service.stop()
        else:
            if way == "killed":
                os.kill(service.pid, signal.SIGKILL)
            service.close()
        if way == "killed":
            instruments.sweep()
        ways[way] += 1
    return ways


if __name__ == "__main__":
    sys.exit(main())
