#!/usr/bin/env bash
# What bakeoff-exec costs per trial, beside `hyperfine -N`, on a command that does nothing.
#
#   benchmarks/exec_overhead.sh [BAKEOFF_EXEC] [TRIALS] [ROUNDS]
#
# Each round runs all contestants one after the other; the table has the medians over the rounds, and their ratios to hyperfine.
set -euo pipefail

exec_program=${1:-bakeoff-exec}
trials=${2:-500}
rounds=${3:-7}

for program in "$exec_program" hyperfine python3; do
    command -v "$program" >/dev/null || { echo "exec_overhead: there is no $program; install it, or name it" >&2; exit 3; }
done

exec python3 - "$exec_program" "$trials" "$rounds" <<'PYTHON'
import os
import statistics
import subprocess
import sys
import time

program, trials, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}


def once(command: list[str]) -> None:
    subprocess.run(command, check=True, **quiet)


def fresh(command: list[str]) -> None:
    """Starts a new process for each trial, with as little as Python can."""
    nothing = os.open(os.devnull, os.O_RDWR)
    path = command[0] if "/" in command[0] else subprocess.check_output(["which", command[0]], text=True).strip()
    streams = [(os.POSIX_SPAWN_DUP2, nothing, fd) for fd in (0, 1, 2)]
    for _ in range(trials):
        pid = os.posix_spawn(path, command, os.environ, file_actions=streams)
        if os.waitpid(pid, 0)[1] != 0:
            raise SystemExit(f"{command} failed")
    os.close(nothing)


contestants = {
    "hyperfine -N": lambda: once(["hyperfine", "-N", "--warmup", "0", "--runs", str(trials), "true"]),
    "bakeoff-exec --repeat": lambda: once([program, "--json", "--repeat", str(trials), "--", "true"]),
    "bakeoff-exec --repeat, no cgroup": lambda: once(
        [program, "--json", "--cgroup", "none", "--repeat", str(trials), "--", "true"]
    ),
    "bakeoff-exec, fresh": lambda: fresh([program, "--json", "--", "true"]),
    "bakeoff-exec, fresh, no cgroup": lambda: fresh([program, "--json", "--cgroup", "none", "--", "true"]),
    "true alone, fresh": lambda: fresh(["true"]),
}
seconds: dict[str, list[float]] = {name: [] for name in contestants}
for _ in range(rounds):
    for name, run in contestants.items():
        start = time.monotonic()
        run()
        seconds[name].append((time.monotonic() - start) / trials)

base = statistics.median(seconds["hyperfine -N"])
print(f"{trials} trials of `true`, median of {rounds} rounds")
print(f"{'':34} {'ms a trial':>10} {'ratio':>6} {'least':>6} {'most':>6}")
for name, values in seconds.items():
    median = statistics.median(values)
    ratios = [value / hyperfine for value, hyperfine in zip(values, seconds["hyperfine -N"], strict=True)]
    print(f"{name:34} {median * 1e3:10.3f} {median / base:6.2f} {min(ratios):6.2f} {max(ratios):6.2f}")
PYTHON
