"""One lab at a time measures on a machine."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from bakeoff import turn
from bakeoff.errors import CannotRun
from labs import BAKEOFF, TestLab

pytestmark = pytest.mark.real
RUN = ["run", "counting", "--profile", "full", "--no-report"]


def begun(lab: TestLab, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(BAKEOFF), *words], cwd=lab.root, env=lab.environment, stderr=subprocess.PIPE, text=True
    )


def until(process: subprocess.Popen[str], word: str) -> str:
    """Reads a lab's messages up to the first one with the word."""
    assert process.stderr is not None
    for line in process.stderr:
        if word in line:
            return line
    raise AssertionError(f"it never said {word!r}")


@pytest.fixture
def slow(lab: TestLab) -> TestLab:
    """A lab whose trials last until a file is there."""
    wait = f"touch {lab.root}/up; while [ ! -e {lab.root}/go ]; do sleep 0.05; done"
    lab.system(script=f"{wait}; echo '@bakeoff result {{\"count\": '$1'}}'")
    lab.experiment(metrics={"wall": {}}, replications=1)
    return lab


def test_the_second_lab_waits_and_says_for_whom(slow: TestLab) -> None:
    with begun(slow, *RUN) as first:
        until_held(slow)
        with begun(slow, *RUN) as second:
            said = until(second, "waiting for another lab")
            assert f"(process {first.pid}, since " in said and f"of the lab {slow.root}" in said
            run = said.split("run ")[1].split(" ")[0]
            assert second.poll() is None
            (slow.root / "go").touch()
            assert first.wait(timeout=60) == 0 and second.wait(timeout=60) == 0
    runs = {row["run"]: row for row in slow.json("status")}
    assert run in runs and len(runs) == 2 and all(row["trials"] == {"ok": 2} for row in runs.values())


def until_held(lab: TestLab) -> None:
    """Waits until the first lab's first trial runs."""
    deadline = time.monotonic() + 60
    while not (lab.root / "up").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert (lab.root / "up").exists()


def test_a_lab_that_must_not_wait_says_who_measures_and_leaves_no_run(slow: TestLab) -> None:
    with begun(slow, *RUN) as first:
        until_held(slow)
        done = slow.run(*RUN, "--no-wait", check=3)
        assert "another lab measures on this machine: run counting-" in done.stderr and "Mend: " in done.stderr
        assert f"process {first.pid}" in done.stderr
        (slow.root / "go").touch()
        assert first.wait(timeout=60) == 0
    assert len(slow.json("status")) == 1
    assert slow.json(*RUN, "--no-wait")["trials"] == {"ok": 2}


def test_waiting_ends_by_an_interrupt_and_nothing_was_begun(slow: TestLab) -> None:
    with begun(slow, *RUN) as first:
        until_held(slow)
        with begun(slow, *RUN) as second:
            until(second, "waiting for another lab")
            second.send_signal(signal.SIGINT)
            assert second.wait(timeout=20) == 130
        (slow.root / "go").touch()
        assert first.wait(timeout=60) == 0
    assert len(slow.json("status")) == 1


def test_the_turn_of_a_killed_lab_is_free(slow: TestLab) -> None:
    with begun(slow, *RUN) as first:
        until_held(slow)
        first.kill()
    (slow.root / "go").touch()
    assert slow.json("resume", "--no-report", "--no-wait")["trials"]["ok"] == 2


def test_builds_need_no_turn(slow: TestLab) -> None:
    slow.system("built", build={"commands": [["cp", "count.sh", "{out}/count.sh"]], "artefacts": ["count.sh"]})
    slow.experiment("building", systems=["built"], metrics={"wall": {}})
    with begun(slow, *RUN) as first:
        until_held(slow)
        assert slow.json("setup", "building")[0]["status"] == "ready"
        (slow.root / "go").touch()
        assert first.wait(timeout=60) == 0


def test_the_place_is_the_same_for_all_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BAKEOFF_LOCK", raising=False)
    assert turn.place() == Path("/tmp/.bakeoff-measuring")
    monkeypatch.setenv("BAKEOFF_LOCK", str(tmp_path / "lock"))
    old = os.umask(0o077)
    try:
        with turn.measuring("a test", wait=False, waiting=print):
            assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o666
            second = turn.measuring("another", wait=False, waiting=print)
            with pytest.raises(CannotRun, match=r"a test \(process \d+, since"), second:
                pass
    finally:
        os.umask(old)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("BAKEOFF_LOCK", str(tmp_path / "link"))
    with pytest.raises(OSError), turn.measuring("a test", wait=False, waiting=print):
        pass
    assert not (tmp_path / "elsewhere").exists(), "a planted link is not followed"
