"""Fixtures: a served store with known runs."""

from __future__ import annotations

from collections.abc import Iterator

import made_runs
import pytest
from sites import Served, hostile_run, serving

from bakeoff.store import Store


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
