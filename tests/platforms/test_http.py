"""The HTTP server of the lab on each platform that has a variant of it: ready, right answers, windows, stop."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bakeoff import probe, toolbox
from bakeoff.instruments import Service, Watched
from bakeoff.platforms import Program
from bakeoff.prepare import Prepared, prepare, substitute
from bakeoff.procedure import Limits
from bakeoff.procedures.task import free_ports
from bench import LAB
from traces import traces

pytestmark = pytest.mark.real
VARIANTS = ["echo", *(f"echo:{name}" for name in LAB.system("echo").variants)]


@pytest.fixture(params=VARIANTS)
def echo(request: pytest.FixtureRequest) -> Prepared:
    """The server on a platform; skipped with the reason where it is not ready."""
    prepared = prepare(LAB, request.param, install=False, build=False)
    if not prepared.ready:
        pytest.skip(prepared.reason or "")
    return prepared


def test_the_server_answers_and_leaves_nothing(echo: Prepared, tmp_path: Path) -> None:
    before = traces()
    port = free_ports(1)[0]
    url, service = f"http://127.0.0.1:{port}", started(echo, port, tmp_path)
    try:
        end_at = time.monotonic() + 120
        while not probe.answers("http", f"{url}/", 200):
            service.catch_up()
            assert service.alive and not service.exited, (tmp_path / "stderr").read_text()
            assert time.monotonic() < end_at, f"no answer: {(tmp_path / 'stderr').read_text()}"
            time.sleep(0.05)
        service.phase("asked")
        for path, body, answer in (("/echo", "a word", "a word"), ("/echo/reversed", "abc", "cba")):
            said = probe.ask({"url": url + path, "method": "POST", "body": body})
            assert (said.get("status"), said.get("body")) == (200, answer), said
        assert probe.ask({"url": f"{url}/nothing", "method": "GET"})["status"] == 404
        asked = service.phase("idle")
        assert asked["cpu_s"] > 0 and asked["memory_now_bytes"] > 50_000 and asked["processes"] >= 1, asked
    finally:
        end = service.stop()
    assert not end["leftover"], end
    assert traces() <= before


def started(echo: Prepared, port: int, folder: Path) -> Service:
    """The server's main part at a port, as the lab starts it."""
    part, hosting = echo.system.parts["main"], echo.hostings["main"]
    values = {**echo.places(), "host": "127.0.0.1", "port": str(port)}
    words = substitute([part.programs()[hosting.kind], part.address or "", *part.words()], values)
    program = Program(hosting.kind, words[0], tuple(words[2:]), address=words[1])
    launch = hosting.platform.launch(program, hosting.made, Limits(), echo.paths)
    env = {"HOME": str(Path.home())} | toolbox.environment(echo.paths) | dict(launch.env)
    stderr = folder / "stderr"
    settings = {"clear_env": True, "inner_group": launch.inner_group, "stderr": stderr}
    return Service(Watched(launch.command, env=env, **settings))
