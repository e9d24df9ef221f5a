"""The store: nothing measured is lost, and a run can be reopened."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine, inspect, select, text

from bakeoff import plan
from bakeoff.errors import BadInput
from bakeoff.store import Store
from bakeoff.store.store import Outcome, pack, unpack
from bakeoff.store.tables import metadata, metrics, observations
from bakeoff.store.url import shown, shown_command
from test_plan import make

FACTS: dict[str, Any] = {"load": [0, 0, 0]}


def filled(path: Path) -> tuple[Store, str]:
    """A store with one planned run."""
    store = Store(f"sqlite:///{path}/store.db")
    row = {
        "id": "r-1", "experiment": "e", "profile": None, "seed": 1, "status": "running", "created_at": 1.0,
        "lab_root": "/", "command": "c", "experiment_yaml": "{}", "readme": None, "reference_rows": [], "versions": {},
        "pid": None, "pid_started": None,
    }  # fmt: skip
    system = {
        "system": "a", "system_yaml": "", "status": "ready", "reason": None, "version": None, "tools": {},
        "key": None, "receipt": None,
    }  # fmt: skip
    store.create_run(row, [system, system | {"system": "b"}], plan.make(make()), FACTS)
    return store, "r-1"


def test_the_whole_plan_is_stored_at_once(tmp_path: Path) -> None:
    store, run = filled(tmp_path)
    assert store.counts(run) == {"planned": 48}
    assert [row.trial for row in store.planned(run)] == plan.make(make())


def test_a_trial_is_stored_whole(tmp_path: Path) -> None:
    store, run = filled(tmp_path)
    trial = store.planned(run)[0]
    store.begin(run, trial, FACTS)
    outcome = Outcome(
        "ok", artefacts=[("main.stdout", "text/plain", b"hello\n" * 1000)], flags=[("stolen_cpu", "why", {})]
    )
    outcome.observe("cpu", "s", 1.5)
    outcome.observe("cpu", "s", 0.5, {"part": "sidecar"})
    outcome.observe("missing", "s", None)
    outcome.series.append(("memory", "B", {}, [0.0, 0.1], [1.0, 2.0]))
    store.finish(run, trial, outcome, FACTS)
    assert store.artefact(trial.id, "main.stdout") == b"hello\n" * 1000
    assert store.counts(run) == {"ok": 1, "planned": 47}
    with store.engine.connect() as db:
        query = select(metrics.c.labels, observations.c.value).join(observations).order_by(observations.c.value)
        assert [tuple(row) for row in db.execute(query)] == [('{"part": "sidecar"}', 0.5), ("{}", 1.5)]


def test_reopening_gives_the_cut_trial_a_second_attempt(tmp_path: Path) -> None:
    store, run = filled(tmp_path)
    first, second = store.planned(run)[:2]
    store.begin(run, first, FACTS)
    store.finish(run, first, Outcome("failed", "it fell"), FACTS)
    store.begin(run, second, FACTS)
    assert store.reopen(run) == 47
    again = next(row for row in store.planned(run) if row.attempt == 2)
    assert again.trial == second.trial
    assert store.counts(run) == {"failed": 1, "interrupted": 1, "planned": 47}
    assert store.reopen(run) == 47, "reopening twice changes nothing"


def test_a_failed_finish_stores_nothing(tmp_path: Path) -> None:
    store, run = filled(tmp_path)
    trial = store.planned(run)[0]
    store.begin(run, trial, FACTS)
    outcome = Outcome("ok", flags=[("same", "a", {}), ("same", "b", {})])
    outcome.observe("cpu", "s", 1.0)
    with pytest.raises(Exception, match="UNIQUE"):
        store.finish(run, trial, outcome, FACTS)
    assert store.counts(run)["running"] == 1
    with store.engine.connect() as db:
        assert not db.execute(select(observations)).all()


def test_runs_are_found_by_beginning_and_last(tmp_path: Path) -> None:
    store, run = filled(tmp_path)
    assert store.run("last")["id"] == store.run("r-")["id"] == run
    with pytest.raises(BadInput, match="there is no run"):
        store.run("zzz")


def test_migrations_make_the_tables_of_the_code(tmp_path: Path) -> None:
    Store(f"sqlite:///{tmp_path}/a.db").close()
    engine = create_engine(f"sqlite:///{tmp_path}/b.db")
    metadata.create_all(engine)
    migrated, declared = inspect(create_engine(f"sqlite:///{tmp_path}/a.db")), inspect(engine)
    assert set(migrated.get_table_names()) - {"alembic_version"} == set(declared.get_table_names())
    for table in declared.get_table_names():
        columns = [
            {c["name"]: (str(c["type"]), c["nullable"]) for c in i.get_columns(table)} for i in (migrated, declared)
        ]
        assert columns[0] == columns[1]
        assert migrated.get_pk_constraint(table) == declared.get_pk_constraint(table)


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    store, _ = filled(tmp_path)
    with store.engine.begin() as db:
        db.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(BadInput, match="newer schema"):
        Store(store.url)


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("this is no database, it is a long enough text to be seen as one " * 20)
    with pytest.raises(BadInput, match="cannot be opened"):
        Store(f"sqlite:///{tmp_path}/x.db")


def test_a_foreign_database_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x.db") as db:
        db.execute("CREATE TABLE runs (other TEXT)")
    with pytest.raises(BadInput, match="tables of another program"):
        Store(f"sqlite:///{tmp_path}/x.db")


@given(st.lists(st.floats(allow_nan=False)))
def test_packing_keeps_every_bit(numbers: list[float]) -> None:
    assert unpack(pack(numbers)).tolist() == numbers


def test_a_rolled_back_metric_leaves_no_id_behind(tmp_path: Path) -> None:
    store, run = filled(tmp_path)
    first, second = store.planned(run)[:2]
    broken = Outcome("ok", flags=[("same", "a", {}), ("same", "b", {})])
    broken.observe("lost", "s", 1.0)
    with pytest.raises(Exception, match="UNIQUE"):
        store.finish(run, first, broken, FACTS)
    for trial, name in ((first, "kept"), (second, "lost")):
        outcome = Outcome("ok")
        outcome.observe(name, "s", 2.0)
        store.finish(run, trial, outcome, FACTS)
    with store.engine.connect() as db:
        query = select(observations.c.trial_id, metrics.c.name).join(metrics).order_by(observations.c.trial_id)
        assert [tuple(row) for row in db.execute(query)] == [(first.id, "kept"), (second.id, "lost")]


def test_a_read_only_store_cannot_be_changed(tmp_path: Path) -> None:
    store, run = filled(tmp_path)
    reader = Store(store.url, read_only=True)
    assert reader.run(run)["id"] == run
    with pytest.raises(Exception, match="readonly"):
        reader.set_run(run, status="done")


OPEN = """
import sys, time
from bakeoff.store import Store
time.sleep(max(0.0, float(sys.argv[2]) - time.time()))
store = Store(sys.argv[1])
store.set_run("none", status="done")
print(len(store.runs()))
"""


def test_many_processes_open_a_new_store_at_once(tmp_path: Path) -> None:
    for attempt in range(2):
        url = f"sqlite:///{tmp_path}/new-{attempt}/store.db"
        words = [sys.executable, "-c", OPEN, url, str(time.time() + 3)]
        opening = [subprocess.Popen(words, stdout=PIPE, stderr=PIPE, text=True) for _ in range(5)]
        said = [process.communicate(timeout=240) for process in opening]
        assert said == [("0\n", "")] * 5


URLS = [
    "postgresql://me:{}@127.0.0.1:1/x",
    "postgres://me:{}@127.0.0.1/x",
    "nonsense+driver://me:{}@host/x",
    "postgresql://127.0.0.1:1/x?user=me&password={}",
    "postgresql://me:{}@127.0.0.1:port/x",
]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("secret", ["hunter2secret", "hunter2@secret", "hunter2/secret", "hunter2%40secret"])
def test_no_error_shows_the_password(url: str, secret: str) -> None:
    with pytest.raises(BadInput) as caught:
        Store(url.format(secret))
    assert "hunter2" not in str(caught.value) and "secret" not in str(caught.value)


def test_a_command_is_stored_without_the_password() -> None:
    command = "bakeoff --store 'postgresql://me:p w@host/db' run x --store=postgresql://a:hunter2@b/c?password=q"
    assert shown_command(command) == (
        "bakeoff --store 'postgresql://me:***@host/db' run x '--store=postgresql://a:***@b/c?password=***'"
    )
    assert shown_command("bakeoff run it's") == "bakeoff run it's"
    assert shown("sqlite:///a/b.db") == "sqlite:///a/b.db"
