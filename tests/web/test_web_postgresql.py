"""The same on a real PostgreSQL: a private cluster in a temporary folder, stopped at the end."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sites import TOKEN, serving
from test_web_send import contents, rich_run, wanted

from bakeoff.store import Store
from labs import BAKEOFF, TestLab
from test_store import OPEN

PASSWORD = "hunter2:with/odd%signs"
QUOTED = "hunter2%3Awith%2Fodd%25signs"
SERVERS = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) + [Path(p) for p in [shutil.which("initdb")] if p]


@pytest.fixture(scope="module")
def database() -> Iterator[Callable[[str], str]]:
    """Makes empty databases in a cluster of our own; returns their URLs."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    if not SERVERS:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    programs, root = SERVERS[-1].parent, os.getuid() == 0
    if root and "postgres" not in {one.pw_name for one in pwd.getpwall()}:
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    user: dict[str, Any] = {"user": "postgres", "group": "postgres", "extra_groups": []} if root else {}
    with tempfile.TemporaryDirectory(prefix="bakeoff-pg-") as name, socket.socket() as free:
        folder = Path(name)
        (folder / "password").write_text(PASSWORD)
        (folder / "password").chmod(0o644)
        if root:
            shutil.chown(folder, "postgres", "postgres")
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        data = str(folder / "data")
        words = ["-A", "scram-sha-256", "-U", "lab", f"--pwfile={folder}/password", "--no-sync", "-E", "UTF8"]
        words = [str(programs / "initdb"), "-D", data, *words]
        made = subprocess.run(words, cwd=folder, capture_output=True, check=False, **user)
        assert made.returncode == 0, made.stderr
        settings = ["-p", str(port), "-h", "127.0.0.1", "-k", name, "-c", "fsync=off"]
        log = (folder / "log").open("w")
        words = [str(programs / "postgres"), "-D", data, *settings]
        server = subprocess.Popen(words, cwd=folder, stderr=log, **user)
        try:
            yield lambda database: _create(psycopg, port, database)
        finally:
            server.send_signal(signal.SIGINT)  # ends sessions and stops
            server.wait(30)
            log.close()


def _create(psycopg: Any, port: int, database: str) -> str:
    deadline = time.monotonic() + 30
    while True:
        with suppress(psycopg.OperationalError):
            where = {"host": "127.0.0.1", "port": port, "user": "lab", "password": PASSWORD, "dbname": "postgres"}
            with psycopg.connect(**where, autocommit=True) as db:
                db.execute(f"CREATE DATABASE {database}")
            return f"postgresql://lab:{QUOTED}@127.0.0.1:{port}/{database}"
        assert time.monotonic() < deadline, "PostgreSQL did not start"
        time.sleep(0.1)


@pytest.mark.real
def test_many_processes_open_a_new_database_at_once(database: Callable[[str], str]) -> None:
    words = [sys.executable, "-c", OPEN, database("many"), str(time.time() + 3)]
    opening = [subprocess.Popen(words, stdout=-1, stderr=-1, text=True) for _ in range(5)]
    assert [process.communicate(timeout=240) for process in opening] == [("0\n", "")] * 5


@pytest.mark.real
def test_a_run_is_stored_and_shown(
    database: Callable[[str], str], lab: TestLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = database("runs")
    monkeypatch.setenv("BAKEOFF_STORE", url)
    run = lab.json("run", "counting", "--no-report")["run"]
    assert lab.json("status", run)["status"] == "done"
    with serving(url) as served:
        for path in ("/", "/runs?system=plain&version=0.1&since=2020-01-01", f"/runs/{run}", f"/runs/{run}/report"):
            answer = served.get(path)
            assert answer.status == 200 and "hunter2" not in answer.text, path
        assert "4 of 4 trials done" in served.get(f"/runs/{run}").text
        name = served.get("/runs").text.split('<select name="host">')[1].split("</select>")[0]
        assert name.count("<option") == 2, "any, and this machine"
        assert served.get(f"/runs/{run}/trials/1").text.count("elapsed") == 1
        assert served.get("/runs/%00").status == 404 and served.get("/runs?text=%00").status == 400


@pytest.mark.real
def test_a_run_arrives_from_sqlite(database: Callable[[str], str], tmp_path: Path) -> None:
    home, url = Store(f"sqlite:///{tmp_path}/home.db"), database("arrives")
    rich_run(home)
    with serving(url, token=TOKEN) as served:
        sent = served.sent("rich-1", served.address, "--json", url=home.url)
        assert sent.returncode == 0, sent.stderr
        assert json.loads(sent.stdout)["stored"] == 135
        assert json.loads(served.sent("rich-1", served.address, "--json", url=home.url).stdout)["kept"] == 135
    away = Store(url)
    assert repr(contents(away, "rich-1")) == repr(wanted(home, "rich-1"))
    away.close()


def test_a_read_only_store_cannot_be_changed(database: Callable[[str], str]) -> None:
    reader = Store(database("reader"), read_only=True)
    with pytest.raises(Exception, match="read-only transaction"):
        reader.set_run("none", status="done")
    reader.close()


def test_the_password_is_never_shown(database: Callable[[str], str]) -> None:
    url = database("secret")
    for wrong in (
        url.replace("hunter2", "hunter2x"),
        url.replace("/secret", "/nothing"),
        url.replace("127.0.0.1", "127.0.0.2"),
    ):
        done = subprocess.run(
            [str(BAKEOFF), "--store", wrong, "status", "--json"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 2 and "cannot be opened" in done.stderr
        for secret in ("hunter2", "odd"):
            assert secret not in done.stdout + done.stderr
