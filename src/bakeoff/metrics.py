"""The standard metrics: what the procedures can observe without being told how. docs/metrics.md defines each one."""

from __future__ import annotations

from typing import NamedTuple


class Standard(NamedTuple):
    """A metric that a procedure observes by itself."""

    title: str
    unit: str
    better: str  # lower, higher or neither
    key: str  # of the instrument's result


class Derived(NamedTuple):
    """A metric that is worked out from observations of the same trial and step, where an experiment names it.

    With `over`, the sums of both from the system's start up to the step are divided: the CPU time of the phase `start`
    counts, that of a warm-up and its requests do not.
    """

    title: str
    unit: str
    better: str
    formula: str
    over: str = ""
    constants: frozenset[str] = frozenset()  # what the experiment's `constants:` must have


STANDARD: dict[str, Standard] = {
    "wall": Standard("Time from start to end", "s", "lower", "wall_s"),
    "cpu": Standard("CPU time", "s", "lower", "cpu_s"),
    "cpu_user": Standard("CPU time, user", "s", "lower", "user_s"),
    "cpu_system": Standard("CPU time, kernel", "s", "lower", "system_s"),
    "peak_memory": Standard("Peak memory", "B", "lower", "peak_memory_bytes"),
    "voluntary_switches": Standard("Voluntary context switches", "1", "lower", "voluntary_context_switches"),
    "involuntary_switches": Standard("Involuntary context switches", "1", "lower", "involuntary_context_switches"),
    "minor_faults": Standard("Minor page faults", "1", "lower", "minor_page_faults"),
    "major_faults": Standard("Major page faults", "1", "lower", "major_page_faults"),
    "peak_processes": Standard("Most processes at once", "1", "neither", "peak_processes"),
    "ready_time": Standard("Time until ready", "s", "lower", ""),
    "stop_time": Standard("Time to stop", "s", "lower", "stop_s"),
    "throughput": Standard("Right answers a second", "1/s", "higher", "rate_achieved"),
    "errors": Standard("Failed requests", "1", "lower", "errors_total"),
    "requests": Standard("Requests that ended", "1", "neither", "requests"),
    "latency_mean": Standard("Response time, mean", "s", "lower", "mean"),
    "latency_p50": Standard("Response time, median", "s", "lower", "p50"),
    "latency_p90": Standard("Response time, 90th percentile", "s", "lower", "p90"),
    "latency_p95": Standard("Response time, 95th percentile", "s", "lower", "p95"),
    "latency_p99": Standard("Response time, 99th percentile", "s", "lower", "p99"),
    "latency_p999": Standard("Response time, 99.9th percentile", "s", "lower", "p99.9"),
    "latency_p9999": Standard("Response time, 99.99th percentile", "s", "lower", "p99.99"),
    "latency_max": Standard("Response time, longest", "s", "lower", "max"),
    "memory": Standard("Memory at the end of the step", "B", "lower", "memory_now_bytes"),
    "cpu_per_request": Standard("CPU time a request", "s", "lower", ""),
    "load_cpu": Standard("CPU time of the load generator", "s", "neither", "cpu_seconds"),
    "warm_up_time": Standard("Time until the rate had settled", "s", "neither", ""),
    "compile": Standard("Compile time", "s", "lower", "compile_s"),
    "instantiate": Standard("Time to instantiate", "s", "lower", "instantiate_s"),
    "startup": Standard("Start-up time", "s", "lower", "startup_s"),
    "execution": Standard("Execution time", "s", "lower", "execution_s"),
    "shutdown": Standard("Shutdown time", "s", "lower", "shutdown_s"),
    "entry": Standard("Time in the entry", "s", "lower", "entry_s"),
    "linear_memory": Standard("Linear memory, most", "B", "lower", "memory_high_water_bytes"),
    "wasi_calls": Standard("WASI calls", "1", "lower", ""),
    "wasi_bytes_read": Standard("Bytes read through WASI", "B", "lower", "bytes_read"),
    "wasi_bytes_written": Standard("Bytes written through WASI", "B", "lower", "bytes_written"),
    "evaluator_startup": Standard("Start-up time of an empty module", "s", "neither", ""),
    "build_time": Standard("Build time", "s", "lower", "build_time"),
    "artefact_size": Standard("Size of the artefacts", "B", "lower", "artefact_size"),
}

DERIVED: dict[str, Derived] = {
    "context_switches": Derived("Context switches", "1", "lower", "voluntary_switches + involuntary_switches"),
    "cpus_used": Derived("CPUs in use on average", "1", "neither", "cpu / wall"),
    "requests_per_cpu": Derived("Right answers a second of CPU time", "1/s", "higher", "1 / cpu_per_request"),
    "cumulative_requests_per_cpu": Derived(
        "Right answers a second of CPU time, from the start", "1/s", "higher", "requests - errors", "cpu"
    ),
    "memory_per_throughput": Derived("Memory for a right answer a second", "B·s", "lower", "peak_memory / throughput"),
    "switches_per_request": Derived(
        "Context switches a request", "1", "lower", "(voluntary_switches + involuntary_switches) / requests"
    ),
    "error_share": Derived("Share of requests that failed", "1", "lower", "errors / requests"),
    "cost_per_billion": Derived(
        "Cost of 10^9 right answers", "USD", "lower", "1e9 * cpu_per_request / 3600 * usd_per_cpu_hour",
        constants=frozenset({"usd_per_cpu_hour"}),
    ),
}  # fmt: skip
