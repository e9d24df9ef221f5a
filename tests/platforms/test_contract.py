"""What every platform promises. Each test runs on each platform that this machine can have."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from bakeoff import instruments, profiling
from bakeoff.procedure import Limits
from bench import MIB, Bench, answer, await_marker, names
from traces import traces

pytestmark = pytest.mark.real


def test_arguments_variables_and_exit_code_pass(bench: Bench) -> None:
    result = bench.run("echo", "7", "a", "b c", env={"SUBJECT": "x y=z"})
    assert (result["outcome"], result["exit"]) == ("exited", 7 if bench.platform.tells_exit else 0), result
    assert answer(result) == {"words": "a b c", "variable": "x y=z"}


def test_the_first_statement_is_told(bench: Bench) -> None:
    result = bench.run("spin", "0.1")
    assert names(result) == ["startup", "finish"], result
    startup, finish = (marker["t_s"] for marker in result["markers"])
    assert 0 < startup < finish - 0.05 < result["wall_s"], result


def test_folders_are_seen(bench: Bench, tmp_path: Path) -> None:
    inside = "/data" if bench.platform.maps_folders else str(tmp_path)
    result = bench.run("file", f"{inside}/text", "hello", folders={inside: str(tmp_path)})
    assert answer(result) == {"read": "hellohello"}, result
    assert (tmp_path / "text").read_text() == "hellohello"


def test_memory_is_limited(bench: Bench) -> None:
    limits = Limits(memory=256 * MIB)
    assert bench.run("touch", "20", "0", limits=limits)["exit"] == 0
    result = bench.run("touch", "600", "0.2", limits=limits)
    assert result["exit"] != 0 and names(result) == ["startup"], result


def test_cpu_time_is_limited(bench: Bench) -> None:
    result = bench.run("spin", "1.0", limits=Limits(cpu=0.3))
    startup, finish = (marker["t_s"] for marker in result["markers"])
    assert result["cpu_s"] < 0.6 * (finish - startup) + 0.3 * startup + 0.1, result


def test_cpus_are_limited(bench: Bench) -> None:
    service = bench.serve("pulse", "0", "0", limits=Limits(cpus="0"))
    await_marker(service, "idle")
    try:
        allowed = {pid: Path(f"/proc/{pid}/status").read_text() for pid in profiling.members(service.pid)}
        assert allowed, "nothing is accounted to the system"
        assert all("Cpus_allowed_list:\t0\n" in text for text in allowed.values()), allowed
    finally:
        service.stop()


def test_windows_hold_what_was_used_in_them(bench: Bench) -> None:
    service = bench.serve("pulse", "0.3", "0.6")
    await_marker(service, "ready")
    start = service.phase("work")
    await_marker(service, "idle")
    work = service.phase("idle")
    time.sleep(0.4)
    idle = service.phase("end")
    end = service.stop()
    assert work["cpu_s"] > 0.01 and work["cpu_s"] > 3 * idle["cpu_s"], (start, work, idle)
    # A small native program has some ten pages of its own; its file may be charged to whoever read it first.
    assert work["memory_now_bytes"] >= 4 * 4096 and work["processes"] >= 1, work
    assert end["cpu_s"] >= start["cpu_s"] + work["cpu_s"] + idle["cpu_s"] - 0.02, end


def test_a_stop_leaves_nothing(bench: Bench) -> None:
    before = traces()
    service = bench.serve("pulse", "0", "0")
    await_marker(service, "idle")
    end = service.stop()
    assert end["outcome"] == "stopped" and not end["leftover"], end
    assert traces() <= before


def test_what_will_not_stop_is_killed(bench: Bench) -> None:
    before = traces()
    service = bench.serve("stubborn", grace=0.3)
    await_marker(service, "ready")
    end = service.stop()
    assert not end["leftover"], end
    assert traces() <= before


def test_what_is_left_when_the_instrument_is_killed_is_swept(bench: Bench) -> None:
    before = traces()
    service = bench.serve("pulse", "0", "0")
    await_marker(service, "idle")
    os.kill(service.pid, signal.SIGKILL)
    service.close()
    instruments.sweep()
    assert traces() <= before


def test_figures_are_those_of_the_native_program(bench: Bench, native: Bench) -> None:
    """Only what runs the same program can have the same figures."""
    if bench.kind != "native" or bench.platform.own_kernel:
        pytest.skip("it runs another artefact, or brings a kernel of its own")
    for arguments, key, part in ((("burn", "1.0"), "cpu_s", 0.05), (("touch", "200", "0.3"), "peak_memory_bytes", 0.1)):
        here, there = bench.run(*arguments), native.run(*arguments)
        assert abs(here[key] / there[key] - 1) <= part, (arguments, here[key], there[key])
