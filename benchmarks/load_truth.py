#!/usr/bin/env python3
"""bakeoff-load's percentiles against a server whose delays are known (open loop, evenly spaced arrivals).

    load_truth.py BAKEOFF_LOAD TRUTH_SERVER [--rate 5000] [--seconds 30] [--backends epoll]
        [--repetitions 3] [--tries 9]

Build them with `cargo build --release -p bakeoff-instruments` and
`cargo build --release -p bakeoff-load --example truth_server`. The truth is the server's own record: microseconds from
the kernel's receipt of each request to the moment before its answer is written, so that waiting in the socket of a
stopped server is in it. A distribution with a jump has no single percentile at the jump: the truth has a lowest and a
highest value, 2% of the tail to either side, and what lies between has no error (away from jumps they are the same, to
a few µs). `from middle` is the error from the percentile itself. A value holds when it is within 1% or 50 µs of the
truth. The server is bound to CPU 0 and the
generator to CPU 1, where it goes before other processes. On epoll the last byte of an answer counts from its receipt
by the kernel; on io_uring the generator's waking is in the measured value (some 20 to 40 µs on an idle machine). The
generator's own lateness (send lag) is in its response time, as it must be, and not in the truth: `service` is the error
without it.

A repetition during which the host gave more than 1% of the CPU time to others says more about the host than about the
generator; it is shown and does not count. Each value of the table is the median error of those that count, at most
`--repetitions`, in at most `--tries`.
"""

import argparse
import json
import statistics
import subprocess
import urllib.request
from dataclasses import dataclass
from pathlib import Path

QUANTILES = ("p50", "p90", "p99", "p99.9")
STOLEN = 0.01


@dataclass(frozen=True)
class Repetition:
    """One repetition: microseconds by quantile, and the share of the CPU time that went to other guests.

    The truth is the percentile, the lowest and the highest value that is right.
    """

    truth: dict[str, tuple[float, float, float]]
    latency: dict[str, float]
    service: dict[str, float]
    stolen: float


def ticks() -> tuple[int, int]:
    """The host's CPU time in ticks: stolen, and all."""
    spent = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").split()[1:9]]
    return spent[7], sum(spent)


def measure(
    program: str, server: str, kind: str, rate: int, seconds: int, backend: str, prefix: list[str]
) -> Repetition:
    """One repetition; prints a line of it."""
    command = [*prefix, "taskset", "-c", "0", server, kind, "0", str(seconds + 20)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        base = f"http://127.0.0.1:{process.stdout.readline().split()[1]}"
        # A stop of 200 ms needs 1,000 connections at 5,000/s; they are open before, so that no connect is measured.
        connections = rate * 6 // 25 if kind == "stop" else 100
        load = [*prefix, "taskset", "-c", "1", program, base + "/", "-r", str(rate), "-d", str(seconds)]
        load += ["-t", "1", "-c", str(connections), "--max-connections", "2000", "--urgent", "--backend", backend]
        load += ["--json", "--expect-body", "hello"]
        before = ticks()
        result = json.loads(subprocess.run(load, check=True, capture_output=True, text=True).stdout)
        after = ticks()
        with urllib.request.urlopen(base + "/truth", timeout=10) as answer:
            truth = json.load(answer)
    finally:
        process.terminate()
        process.wait()
    if truth["count"] != result["ok"]:
        print(f"the server answered {truth['count']}, {result['ok']} were right: {result['errors']}")
    stolen = (after[0] - before[0]) / (after[1] - before[1])
    flags = ", ".join(flag["name"] for flag in result["flags"]) or "none"
    print(
        f"# {kind} on {backend}: {result['rate_achieved']:.0f}/s, send lag p99 {result['send_lag_us']['p99']} µs,"
        f" service p99 {result['service_us']['p99']} µs, {result['connections']} connections, flags: {flags},"
        f" stolen {stolen:.1%}{', does not count' if stolen > STOLEN else ''}",
        flush=True,
    )
    return Repetition(truth, result["latency_us"], result["service_us"], stolen)


def error(value: float, truth: tuple[float, float, float]) -> float:
    """How far a value lies outside of what is right."""
    _, low, high = truth
    return max(value - high, 0) + min(value - low, 0)


def table(kind: str, backend: str, counted: list[Repetition]) -> None:
    """The medians of those that count, a line a quantile."""
    if not counted:
        print(f"{kind:<10} {backend:<8} no repetition counts: the host gave too much CPU time to others")
    for name in QUANTILES if counted else ():
        true = statistics.median(one.truth[name][0] for one in counted)
        middle = statistics.median(one.latency[name] - one.truth[name][0] for one in counted)
        response = statistics.median(error(one.latency[name], one.truth[name]) for one in counted)
        service = statistics.median(error(one.service[name], one.truth[name]) for one in counted)
        bound = max(50, true * 0.01)
        print(
            f"{kind:<10} {backend:<8} {name:<8} {true:>10.0f} {response:>9.0f} {response / true:>7.2%} {middle:>12.0f}"
            f" {service:>10.0f} {len(counted):>3}  {'yes' if abs(response) <= bound else 'NO'}"
        )


def main() -> None:
    """Measures and prints a table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("server")
    arguments.add_argument("--rate", type=int, default=5000)
    arguments.add_argument("--seconds", type=int, default=30)
    arguments.add_argument("--backends", default="epoll")
    arguments.add_argument("--repetitions", type=int, default=3)
    arguments.add_argument("--tries", type=int, default=9)
    arguments.add_argument("--kinds", default="constant,two,lognormal,stop")
    arguments.add_argument(
        "--prefix", default="", help="command before both, such as 'chrt --fifo 10' on a busy machine"
    )
    options = arguments.parse_args()
    prefix = options.prefix.split()
    counted: dict[tuple[str, str], list[Repetition]] = {}
    for kind in options.kinds.split(","):
        for backend in options.backends.split(","):
            counts = counted.setdefault((kind, backend), [])
            for _ in range(options.tries):
                one = measure(options.program, options.server, kind, options.rate, options.seconds, backend, prefix)
                counts += [one] if one.stolen <= STOLEN else []
                if len(counts) == options.repetitions:
                    break
    print(
        f"{'kind':<10} {'backend':<8} {'quantile':<8} {'truth µs':>10} {'error µs':>9} {'error':>7} {'from middle':>12}"
        f" {'service µs':>10} {'n':>3}  holds"
    )
    for (kind, backend), counts in counted.items():
        table(kind, backend, counts)


if __name__ == "__main__":
    main()
