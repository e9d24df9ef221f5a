"""Fixtures: made runs and their written reports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
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


def written(factory: pytest.TempPathFactory, name: str, make: Callable[[Store], str]) -> Iterator[Written]:
    """The report of a run that `make` puts into a store of its own."""
    folder = factory.mktemp(name)
    opened = Store(f"sqlite:///{folder / 'store.db'}")
    run = make(opened)
    yield Written(opened, run, report.write(opened, [run], folder / "report"))
    opened.close()


@pytest.fixture(scope="session")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    """The report of the paper's own raw times."""
    yield from written(tmp_path_factory, "paper", made_runs.paper_run)


@pytest.fixture(scope="session")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    """The report of a made run with thirteen systems, four workloads and steps."""
    yield from written(tmp_path_factory, "serving", made_serving.run)


@pytest.fixture(scope="session")
def wordy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    """The report of a small run with long names and large figures."""
    yield from written(tmp_path_factory, "wordy", made_wordy.run)
