"""How long `bakeoff report` takes, and how much memory, for runs of up to a million trials.

    python benchmarks/report_million.py [--trials 10000 100000 1000000] [--keep FOLDER]

Each size is a store of its own, written straight into SQLite: ten systems, two factors (twenty cells), six metrics a
trial, host facts before and after each, some trials failed and some flagged. The values are made up: only the time and
the memory of the report are measured. Prints a line a size.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bakeoff import plan, yamlfile
from bakeoff.experiment import Experiment
from bakeoff.store import Store

METRICS = [
    ("elapsed", "s"), ("cpu_user", "s"), ("cpu_system", "s"), ("peak_memory", "B"), ("voluntary_switches", "1"),
    ("stolen_cpu", "1"),
]  # fmt: skip
CELLS = 20  # of the two factors
SYSTEMS = [f"system-{i}" for i in range(10)]
PIECE = 50_000  # trials inserted at once
EXPERIMENT = {
    "title": "A made run",
    "question": "How long does a report take?",
    "systems": SYSTEMS,
    "baseline": SYSTEMS[0],
    "factors": {
        "workload": {"levels": ["small", "middle", "large", "huge"]},
        "threads": {"levels": [1, 2, 4, 8, 16]},
    },
    "procedure": {"kind": "exec"},
    "metrics": {
        "elapsed": {"unit": "s", "better": "lower", "marker": {}},
        "cpu_user": {}, "peak_memory": {}, "voluntary_switches": {},
    },
}  # fmt: skip
FACTS = {
    "monotonic_s": 3673.87589267,
    "cpu_ticks": {
        "user": 217434,
        "nice": 0,
        "system": 66442,
        "idle": 325296,
        "iowait": 2764,
        "irq": 0,
        "softirq": 6804,
    },
    "memory_available_bytes": 24224661504,
    "mhz": [2499.998, 2499.998],
}


def make(path: Path, replications: int, systems: int, levels: int) -> int:
    """Writes a store with one run; returns the number of its trials. `levels` are those of the first factor."""
    chosen = EXPERIMENT | {"replications": replications, "systems": SYSTEMS[:systems]}
    if levels != 4:
        factor = {"levels": [f"w{i}" for i in range(levels)]}
        chosen |= {"factors": {"workload": factor, "threads": EXPERIMENT["factors"]["threads"]}}  # type: ignore[index]
    experiment = Experiment.model_validate(chosen)
    store = Store(f"sqlite:///{path}")
    names = [{"system": name, "system_yaml": "title: Made", "status": "ready", "reason": None, "version": "1",
              "tools": {}, "key": None, "receipt": None} for name in experiment.systems]  # fmt: skip
    row = {"id": "made-1", "experiment": "made", "profile": None, "seed": 1, "status": "done", "created_at": 1.76e9,
           "ended_at": 1.77e9, "lab_root": "/nowhere", "command": "bakeoff run made",
           "experiment_yaml": yamlfile.dump(experiment.model_dump(mode="json", by_alias=True)), "readme": None,
           "reference_rows": [], "versions": {}}  # fmt: skip
    store.create_run(row, names, plan.make(experiment.model_copy(update={"replications": 1}))[:1], {"cpus": 2})
    store.close()
    units = [(system, cell) for system in experiment.systems for cell in plan.cells(experiment, system)]
    cells = [(system, json.dumps(cell), json.dumps(plan.parameters(experiment, cell))) for system, cell in units]
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA synchronous=OFF")
        db.execute("DELETE FROM trials")
        db.executemany("INSERT INTO metrics VALUES (?, ?, ?, '{}')", [(i, *m) for i, m in enumerate(METRICS, 1)])
        _insert(db, cells, replications)
    db.close()
    return len(units) * replications


def _insert(db: sqlite3.Connection, cells: list[tuple[str, str, str]], replications: int) -> None:
    draw = np.random.default_rng(1)
    speed = np.exp(draw.normal(0, 0.5, len(cells)))
    total = len(cells) * replications
    order = np.concatenate([draw.permutation(len(cells)) for _ in range(replications)])
    failed, flagged = draw.random(total) < 0.002, draw.random(total) < 0.01
    scales = np.array([1.0, 0.7, 0.2, 3e7, 900.0, 0.002])
    for first in range(0, total, PIECE):
        some = range(first, min(first + PIECE, total))
        values = speed[order[first : some.stop], None] * scales * np.exp(draw.normal(0, 0.1, (len(some), len(METRICS))))
        db.executemany(
            "INSERT INTO trials VALUES (?, 'made-1', ?, 1, ?, ?, 0, 'exec', ?, ?, ?, ?, ?, ?, ?)",
            (
                (i + 1, i, i // len(cells) + 1, i // len(cells) + 1, *cells[order[i]],
                 *(("failed", "it ended with 1") if failed[i] else ("ok", None)), 1.76e9 + i, 1.76e9 + i + 0.9)
                for i in some
            ),
        )  # fmt: skip
        numbers = ((i + 1, m + 1, v) for i, line in zip(some, values.tolist(), strict=True) for m, v in enumerate(line)
                   if not failed[i])  # fmt: skip
        db.executemany("INSERT INTO observations VALUES (?, ?, ?)", numbers)
        flags = ((i + 1, "stolen_cpu", "{}", "11% of the CPU time went to other guests") for i in some if flagged[i])
        db.executemany("INSERT INTO flags VALUES (?, ?, ?, ?)", flags)
        db.executemany("INSERT INTO host_facts VALUES (NULL, 'made-1', ?, ?, ?, ?)", _facts(some))


def _facts(trials: range) -> Iterator[tuple[int, str, float, str]]:
    for i in trials:
        facts = json.dumps({"load": [1 + i % 7 / 10, 1.1, 1.0], **FACTS})
        yield i + 1, "before", 1.76e9 + i, facts
        yield i + 1, "after", 1.76e9 + i + 0.9, facts


def measure(path: Path, folder: Path) -> tuple[float, float]:
    """Seconds and MiB (peak resident) of one `bakeoff report` of the store."""
    words = [
        str(Path(sys.executable).with_name("bakeoff")),
        "--store",
        f"sqlite:///{path}",
        "report",
        "-o",
        str(folder),
    ]
    began = time.monotonic()
    quiet = os.open(os.devnull, os.O_WRONLY)
    pid = os.posix_spawn(words[0], words, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, quiet, 1)])
    _, status, used = os.wait4(pid, 0)
    os.close(quiet)
    if status:
        raise SystemExit(f"the report of {path} ended with {os.waitstatus_to_exitcode(status)}")
    return time.monotonic() - began, used.ru_maxrss / 1024


def main() -> None:
    """Makes and measures each size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--systems", type=int, default=len(SYSTEMS), choices=range(2, len(SYSTEMS) + 1))
    parser.add_argument("--levels", type=int, default=4, help="of the first factor; the second one has five")
    parser.add_argument("--keep", type=Path, help="a folder for stores and reports; those already there are used again")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = chosen.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{'trials':>10} {'replications':>13} {'store, MB':>10} {'report, s':>10} {'peak, MiB':>10}")
        for trials in chosen.trials:
            replications = max(1, round(trials / (chosen.systems * chosen.levels * 5)))
            path = folder / f"{trials}-{chosen.systems}-{chosen.levels}.db"
            made = replications * chosen.systems * chosen.levels * 5
            if not path.exists():
                made = make(path, replications, chosen.systems, chosen.levels)
            seconds, peak = measure(path, folder / f"report-{path.stem}")
            size = path.stat().st_size / 1e6
            print(f"{made:>10,} {replications:>13,} {size:>10,.0f} {seconds:>10.1f} {peak:>10,.0f}", flush=True)


if __name__ == "__main__":
    main()
