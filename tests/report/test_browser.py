"""The page in a real browser: it needs no network, reads well on a phone and on a desk, and prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from looks import complaints, open_all

HEADS = [
    "Figures", "Tables", "Further findings", "Published figures beside ours", "Validity", "How it was measured",
    "Host and versions", "How to repeat it",
]  # fmt: skip


@pytest.fixture(params=["paper", "serving", "wordy"])
def report(request: pytest.FixtureRequest) -> Path:
    """The page of a run with few cells and figures of our choice, of one with many cells and its own,
    and of a small one with long names."""
    page: Path = request.getfixturevalue(request.param).files["html"]
    return page


def opened(browser: Any, report: Path, width: int, scheme: str = "light") -> tuple[Any, list[str]]:
    """The page at a width, and what was asked of the network or said on the console while it loaded."""
    page = browser.new_page()
    heard: list[str] = []
    page.on("request", lambda request: heard.append(request.url))
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.goto(report.as_uri())
    return page, heard


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_loads_alone_and_in_order(browser: Any, report: Path, scheme: str) -> None:
    page, heard = opened(browser, report, 1200, scheme)
    assert heard == [report.as_uri()]
    heads = [head for head in HEADS if head != "Published figures beside ours" or "wordy" not in str(report)]
    assert page.locator("h2").all_inner_texts() == heads
    style = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    ground, ink = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in style)
    assert (ground > ink) == (scheme == "light")
    page.close()


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_everything_can_be_read(chromium: Any, report: Path, width: int, scheme: str, script: bool) -> None:
    size = {"width": width, "height": 900}
    context = chromium.new_context(viewport=size, color_scheme=scheme, java_script_enabled=script)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("figure svg:visible").count() > 0
    assert complaints(page) == {}
    open_all(page)
    assert complaints(page) == {}
    context.close()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("for (const t of document.querySelectorAll('svg text')) t.setAttribute('y', 30)", "on one another"),
        ("for (const t of document.querySelectorAll('svg text')) t.setAttribute('x', -20)", "cut off"),
        ("document.querySelector('p').style.color = '#888'", "pale"),
        ("for (const t of document.querySelectorAll('svg text')) t.setAttribute('fill', '#999')", "pale"),
        ("document.querySelector('table').parentElement.style.overflow = 'visible'; "
         "document.querySelector('table').style.width = '500px'", "too wide, px"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_seen(chromium: Any, paper: Any, change: str, complaint: str) -> None:
    """The eye of the test above is not blind."""
    context = chromium.new_context(viewport={"width": 390, "height": 900})
    page = context.new_page()
    page.goto(paper.files["html"].as_uri())
    page.evaluate(change)
    assert complaint in complaints(page)
    context.close()


def test_page_prints(browser: Any, report: Path) -> None:
    page, _ = opened(browser, report, 1200)
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF") and len(printed) > 50_000
    page.close()
