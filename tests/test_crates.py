"""The sources of a crate, fetched by cargo."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff import crates
from bakeoff.errors import CannotRun


@pytest.mark.real
def test_sources_are_those_of_the_version(tmp_path: Path) -> None:
    crates.unpack(tmp_path, "itoa", "1.0.15")
    assert 'version = "1.0.15"' in (tmp_path / "source/Cargo.toml").read_text()
    assert (tmp_path / "source/src/lib.rs").is_file()


@pytest.mark.real
def test_a_version_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match=r"itoa 999\.0\.0"):
        crates.unpack(tmp_path, "itoa", "999.0.0")
