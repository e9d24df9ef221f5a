"""The live page, while a real run goes on in another process; and how the server ends."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import made_runs
import pytest
from sites import Served, serving
from sqlalchemy import update

from bakeoff import host
from bakeoff.store import Store, history
from bakeoff.store.store import Outcome
from bakeoff.store.tables import host_facts, trials
from bakeoff.web.events import event
from bakeoff.web.progress import read
from labs import BAKEOFF, TestLab

SLOW = """echo '@bakeoff startup'
sleep 0.4; i=0; while [ $i -lt $1 ]; do i=$((i+1)); done
echo '@bakeoff finish'
echo "@bakeoff result {\\"count\\": $i}"
"""
# Keeps each state of the page that a reader could have seen.
RECORD = """() => {
  window.seen = [];
  const part = document.getElementById("live");
  const keep = () => seen.push([part.querySelector("progress").value, part.innerText]);
  keep();
  new MutationObserver(keep).observe(part, {childList: true});
}"""


@pytest.fixture
def slow(lab: TestLab) -> TestLab:
    """A lab whose run takes some seconds."""
    lab.system(script=SLOW)
    lab.system("wrong", script=SLOW.replace('$i}"', '0}"'))
    lab.experiment(systems=["plain", "wrong"], replications=6)
    return lab


def begun(lab: TestLab) -> subprocess.Popen[bytes]:
    """A run in its own process."""
    env = os.environ | {"BAKEOFF_CACHE": str(lab.root / "cache")}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(
        [str(BAKEOFF), "run", "counting", "--no-report"], cwd=lab.root, env=env, stdout=quiet, stderr=quiet
    )


def first_run(served: Served) -> str:
    """The id of the run, once there is one."""
    for _ in range(600):
        if found := re.search(r'<a href="/runs/(counting-[\w-]+)"', served.get("/runs").text):
            return found[1]
        time.sleep(0.05)
    raise AssertionError("no run has begun")


@pytest.mark.real
def test_a_page_follows_a_run_to_its_end(slow: TestLab, browser: Any) -> None:
    with serving(f"sqlite:///{slow.root}/.bakeoff/store.db") as served:
        process = begun(slow)
        try:
            page = browser.new_page()
            heard: list[str] = []
            page.on("console", lambda message: heard.append(message.text))
            page.goto(served.address + "runs/" + first_run(served))
            page.evaluate(RECORD)
            page.get_by_text("The run has ended").wait_for(timeout=180_000)
            seen: list[tuple[int, str]] = page.evaluate("seen")
            assert process.wait(60) == 1, "the wrong system makes the run end with failed trials"
        finally:
            with suppress(ProcessLookupError):
                process.terminate()
            process.wait(60)
        done = [many for many, _ in seen]
        assert done == sorted(done) and len(set(done)) > 3, "the page has followed step by step"
        assert any(re.search(r"now\s+exec (plain|wrong) size=(small|large)", text) for _, text in seen)
        assert any("left, about" in text for _, text in seen)
        last = page.locator("#live").inner_text()
        assert "done: 24 of 24 trials done, 0 left" in last and "12 ok, 12 wrong" in last
        assert re.search(r"elapsed: 0\.\d+ s|elapsed: \d+ ms", last)
        assert heard == []
        page.reload()
        assert page.locator("script").count() == 0, "a run that has ended is not followed"
        page.close()


@pytest.mark.real
def test_readers_do_not_disturb_a_run(slow: TestLab) -> None:
    with serving(f"sqlite:///{slow.root}/.bakeoff/store.db") as served:
        process = begun(slow)
        run = first_run(served)
        answers = []
        while process.poll() is None:
            answers += [served.get(path).status for path in ("/", "/runs", f"/runs/{run}")]
        assert set(answers) == {200}
        assert Store(served.url).counts(run) == {"ok": 12, "wrong": 12}


def test_the_page_works_without_script(slow: TestLab, tmp_path: Path) -> None:
    store, run = half_done(tmp_path)
    with serving(store.url) as served:
        text = served.get(f"/runs/{run}").text
    assert "Reload this page to see how far the run is." in text and "3 of 45 trials done, 42 left" in text


def half_done(folder: Path) -> tuple[Store, str]:
    """A run of another machine of which three trials have ended and one runs."""
    store = Store(f"sqlite:///{folder}/half.db")
    run = made_runs.make(store, made_runs.message_passing(), lambda _trial: Outcome("ok"), run="half-1")
    with store.engine.begin() as db:
        db.execute(update(trials).where(trials.c.position >= 45).values(position=-1000 - trials.c.position))
        late = trials.c.position > 2
        db.execute(update(trials).where(late).values(status="planned", started_at=None, ended_at=None))
        db.execute(update(trials).where(trials.c.position == 3).values(status="running", started_at=time.time() - 5))
    store.set_run(run, status="running", ended_at=None, pid=os.getpid(), pid_started=host.process_started(os.getpid()))
    return store, run


def test_a_list_counts_the_trials_that_the_page_of_a_run_counts(tmp_path: Path) -> None:
    store, _ = half_done(tmp_path)
    (listed,) = history.page(store, history.Wanted(), 0, 10)
    assert listed.trials == {"ok": 3, "planned": 41, "running": 1}, "builds are none of them"


def test_a_run_of_another_machine_is_under_way_as_long_as_it_says_so(tmp_path: Path) -> None:
    store, run = half_done(tmp_path)
    found = read(store, run)
    assert (found.status, found.done, found.left, found.outcomes) == ("running", 3, 42, {"ok": 3})
    assert found.current[0][0].startswith("exec ") and 4 < found.current[0][1] < 60
    store.set_run(run, pid=2**22, pid_started=1.0)
    assert read(store, run).status == "running", "the pid is of the machine `bench`, which is not this one"


def test_a_killed_run_of_this_machine_is_interrupted(tmp_path: Path) -> None:
    store, run = half_done(tmp_path)
    with store.engine.begin() as db:
        db.execute(update(host_facts).where(host_facts.c.moment == "run").values(facts={"hostname": host.name()}))
    assert read(store, run).status == "running"
    store.set_run(run, pid=2**22, pid_started=1.0)
    assert read(store, run).status == "interrupted"


def test_an_event_cannot_be_broken_by_its_text() -> None:
    assert event("progress", "a\r\rb\n\ndata: c\n\r\nevent: end") == (
        "event: progress\ndata: a\ndata: \ndata: b\ndata: \ndata: data: c\ndata: \ndata: event: end\n\n"
    )


def stream(served: Served, run: str) -> socket.socket:
    """An open event stream, after its first event."""
    line = socket.create_connection((urlsplit(served.address).hostname, urlsplit(served.address).port), timeout=20)
    line.sendall(f"GET /runs/{run}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    text = b""
    while b"event: progress" not in text:
        piece = line.recv(65536)
        assert piece, text
        text += piece
    assert b"text/event-stream" in text
    return line


def test_the_server_ends_with_open_streams(tmp_path: Path) -> None:
    store, run = half_done(tmp_path)
    with serving(store.url) as served:
        lines = [stream(served, run) for _ in range(3)]
        began = time.monotonic()
        served.process.terminate()
        assert served.process.wait(15) == 0
        assert time.monotonic() - began < 4, "the streams were told; nobody waited for a timeout"
        for line in lines:
            line.close()


def test_a_reader_who_leaves_is_forgotten(tmp_path: Path) -> None:
    store, run = half_done(tmp_path)
    with serving(store.url) as served:
        for _ in range(5):
            stream(served, run).close()
        assert served.get(f"/runs/{run}").status == 200


def test_events_of_no_run_are_refused(site: Served) -> None:
    assert site.get("/runs/nope/events").status in (400, 404)
