"""The page in a real browser: it needs no network, reads well on a phone and on a desk, and prints."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars",
]  # fmt: skip
HEADS = [
    "Figures", "Tables", "Further findings", "Published figures beside ours", "Validity", "How it was measured",
    "Host and versions", "How to repeat it",
]  # fmt: skip

# Pairs of texts in one figure whose boxes share more than a px, in any figure that is shown.
OVERLAPS = """() => [...document.querySelectorAll('figure svg')].flatMap(svg => {
  const boxes = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim())
    .map(t => [t.textContent, t.getBoundingClientRect()]).filter(([, b]) => b.width > 0);
  const found = [];
  boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) - 3;  // boxes are higher than letters
    if (wide > 1 && high > 1) found.push(`${one} | ${other}`);
  }));
  return found;
})"""
# Texts that reach out of their drawing.
CLIPPED = """() => [...document.querySelectorAll('figure svg')].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(t => t.textContent.trim()).filter(t => {
    const box = t.getBoundingClientRect();
    return box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1);
  }).map(t => t.textContent);
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium with a profile of its own."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as driver, tempfile.TemporaryDirectory() as profile:
        opened = driver.chromium.launch_persistent_context(
            profile, executable_path=str(CHROMIUM), args=ARGUMENTS, headless=True
        )
        yield opened
        opened.close()


@pytest.fixture(params=["paper", "serving"])
def report(request: pytest.FixtureRequest) -> Path:
    """The page of a run with few cells and figures of our choice, and of one with many cells and its own."""
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
    assert page.locator("h2").all_inner_texts() == HEADS
    style = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    ground, ink = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in style)
    assert (ground > ink) == (scheme == "light")
    page.close()


@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_reaches_over_the_edge(browser: Any, report: Path, width: int) -> None:
    page, _ = opened(browser, report, width)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CLIPPED) == []
    page.close()


@pytest.mark.parametrize("width", [390, 1200])
def test_texts_of_figures_do_not_meet(browser: Any, report: Path, width: int) -> None:
    page, _ = opened(browser, report, width)
    assert page.locator("figure svg:visible").count() > 3
    assert page.evaluate(OVERLAPS) == []
    page.close()


def test_page_prints(browser: Any, report: Path) -> None:
    page, _ = opened(browser, report, 1200)
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF") and len(printed) > 50_000
    page.close()
