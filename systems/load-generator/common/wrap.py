"""Runs one load generator against the lab's server and says in one form what it cost and what it found.

    wrap.py TOOL --server HOST:PORT --connections N --seconds S [--rate R] [--closed N] --scratch DIR
    wrap.py TOOL --tool-version

The tool is a child bound to the last CPU; the server binds itself to the first. CPU time is the tool's own, by wait4:
what this wrapper costs is not in it. The last line is the marker `result`; experiments/load-generators/README.md tells
its keys.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ANSWER = "Hello, world!"
PERCENTILES = ("p50", "p90", "p99", "p999")
Figures = dict[str, Any]
SLACK = 4 << 20  # bytes by which the kernel's count of resident memory may be off


class Unreadable(Exception):
    """The tool's output is not what it was when this wrapper was written."""


@dataclass(frozen=True)
class Load:
    """What a tool is asked for. A rate of 0 is a closed loop, as fast as it can."""

    url: str
    connections: int
    seconds: float
    rate: float
    scratch: Path

    @property
    def report(self) -> Path:
        """Where tools that write a file write it."""
        return self.scratch / "tool-report.json"

    @property
    def span(self) -> str:
        """The length of the load, as the tools read it."""
        return f"{self.seconds:g}s"


def _percentiles(values: dict[str, Any], factor: float) -> Figures:
    """The percentiles that the tool says, in microseconds; the others are left out."""
    return {f"{name}_us": float(values[name]) * factor for name in PERCENTILES if values.get(name) is not None}


def _search(pattern: str, text: str) -> re.Match[str]:
    match = re.search(pattern, text)
    if match is None:
        raise Unreadable(f"nothing in the output looks like {pattern!r}")
    return match


def bakeoff_load(load: Load, backend: str = "epoll") -> list[str]:
    """Every answer is compared to the last byte."""
    words = ["bakeoff-load", load.url, "-c", str(load.connections), "-d", load.span, "-t", "1", "--json"]
    words += ["--backend", backend, "--expect-body", ANSWER]
    return words + (["-r", f"{load.rate:g}", "--max-connections", str(load.connections)] if load.rate else [])


def read_bakeoff_load(output: str, _report: str) -> Figures:
    """One JSON object a step."""
    step = json.loads(output.strip().splitlines()[-1])
    times = step["latency_us"]
    said = {"p50": times["p50"], "p90": times["p90"], "p99": times["p99"], "p999": times["p99.9"]}
    figures = {"requests": step["ok"], "errors": step["errors_total"], "rate": step["rate_achieved"]}
    return figures | {"backend": step["backend"]} | _percentiles(said, 1.0)


def wrk(load: Load) -> list[str]:
    """Always a closed loop. The script only runs at the end, and has what the text lacks: p99.9 and all digits."""
    script = str(HERE / "wrk.lua")
    return ["wrk", "-t", "1", "-c", str(load.connections), "-d", load.span, "--latency", "-s", script, load.url]


def read_wrk(output: str, _report: str) -> Figures:
    """The line of JSON that our script writes below wrk's own text."""
    said = json.loads(_search(r'(?m)^\{"requests".*\}$', output)[0])
    rate = said["requests"] / (said["duration_us"] / 1e6)
    return {"requests": said["requests"], "errors": said["errors"], "rate": rate} | _percentiles(said, 1.0)


def h2load(load: Load) -> list[str]:
    """HTTP/1.1, always a closed loop."""
    return ["h2load", "--h1", "-t", "1", "-c", str(load.connections), "-D", f"{load.seconds:g}", load.url]


def read_h2load(output: str, _report: str) -> Figures:
    """Text; it says mean and extremes of the response time, and no percentile. `failed` has those errored and late."""
    line = _search(r"(\d+) succeeded, (\d+) failed,", output)
    rate = _search(r"finished in [^,]+, ([\d.]+) req/s", output)
    return {"requests": int(line[1]), "errors": int(line[2]), "rate": float(rate[1])}


def hey(load: Load) -> list[str]:
    """A closed loop; the rate is a limit for each worker."""
    words = ["hey", "-z", load.span, "-c", str(load.connections), "-t", "30"]
    return [*words, *(["-q", f"{load.rate / load.connections:g}"] if load.rate else []), load.url]


def read_hey(output: str, _report: str) -> Figures:
    """Text, with times in tenths of a millisecond. Its counts by status end at a million; rate times total does not."""
    total, rate = (float(_search(rf"{name}:\s+([\d.]+)", output)[1]) for name in ("Total", r"Requests/sec"))
    failed = output.partition("Error distribution:")[2]
    errors = sum(int(count) for count in re.findall(r"(?m)^\s+\[(\d+)\]", failed))
    codes = re.findall(r"\[(\d+)\]\s+(\d+) responses", output)
    errors += sum(int(count) for code, count in codes if code != "200")
    said = {f"p{percent}": seconds for percent, seconds in re.findall(r"(\d+)%+ in ([\d.]+) secs", output)}
    return {"requests": round(total * rate) - errors, "errors": errors, "rate": rate} | _percentiles(said, 1e6)


def fortio(load: Load) -> list[str]:
    """At a rate each thread has its share of it, spread evenly. Its default resolution is 1 ms; ours is 10 µs."""
    words = ["fortio", "load", "-quiet", "-c", str(load.connections), "-t", load.span, "-qps", f"{load.rate:g}"]
    words += ["-uniform"] if load.rate else []
    return [*words, "-r", "0.00001", "-p", "50,90,99,99.9", "-json", str(load.report), load.url]


def read_fortio(_output: str, report: str) -> Figures:
    """Its JSON file."""
    said = json.loads(report)
    codes = {code: int(count) for code, count in said["RetCodes"].items()}
    right = codes.pop("200", 0)
    names = {50: "p50", 90: "p90", 99: "p99", 99.9: "p999"}
    times = {names[each["Percentile"]]: each["Value"] for each in said["DurationHistogram"]["Percentiles"] or []}
    return {"requests": right, "errors": sum(codes.values()), "rate": said["ActualQPS"]} | _percentiles(times, 1e6)


def k6(load: Load) -> list[str]:
    """At a rate an open model: arrivals that find no free virtual user are dropped, and counted."""
    words = ["k6", "run", "--quiet", "--no-usage-report", "--no-color", "--address", ""]
    words += ["--summary-trend-stats", "med,p(90),p(99),p(99.9)", "--summary-export", str(load.report)]
    settings = {"URL": load.url, "RATE": f"{load.rate:g}", "USERS": load.connections, "SECONDS": f"{load.seconds:g}"}
    return [
        *words,
        *(word for key, value in settings.items() for word in ("-e", f"{key}={value}")),
        str(HERE / "k6.js"),
    ]


def read_k6(_output: str, report: str) -> Figures:
    """The file of --summary-export; `passes` of http_req_failed are the requests that failed."""
    metrics = json.loads(report)["metrics"]
    times = metrics["http_req_duration"]
    said = {"p50": times["med"], "p90": times["p(90)"], "p99": times["p(99)"], "p999": times["p(99.9)"]}
    errors = int(metrics["http_req_failed"]["passes"])
    total = metrics["http_reqs"]
    figures = {"requests": int(total["count"]) - errors, "errors": errors, "rate": total["rate"]}
    return figures | {"dropped": metrics.get("dropped_iterations", {}).get("count", 0)} | _percentiles(said, 1e3)


def oha(load: Load) -> list[str]:
    """At a rate with --latency-correction: times count from when the request was due."""
    words = ["oha", "--no-tui", "--output-format", "json", "-w", "-z", load.span, "-c", str(load.connections)]
    return [*words, *(["-q", f"{load.rate:g}", "--latency-correction"] if load.rate else []), load.url]


def read_oha(output: str, _report: str) -> Figures:
    """JSON. What it gave up at the end of its time is no error of the server's."""
    said = json.loads(output)
    times = said["latencyPercentiles"]
    codes = {code: int(count) for code, count in said["statusCodeDistribution"].items()}
    right = codes.pop("200", 0)
    failed = {name: int(count) for name, count in said["errorDistribution"].items() if "deadline" not in name}
    errors = sum(codes.values()) + sum(failed.values())
    figures = {"requests": right, "errors": errors, "rate": said["summary"]["requestsPerSec"]}
    return figures | _percentiles({**times, "p999": times.get("p99.9")}, 1e6)


TOOLS: dict[str, tuple[Callable[[Load], list[str]], Callable[[str, str], Figures]]] = {
    "bakeoff-load": (bakeoff_load, read_bakeoff_load),
    "bakeoff-load-uring": (lambda load: bakeoff_load(load, "uring"), read_bakeoff_load),
    "wrk": (wrk, read_wrk),
    "h2load": (h2load, read_h2load),
    "hey": (hey, read_hey),
    "fortio": (fortio, read_fortio),
    "k6": (k6, read_k6),
    "oha": (oha, read_oha),
}


def program(name: str) -> str:
    """The path of a program: on PATH; our own also beside the instrument that runs us, or in the lab's environment."""
    beside = [HERE.parents[2] / ".venv" / "bin" / name]
    try:
        runner = Path(f"/proc/{os.getppid()}/exe").resolve()
        beside.insert(0, runner.parent / name)
    except OSError:
        pass
    found = shutil.which(name) or next((str(path) for path in beside if os.access(path, os.X_OK)), None)
    if found is None:
        sys.exit(f"the program {name} is not here")
    return found


@dataclass(frozen=True)
class Ended:
    """How a child ended, and what it used."""

    status: int
    wall_s: float
    cpu_s: float
    max_rss_bytes: int


def run(words: list[str], cpu: int, log: Path) -> Ended:
    """Runs a command on one CPU, its output into a file.

    The kernel hands the resident size of the process that forks on to the one that it becomes, so that wait4's figure
    is at least this interpreter's. A tool that stays below it is read from /proc instead, ten times a second.
    """
    before = os.sched_getaffinity(0)
    with log.open("wb") as output:
        began = time.monotonic()
        os.sched_setaffinity(0, {cpu})
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        os.sched_setaffinity(0, before)
        ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        seen = 0
        while True:
            seen = max(seen, _high_water(child.pid))
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.1 if time.monotonic() - began > 0.3 else 0.01)
        ended = time.monotonic()
    child.returncode = os.waitstatus_to_exitcode(status)
    told = usage.ru_maxrss * 1024
    return Ended(
        child.returncode,
        ended - began,
        usage.ru_utime + usage.ru_stime,
        told if told > ours + SLACK or not seen else seen,
    )


def _high_water(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    match = re.search(r"VmHWM:\s+(\d+) kB", text)
    return int(match[1]) * 1024 if match else 0


def busy_seconds(cpus: set[int]) -> float:
    """How long these CPUs have been busy since the machine started, whoever kept them so (/proc/stat)."""
    ticks = 0
    for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
        name, *values = line.split()
        if name in {f"cpu{cpu}" for cpu in cpus}:
            user, nice, system, _idle, _wait, irq, softirq = map(int, values[:7])
            ticks += user + nice + system + irq + softirq
    return ticks / os.sysconf("SC_CLK_TCK")


def ask(server: str, order: str) -> Figures:
    """Gives the server an order and returns its answer."""
    with urllib.request.urlopen(f"http://{server}/bakeoff/{order}", timeout=30) as answer:
        return json.load(answer)


def miscounted(claimed: int, counted: int, connections: int) -> int:
    """By how many requests the tool's count is wrong, beyond 1% of the server's count (2 at least, for rounding).

    The server may have more by those that were under way at the end, or sent before the clock began: one a connection.
    """
    more = connections if counted > claimed else 0
    return max(0, round(abs(counted - claimed) - more - max(2, 0.01 * counted)))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("--tool-version", action="store_true")
    parser.add_argument("--server", default="127.0.0.1:8080")
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument(
        "--closed", type=int, default=0, help="connections where a rate is asked of a tool that has none"
    )
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=float, default=0)
    parser.add_argument("--scratch", type=Path, default=Path())
    return parser.parse_args()


def main() -> None:
    """Runs the tool and prints its result."""
    options = arguments()
    if options.tool_version:
        path = program(options.tool.removesuffix("-uring"))
        sys.exit(subprocess.run([path, "--version"], check=False).returncode)

    cpus = sorted(os.sched_getaffinity(0))
    connections = options.closed or options.connections
    load = Load(f"http://{options.server}/", connections, options.seconds, options.rate, options.scratch)
    command, read = TOOLS[options.tool]
    words = command(load)
    words[0] = program(words[0])
    log = options.scratch / "tool-output.txt"
    os.sched_setaffinity(0, {cpus[0]})
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    ask(options.server, "reset")
    ours = {cpus[0], cpus[-1]}
    before = busy_seconds(ours)
    print("@bakeoff start", flush=True)
    ended = run(words, cpus[-1], log)
    print("@bakeoff finish", flush=True)
    server = ask(options.server, f"report?rate={options.rate:g}&seconds={options.seconds:g}")
    others = busy_seconds(ours) - before - ended.cpu_s - server["cpu_s"]
    output = log.read_text(encoding="utf-8", errors="replace")
    report = load.report.read_text(encoding="utf-8") if load.report.exists() else ""
    print(
        " ".join(words), output[-20_000:], report[-20_000:], json.dumps(server), sep="\n", file=sys.stderr, flush=True
    )
    if ended.status != 0:
        sys.exit(f"{words[0]} ended with {ended.status}")
    try:
        figures = read(output, report)
    except (Unreadable, ValueError, KeyError, IndexError) as error:
        sys.exit(f"{options.tool}: its output cannot be read: {error!r}")
    if figures.get("backend", "uring") != "uring" and options.tool.endswith("-uring"):
        sys.exit(f"the kernel refused io_uring, it used {figures['backend']}")
    result = {key: value for key, value in figures.items() if key != "backend"}
    result |= {"cpu_s": ended.cpu_s, "max_rss_bytes": ended.max_rss_bytes, "wall_s": ended.wall_s}
    result["miscounted"] = miscounted(figures["requests"] + figures["errors"], server["requests"], connections)
    result["server_requests"], result["server_rate"] = server["requests"], server["rate"]
    result["server_busy"] = server["cpu_s"] / server["seconds"] if server["seconds"] else 0.0
    result["others_busy"] = max(0.0, others / ended.wall_s / len(ours))
    result |= {key: value for key, value in server.items() if key.startswith(("true_", "server_p"))}
    print("@bakeoff result", json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
