"""Whole runs of a small lab: real processes, real stores, the installed command."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from labs import BAKEOFF, SHELL, TestLab

pytestmark = pytest.mark.real


def run(lab: TestLab, *words: str, check: int = 0) -> Any:
    """Runs the experiment and returns the run's status."""
    done = lab.json("run", "counting", "--profile", "full", "--no-report", *words, check=check)
    return lab.json("status", done["run"])


def outcomes(status: Any) -> dict[str, set[str]]:
    """The statuses of each system's planned trials."""
    found: dict[str, set[str]] = {}
    for trial in status["all_trials"]:
        if trial["position"] >= 0:
            found.setdefault(trial["system"], set()).add(trial["status"])
    return found


def reason(status: Any, system: str) -> str:
    return str(next(t["reason"] for t in status["all_trials"] if t["system"] == system and t["position"] >= 0))


def test_a_run_from_the_file_to_the_observations(lab: TestLab) -> None:
    status = run(lab)
    assert status["trials"] == {"ok": 4} and status["status"] == "done"
    rows = lab.run("export", "last").stdout.splitlines()
    elapsed = [row for row in rows if ",elapsed," in row]
    assert len(elapsed) == 4


def test_a_wrong_answer_cannot_win(lab: TestLab) -> None:
    lab.system("liar", script=SHELL.replace("$i -lt $1", "$i -lt 1"))
    lab.experiment(systems=["plain", "liar"])
    status = run(lab, check=1)
    assert outcomes(status) == {"plain": {"ok"}, "liar": {"wrong"}}
    assert reason(status, "liar").startswith("count is 1 instead of ")


def test_each_failure_is_a_row_with_its_reason(lab: TestLab) -> None:
    lab.system("falls", script="echo 'this is why' >&2; exit 7")
    lab.system(
        "hangs", script="trap '' TERM; echo '@bakeoff startup'; while true; do sleep 0.1; done", stop={"grace": "100ms"}
    )
    lab.system("dies", script="kill -SEGV $$")
    lab.system("mute", script="echo '@bakeoff result {\"count\": '$1'}'")
    lab.experiment(
        systems=["plain", "falls", "hangs", "dies", "mute"], procedure={"kind": "exec", "timeout": "1s"}, replications=1
    )
    status = run(lab, check=1)
    found = outcomes(status)
    assert found["plain"] == {"ok"} and found["hangs"] == {"timeout"}
    assert found["falls"] == found["dies"] == found["mute"] == {"failed"}
    assert reason(status, "falls") == "it ended with 7 instead of 0: this is why"
    assert reason(status, "hangs") == "it did not end within 1 s"
    assert "signal" in reason(status, "dies") and "was not seen" in reason(status, "mute")


def test_a_system_cannot_say_what_is_right_instead_of_the_experiment(lab: TestLab) -> None:
    lab.system(script="sleep 0.02; echo '@bakeoff result {\"count\": 99}'", expect={"result": {"count": "99"}})
    lab.experiment(expect={"result": {"count": "count"}}, metrics={"wall": {}}, replications=1)
    assert outcomes(run(lab, check=1)) == {"plain": {"wrong"}}


def test_another_exit_code_can_be_right(lab: TestLab) -> None:
    lab.system("three", script="exit 3", expect={"exit": 3})
    lab.system("any", script="exit 4", expect={"exit": "any"})
    lab.experiment(systems=["three", "any"], metrics={"wall": {}}, replications=1)
    assert outcomes(run(lab)) == {"three": {"ok"}, "any": {"ok"}}


def test_markers_that_cannot_be_told_apart_are_no_measurement(lab: TestLab) -> None:
    both = "sleep 0.02; printf '@bakeoff startup\\n@bakeoff finish\\n'; echo '@bakeoff result {\"count\": '$1'}'"
    lab.system("unflushed", script=both)
    lab.system("backwards", script=both.replace("startup", "x").replace("finish", "startup").replace("x", "finish"))
    lab.experiment(systems=["unflushed", "backwards"], replications=1)
    status = run(lab, check=1)
    assert "flush after each marker" in reason(status, "unflushed")
    assert reason(status, "backwards").startswith("the metric elapsed has no value")


def test_a_part_that_dies_during_the_measurement_fails_the_trial(lab: TestLab) -> None:
    helper = {"command": ["sh", "-c", "echo @bakeoff up; sleep 0.1; exit 9"], "ready": {"marker": "up"}}
    lab.system(parts={"helper": helper, "main": {"command": ["sleep", "0.6"]}}, expect={})
    lab.experiment(metrics={"wall": {}}, replications=1)
    assert "helper ended while main was measured" in reason(run(lab, check=1), "plain")


def test_whole_numbers_are_compared_exactly(lab: TestLab) -> None:
    lab.system(
        script="echo '@bakeoff result {\"sum\": 9007199254740993}'", expect={"result": {"sum": "9007199254740992"}}
    )
    lab.experiment(metrics={"wall": {}}, replications=1)
    assert reason(run(lab, check=1), "plain") == "sum is 9007199254740993 instead of 9007199254740992"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupting_a_build_ends_cleanly(lab: TestLab, number: int) -> None:
    lab.system(build={"commands": [["sleep", "20"]], "artefacts": ["x"]})
    with subprocess.Popen(
        [str(BAKEOFF), "setup", "counting"], cwd=lab.root, env=lab.environment, stderr=subprocess.PIPE
    ) as process:
        deadline = time.monotonic() + 20
        while not list(Path("/tmp").glob(f"bakeoff-{process.pid}-*")) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(number)
        assert process.wait(timeout=20) == 130
        assert process.stderr is not None and b"Traceback" not in process.stderr.read()
    assert not list(Path("/tmp").glob(f"bakeoff-{process.pid}-*"))


def test_texts_with_brackets_are_no_markup(lab: TestLab) -> None:
    lab.system(title="[/bold] [red]", script="echo 'cannot open [/etc/x] foo' >&2; exit 4")
    lab.experiment(title="Close [/bold]", question="[/x]?", replications=1)
    run(lab, check=1)
    for words in (["status", "last"], ["list"], ["show", "counting"], ["show", "plain"], ["report"]):
        assert "[/" in lab.run(*words).stdout


def test_what_cannot_be_had_is_a_row_and_the_rest_runs(lab: TestLab) -> None:
    lab.system("toolless", needs=["no-such-tool"])
    lab.system("versionless", version={"command": ["no-such-program-anywhere"]})
    lab.system("told", unavailable="nobody sells it\n any more\n")
    lab.system("broken", build={"commands": [["sh", "-c", "echo the compiler is sad >&2; exit 1"]], "artefacts": ["x"]})
    (lab.root / "toolbox/old.yaml").write_text(
        "title: An old tool\norigin: {registry: host}\nleast: '999'\nversion: {command: [sh, -c, 'echo 1.2']}\n"
    )
    lab.system("outdated", needs=["old"])
    names = ["toolless", "versionless", "told", "broken", "outdated"]
    lab.experiment(systems=["plain", *names], replications=1)
    status = run(lab)
    found = outcomes(status)
    assert found.pop("plain") == {"ok"}
    assert found == {name: {"unavailable"} for name in names}
    assert "no tool 'no-such-tool'" in reason(status, "toolless")
    assert "does not say a version" in reason(status, "versionless")
    assert reason(status, "told") == "nobody sells it any more"
    assert "the compiler is sad" in reason(status, "broken")
    assert "version 1.2 is too old, 999 is needed" in reason(status, "outdated")


def test_a_profile_is_set_up_alone(lab: TestLab) -> None:
    lab.system("told", unavailable="nobody sells it any more")
    lab.experiment(systems=["plain", "told"], profiles={"smoke": {"systems": ["plain"]}})
    assert [each["system"] for each in lab.json("setup", "counting", "--profile", "smoke")] == ["plain"]
    assert len(lab.json("setup", "counting")) == 2


def test_nothing_can_be_had(lab: TestLab) -> None:
    lab.system("plain", unavailable="gone")
    assert "gone" in lab.run("run", "counting", check=3).stderr


def test_builds_are_cached_by_content_and_measured(lab: TestLab) -> None:
    build = {"commands": [["sh", "-c", "sleep 0.2; cp count.sh {out}/count.sh"]], "artefacts": ["count.sh"]}
    parts = {"main": {"command": ["sh", "{out}/count.sh", "{count}"]}}
    path = lab.system(build=build, parts=parts)
    lab.experiment(builds={"replications": 2}, replications=1)
    assert outcomes(run(lab)) == {"plain": {"ok"}}
    first = lab.json("setup", "counting")[0]
    assert first["build"]["build_time"] >= 0.2 and first["build"]["artefact_size"] == len(SHELL)
    assert lab.json("setup", "counting")[0]["build"]["built_at"] == first["build"]["built_at"], (
        "it comes from the cache"
    )
    (path.parent / "count.sh").write_text(SHELL + "# a comment\n")
    assert lab.json("setup", "counting")[0]["key"] != first["key"]
    builds = [row for row in lab.run("export", "last").stdout.splitlines() if ",build_time," in row]
    assert len(builds) == 3, "two replications, and the one that preparing made"


def test_a_compiler_finds_nothing_of_an_earlier_build(lab: TestLab) -> None:
    """The folder of caches is not there yet: `mkdir` fails where something is, and where no folder is named."""
    commands = [["sh", "-ec", 'mkdir "$XDG_CACHE_HOME"'], ["cp", "count.sh", "{out}/count.sh"]]
    lab.system(
        build={"commands": commands, "artefacts": ["count.sh"]},
        parts={"main": {"command": ["sh", "{out}/count.sh", "{count}"]}},
    )
    lab.experiment(builds={"replications": 2}, replications=1)
    status = run(lab)
    assert outcomes(status) == {"plain": {"ok"}}
    builds = [trial for trial in status["all_trials"] if trial["procedure"] == "build"]
    assert len(builds) == 3, "two replications, and the one that preparing made"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_ends_cleanly_and_resume_finishes(lab: TestLab, number: int) -> None:
    lab.system(
        script="echo '@bakeoff startup'; sleep 0.5; echo '@bakeoff finish'; echo '@bakeoff result {\"count\": '$1'}'"
    )
    words = [str(BAKEOFF), "run", "counting", "--profile", "full", "--no-report"]
    with subprocess.Popen(words, cwd=lab.root, env=lab.environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "left" not in process.stderr.readline():
            pass
        time.sleep(0.2)
        process.send_signal(number)
        assert process.wait(timeout=20) == 130
        assert "Traceback" not in process.stderr.read()
    status = lab.json("status", "last")
    assert status["status"] == "interrupted" and status["trials"]["interrupted"] == 1
    lab.run("resume", "--no-report")
    status = lab.json("status", "last")
    assert status["status"] == "done" and status["trials"] == {"ok": 4, "interrupted": 1}
    assert [t["attempt"] for t in status["all_trials"] if t["status"] == "interrupted"] == [1]


@pytest.mark.parametrize("kind", ["exec", "serve"])
def test_however_often_it_is_interrupted_the_lab_ends_after_its_system(lab: TestLab, kind: str) -> None:
    """A system that does not heed SIGTERM has its grace; no interrupt makes the lab leave before it is gone."""
    pids, done = lab.root / "pids", lab.root / "up"
    script = f"trap '' TERM INT HUP; echo $$ >> {pids}; touch {done}; while true; do sleep 0.1; done"
    slow = {"main": {"command": ["sh", "-c", script]}}
    if kind == "serve":
        slow["main"] |= {"ready": {"marker": "never", "timeout": "60s"}}
    else:
        slow = {"helper": slow["main"], "main": {"command": ["sh", "-c", script]}}
    procedure = {"kind": "exec", "timeout": "60s"} if kind == "exec" else {"kind": "serve", "load": {}}
    lab.system(parts=slow, stop={"grace": "1500ms"}, expect={})
    metrics = {"wall": {}} if kind == "exec" else {"throughput": {}}
    lab.experiment(procedure=procedure, metrics=metrics, replications=1)
    words = [str(BAKEOFF), "run", "counting", "--profile", "full", "--no-report"]
    with subprocess.Popen(words, cwd=lab.root, env=lab.environment, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        wanted = 2 if kind == "exec" else 1
        while not (pids.exists() and len(pids.read_text().split()) >= wanted) and time.monotonic() < deadline:
            time.sleep(0.05)
        for _ in range(6):
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        assert process.wait(timeout=60) == 130
        alive = [pid for pid in pids.read_text().split() if Path("/proc", pid).exists()]
        assert not alive, "the lab ended before its system"
        assert process.stderr is not None
        said = process.stderr.read()
        assert "still ending what runs" in said and "Traceback" not in said
    status = lab.json("status", "last")
    assert status["status"] == "interrupted" and status["trials"]["interrupted"] == 1


def test_each_level_is_built_and_measured_apart(lab: TestLab) -> None:
    each = {"size": {"small": {"pause": "0.01"}, "large": {"pause": "0.3"}}}
    script = "test ! -e {work}/old; touch {work}/old; sleep {pause}; cp count.sh {out}/{size}.sh"
    build = {"each": each, "commands": [["sh", "-euc", script]], "artefacts": ["{size}.sh"]}
    lab.system(build=build, parts={"main": {"command": ["sh", "{out}/{size}.sh", "{count}"]}})
    levels = {"small": {"size": "small", "count": 3}, "large": {"size": "large", "count": 5}}
    lab.experiment(
        builds={"replications": 2, "factors": ["size"]}, replications=1, factors={"size": {"levels": levels}}
    )
    assert lab.json("setup", "counting")[0]["build"]["build_time"] >= 0.31, "all levels are built when it is set up"
    lab.run("run", "counting")
    rows = [row.split(",") for row in lab.run("export", "last").stdout.splitlines() if ",build_time," in row]
    header = lab.run("export", "last").stdout.splitlines()[0].split(",")
    built = [dict(zip(header, row, strict=True)) for row in rows]
    times = {
        size: [float(row["value"]) for row in built if row["size"] == size and row["counted"] == "true"]
        for size in ("small", "large")
    }
    assert [len(values) for values in times.values()] == [2, 2]
    assert max(times["small"]) < 0.3 <= min(times["large"])


def test_resume_refuses_a_changed_system(lab: TestLab) -> None:
    build = {"commands": [["cp", "count.sh", "{out}/count.sh"]], "artefacts": ["count.sh"]}
    path = lab.system(build=build, parts={"main": {"command": ["sh", "{out}/count.sh", "{count}"]}})
    run(lab)
    _unfinish(lab)
    (path.parent / "count.sh").write_text(SHELL + "# faster now\n")
    assert "plain has changed since the run began" in lab.run("resume", check=3).stderr


def _unfinish(lab: TestLab) -> None:
    import sqlite3

    with sqlite3.connect(lab.root / ".bakeoff/store.db") as db:
        db.execute("UPDATE trials SET status = 'running' WHERE position = 3")
        db.execute("UPDATE runs SET status = 'running'")


def test_other_parts_are_up_while_main_runs(lab: TestLab) -> None:
    server = (
        "import http.server, sys\n"
        "class Handler(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        self.send_response(200); self.send_header('Content-Length', '0'); self.end_headers()\n"
        "http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()\n"
    )
    client = (
        "import sys, urllib.request as u\n"
        "u.urlopen('http://127.0.0.1:' + sys.argv[1])\n"
        "print('@bakeoff result {\"count\": %s}' % sys.argv[2])"
    )
    parts = {
        "server": {
            "role": "database",
            "command": ["python3", "-c", server, "{port}"],
            "ready": {"http": "http://{host}:{port}/", "timeout": "10s"},
        },
        "main": {"command": ["python3", "-c", client, "{port}", "{count}"]},
    }
    lab.system(parts=parts)
    for place in ("here", "namespace"):
        lab.experiment(metrics={"wall": {}, "cpu": {}}, place=place, replications=1)
        assert outcomes(run(lab)) == {"plain": {"ok"}}
    assert "database" in lab.run("export", "last").stdout


def test_a_part_that_never_gets_ready_fails_the_trial(lab: TestLab) -> None:
    helper = {"command": ["sleep", "60"], "ready": {"tcp": "{host}:{port}", "timeout": "300ms"}}
    lab.system(parts={"helper": helper, "main": {"command": ["true"]}})
    lab.experiment(replications=1)
    status = run(lab, check=1)
    assert "helper was not ready within 0.3 s" in reason(status, "plain")


def test_namespaces_and_scratch_are_gone(lab: TestLab) -> None:
    lab.system(
        script=SHELL + "touch $2/file; ls $2 >&2\n",
        parts={"main": {"command": ["sh", "{source}/count.sh", "{count}", "{scratch}"]}},
    )
    lab.experiment(place="namespace")
    before = set(Path("/tmp").glob("bakeoff-*"))
    assert outcomes(run(lab)) == {"plain": {"ok"}}
    assert set(Path("/tmp").glob("bakeoff-*")) <= before
    assert not [p for p in Path("/run/netns").glob("bakeoff-*") if not Path("/proc", p.name.split("-")[1]).exists()]


def test_doctor_and_list_and_show(lab: TestLab) -> None:
    checks = {check["name"]: check for check in lab.json("doctor", "counting")}
    assert checks["bakeoff-exec"]["state"] == "good" and checks["system plain"]["state"] == "good"
    assert all(check["mend"] for check in checks.values() if check["state"] != "good")
    assert lab.json("list")["experiments"][0]["name"] == "counting"
    assert lab.json("show", "counting")["question"] and lab.json("show", "plain")["title"]
