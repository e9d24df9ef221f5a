"""What the tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labs import TestLab

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars",
]  # fmt: skip


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Debian's Chromium; each context of it is a reader of its own."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS, headless=True)
        yield opened
        opened.close()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """A new reader."""
    context = chromium.new_context()
    yield context
    context.close()


@pytest.fixture
def lab(tmp_path: Path) -> TestLab:
    """A lab with one experiment and one system."""
    made = TestLab(tmp_path)
    made.experiment()
    made.system()
    (tmp_path / "toolbox").mkdir()
    return made
