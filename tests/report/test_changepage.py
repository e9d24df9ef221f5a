"""The page of two runs: its parts, its escaping, and what it leaves out of long tables."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import made_runs
import pytest
from rich.console import Console
from test_change import made, small
from test_report import EVIL, Elements

from bakeoff import analysis
from bakeoff.analysis.change import Changes, compare
from bakeoff.report import changepage, changes
from bakeoff.store import Store
from bakeoff.store.store import Outcome
from looks import complaints, open_all


@pytest.fixture
def found(store: Store) -> Changes:
    """Two runs, in the second of which b is 20% slower."""
    return compare(made(store, "one"), made(store, "two", {"b": 2.4}))


def said(found: Changes, **options: Any) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(changepage.terminal(found, **options))
    return console.export_text()


def test_the_page_needs_no_network_and_has_every_part(found: Changes, tmp_path: Path) -> None:
    files = changepage.write(found, tmp_path / "pages")
    assert {kind: path.name for kind, path in files.items()} == {
        "html": "compare.html", "md": "compare.md", "json": "compare.json",
    }  # fmt: skip
    page = files["html"].read_text()
    elements = Elements(page)
    assert not {"script", "link", "iframe", "img", "object"} & set(elements.tags)
    assert not [v for k, v in elements.attributes if k in ("src", "href") or k.startswith("on")]
    assert "default-src 'none'" in page
    for text in ("Changes", "What differs between the runs", "Nothing that is stored.", "How it was compared"):
        assert text in page
    assert elements.tags.count("svg") == len(found.changes) == 16
    assert "Elapsed: 2 slower, 2 same (of 4 comparisons)." in page and "bakeoff compare one two" in page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_everything_can_be_read(browser: Any, found: Changes, tmp_path: Path, width: int, scheme: str) -> None:
    page = browser.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.goto(changepage.write(found, tmp_path / "pages")["html"].as_uri())
    open_all(page)
    assert complaints(page) == {}


def test_bars_lie_inside_their_drawing_and_margins_around_one(found: Changes) -> None:
    for table in changes.tables(found):
        assert 0 < table.margin[0] < table.one < table.margin[1] < 1
        for line in table.lines:
            assert line.bar is None or 0 <= line.bar[0] <= line.bar[1] <= line.bar[2] <= 1
    slower = next(line for line in changes.tables(found)[0].lines if line.side == "slower")
    assert slower.bar is not None and slower.bar[0] > changes.tables(found)[0].margin[1]


def test_what_was_stored_is_text_and_nothing_else(store: Store) -> None:
    evil = small(title=EVIL, question=EVIL)
    old = made(store, "one", experiment=evil)
    new = analysis.load(
        store,
        made_runs.make(
            store, evil, lambda trial: Outcome("failed", EVIL) if trial.system == "b" else _fine(), run="two"
        ),
    )
    new.host["kernel"] = EVIL
    found = compare(old, new)
    page = changepage.html(found)
    assert "script" not in Elements(page).tags and "img" not in Elements(page).tags
    assert not re.search(r"(?<!\\)<(script|img)", changepage.markdown(found))
    assert "[/bold]" in said(replace(found, title="[/bold]"))


def _fine() -> Outcome:
    outcome = Outcome("ok")
    outcome.observe("elapsed", "s", 1.0)
    return outcome


def test_markdown_has_a_line_for_each_change_and_says_what_differs(store: Store) -> None:
    one, two = made(store, "one"), made(store, "two", {"b": 2.4}, broken=None)
    two.host["kernel"] = "6.2"
    text = changepage.markdown(compare(one, two))
    assert len(re.findall(r"^\| (?:a|b) \| (?:small|large) ", text, re.MULTILINE)) == 16
    assert "| host | kernel | 6.1 | 6.2 |" in text and "| slower |" in text


def test_the_terminal_shows_what_has_changed_and_all_if_asked(found: Changes) -> None:
    short, long = said(found), said(found, every=True)
    assert "Elapsed, s" in short and "Rate, 1/s" in short and "Peak memory" not in short
    assert "Peak memory" in long and "before  one" in long


def test_long_tables_keep_what_has_changed(found: Changes) -> None:
    same = next(c for c in found.changes if c.verdict == "same")
    slower = next(c for c in found.changes if c.verdict == "slower")
    many = replace(found, changes=[same] * 500 + [slower] * 3)
    [table] = changes.tables(many)
    assert len(table.lines) == 400 and table.more == 103
    assert [line.side for line in table.lines[:4]] == ["slower", "slower", "slower", "same"]
    assert "103 lines more" in changepage.html(many)
    assert "lines more; --all" not in said(many, every=True)
    assert "360 lines more; --all shows them" in said(many)


def test_what_one_run_lacks_is_counted_with_its_reason(store: Store) -> None:
    found = compare(made(store, "one"), made(store, "two", broken={"b": "it fell over"}))
    assert changes.unshared(found) == [["two", "b", "8", "failed: it fell over"]]
    assert "lacking in two: 8 figures of b (failed: it fell over)" in said(found)


def test_another_machine_is_the_last_word_of_the_answer(store: Store) -> None:
    one, two = made(store, "one"), made(store, "two")
    two.host["cpus"] = 64
    assert "different machines (cpus)" in changes.sentences(compare(one, two))[-1]
