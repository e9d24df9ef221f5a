"""Runs go from one store to another: all of them, once, and again after a break."""

from __future__ import annotations

import copy
import json
import random
import threading
import zlib
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import made_runs
import pytest
from sites import TOKEN, Served, hostile_run, serving
from sqlalchemy import Table, select

from bakeoff import plan, yamlfile
from bakeoff.store import Store, tables
from bakeoff.store.store import Outcome
from bakeoff.transfer import pack, unpack
from bakeoff.transfer.parcel import Opening, Parcel

LOOSE = {"id", "trial_id", "metric_id", "pid", "pid_started", "run_id"}


def contents(store: Store, run: str) -> dict[str, Any]:
    """All rows of a run in words that mean the same in every store."""
    t, m = tables.trials, tables.metrics
    with store.engine.connect() as db:
        row = dict(db.execute(select(tables.runs).where(tables.runs.c.id == run)).mappings().one())
        found: dict[str, Any] = {"runs": [{k: v for k, v in row.items() if k not in LOOSE}]}
        for name, table in tables.metadata.tables.items():
            if name not in ("runs", "metrics"):
                found[name] = sorted((_line(db, table, one, t, m) for one in _rows(db, table, run)), key=repr)
    return found


def _rows(db: Any, table: Table, run: str) -> list[Any]:
    if "run_id" in table.c:
        return list(db.execute(select(table).where(table.c.run_id == run)).mappings())
    own = select(tables.trials.c.id).where(tables.trials.c.run_id == run)
    return list(db.execute(select(table).where(table.c.trial_id.in_(own))).mappings())


def _line(db: Any, table: Table, row: Any, t: Table, m: Table) -> dict[str, Any]:
    line = {key: value for key, value in row.items() if key not in LOOSE}
    if row.get("trial_id") is not None:
        line["trial"] = tuple(db.execute(select(t.c.position, t.c.attempt).where(t.c.id == row["trial_id"])).one())
    if "metric_id" in row:
        line["metric"] = tuple(
            db.execute(select(m.c.name, m.c.unit, m.c.labels).where(m.c.id == row["metric_id"])).one()
        )
    return line


def rich_run(store: Store, name: str = "rich-1", first: int = 0) -> str:
    """A run with every kind of row; `first` metrics of other runs shift the ids."""
    experiment = made_runs.message_passing()

    def observe(trial: plan.Trial) -> Outcome:
        outcome = Outcome("failed" if trial.position == 3 else "ok", "it broke\0here" if trial.position == 3 else None)
        for number in range(first):
            outcome.observe(f"other{number}", "1", 1.0)
        outcome.observe("elapsed", "s", 1.0 + trial.position / 7)
        outcome.observe("cpu", "s", 0.1, {"part": "worker ü", "phase": "load"})
        outcome.series.append(("memory", "B", {}, [0.0, 0.1], [1.0, float("nan")]))
        outcome.histograms.append(("latency", "us", {"connections": "50"}, b64encode(b"histogram").decode()))
        outcome.artefacts.append(("main.stdout", "text/plain", random.Random(trial.position).randbytes(20_000)))
        outcome.flags.append(("errors", "some failed", {"connections": "50"}))
        return outcome

    return made_runs.make(store, experiment, observe, run=name)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Store]:
    """The store of the measuring machine."""
    store = Store(f"sqlite:///{tmp_path}/home.db")
    rich_run(store)
    yield store
    store.close()


@pytest.fixture
def away(tmp_path: Path) -> Iterator[Store]:
    """The store of the server, in which ids are other than at home."""
    store = Store(f"sqlite:///{tmp_path}/away.db")
    rich_run(store, "before-1", first=3)
    yield store
    store.close()


def wanted(home: Store, run: str) -> dict[str, Any]:
    """What must arrive: everything, with NUL in texts replaced."""
    found = contents(home, run)
    for row in found["trials"]:
        row["reason"] = row["reason"] and row["reason"].replace("\0", "\ufffd")
    return found


@pytest.mark.real
def test_a_run_arrives_whole_and_once(home: Store, away: Store) -> None:
    before = contents(away, "before-1")
    with serving(away.url, token=TOKEN) as served:
        first = served.sent("rich-1", served.address, "--json", url=home.url)
        assert first.returncode == 0, first.stderr
        assert json.loads(first.stdout) == {"run": "rich-1", "status": "done", "stored": 135, "kept": 0}
        again = served.sent("rich-1", served.address, "--json", url=home.url)
        assert json.loads(again.stdout) == {"run": "rich-1", "status": "done", "stored": 0, "kept": 135}
        assert served.get("/runs/rich-1").status == 200
    arrived, sent = contents(away, "rich-1"), wanted(home, "rich-1")
    for kind, rows in sent.items():
        assert repr(arrived[kind]) == repr(rows), kind  # repr, because NaN is not equal to itself
    assert repr(contents(away, "before-1")) == repr(before)


@pytest.mark.real
def test_a_broken_send_goes_on_where_it_was(home: Store, away: Store) -> None:
    opening = Opening.model_validate_json(pack.text(pack.opening(home, "rich-1") | {}))
    unpack.open_run(away, opening)
    parcels = list(pack.parcels(home, "rich-1", set()))
    assert len(parcels) > 2, "the test needs several parcels"
    unpack.add_trials(away, "rich-1", Parcel.model_validate_json(parcels[0][1]))
    with serving(away.url, token=TOKEN) as served:
        rest = json.loads(served.sent("rich-1", served.address, "--json", url=home.url).stdout)
    assert (rest["stored"], rest["kept"]) == (135 - parcels[0][0], parcels[0][0])
    assert repr(contents(away, "rich-1")) == repr(wanted(home, "rich-1"))


def test_a_run_under_way_is_brought_up_to_date(tmp_path: Path, away: Store) -> None:
    home = Store(f"sqlite:///{tmp_path}/home.db")
    experiment = made_runs.message_passing("quick")
    made_runs.make(home, experiment, lambda _trial: Outcome("ok"), run="going-1")
    home.set_run("going-1", status="running", pid=1, pid_started=1.0, ended_at=None)
    with home.engine.begin() as db:
        late = (tables.trials.c.position > 5) & (tables.trials.c.run_id == "going-1")
        ids = list(db.execute(select(tables.trials.c.id).where(late)).scalars())
        db.execute(tables.trials.update().where(late).values(status="planned", started_at=None, ended_at=None))
        db.execute(tables.host_facts.delete().where(tables.host_facts.c.trial_id.in_(ids)))
    over(home, away, "going-1")
    assert away.counts("going-1") == home.counts("going-1") and away.run("going-1")["status"] == "interrupted"
    for row in home.planned("going-1"):
        outcome = Outcome("ok")
        outcome.observe("elapsed", "s", 1.0)
        home.begin("going-1", row, {})
        home.finish("going-1", row, outcome, {})
    home.set_run("going-1", status="done", ended_at=1.8e9)
    over(home, away, "going-1")
    assert repr(contents(away, "going-1")) == repr(contents(home, "going-1"))


def over(home: Store, away: Store, run: str) -> None:
    """Carries a run over without a server."""
    unpack.open_run(away, Opening.model_validate_json(pack.text(pack.opening(home, run))))
    for _, text in pack.parcels(home, run, set(unpack.stored(away, run, None))):
        unpack.add_trials(away, run, Parcel.model_validate_json(text))


def test_another_run_of_the_same_name_is_refused(home: Store, away: Store) -> None:
    over(home, away, "rich-1")
    opening = pack.opening(home, "rich-1")
    opening["run"]["created_at"] += 1
    with pytest.raises(unpack.Conflict, match="another run"):
        unpack.open_run(away, Opening.model_validate_json(pack.text(opening)))
    away.set_run("rich-1", pid=1)
    with pytest.raises(unpack.Conflict, match="itself"):
        over(home, away, "rich-1")


def test_an_ended_trial_is_never_changed(home: Store, away: Store) -> None:
    over(home, away, "rich-1")
    many, text = next(pack.parcels(home, "rich-1", set()))
    data = json.loads(text)
    for trial in data["trials"]:
        trial["observations"][0]["value"] = 99.0
    assert unpack.add_trials(away, "rich-1", Parcel.model_validate(json.loads(json.dumps(data)), strict=False)) == 0
    assert repr(contents(away, "rich-1")) == repr(wanted(home, "rich-1")) and many


DAMAGE: list[tuple[str, Any]] = [
    ("trials.0.status", "splendid"), ("trials.0.position", "1"), ("trials.0.position", 2**40), ("trials.0.attempt", 0),
    ("trials.0.system", "../x"), ("trials.0.system", "unknown"), ("trials.0.cell", {"a": {}}),
    ("trials.0.reason", "a\0b"),
    ("trials.0.observations.0.metric", 99), ("trials.0.observations.0.value", "NaN"),
    ("trials.0.observations.1.metric", 0), ("trials.0.series.0.count", 3), ("trials.0.series.0.times", "!!"),
    ("trials.0.series.0.times", b64encode(b"no zlib").decode()), ("trials.0.histograms.0.data", "<script>"),
    ("trials.0.artefacts.0.name", "../../etc/passwd"), ("trials.0.artefacts.0.name", ""),
    ("trials.0.artefacts.0.size", 1), ("trials.0.artefacts.0.media_type", "text/html; x=\n"),
    ("trials.0.artefacts.0.data", b64encode(zlib.compress(b"\0" * 10**7)).decode()),
    ("trials.0.facts.0.facts", {"x": "a\0b"}), ("trials.0.facts.0.at", -1), ("trials.0.flags.0.flag", "two words"),
    ("trials.0.status", "planned"), ("trials.1.position", 0), ("metrics.0.name", ""), ("metrics.0.labels", {"a": 1}),
    ("metrics.0.name", "x" * 81), ("trials.0.extra", 1), ("trials.0.warm_up", "yes"),
]  # fmt: skip


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, dict[str, Any]]]:
    """A server with an opened run, and the first parcel of that run as data."""
    folder = tmp_path_factory.mktemp("pair")
    home, away = Store(f"sqlite:///{folder}/home.db"), Store(f"sqlite:///{folder}/away.db")
    rich_run(home)
    unpack.open_run(away, Opening.model_validate_json(pack.text(pack.opening(home, "rich-1"))))
    data = json.loads(next(pack.parcels(home, "rich-1", set()))[1])
    with serving(away.url, token=TOKEN) as served:
        yield served, data | {"opening": pack.opening(home, "rich-1")}


def damaged(data: Any, place: str, value: Any) -> Any:
    """A copy of the data with one value changed."""
    data = copy.deepcopy(data)
    inner = data
    *steps, last = place.split(".")
    for step in steps:
        inner = inner[int(step) if step.isdigit() else step]
    inner[int(last) if last.isdigit() else last] = value
    return data


@pytest.mark.parametrize(("place", "value"), DAMAGE)
def test_a_damaged_parcel_is_refused_whole(pair: tuple[Served, dict[str, Any]], place: str, value: Any) -> None:
    served, data = pair
    body = json.dumps(damaged({k: data[k] for k in ("metrics", "trials")}, place, value)).encode()
    answer = served.ask("POST", "/ingest/rich-1/trials", body, Authorization=f"Bearer {TOKEN}")
    assert answer.status == 422, answer.text
    assert Store(served.url).counts("rich-1") == {}


BOMB = "systems: &a [x,x,x,x,x,x,x,x,x,x]\n" + "\n".join(
    f"{name}: &{name} [{','.join(['*' + before] * 10)}]" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
WRONG_OPENINGS: list[tuple[str, Any]] = [
    ("run.id", "other-1"), ("run.id", "../x"), ("run.experiment_yaml", "title: no experiment"),
    ("run.experiment_yaml", BOMB), ("run.created_at", "now"), ("run.status", "great"), ("systems.0.system", "other"),
    ("run.versions", {"a": "\0"}), ("run.seed", 2**63), ("run.pid", 1), ("systems.0.system_yaml", "- a list"),
    ("facts.0.facts", {"hostname": "\0"}), ("run.readme", "x" * (2**20 + 1)),
]  # fmt: skip


@pytest.mark.parametrize(("place", "value"), WRONG_OPENINGS)
def test_a_damaged_opening_is_refused(pair: tuple[Served, dict[str, Any]], place: str, value: Any) -> None:
    served, data = pair
    opening = damaged(data["opening"], place, value)
    opening["run"]["id"] = "new-1" if opening["run"]["id"] == "rich-1" else opening["run"]["id"]
    body = json.dumps(opening).encode()
    answer = served.ask("PUT", "/ingest/new-1", body, Authorization=f"Bearer {TOKEN}")
    assert answer.status == 422, answer.text
    assert [row["id"] for row in Store(served.url).runs()] == ["rich-1"]


@pytest.mark.parametrize("name", ["..", ".", "../x", "/etc/x", "a\\b", "a b", "-out", "a\n"])
def test_a_run_whose_name_is_a_path_is_refused(pair: tuple[Served, dict[str, Any]], name: str) -> None:
    """A run's name becomes that of a folder when its report is written."""
    served, data = pair
    body = json.dumps(damaged(data["opening"], "run.id", name)).encode()
    answer = served.ask("PUT", f"/ingest/{quote(name, safe='')}", body, Authorization=f"Bearer {TOKEN}")
    assert answer.status in (404, 422), answer.text
    assert [row["id"] for row in Store(served.url).runs()] == ["rich-1"]


def test_a_parcel_of_an_unknown_run_is_refused(pair: tuple[Served, dict[str, Any]]) -> None:
    served, data = pair
    body = json.dumps({k: data[k] for k in ("metrics", "trials")}).encode()
    answer = served.ask("POST", "/ingest/nobody-1/trials", body, Authorization=f"Bearer {TOKEN}")
    assert answer.status == 422 and "no run" in answer.text


@pytest.mark.real
def test_send_says_what_is_wrong(home: Store, tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/away.db", token=TOKEN) as served:
        wrong = served.sent("rich-1", served.address, token="another-token-of-the-tests", url=home.url)
        assert wrong.returncode == 3 and "same token" in wrong.stderr
        assert "another-token" not in wrong.stderr + wrong.stdout
        for url in ("ftp://127.0.0.1/", "http://me:secretword@127.0.0.1/", "nonsense", "http://127.0.0.1:x/"):
            bad = served.sent("rich-1", url, url=home.url)
            assert bad.returncode == 2 and "secretword" not in bad.stderr, url
        elsewhere = served.sent("rich-1", served.address + "elsewhere", url=home.url)
        assert elsewhere.returncode == 3
    gone = served.sent("rich-1", served.address, url=home.url)
    assert gone.returncode == 3 and "send again" in gone.stderr


@pytest.mark.real
def test_two_machines_send_at_once_while_others_read(tmp_path: Path) -> None:
    """Parcels of several runs come in together, and nobody who reads meanwhile is refused."""
    homes = [Store(f"sqlite:///{tmp_path}/home{n}.db") for n in range(2)]
    for n, home in enumerate(homes):
        rich_run(home, f"rich-{n}")
    ends = threading.Event()
    answers: list[int] = []
    with serving(f"sqlite:///{tmp_path}/away.db", token=TOKEN) as served:

        def read() -> None:
            while not ends.is_set():
                answers.append(served.get("/runs").status)

        readers = [threading.Thread(target=read) for _ in range(3)]
        senders = [
            threading.Thread(target=served.sent, args=(f"rich-{n}", served.address), kwargs={"url": home.url})
            for n, home in enumerate(homes)
        ]
        for thread in readers + senders:
            thread.start()
        for thread in senders:
            thread.join()
        ends.set()
        for thread in readers:
            thread.join()
        away = Store(served.url)
    assert len(answers) > 10 and set(answers) == {200}
    for n, home in enumerate(homes):
        assert repr(contents(away, f"rich-{n}")) == repr(wanted(home, f"rich-{n}"))


def test_aliases_that_mean_billions_are_refused() -> None:
    with pytest.raises(yamlfile.BadInput, match="too much"):
        yamlfile.parse(BOMB, "bomb")


def test_a_hostile_run_travels_as_it_is(tmp_path: Path) -> None:
    home, away = Store(f"sqlite:///{tmp_path}/home.db"), Store(f"sqlite:///{tmp_path}/away.db")
    hostile_run(home)
    over(home, away, "hostile-1")
    assert repr(contents(away, "hostile-1")) == repr(contents(home, "hostile-1"))
