#!/usr/bin/env python3
"""bakeoff-load's percentiles against a server whose delays are known (open loop, evenly spaced arrivals).

    load_truth.py BAKEOFF_LOAD TRUTH_SERVER [--rate 5000] [--seconds 30] [--backends epoll]

Build them with `cargo build --release -p bakeoff-instruments` and
`cargo build --release -p bakeoff-load --example truth_server`. The truth is the server's own record: microseconds from
the kernel's receipt of each request to the moment before its answer is written, so that waiting in the socket of a
stopped server is in it. A value holds when it is within 1% or 50 µs of the truth. The server is bound to CPU 0 and the
generator to CPU 1, where it goes before other processes. On epoll the last byte of an answer counts from its receipt
by the kernel; on io_uring the generator's waking is in the measured value (some 20 to 40 µs on an idle machine). The
generator's own lateness (send lag) is in its response time, as it must be, and not in the truth: `service` is the error
without it.
"""

import argparse
import json
import subprocess
import urllib.request

QUANTILES = ("p50", "p90", "p99", "p99.9")


def measure(
    program: str, server: str, kind: str, rate: int, seconds: int, backend: str, prefix: list[str]
) -> list[tuple]:
    """One row per quantile: name, truth, measured, whether it holds."""
    command = [*prefix, "taskset", "-c", "0", server, kind, "0", str(seconds + 20)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        base = f"http://127.0.0.1:{process.stdout.readline().split()[1]}"
        # A stop of 200 ms needs 1,000 connections at 5,000/s; they are open before, so that no connect is measured.
        connections = str(rate * 6 // 25 if kind == "stop" else 100)
        load = [
            *prefix,
            "taskset",
            "-c",
            "1",
            program,
            base + "/",
            "-r",
            str(rate),
            "-d",
            str(seconds),
            "-t",
            "1",
            "-c",
            connections,
        ]
        load += ["--max-connections", "2000", "--urgent", "--backend", backend, "--json", "--expect-body", "hello"]
        result = json.loads(subprocess.run(load, check=True, capture_output=True, text=True).stdout)
        with urllib.request.urlopen(base + "/truth", timeout=10) as answer:
            truth = json.load(answer)
    finally:
        process.terminate()
        process.wait()
    if truth["count"] != result["ok"]:
        print(f"the server answered {truth['count']}, {result['ok']} were right: {result['errors']}")
    rows = []
    for name in QUANTILES:
        true = truth[name]
        measured = result["latency_us"][name]
        error = measured - true
        service = result["service_us"][name] - true
        rows.append((kind, backend, name, true, measured, error, service, abs(error) <= max(50, true * 0.01)))
    flags = ", ".join(flag["name"] for flag in result["flags"]) or "none"
    print(
        f"# {kind} on {backend}: {result['rate_achieved']:.0f}/s, send lag p99 {result['send_lag_us']['p99']} µs,"
        f" service p99 {result['service_us']['p99']} µs, {result['connections']} connections, flags: {flags}",
        flush=True,
    )
    return rows


def main() -> None:
    """Measures and prints a table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("server")
    arguments.add_argument("--rate", type=int, default=5000)
    arguments.add_argument("--seconds", type=int, default=30)
    arguments.add_argument("--backends", default="epoll")
    arguments.add_argument("--kinds", default="constant,two,lognormal,stop")
    arguments.add_argument(
        "--prefix", default="", help="command before both, such as 'chrt --fifo 10' on a busy machine"
    )
    options = arguments.parse_args()
    rows = []
    for kind in options.kinds.split(","):
        for backend in options.backends.split(","):
            rows += measure(
                options.program, options.server, kind, options.rate, options.seconds, backend, options.prefix.split()
            )
    print(
        f"{'kind':<10} {'backend':<8} {'quantile':<8} {'truth µs':>10}"
        f" {'measured µs':>12} {'error µs':>9} {'error':>7} {'service µs':>10}  holds"
    )
    for kind, backend, name, true, measured, error, service, holds in rows:
        print(
            f"{kind:<10} {backend:<8} {name:<8} {true:>10.0f} {measured:>12} {error:>9.0f} {error / true:>7.2%}"
            f" {service:>10.0f}  {'yes' if holds else 'NO'}"
        )


if __name__ == "__main__":
    main()
