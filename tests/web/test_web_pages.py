"""The pages: they show what the store holds, narrow lists, and never run what a stored text says."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import made_runs
import pytest
from sites import SCRIPT, Served, serving
from sqlalchemy import insert

from bakeoff import report
from bakeoff.store import Store, history
from bakeoff.store.tables import runs
from looks import complaints, open_all

PATHS = ["/", "/runs", "/runs/hostile-1", "/runs/hostile-1?status=failed", "/runs/hostile-1/report", "/compare"]


def test_experiments_and_runs_are_listed(site: Served) -> None:
    first = site.get("/").text
    assert '<a href="/runs?experiment=made">made</a>' in first and "into services on one machine" in first
    listed = site.get("/runs").text
    assert "2 runs" in listed and 'href="/runs/paper-1"' in listed and "135 of 135" in listed


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("experiment=made", 2), ("experiment=other", 0), ("system=goroutines", 2), ("system=goroutine", 0),
        ("host=bench", 2), ("host=ben", 0), ("version=1.2.3", 1), ("version=0.1.0", 2), ("version=%25", 0),
        ("text=paper", 1), ("text=_", 0), ("since=2025-10-09&until=2025-10-09", 2), ("since=2025-10-10", 0),
        ("until=2025-10-08", 0), ("experiment=made&text=hostile&page=7", 1),
    ],
)  # fmt: skip
def test_lists_are_narrowed(site: Served, query: str, found: int) -> None:
    query = query.replace("version=1.2.3", "version=1.2.3&text=paper")
    text = site.get(f"/runs?{query}").text
    assert f"{found} run{'' if found == 1 else 's'}" in text
    assert text.count('name="run"') == found


@pytest.mark.parametrize(
    "query", ["page=0", "page=x", "page=-1", "page=²", "since=tomorrow", "since=0001-01-01", "text=" + "x" * 300]
)
def test_nonsense_is_refused_with_a_mend(site: Served, query: str) -> None:
    answer = site.get("/runs?" + quote(query, safe="=&"))
    assert answer.status == 400 and "Mend:" in answer.text


def test_a_run_shows_its_systems_trials_and_host(site: Served) -> None:
    text = site.get("/runs/paper-1").text
    for part in (
        "135 of 135 trials done",
        "goroutines",
        "Example CPU",
        "bakeoff run made --profile quick",
        "page 1 of 2",
    ):
        assert part in text
    assert site.get("/runs/paper-1?page=2").text.count("set=") > 30


def test_a_trial_shows_numbers_flags_and_logs(site: Served, made: Store) -> None:
    failed = next(row for row in made.trials("hostile-1") if row["status"] == "failed")
    answer = site.get(f"/runs/hostile-1/trials/{failed['id']}")
    assert "2.00 s" in answer.text and "too much CPU time" in answer.text and "main.stderr" in answer.text
    raw = site.get(f"/runs/hostile-1/trials/{failed['id']}/files/main.stderr")
    assert (
        raw.headers["content-type"] == "text/plain; charset=utf-8"
        and raw.headers["x-content-type-options"] == "nosniff"
    )
    assert "sandbox" in raw.headers["content-security-policy"] and raw.text.startswith("<script>")
    assert site.get(f"/runs/paper-1/trials/{failed['id']}").status == 404, "it belongs to another run"


def test_the_report_is_that_of_the_command(site: Served, made: Store, tmp_path: Any) -> None:
    written = report.write(made, ["hostile-1"], tmp_path)["html"].read_text()
    answer = site.get("/runs/hostile-1/report")
    assert answer.text == written
    policy = answer.headers["content-security-policy"]
    assert "sandbox" in policy and "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1]


def test_the_script_of_the_report_runs_on_its_page(site: Served, browser: Any) -> None:
    page = browser.new_page()
    page.goto(site.address + "runs/hostile-1/report")
    boxes = page.locator("div.tip").count()  # which the script makes
    page.close()
    assert boxes == 1


@pytest.mark.parametrize("path", PATHS)
def test_stored_texts_never_run(site: Served, browser: Any, path: str) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(site.address.rstrip("/") + path)
    page.wait_for_timeout(200)
    assert page.title() != "stolen"
    own = 1 if path.endswith("/report") else 0  # the report's one script, which its policy names by its digest
    assert page.locator("img").count() == 0 and page.locator("script:not([src])").count() == own
    assert all(url.startswith(site.address) or url.startswith("data:") for url in asked)
    if "hostile" in path:
        assert "<script>document.title" in page.locator("body").inner_text()
    page.close()


def test_a_log_with_a_script_is_text(site: Served, made: Store, browser: Any) -> None:
    number = made.trials("hostile-1")[0]["id"]
    for path in (f"/runs/hostile-1/trials/{number}", f"/runs/hostile-1/trials/{number}/files/main.stderr"):
        page = browser.new_page()
        page.goto(site.address.rstrip("/") + path)
        assert page.title() != "stolen" and page.locator("img").count() == 0
        page.close()


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")])
def test_everything_can_be_read(
    site: Served, made: Store, chromium: Any, width: int, scheme: str, script: bool
) -> None:
    size = {"width": width, "height": 900}
    context = chromium.new_context(viewport=size, color_scheme=scheme, java_script_enabled=script)
    page = context.new_page()
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    failed = next(row["id"] for row in made.trials("hostile-1") if row["status"] == "failed")
    more = ["/runs?system=goroutines&text=paper", "/runs/paper-1", f"/runs/hostile-1/trials/{failed}"]
    for path in [*PATHS, *more, "/compare?run=paper-1&run=hostile-1"]:
        page.goto(site.address.rstrip("/") + path)
        open_all(page)
        assert complaints(page) == {}, path
    assert heard == []
    context.close()


def test_pages_follow_the_colour_scheme(site: Served, browser: Any) -> None:
    page = browser.new_page()
    colours = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.goto(site.address + "runs")
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(20, 23, 27)"]
    page.close()


def test_two_runs_are_set_beside_each_other(site: Served) -> None:
    text = site.get("/compare?run=paper-1&run=hostile-1").text
    assert "/runs/paper-1/report" in text and "/runs/hostile-1/report" in text
    assert "Name two runs" in site.get("/compare?run=paper-1").text
    assert site.get("/compare?run=paper-1&run=nope").status == 404


def test_ratios_of_two_runs_are_those_of_the_command(browser: Any, tmp_path: Any) -> None:
    store = Store(f"sqlite:///{tmp_path}/store.db")
    experiment = made_runs.message_passing().model_copy(update={"title": f"T {SCRIPT}", "question": f"Q {SCRIPT}"})
    for run in ("old-1", "new-1"):
        made_runs.make(store, experiment, made_runs.values(made_runs.paper_times()), run=run, title=SCRIPT + " {}")
    with serving(store.url) as served:
        assert 'href="/compare/old-1/new-1"' in served.get("/compare?run=old-1&run=new-1").text
        answer = served.get("/compare/old-1/new-1")
        assert answer.status == 200 and "sandbox" in answer.headers["content-security-policy"]
        assert "goroutines" in answer.text and "old-1" in answer.text and "new-1" in answer.text
        page = browser.new_page()
        page.goto(served.address + "compare/old-1/new-1")
        assert page.title() != "stolen" and page.locator("img").count() == 0
        page.close()
        assert served.get("/compare/old-1/old-1").status == 422
        assert served.get("/compare/old-1/nope").status == 404


def test_a_long_history_is_paged(tmp_path: Any) -> None:
    store = Store(f"sqlite:///{tmp_path}/store.db")
    row = {
        "experiment": "long", "profile": None, "seed": 1, "status": "done", "lab_root": "/", "command": "c",
        "experiment_yaml": "title: T\n" + "# x\n" * 1000, "reference_rows": [], "versions": {}, "readme": "y" * 4000,
    }  # fmt: skip
    with store.engine.begin() as db:
        db.execute(insert(runs), [row | {"id": f"long-{n:05d}", "created_at": 1e9 + n} for n in range(10_000)])
        sql = history.listing(history.Wanted()).compile(db)
        plan = [line[3] for line in db.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}")]
        assert plan[0] == "SCAN runs USING INDEX ix_runs_created_at", "the newest are found without reading them all"
    with serving(store.url) as served:
        first, last = served.get("/runs").text, served.get("/runs?page=200").text
        assert "10,000 runs, page 1 of 200" in first and first.count('name="run"') == 50 and len(first) < 50_000
        assert "long-09999" in first and "long-00000" in last and "Next page" not in last
