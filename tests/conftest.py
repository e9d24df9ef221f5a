"""What the tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from labs import TestLab


@pytest.fixture
def lab(tmp_path: Path) -> TestLab:
    """A lab with one experiment and one system."""
    made = TestLab(tmp_path)
    made.experiment()
    made.system()
    (tmp_path / "toolbox").mkdir()
    return made
