"""What the server refuses: foreign host names, paths beside its own, writing without the token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sites import TOKEN, Served, serving

from bakeoff.errors import BadInput
from bakeoff.store import Store
from bakeoff.web import token
from bakeoff.web.guard import KnownHost, own_names
from labs import TestLab

WAYS_OUT = [
    "/static/../../etc/passwd", "/static/..%2f..%2fetc%2fpasswd", "/static/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
    "/static//etc/passwd", "/static/web.css", "/../../../../etc/passwd", "/runs/../../etc/passwd", "/static/",
    "/runs/paper-1/trials/1/files/..%2f..%2f..%2fetc%2fpasswd", "/runs/%00", "/runs/paper-1%00", "/runs/",
    "/runs/paper-1/trials/99999999999999999999", "/docs", "/openapi.json", "/.git/config", "/ingest",
]  # fmt: skip


@pytest.mark.parametrize("path", WAYS_OUT)
def test_other_paths_are_refused(site: Served, path: str) -> None:
    answer = site.get(path)
    assert answer.status == (200 if path == "/runs/paper-1%00" else 404)
    assert "root:" not in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_pages_can_only_be_read(site: Served, method: str) -> None:
    assert site.ask(method, "/runs", b"").status == 405


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "evil@127.0.0.1"]
)
def test_a_foreign_host_name_is_refused(site: Served, host: str) -> None:
    assert site.get("/", Host=host).status == 421


def test_own_names_and_addresses_are_known() -> None:
    guard = KnownHost(None, own_names(["Lab.Example"]))  # type: ignore[arg-type]
    for host in (
        "localhost",
        "LOCALHOST:8000",
        "127.0.0.1:1",
        "[::1]:8000",
        "[::1]",
        "192.168.1.7:80",
        "lab.example",
        "lab.example.:1",
    ):
        assert guard.knows(host), host
    for host in ("example", "evil.lab.example", "127.0.0.1.nip.io", "[::1].evil", "localhost:x"):
        assert not guard.knows(host), host


def test_every_answer_forbids_scripts_and_frames(site: Served) -> None:
    for path in ("/", "/runs/paper-1", "/nope", "/static/live.js", "/ingest/x"):
        policy = site.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server that takes runs."""
    with serving(f"sqlite:///{tmp_path_factory.mktemp('door')}/store.db", token=TOKEN) as served:
        yield served


ORDERS = [("GET", "/ingest/x"), ("PUT", "/ingest/x"), ("POST", "/ingest/x/trials")]


@pytest.mark.parametrize(("method", "path"), ORDERS)
def test_nothing_is_taken_without_the_token(door: Served, site: Served, method: str, path: str) -> None:
    body = None if method == "GET" else b"{}"
    assert door.ask(method, path, body).status == 401
    for wrong in (
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer \u00e9",
    ):
        assert door.ask(method, path, body, Authorization=wrong).status == 403, wrong
    assert site.ask(method, path, body, Authorization=f"Bearer {TOKEN}").status == 403, "it was started without one"
    assert Store(door.url).runs() == []


@pytest.mark.parametrize(("method", "path"), ORDERS[1:])
def test_what_is_no_run_is_refused(door: Served, method: str, path: str) -> None:
    for body in (
        b"",
        b"{}",
        b"[" * 100_000,
        b"null",
        b'{"format": 2}',
        b"\xff\xfe",
        b'{"metrics": [], "trials": [{}]}',
    ):
        answer = door.ask(method, path, body, Authorization=f"Bearer {TOKEN}")
        assert answer.status == 422 and answer.json["error"], body[:20]


@pytest.mark.parametrize(("method", "path"), ORDERS[1:])
def test_a_body_without_end_is_refused(door: Served, method: str, path: str) -> None:
    size = {"Content-Length": str(2**40), "Authorization": f"Bearer {TOKEN}"}
    assert door.ask(method, path, None, **size).status == 413


def test_a_server_without_a_token_cannot_write(made: Store) -> None:
    reader = Store(made.url, read_only=True)
    with pytest.raises(Exception, match="readonly"):
        reader.set_run("paper-1", status="running")


@pytest.mark.parametrize("word", ["", "short", "two words of a token file", "ümlaute-sind-nicht-erlaubt"])
def test_a_weak_token_is_refused(tmp_path: Path, word: str) -> None:
    (tmp_path / "token").write_text(word)
    with pytest.raises(BadInput, match="openssl rand") as caught:
        token.read(tmp_path / "token")
    assert not word or word not in str(caught.value)


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=16), st.text())
def test_only_the_token_is_the_token(word: str, other: str) -> None:
    known = token.Token(word)
    assert known.is_of(f"Bearer {word}") and known.is_of(f"bearer {word}")
    assert known.is_of(f"Bearer {other}") == (other.strip() == word)
    assert not known.is_of(None) and word not in repr(vars(known))


def test_a_port_in_use_is_told(lab: TestLab, site: Served) -> None:
    port = site.address.rstrip("/").rpartition(":")[2]
    answer = json.loads(lab.run("serve", "--port", port, "--json", check=3).stdout)
    assert "--port" in answer["error"]["mend"]
