"""Kills the lab with SIGKILL at random instants of a run, resumes it each time, and looks for what is lost or left.

    python tests/kill_and_resume.py --kills 50 --seed 1

Checks that each planned trial has been carried out exactly once in the end, and that no process, cgroup, network
namespace, folder or socket of ours is left. Prints one line of figures; exits 1 and says why if a check fails.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bakeoff import cache

ROOT = Path(__file__).parent.parent
BAKEOFF = str(Path(sys.executable).parent / "bakeoff")
LIFE = 5.0  # seconds: about as long as a smoke run, so that the instants cover all of it


def main() -> int:
    """Runs the whole check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    asked = parser.parse_args()
    draw = random.Random(asked.seed)
    with tempfile.TemporaryDirectory(prefix="bakeoff-kill-") as folder:
        url = f"sqlite:///{folder}/store.db"
        os.environ["BAKEOFF_LOCK"] = f"{folder}/measuring"  # a lab that measures meanwhile is not waited for
        before = scratch_folders()
        problems, counts = kill_and_resume(url, asked.kills, draw)
        problems += left_behind(before)
    print(f"seed {asked.seed}: {dict(counts)}")
    for problem in problems:
        print(f"  {problem}", file=sys.stderr)
    return 1 if problems else 0


def kill_and_resume(url: str, kills: int, draw: random.Random) -> tuple[list[str], Counter[str]]:
    """Begins runs and kills them; a run that is through is checked, and another one begun."""
    counts: Counter[str] = Counter()
    problems: list[str] = []
    while counts["kills"] < kills:
        order = ["resume"] if open_run(url) else ["run", "message-passing", "--profile", "smoke"]
        if killed(url, order, draw.uniform(0.0, LIFE)):
            counts["kills"] += 1
            problems += processes_left(patience=10.0)
        else:
            counts["runs finished meanwhile"] += 1
    if open_run(url):
        subprocess.run(command(url, ["resume"]), cwd=ROOT, check=True, timeout=300, stderr=subprocess.DEVNULL)
    return problems + check_store(url, counts), counts


def command(url: str, order: list[str]) -> list[str]:
    """A command line of the lab."""
    return [BAKEOFF, "--store", url, *order, "--no-report"]


def killed(url: str, order: list[str], after: float) -> bool:
    """Starts the lab and kills it after so many seconds; False if it ended before."""
    with subprocess.Popen(command(url, order), cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as lab:
        try:
            code = lab.wait(timeout=after)
        except subprocess.TimeoutExpired:
            lab.send_signal(signal.SIGKILL)
            return True
    if code != 0:
        raise SystemExit(f"`bakeoff {' '.join(order)}` ended with {code}")
    return False


def open_run(url: str) -> str | None:
    """The run that is not finished, if there is one."""
    if not Path(url.removeprefix("sqlite:///")).exists():
        return None
    from bakeoff.store import Store

    store = Store(url)
    try:
        return next((row["id"] for row in store.runs() if row["status"] != "done"), None)
    finally:
        store.close()


def check_store(url: str, counts: Counter[str]) -> list[str]:
    """Whether each planned trial of each run ended exactly once."""
    from bakeoff.store import Store

    store = Store(url)
    problems = []
    for run in store.runs():
        rows = [row for row in store.trials(run["id"]) if row["position"] >= 0]
        finished = Counter(row["position"] for row in rows if row["status"] == "ok")
        planned = {row["position"] for row in rows}
        counts["runs"] += 1
        counts["trials ok"] += finished.total()
        counts["trials interrupted"] += sum(row["status"] == "interrupted" for row in rows)
        if planned != set(range(6)) or finished != Counter(planned):
            problems.append(f"{run['id']}: of 6 planned trials these ended ok: {dict(finished)}")
        strange = {row["status"] for row in rows} - {"ok", "interrupted"}
        if strange:
            problems.append(f"{run['id']}: trials ended as {strange}")
    return problems


def processes_left(patience: float) -> list[str]:
    """The processes of our trees that are still alive after some seconds; instruments need a moment to kill theirs."""
    deadline = time.monotonic() + patience
    while (left := our_processes()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [f"process left: {text}" for text in left]


def our_processes() -> list[str]:
    """The instruments of this lab, and the programs of the cache that carry an instrument's mark."""
    instrument, builds = str(Path(BAKEOFF).parent / "bakeoff-exec"), str(cache.root())
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            marked = b"BAKEOFF_TREE=" in (folder / "environ").read_bytes()
        except OSError:
            continue
        if words.startswith(instrument) or (marked and words.startswith(builds)):
            found.append(f"{folder.name} {words[:120]}")
    return found


def scratch_folders() -> set[str]:
    """The folders of trials and builds in /tmp."""
    return {str(path) for path in Path("/tmp").glob("bakeoff-*")}


def left_behind(before: set[str]) -> list[str]:
    """Groups, namespaces, folders and sockets that are still there when all runs are through."""
    problems = processes_left(patience=5.0)
    groups = Path("/sys/fs/cgroup").glob("**/bakeoff/*/")  # named after the process that made them
    problems += [f"cgroup left: {path}" for path in groups if not Path("/proc", path.name.split("-")[0]).exists()]
    problems += [f"namespace left: {path}" for path in Path("/run/netns").glob("bakeoff-*")]
    problems += [f"folder left: {path}" for path in scratch_folders() - before if Path(path).exists()]
    problems += [f"lab's folder left: {path}" for path in (ROOT / ".bakeoff/tmp").glob("*")]
    sockets = Path("/proc/net/unix").read_text().splitlines()
    problems += [f"socket left: {line}" for line in sockets if "/tmp/bakeoff-" in line and str(os.getpid()) not in line]
    return problems


if __name__ == "__main__":
    sys.exit(main())
