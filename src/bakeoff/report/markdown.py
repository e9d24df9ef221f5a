"""The report as Markdown, for a terminal, a merge request or a wiki."""

from __future__ import annotations

import re

from bakeoff import analysis as analyses
from bakeoff.analysis.findings import Analysis
from bakeoff.report import content, rows


def text(analysis: Analysis) -> str:
    """The report in the order of the page, without its figures."""
    run = analysis.run
    parts = [f"# {escape(analysis.title)}", f"**{escape(analysis.question)}**"]
    parts.append("\n".join(f"* {escape(line)}" for line in analyses.sentences(analysis)))
    for metric in rows.metrics_with_tables(analysis):
        found = rows.table(analysis, metric)
        parts += [f"## {escape(found.metric.title)}", _table(analysis, found)]
    tables = content.published(analysis)
    if tables:
        parts.append("## Published figures")
    for published in tables:
        parts.append(f"### {escape(published.title)}")
        if published.note:
            parts.append(escape(published.note))
        if published.lines:
            parts.append(grid(published.heads, published.lines, "llrrrll"[: len(published.heads)]))
        parts += [escape(line) for line in published.left_out]
    parts += ["## Validity", *(escape(line) for line in content.validity(analysis))]
    if analysis.left_out:
        heads = ["system", "cell", "trials", "status", "reason"]
        out = [
            [one.system, _cell(one.cell, one.procedure), str(one.count), one.status, one.reason]
            for one in analysis.left_out
        ]
        parts.append(grid(heads, out, "llrll"))
    parts += ["## How it was measured", _terms(content.method(analysis))]
    parts += ["## Host and versions", _terms(content.host(analysis) + content.versions(analysis))]
    commands = "\n".join(content.repeat(analysis))
    parts += ["## How to repeat it", f"```sh\n{commands}\n```"]
    when = content.moment(run["created_at"])
    parts.append(f"Run {escape(run['id'])}, {when}, {escape(str(run['status']))}.")
    return "\n\n".join(parts) + "\n"


def _cell(cell: dict[str, str], procedure: str) -> str:
    return " ".join(f"{name}={level}" for name, level in cell.items()) or procedure


def _table(analysis: Analysis, found: rows.Table) -> str:
    unit = rows.unit_label(found.scale)
    heads = ["cell", "system", "n", f"median{unit} (95% interval)"]
    columns = "llrr"
    if found.baseline:
        heads += [f"times {found.baseline} (95% interval)", "published", "verdict"]
        columns += "rrl"
    lines = []
    for cell, members in found.cells:
        title = rows.cell_title(analysis, cell)[0]
        for row in members:
            line = [title, row.system, str(row.summary.n) if row.summary else "", rows.median_text(row, found.scale)]
            if found.baseline:
                line += [rows.ratio_text(row, found.baseline), rows.published_text(row), rows.verdict_text(row)]
            lines.append(line)
    return grid(heads, lines, columns)


def grid(heads: list[str], lines: list[list[str]], columns: str) -> str:
    """A table; `columns` says l or r for each."""
    rule = ["---:" if side == "r" else "---" for side in columns]
    every = [[escape(head) for head in heads], rule, *([escape(cell) for cell in line] for line in lines)]
    return "\n".join("| " + " | ".join(line) + " |" for line in every)


def _terms(terms: list[tuple[str, str]]) -> str:
    return "\n".join(f"* {escape(term)}: {escape(said)}" for term, said in terms)


def escape(said: str) -> str:
    """A text in which nothing is read as Markdown or HTML, on one line."""
    return re.sub(r"([\\`*_\[\]<>|#~&])", r"\\\1", " ".join(said.split()))
