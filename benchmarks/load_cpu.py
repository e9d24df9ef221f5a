#!/usr/bin/env python3
"""CPU per request of bakeoff-load (epoll, io_uring) against wrk, alternating against one small fast server.

    load_cpu.py BAKEOFF_LOAD FAST_SERVER [--connections 64,256] [--rounds 7] [--seconds 2]

Build both with `cargo build --release -p bakeoff-instruments` and
`cargo build --release -p bakeoff-load --example fast_server`. The server runs on CPU 0, the generators on CPU 1, one
after the other in an order that turns with each round. CPU time is user and system time of the whole generator process
(wait4), so that its start and its end count too. The ratio is the median of each round's ratio to wrk, since other load
on the machine shifts all figures of a round alike. On a machine that is busy with other things the last column says
more: the ratio of the least costs, those of the least disturbed rounds.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from functools import partial


def run(command: list[str], cpu: int) -> tuple[str, float]:
    """Runs a command bound to a CPU; returns its standard output and its CPU seconds."""
    process = subprocess.Popen(["taskset", "-c", str(cpu), *command], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} ended with {process.returncode}")
    return output, usage.ru_utime + usage.ru_stime


def ours(program: str, backend: str, url: str, connections: int, seconds: int) -> tuple[int, float]:
    """Requests and CPU seconds of bakeoff-load, with every response checked to the last byte."""
    command = [program, url, "-c", str(connections), "-d", str(seconds), "-t", "1", "--json", "--backend", backend]
    output, cpu = run([*command, "--expect-body", "Hello, world!"], 1)
    result = json.loads(output)
    if result["errors_total"] or result["backend"] != backend:
        sys.exit(f"not a fair run: {output}")
    return result["requests"], cpu


def wrk(url: str, connections: int, seconds: int) -> tuple[int, float]:
    """Requests and CPU seconds of wrk."""
    output, cpu = run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}", "--latency", url], 1)
    return int(re.search(r"(\d+) requests in", output)[1]), cpu


def main() -> None:
    """Measures and prints a table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("server")
    arguments.add_argument("--connections", default="64,256")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--seconds", type=int, default=2)
    options = arguments.parse_args()
    server = subprocess.Popen(["taskset", "-c", "0", options.server, "0", "900"], stdout=subprocess.PIPE, text=True)
    try:
        url = f"http://127.0.0.1:{server.stdout.readline().split()[1]}/"
        print(
            f"{'connections':>11} {'generator':>9} {'µs/request':>11} {'requests/s':>11}"
            f" {'ratio to wrk':>13} {'quartiles':>15} {'of the least':>13}"
        )
        for connections in map(int, options.connections.split(",")):
            generators = {
                "wrk": partial(wrk, url, connections, options.seconds),
                "epoll": partial(ours, options.program, "epoll", url, connections, options.seconds),
                "uring": partial(ours, options.program, "uring", url, connections, options.seconds),
            }
            cost: dict[str, list[float]] = {name: [] for name in generators}
            rate: dict[str, list[float]] = {name: [] for name in generators}
            for round_number in range(options.rounds):
                names = list(generators)
                turn = round_number % len(names)
                for name in names[turn:] + names[:turn]:
                    requests, cpu = generators[name]()
                    cost[name].append(cpu / requests * 1e6)
                    rate[name].append(requests / options.seconds)
            for name in generators:
                ratios = [mine / base for mine, base in zip(cost[name], cost["wrk"], strict=True)]
                low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else (ratios[0],) * 3
                print(
                    f"{connections:>11} {name:>9} {statistics.median(cost[name]):>11.3f}"
                    f" {statistics.median(rate[name]):>11.0f} {middle:>13.3f} {low:>9.3f}-{high:.3f}"
                    f" {min(cost[name]) / min(cost['wrk']):>13.3f}",
                    flush=True,
                )
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
