"""The procedure `serve` against a small real server: steps, checks, windows, flags, ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from labs import TestLab

pytestmark = pytest.mark.real

SERVER = """
import http.server, os, signal, sys, time
print("@bakeoff startup", flush=True)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536
    def do_GET(self):
        if self.path == "/die":
            os._exit(1)
        right = self.path == "/hello"
        body = b"hello" if right else b"nothing"
        self.send_response(200 if right else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
server = Server((sys.argv[1], int(sys.argv[2])), Handler)
print("@bakeoff ready", flush=True)
server.serve_forever()
"""
PROCEDURE: dict[str, Any] = {
    "kind": "serve",
    "load": {
        "connections": "{connections}", "duration": "300ms", "timeout": "2s", "keepalive": "{keepalive}",
        "send": [{"path": "/hello", "answer": "hello"}],
    },
    "checks": [{"path": "/hello", "answer": "hello"}, {"path": "/other", "status": 404}],
    "warm_up": {"at_least": "100ms", "at_most": "300ms"},
    "idle": "100ms",
}  # fmt: skip


@pytest.fixture
def serving(lab: TestLab) -> TestLab:
    """A lab whose system is the server, with two steps of connections."""
    make(lab)
    return lab


def make(
    lab: TestLab,
    ready: Any = None,
    script: str = SERVER,
    place: str = "here",
    steps: tuple[int, ...] = (1, 4),
    **procedure: Any,
) -> None:
    path = lab.system(
        parts={"server": {
            "command": ["python3", "{source}/server.py", "{host}", "{port}"],
            "ready": ready or {"http": "http://{host}:{port}/hello", "timeout": "20s"},
        }},
        expect={},
    )  # fmt: skip
    (path.parent / "server.py").write_text(script)
    lab.experiment(
        factors={"keepalive": {"levels": ["on"]}, "connections": {"within": True, "levels": list(steps)}},
        procedure=PROCEDURE | procedure,
        metrics={"throughput": {}, "latency_p50": {}, "peak_memory": {}},
        replications=1,
        place=place,
    )


def run(lab: TestLab, check: int = 0) -> list[dict[str, Any]]:
    """Runs the experiment; the observations of its planned trial."""
    lab.run("run", "counting", "--profile", "full", "--no-report", check=check)
    rows = [json.loads(line) for line in lab.run("export", "last", "--json").stdout.splitlines()]
    return [row for row in rows if row["procedure"] == "serve"]


def reason(lab: TestLab) -> tuple[str, str]:
    trial = next(t for t in lab.json("status", "last")["all_trials"] if t["position"] == 0)
    return trial["status"], trial["reason"]


@pytest.mark.parametrize("place", ["here", "namespace"])
@pytest.mark.parametrize("ready", [{"marker": "ready"}, {"tcp": "{host}:{port}"}, None])
def test_steps_have_their_own_figures(lab: TestLab, ready: Any, place: str) -> None:
    make(lab, ready, place=place)
    rows = run(lab)
    steps = [row for row in rows if row["metric"] == "throughput"]
    assert [row["connections"] for row in steps] == ["1", "4"]
    assert all(row["value"] > 10 for row in steps)
    cpu = {row["connections"] or row["labels"]: row["value"] for row in rows if row["metric"] == "cpu"}
    assert cpu["4"] > cpu["phase=idle"]
    assert {row["metric"] for row in rows} >= {"ready_time", "stop_time", "latency_p999", "cpu_per_request", "load_cpu"}


def test_rates_over_time_are_those_of_the_load(lab: TestLab) -> None:
    """What is answered after a step or a warm-up, when nothing new is sent, is no rate of the load."""
    slow = SERVER.replace("right = self.path", "time.sleep(0.04)\n        right = self.path")
    short = {"load": PROCEDURE["load"] | {"duration": "250ms"}, "warm_up": {"at_least": "50ms", "at_most": "250ms"}}
    make(lab, script=slow, steps=(8,), **short)
    run(lab)
    lines = lab.run("export", "last", "--table", "series", "--json").stdout.splitlines()
    rates = [point for point in map(json.loads, lines) if point["metric"] == "rate"]
    assert {point["labels"] for point in rates} == {"connections=8", "phase=warm-up"}
    assert all(0 < point["t_s"] <= 0.25 and point["value"] <= 1.2 * 8 / 0.04 for point in rates)


def test_a_step_without_connections_is_a_time_without_load_before_the_warm_up(lab: TestLab) -> None:
    make(lab, steps=(0, 2))
    rows = run(lab)
    figures = {(row["metric"], row["connections"]): row["value"] for row in rows if row["connections"]}
    assert [level for metric, level in figures if metric == "throughput"] == ["2"]
    assert 0.3 <= figures["wall", "0"] < 5 and figures["peak_processes", "0"] == 1
    assert figures["cpu", "2"] > 3 * figures["cpu", "0"] and figures["memory", "0"] > 1_000_000
    assert figures["minor_faults", "0"] <= figures["minor_faults", "2"]


def test_a_wrong_check_makes_the_trial_wrong(lab: TestLab) -> None:
    make(lab, checks=[{"path": "/hello", "answer": "good day"}])
    run(lab, check=1)
    assert reason(lab) == ("wrong", "GET /hello was answered with 'hello' instead of 'good day'")


def test_a_server_that_dies_under_load_fails(lab: TestLab) -> None:
    make(lab, load=PROCEDURE["load"] | {"send": [{"path": "/die"}]}, warm_up=None)
    run(lab, check=1)
    assert reason(lab) == ("failed", "the part server ended under load")


def test_wrong_answers_under_load_are_errors_and_flag_the_step(lab: TestLab) -> None:
    make(lab, load=PROCEDURE["load"] | {"send": [{"path": "/hello", "answer": "hullo"}]}, warm_up=None)
    rows = run(lab)
    wrong = [row for row in rows if row["metric"] == "errors_wrong_body"]
    assert wrong and all(row["value"] > 0 for row in wrong)
    assert all("errors" in str(row["flags"]) for row in rows if row["metric"] == "throughput")


def test_a_server_that_never_listens(lab: TestLab) -> None:
    make(lab, ready={"tcp": "{host}:{port2}", "timeout": "400ms"})
    run(lab, check=1)
    status, why = reason(lab)
    assert status == "failed" and "was not ready within 0.4 s" in why


def test_a_server_that_ends_at_once(lab: TestLab) -> None:
    make(lab, script="import sys; sys.exit('no licence')")
    run(lab, check=1)
    assert reason(lab) == ("failed", "the part server ended before it was ready: no licence")


def test_a_parameter_that_nobody_sets_is_found_before_anything_starts(lab: TestLab) -> None:
    make(lab, load=PROCEDURE["load"] | {"rate": "{speed}"})
    error = lab.json("run", "counting", check=2)["error"]
    assert error["key"] == "procedure.load.rate" and "{speed}" in error["problem"]
