"""Stacks: what perf prints, put together; a real program sampled; a graph of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bakeoff import profiling
from bakeoff.errors import CannotRun
from bakeoff.report import flame
from labs import TestLab
from test_serve import make

SAID = """echo
\t    55d0 read+0x10 (/echo)
\t    55d1 a::main::h0123456789abcdef (/echo)
\t    7f00 [unknown] (/lib/libc.so.6)

echo
\tffff8000 tcp_sendmsg ([kernel.kallsyms])
\t    55d1 a::main::h0123456789abcdef (/echo)

echo
\tffff8000 tcp_sendmsg ([kernel.kallsyms])
\t    55d1 a::main::h0123456789abcdef (/echo)

"""
STACKS = "echo;[libc.so.6];a::main;read+0x10 1\necho;a::main;tcp_sendmsg [kernel] 2\n"


def test_stacks_are_put_together() -> None:
    assert profiling.folded(SAID) == STACKS
    assert profiling.folded("") == ""


def test_a_graph_has_a_box_for_each_place() -> None:
    graph = flame.flame("x", STACKS + "echo;<script> 1\n")
    assert graph.samples == 4 and graph.busiest[0] == ("tcp_sendmsg [kernel]", 0.5)
    boxes = ElementTree.fromstring(graph.svg).findall(".//g[@class]")
    wide = {box.findtext("title"): float(box.attrib["data-w"]) for box in boxes}
    assert wide["all: 100.0% of 4 samples"] == wide["echo: 100.0% of 4 samples"] == 1
    assert wide["tcp_sendmsg [kernel]: 50.0% of 4 samples"] == 0.5
    assert "<script>: 25.0% of 4 samples" in wide and "<script>" not in graph.svg


def test_boxes_stand_on_what_called_them() -> None:
    boxes = ElementTree.fromstring(flame.flame("x", STACKS).svg).findall(".//g[@class]")
    placed = [(float(b.attrib["data-l"]), float(b.attrib["data-w"]), int(b.attrib["data-r"])) for b in boxes]
    for left, wide, row in placed:
        under = [1 for x, w, r in placed if r == row - 1 and x <= left + 1e-5 and x + w >= left + wide - 1e-5]
        assert row == 0 or under


@pytest.mark.real
def test_a_program_is_sampled(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: sum(range(1000))"]) as busy:
        try:
            stacks = profiling.record([busy.pid], 0.5, tmp_path)
        except CannotRun as error:
            pytest.skip(str(error))
        finally:
            busy.kill()
    assert sum(int(line.rpartition(" ")[2]) for line in stacks.splitlines()) > 5, stacks


@pytest.mark.real
def test_systems_are_profiled_apart_from_the_trials(lab: TestLab) -> None:
    if shutil.which("perf") is None:
        pytest.skip("there is no perf")
    make(lab)
    lab.run("run", "counting", "--profile", "full", "--profile-systems")
    trials = lab.json("status", "last")["all_trials"]
    assert [trial["procedure"] for trial in trials if trial["position"] >= 0] == ["serve", "profile"]
    rows = [json.loads(line) for line in lab.run("export", "last", "--json").stdout.splitlines()]
    assert {row["metric"] for row in rows if row["procedure"] == "profile"} == {"stolen_cpu"}
    page = next(lab.root.rglob("report.html")).read_text()
    assert "flame graph of counter" in page or 'class="flame"' in page
