"""The report's chapters on demands and further findings: what they say, and that a browser shows them whole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import made_demands
import pytest
from test_browser import opened

from bakeoff import report
from bakeoff.store import Store
from looks import complaints, open_all


@pytest.fixture(scope="module")
def demands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files of the report of such a run."""
    folder = tmp_path_factory.mktemp("demands")
    made = Store(f"sqlite:///{folder / 'store.db'}")
    files = report.write(made, [made_demands.run(made)], folder / "report")
    made.close()
    return files


def words(html: str) -> str:
    """A page's text, without elements and with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", html.partition("</style>")[2]).split())


def test_page_judges(demands: dict[str, Path]) -> None:
    text = words(demands["html"].read_text())
    assert "fast pass pass middle pass – slow fail fail broken unsure –" in text
    assert "Answers in time at 200 a second at most 50 ms" in text
    assert "at most this many times the best: ++ 1.05, + 1.5, o 3, - 4; else --" in text
    assert "fast ++ · published ++ ++ ++" in text
    assert "3 published marks beside ours: 1 the same, 1 one step apart, 1 further apart." in text
    assert re.search(r"middle plain 400 400 400 at 800 it does not hold", text)
    assert re.search(r"fast plain 800 800, the highest 800", text)


def test_page_has_further_findings(demands: dict[str, Path]) -> None:
    text = words(demands["html"].read_text())
    for title in ("Ranks", "Scaling", "Where the variation comes from", "Warm-up", "Drift over the run"):
        assert f"<h3>{title}</h3>" in demands["html"].read_text(), title
    assert re.search(r"1 \w+ \(a\)", text)
    assert "starts of a system" in text and "degrees of freedom" in text


def test_markdown_has_the_same(demands: dict[str, Path]) -> None:
    text = demands["markdown"].read_text()
    assert "## Requirements and assessment" in text and "### Up to where the systems hold" in text
    assert "| fast | pass | pass |" in text
    assert "## Further findings" in text and "| starts of a system |" in text


def test_paper_ranks_and_scaling(paper: Any) -> None:
    text = words(paper.text("html"))
    assert "1 goroutines (a) · 2 uds-services (b) · 3 http-services (c)" in text
    assert "Requirements and assessment" not in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_browser_shows_it_whole(browser: Any, demands: dict[str, Path], width: int, scheme: str) -> None:
    page, heard = opened(browser, demands["html"], width, scheme)
    open_all(page)
    assert complaints(page) == {}
    assert heard == [demands["html"].as_uri()]
    page.close()
