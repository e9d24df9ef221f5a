"""Labs of the tests' own, and the command as users run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
BAKEOFF = Path(sys.executable).parent / "bakeoff"

EXPERIMENT: dict[str, Any] = {
    "title": "Which is faster?",
    "question": "Does it work?",
    "systems": ["plain"],
    "factors": {"size": {"levels": {"small": {"count": 3}, "large": {"count": 5}}}},
    "procedure": {"kind": "exec", "timeout": "20s"},
    "metrics": {"elapsed": {"unit": "s", "better": "lower", "marker": {"from": "startup", "to": "finish"}}, "cpu": {}},
    "replications": 2,
    "profiles": {"smoke": {"replications": 1}},
}
SHELL = """echo '@bakeoff startup'
sleep 0.02; i=0; while [ $i -lt $1 ]; do i=$((i+1)); done
echo '@bakeoff finish'
echo "@bakeoff result {\\"count\\": $i}"
"""
SYSTEM: dict[str, Any] = {
    "title": "A shell that counts",
    "parts": {"main": {"command": ["sh", "{source}/count.sh", "{count}"]}},
    "expect": {"result": {"count": "count"}},
}


@dataclass
class TestLab:
    """A lab in a temporary folder, and `bakeoff` run in it."""

    __test__ = False
    root: Path

    def experiment(self, name: str = "counting", **changes: Any) -> Path:
        """Writes an experiment; a change of None takes the key out."""
        return self._write(f"experiments/{name}/experiment.yaml", EXPERIMENT | changes)

    def system(self, name: str = "plain", script: str = SHELL, **changes: Any) -> Path:
        """Writes a system of one shell script."""
        path = self._write(f"systems/shell/{name}/system.yaml", SYSTEM | changes)
        (path.parent / "count.sh").write_text(script)
        return path

    @property
    def environment(self) -> dict[str, str]:
        """A cache and a turn of its own, so that a lab that measures on this machine is not waited for."""
        own = {"BAKEOFF_CACHE": str(self.root / "cache"), "BAKEOFF_LOCK": str(self.root / "measuring")}
        return os.environ | own | {"COLUMNS": "200"}

    def run(self, *words: str, check: int | None = 0, **settings: Any) -> subprocess.CompletedProcess[str]:
        """Runs the installed command."""
        done = subprocess.run(
            [str(BAKEOFF), *words],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            **settings,
        )
        assert check is None or done.returncode == check, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def json(self, *words: str, check: int | None = 0) -> Any:
        """Runs the command with --json and reads what it prints."""
        return json.loads(self.run(*words, "--json", check=check).stdout)

    def _write(self, name: str, data: dict[str, Any]) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            yaml.safe_dump({key: value for key, value in data.items() if value is not None}, sort_keys=False)
        )
        return path
