"""Fixtures: a store in memory's stead, and the paper's raw times as a run in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff import analysis
from bakeoff.analysis.findings import Analysis
from bakeoff.store import Store

sys.path.insert(0, str(Path(__file__).parent))

import made_runs


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    opened = Store(f"sqlite:///{tmp_path / 'store.db'}")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """The analysis of the paper's own raw times."""
    opened = Store(f"sqlite:///{tmp_path_factory.mktemp('paper') / 'store.db'}")
    found = analysis.analyse(analysis.load(opened, made_runs.paper_run(opened)))
    opened.close()
    return found
