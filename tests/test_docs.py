"""The documentation says what is true: metrics, commands, examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bakeoff import formula
from bakeoff.metrics import DERIVED, STANDARD
from labs import TestLab

ROOT = Path(__file__).parent.parent


def test_metrics_are_defined_once() -> None:
    standard, _, derived = (ROOT / "docs/metrics.md").read_text().partition("## Derived metrics")
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| (\w+) \|", standard, re.MULTILINE)
    assert rows == [(name, metric.unit, metric.better) for name, metric in STANDARD.items()]
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| (\w+) \| `(.+?)`(?: over `(\w+)`)? \|", derived, re.MULTILINE)
    assert rows == [(name, m.unit, m.better, m.formula, m.over) for name, m in DERIVED.items()]


def test_derived_metrics_are_made_of_what_is_defined() -> None:
    for metric in DERIVED.values():
        used = formula.names(metric.formula) | ({metric.over} if metric.over else set())
        assert used <= set(STANDARD) | metric.constants


@pytest.mark.real
def test_the_example_of_a_new_system_runs(lab: TestLab) -> None:
    """docs/adding-a-system.md, followed to the letter in a copy of the lab's own experiment."""
    text = (ROOT / "docs/adding-a-system.md").read_text()
    for name, content in re.findall(r"`(systems/\S+)`:\n\n```\w+\n(.*?)```", text, re.DOTALL):
        path = lab.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    written = (ROOT / "experiments/message-passing/experiment.yaml").read_text()
    only = re.sub(r"^(\s*systems): \[.*\]$", r"\1: [python-threads]", written, flags=re.MULTILINE)
    only = only.replace("baseline: goroutines", "baseline: python-threads").replace("references: reference.csv\n", "")
    target = lab.root / "experiments/message-passing/experiment.yaml"
    target.parent.mkdir(parents=True)
    target.write_text(only)
    assert lab.json("show", "python-threads")["title"] == "Python threads"
    done = lab.json("run", "message-passing", "--profile", "smoke", "--no-report")
    assert done["trials"] == {"ok": 2}


def test_every_command_in_the_documents_exists(lab: TestLab) -> None:
    known = set(re.findall(r"^  (\w+) ", lab.run("--help").stdout.split("Commands:")[1], re.MULTILINE))
    for file in [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("experiments/*/README.md")]:
        for command in re.findall(r"(?:^ {4}|`)bakeoff ([a-z]+)", file.read_text(), re.MULTILINE):
            assert command in known, f"{file.name} names `bakeoff {command}`"
