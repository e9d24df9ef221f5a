"""What the page's own script does in a real browser, what stays without it, and what never runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made_runs
import pytest

from bakeoff import report
from bakeoff.experiment import Experiment
from bakeoff.plan import Trial
from bakeoff.store import Store
from bakeoff.store.store import Outcome

EVIL = [
    "<script>window.evil = 1</script>",
    "<img src=x onerror='window.evil = 1'>",
    "</script><script>window.evil = 1</script>",
    "</title></svg><svg onload='window.evil = 1'>",
    "\"'><b onmouseover='window.evil = 1' data-s=\"x\">",
    "javascript:window.evil=1",
    "{{ 7 * 7 }}${7 * 7}<!--",
]


def shown(chromium: Any, report: Path, width: int = 1200, script: bool = True) -> tuple[Any, list[str]]:
    """The page, and what its console says."""
    context = chromium.new_context(viewport={"width": width, "height": 900}, java_script_enabled=script)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(report.as_uri())
    return page, said


def mark_of(page: Any, heading: str) -> Any:
    """The first visible mark whose label begins with a heading."""
    return page.locator(f'g.m[aria-label^="{heading}"]:visible').first


def test_pointing_at_a_mark_shows_its_exact_values(chromium: Any, serving: Any) -> None:
    page, said = shown(chromium, serving.files["html"])
    tip = page.locator(".tip")
    assert tip.is_hidden()
    mark = mark_of(page, "rust-tokio, connections 400")
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2 + 3, box["y"] + box["height"] / 2 + 2)
    lines = tip.inner_text().splitlines()
    assert lines[0] == "rust-tokio, connections 400"
    assert lines[1].startswith("median ") and lines[1].endswith(" 1/s")
    assert lines[2].startswith("95% interval ") and lines[3] == "n = 3 (low power)" and lines[4].endswith(" times go")
    page.mouse.move(2, 2)
    assert tip.is_hidden() and said == []
    page.context.close()


def test_keys_go_from_mark_to_mark_and_escape_hides(chromium: Any, paper: Any) -> None:
    page, said = shown(chromium, paper.files["html"])
    tip = page.locator(".tip")
    page.locator("figure svg:visible").first.focus()
    first = tip.inner_text().splitlines()
    assert first[0] == "http-services, set=s1" and first[-1] == "published 976.741 (Rego 2021 Tab. 4)"
    page.keyboard.press("ArrowRight")
    assert tip.inner_text().startswith("uds-services, set=s1")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert tip.inner_text().startswith("uds-services, set=s9")
    page.keyboard.press("Home")
    assert tip.inner_text().splitlines() == first
    page.keyboard.press("Escape")
    assert tip.is_hidden() and said == []
    page.context.close()


def test_buttons_hide_and_show_a_line(chromium: Any, serving: Any) -> None:
    page, _ = shown(chromium, serving.files["html"])
    figure = page.locator("figure.curve-big").first
    button = figure.get_by_role("button", name="rust-tokio", exact=True)
    parts = figure.locator('[data-s="rust-tokio"]:visible')
    others = figure.locator('[data-s="rust-thread"]:visible').count()
    whole = parts.count()
    assert whole > 5 and button.get_attribute("aria-pressed") == "true"
    button.click()
    assert parts.count() == 0 and button.get_attribute("aria-pressed") == "false"
    assert figure.locator('[data-s="rust-thread"]:visible').count() == others
    button.press("Enter")
    assert parts.count() == whole
    page.context.close()


def test_a_click_on_a_heading_sorts_by_the_exact_values(chromium: Any, serving: Any) -> None:
    page, _ = shown(chromium, serving.files["html"])
    table = page.locator("table.grid").first
    head = table.locator("th[scope=col]").first

    def values() -> list[float]:
        cells = table.locator("tbody tr td:nth-child(2)").all()
        return [float(cell.get_attribute("data-v") or "nan") for cell in cells]

    before = values()
    head.get_by_role("button").click()
    rising = values()
    assert rising == sorted(before) != before and head.get_attribute("aria-sort") == "ascending"
    head.get_by_role("button").click()
    assert values() == sorted(before, reverse=True) and head.get_attribute("aria-sort") == "descending"
    page.context.close()


def test_sorting_stays_inside_a_cell(chromium: Any, paper: Any) -> None:
    page, _ = shown(chromium, paper.files["html"])
    table = page.locator("table").first
    table.get_by_role("button", name="median").click()
    texts = table.locator("tbody tr:not(.cell) th").all_inner_texts()
    assert texts == ["goroutines", "uds-services", "http-services"] * 9
    page.context.close()


@pytest.mark.parametrize("width", [390, 1200])
def test_without_script_everything_is_there(chromium: Any, serving: Any, width: int) -> None:
    page, said = shown(chromium, serving.files["html"], width, script=False)
    assert page.locator("figure svg:visible").count() > 10 and page.locator(".tip, .toggles, .sort").count() == 0
    assert page.locator("figure svg g.m > title").count() > 100
    assert page.locator("table").first.is_visible() and said == []
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_never_scrolls_sideways(chromium: Any, serving: Any, scheme: str) -> None:
    page, _ = shown(chromium, serving.files["html"], 390)
    page.emulate_media(color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    mark = mark_of(page, "python-uvicorn, connections 2000")
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = page.locator(".tip").bounding_box()
    assert tip["x"] >= 0 and tip["x"] + tip["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.context.close()


def test_print_has_neither_buttons_nor_tips(chromium: Any, serving: Any) -> None:
    page, _ = shown(chromium, serving.files["html"])
    page.locator("figure svg:visible").first.focus()
    page.emulate_media(media="print")
    assert page.locator(".tip").is_hidden() and page.locator(".toggles").first.is_hidden()
    page.context.close()


def hostile(store: Store) -> str:
    """A run in which every stored text is an attack, with curves, flags, failed trials and references."""
    texts = ["<script>window.evil++</script>", "</svg><script>evil()</script>", "\"'><i/onclick>"]  # without spaces
    levels = {text: {"load": i + 1} for i, text in enumerate(texts)}
    experiment = Experiment.model_validate(
        {
            "title": EVIL[0],
            "question": EVIL[1],
            "about": EVIL[2],
            "systems": ["a", "b", "c"],
            "baseline": "a",
            "factors": {"f": {"title": EVIL[3], "levels": levels}},
            "procedure": {"kind": "exec"},
            "metrics": {"elapsed": {"title": EVIL[4], "unit": "s", "better": "lower", "marker": {}}},
            "figures": [
                {"title": EVIL[5], "kind": "curve", "metric": "elapsed", "x": "f", "note": EVIL[6]},
                {"title": EVIL[0], "metric": "elapsed"},
            ],
            "replications": 3,
        }
    )

    def observe(trial: Trial) -> Outcome:
        if trial.replication == 3:
            return Outcome("failed", EVIL[1])
        outcome = Outcome("ok")
        outcome.observe("elapsed", "s", trial.replication + (trial.system == "b"))
        outcome.series.append(("memory", "B", {}, [0.1, 0.2, 0.3], [1.0, 2.0, 3.0]))
        outcome.flags.append(("not_settled", EVIL[2], {}))
        return outcome

    rows = [
        {"target": "b", "factors": f"f={texts[0]}", "metric": "elapsed", "unit": "s", "value": "1", "source": evil}
        for evil in EVIL
    ]  # fmt: skip
    run = made_runs.make(
        store, experiment, observe, title=EVIL[4] + "{}", reference_rows=rows, unavailable={"c": EVIL[3]}
    )
    store.set_run(run, readme="\n".join(EVIL), versions=dict.fromkeys(EVIL, EVIL[2]))
    return run


def test_hostile_texts_never_run(chromium: Any, store: Store, tmp_path: Path) -> None:
    files = report.write(store, [hostile(store)], tmp_path / "out")
    page, said = shown(chromium, files["html"])
    for svg in page.locator("figure svg:visible").all():
        svg.focus()
        for _ in range(4):
            page.keyboard.press("ArrowRight")
    for button in page.locator(".toggles button:visible, .sort:visible").all():
        button.click()
    assert page.locator(".sort").count() > 3 and page.locator(".toggles button").count() > 1
    assert page.evaluate("window.evil") is None and said == []
    assert (
        page.locator("script").count() == 1 and page.locator("img, iframe, object, embed, [onmouseover]").count() == 0
    )
    assert page.locator("h1").inner_text() == EVIL[0]
    page.context.close()


def test_the_policy_stops_a_script_that_escaping_would_have_missed(chromium: Any, paper: Any, tmp_path: Path) -> None:
    """Two locks: should a text ever get out of its place, the browser still refuses to run it."""
    text = paper.text("html").replace(
        "</main>", "<script>window.evil = 1</script><img src=x onerror='window.evil = 1'></main>"
    )
    broken = tmp_path / "broken.html"
    broken.write_text(text, encoding="utf-8")
    page, said = shown(chromium, broken)
    assert page.evaluate("window.evil") is None
    assert any("Content Security Policy" in line for line in said)
    assert page.locator(".sort").count() > 0  # our own script ran
    page.context.close()
