"""Fixtures: a served store with known runs, and a browser."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import made_runs
import pytest
from sites import Served, hostile_run, serving

from bakeoff.store import Store

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars",
]  # fmt: skip


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with the paper's times and a hostile run."""
    opened = Store(f"sqlite:///{tmp_path_factory.mktemp('web')}/store.db")
    made_runs.paper_run(opened)
    hostile_run(opened)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def site(made: Store) -> Iterator[Served]:
    """That store, served read-only."""
    with serving(made.url) as served:
        yield served


@pytest.fixture(scope="session")
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
