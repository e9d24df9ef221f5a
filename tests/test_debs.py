"""Debian packages in a folder of their own: links and programs that stay inside it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bakeoff import debs
from bakeoff.errors import CannotRun

pytestmark = pytest.mark.skipif(not Path("/bin/true").exists(), reason="there is no program to move")


def unpacked(folder: Path) -> Path:
    """A folder as packages leave it: a program of this machine, with the loader and libraries that it uses."""
    needed = subprocess.run(["ldd", "/bin/true"], capture_output=True, text=True, check=True).stdout
    libraries = folder / "lib/x86_64-linux-gnu"
    libraries.mkdir(parents=True)
    for path in re.findall(r"(/\S+\.so\S*)", needed):
        shutil.copy(Path(path).resolve(), libraries / Path(path).name)
    (folder / "usr/bin").mkdir(parents=True)
    shutil.copy("/bin/true", folder / "usr/bin/true")
    (folder / "usr/bin/also").symlink_to("/usr/bin/true")
    (folder / "usr/bin/near").symlink_to("true")
    (folder / "usr/bin/script").write_text("#!/bin/sh\n")
    return folder


def test_programs_use_the_folders_own_loader_and_libraries(tmp_path: Path) -> None:
    folder = unpacked(tmp_path)
    debs._relocate(folder)
    program = folder / "usr/bin/true"
    tracing = {"LD_TRACE_LOADED_OBJECTS": "1"}  # the program's own loader says what it takes from where
    shown = subprocess.run([program], capture_output=True, text=True, env=tracing, check=True).stdout
    used = [line for line in re.findall(r"(/\S+)", shown) if ".so" in line]
    assert used and all(path.startswith(str(folder)) for path in used)
    assert subprocess.run([program], check=False).returncode == 0
    assert (folder / "usr/bin/script").read_text() == "#!/bin/sh\n"


def test_absolute_links_become_relative(tmp_path: Path) -> None:
    folder = unpacked(tmp_path)
    debs._relocate(folder)
    assert all((folder / "usr/bin" / name).readlink() == Path("true") for name in ("also", "near"))
    assert (folder / "usr/bin/also").resolve() == folder / "usr/bin/true"


def test_a_failing_command_is_told_by_its_last_line() -> None:
    with pytest.raises(CannotRun, match="sh ended with 3: it broke"):
        debs._run(["sh", "-c", "echo before >&2; echo it broke >&2; exit 3"])
    with pytest.raises(CannotRun, match="the program no-such-program is missing"):
        debs._run(["no-such-program"])


@pytest.mark.skipif(
    not os.environ.get("BAKEOFF_TEST_INSTALL") or not shutil.which("apt-get"),
    reason="it downloads; `make test-wasm-languages` runs it",
)
def test_a_package_of_another_suite_runs(tmp_path: Path) -> None:
    debs.unpack(tmp_path, "trixie", ["hello"])
    done = subprocess.run([tmp_path / "usr/bin/hello"], capture_output=True, text=True, check=True)
    assert done.stdout == "Hello, world!\n"
    assert not (tmp_path / "usr/share/doc").exists()
