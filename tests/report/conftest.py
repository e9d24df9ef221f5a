"""Fixtures: made runs and their written reports."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bakeoff import report
from bakeoff.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

import made_runs
import made_serving
import made_wordy


@dataclass(frozen=True)
class Written:
    """A report that was written, and its store."""

    store: Store
    run: str
    files: dict[str, Path]

    def text(self, kind: str) -> str:
        """The text of one of its files."""
        return self.files[kind].read_text(encoding="utf-8")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    opened = Store(f"sqlite:///{tmp_path / 'store.db'}")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    """The report of the paper's own raw times."""
    folder = tmp_path_factory.mktemp("paper")
    opened = Store(f"sqlite:///{folder / 'store.db'}")
    run = made_runs.paper_run(opened)
    yield Written(opened, run, report.write(opened, [run], folder / "report"))
    opened.close()


@pytest.fixture(scope="session")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    """The report of a made run with thirteen systems, four workloads and steps."""
    folder = tmp_path_factory.mktemp("serving")
    opened = Store(f"sqlite:///{folder / 'store.db'}")
    run = made_serving.run(opened)
    yield Written(opened, run, report.write(opened, [run], folder / "report"))
    opened.close()


@pytest.fixture(scope="session")
def wordy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    """The report of a small run with long names and large figures."""
    folder = tmp_path_factory.mktemp("wordy")
    opened = Store(f"sqlite:///{folder / 'store.db'}")
    run = made_wordy.run(opened)
    yield Written(opened, run, report.write(opened, [run], folder / "report"))
    opened.close()
