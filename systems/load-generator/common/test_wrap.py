"""The parsers against outputs recorded from the real tools (samples/), and what the wrapper adds itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import wrap

SAMPLES = Path(__file__).parent / "samples"
CPU = max(os.sched_getaffinity(0))


def read(tool: str, change: tuple[str, str] = ("", "")) -> wrap.Figures:
    """What the parser makes of the recorded output, with one text changed."""
    texts = []
    for suffix in ("txt", "json"):
        file = SAMPLES / f"{tool}.{suffix}"
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        texts.append(text.replace(*change) if change[0] else text)
    assert not change[0] or any(change[1] in text for text in texts)
    return wrap.TOOLS[tool][1](*texts)


EXPECTED = {
    "bakeoff-load": (65740, 65732.0, {"p50_us": 36, "p90_us": 63, "p99_us": 3025, "p999_us": 11903}),
    "wrk": (61879, 61345.4, {"p50_us": 47, "p90_us": 2998, "p99_us": 9477, "p999_us": 15175}),
    "h2load": (99254, 99254.0, {}),
    "hey": (24652, 24645.1, {"p50_us": 300, "p90_us": 500, "p99_us": 2600}),
    "fortio": (56776, 56533.6, {"p50_us": 110.3, "p90_us": 194.3, "p99_us": 490.5, "p999_us": 4603.9}),
    "oha": (49788, 49489.6, {"p50_us": 75.154, "p90_us": 97.365, "p99_us": 4116.4, "p999_us": 4673.885}),
    "k6": (5799, 5770.43, {"p50_us": 518.3, "p90_us": 3770.2, "p99_us": 13263.8, "p999_us": 21773.5}),
}


@pytest.mark.parametrize("tool", EXPECTED)
def test_recorded_output(tool: str) -> None:
    requests, rate, times = EXPECTED[tool]
    figures = read(tool)
    assert (figures["requests"], figures["errors"]) == (requests, 0)
    assert figures["rate"] == pytest.approx(rate, rel=1e-5)
    assert {key: value for key, value in figures.items() if key.startswith("p")} == pytest.approx(times, rel=1e-3)


@pytest.mark.parametrize(
    ("tool", "change", "errors"),
    [
        ("bakeoff-load", ('"errors_total":0', '"errors_total":3'), 3),
        ("wrk", ('"errors": 0', '"errors": 4'), 4),
        ("h2load", ("0 failed", "5 failed"), 5),
        ("hey", ("[200]\t24653", "[200]\t24000 responses\n  [503]\t653"), 653),
        ("hey", ("24653 responses", "24653 responses\n\nError distribution:\n  [7]\tGet: connection reset"), 7),
        ("k6", ('"passes": 0', '"passes": 9'), 9),
        ("oha", ('"errorDistribution": {}', '"errorDistribution": {"aborted due to deadline": 8, "reset": 2}'), 2),
        ("fortio", ('"200": 56776', '"200": 56700,\n  "-1": 76'), 76),
    ],
)
def test_errors_are_seen(tool: str, change: tuple[str, str], errors: int) -> None:
    assert read(tool, change)["errors"] == errors


@pytest.mark.parametrize("tool", EXPECTED)
def test_other_output_is_refused(tool: str) -> None:
    with pytest.raises((wrap.Unreadable, ValueError, KeyError, IndexError)):
        wrap.TOOLS[tool][1]("something else\n", "")


def test_counts_may_differ_by_what_is_under_way() -> None:
    assert wrap.miscounted(claimed=10_000, counted=10_100, connections=64) == 0
    assert wrap.miscounted(claimed=10_000, counted=10_164, connections=64) == 0
    assert wrap.miscounted(claimed=5_000, counted=10_000, connections=64) == 4_836
    assert wrap.miscounted(claimed=10_101, counted=10_000, connections=64) == 1, "more than came is never under way"
    assert wrap.miscounted(claimed=20_000, counted=10_000, connections=1) == 9_900
    assert wrap.miscounted(claimed=1_000, counted=0, connections=1) == 998


@pytest.mark.parametrize("tool", wrap.TOOLS)
def test_commands_ask_for_what_is_wanted(tool: str) -> None:
    closed = wrap.TOOLS[tool][0](wrap.Load("http://127.0.0.1:1/", 64, 4, 0, Path("scratch")))
    paced = wrap.TOOLS[tool][0](wrap.Load("http://127.0.0.1:1/", 64, 4, 5000, Path("scratch")))
    assert all(isinstance(word, str) for word in closed + paced)
    assert "http://127.0.0.1:1/" in " ".join(closed)
    assert any("64" in word for word in closed)
    assert (closed != paced) == (tool not in ("wrk", "h2load"))


def test_cpu_time_and_memory_are_the_childs_own(tmp_path: Path) -> None:
    idle = wrap.run(["sleep", "0.5"], CPU, tmp_path / "log")
    assert idle.status == 0 and idle.wall_s >= 0.5
    assert idle.cpu_s < 0.05
    assert idle.max_rss_bytes < 5_000_000, "not the interpreter's own size"
    work = "x = bytearray(50_000_000)\nfor _ in range(3_000_000): pass"
    busy = wrap.run([sys.executable, "-c", work], CPU, tmp_path / "log")
    assert busy.cpu_s > 0.02
    assert busy.max_rss_bytes > 50_000_000
    assert wrap.run(["false"], CPU, tmp_path / "log").status == 1


def test_busy_time_grows_with_work() -> None:
    before = wrap.busy_seconds({CPU})
    assert before > 0 and wrap.busy_seconds(set()) == 0
    assert wrap.busy_seconds({CPU}) >= before
