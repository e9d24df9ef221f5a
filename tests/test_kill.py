"""The lab survives SIGKILL at any instant: the script beside this one, as a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.real
def test_fifty_kills_lose_nothing() -> None:
    script = Path(__file__).parent / "kill_and_resume.py"
    done = subprocess.run([sys.executable, script, "--kills", "50"], capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
