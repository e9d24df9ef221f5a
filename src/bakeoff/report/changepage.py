"""A comparison of two runs as one HTML file, as Markdown, and as a table for the terminal."""

from __future__ import annotations

import json
from pathlib import Path

from markupsafe import Markup
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bakeoff.analysis.change import Changes
from bakeoff.report import changes, content
from bakeoff.report.markdown import escape, grid
from bakeoff.report.page import environment

MOST_ROWS = 40  # in the terminal
STYLES = {"faster": "green", "better": "green", "slower": "red", "worse": "red"}
HEADS = ["system", "cell", "n", "before", "after", "after / before (95% interval)", "p (Holm)", "verdict"]


def write(found: Changes, folder: Path) -> dict[str, Path]:
    """Writes compare.html, compare.md and compare.json into the folder, which is made; returns the paths by kind."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "html": html(found),
        "md": markdown(found),
        "json": json.dumps(found.as_dict(), indent=1, ensure_ascii=False, default=str) + "\n",
    }
    paths = {kind: folder / f"compare.{kind}" for kind in texts}
    for kind, text in texts.items():
        paths[kind].write_text(text, encoding="utf-8")
    return paths


def html(found: Changes) -> str:
    """The page: no network, no script."""
    env = environment()
    assert env.loader is not None
    style = env.loader.get_source(env, "report.css")[0]
    return env.get_template("changes.html").render(found=found, changes=changes, content=content, style=Markup(style))


def markdown(found: Changes) -> str:
    """The comparison for a merge request or a wiki."""
    old, new = found.old, found.new
    parts = [f"# Two runs: {escape(found.title)}", f"Before: {escape(_run(old))}. After: {escape(_run(new))}."]
    parts.append("\n".join(f"* {escape(line)}" for line in changes.sentences(found)))
    for one in changes.tables(found):
        parts.append(f"## {escape(one.metric.title)}{escape(one.unit)}")
        lines = [[x.system, x.cell, x.n, x.old, x.new, x.ratio, x.p, x.verdict] for x in one.lines]
        parts.append(grid(HEADS, lines, "llrrrrrl"))
        if one.more:
            parts.append(f"{one.more:,} lines more.")
    parts.append("## What differs between the runs")
    differ = changes.differences(found)
    parts.append(grid(["", "what", "before", "after"], differ, "llll") if differ else "Nothing that is stored.")
    parts += ["\n".join(f"* {escape(said)}." for said in found.not_compared)] if found.not_compared else []
    if found.unshared:
        parts.append("## In one run only")
        parts.append(grid(["lacking in", "system", "figures", "why"], changes.unshared(found), "llrl"))
    parts.append("## How it was compared")
    parts.append("\n".join(f"* {escape(term)}: {escape(said)}" for term, said in changes.method(found)))
    parts.append(f"```sh\n{changes.repeat(found)}\n```")
    return "\n\n".join(parts) + "\n"


def terminal(found: Changes, every: bool = False) -> RenderableType:
    """The answer, the lines of the main metric and of all that has changed (`every`: all lines), and what differs."""
    lines: list[RenderableType] = [Text(found.title, style="bold")]
    lines += [
        Text(f"before  {_run(found.old)}", style="dim"),
        Text(f"after   {_run(found.new)}", style="dim"),
        Text(""),
    ]
    lines += [Text(line) for line in changes.sentences(found)]
    for one in changes.tables(found):
        moved = [line for line in one.lines if line.side not in ("same", "unsure")]
        chosen = one.lines if every or one.metric.name == found.primary else moved
        if chosen:
            lines += [Text(f"\n{one.metric.title}{one.unit}", style="bold"), _table(chosen, every)]
    differ = changes.differences(found)
    if differ:
        shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
        for head in ("differs", "", "before", "after"):
            shown.add_column(Text(head))
        for row in differ:
            shown.add_row(*(Text(cell) for cell in row))
        lines += [Text(""), shown]
    lines += [Text(f"{said}.", style="dim") for said in found.not_compared]
    lines += [
        Text(f"lacking in {run}: {many} figure{'' if many == '1' else 's'} of {system} ({why})", style="dim")
        for run, system, many, why in changes.unshared(found)
    ]
    return Group(*lines)


def _table(chosen: list[changes.Line], every: bool) -> RenderableType:
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    for head in HEADS:
        shown.add_column(Text(head), justify="left" if head in ("system", "cell", "verdict") else "right")
    for line in chosen if every else chosen[:MOST_ROWS]:
        cells = [line.system, line.cell, line.n, line.old, line.new, line.ratio, line.p]
        shown.add_row(*(Text(cell) for cell in cells), Text(line.verdict, style=STYLES.get(line.side, "")))
    rest = len(chosen) - MOST_ROWS
    if rest > 0 and not every:
        return Group(shown, Text(f"{rest:,} lines more; --all shows them", style="dim"))
    return shown


def _run(run: dict[str, object]) -> str:
    created = run["created_at"]
    when = content.moment(float(created) if isinstance(created, int | float) else None)
    return f"{run['id']}, {when}, profile {run.get('profile') or 'full'}"
