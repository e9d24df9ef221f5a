"""The report as Markdown, for a terminal, a merge request or a wiki."""

from __future__ import annotations

import re

from bakeoff import analysis as analyses
from bakeoff.analysis.findings import Analysis
from bakeoff.report import content, inference_markdown, matrix, rows


def text(analysis: Analysis) -> str:
    """The report in the order of the page, without its figures."""
    run = analysis.run
    parts = [f"# {escape(analysis.title)}", f"**{escape(analysis.question)}**"]
    parts.append("\n".join(f"* {escape(line)}" for line in analyses.sentences(analysis)))
    parts += _matrices(analysis) if analysis.many else _tables(analysis)
    parts += inference_markdown.parts(analysis, escape, grid)
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
    if analysis.flags:
        flags = [
            [one.flag, one.meaning, "yes" if one.excludes else "no", content.how_many(one)] for one in analysis.flags
        ]
        parts.append(grid(["flag", "meaning", "left out", "how many"], flags, "llll"))
    if analysis.left_out:
        heads = ["system", "cell", "how many", "status", "reason"]
        out = [
            [
                one.system,
                _cell(one.cell, one.procedure),
                f"{one.count} {'step' if one.step else 'trial'}{'' if one.count == 1 else 's'}",
                one.status,
                one.reason,
            ]
            for one in analysis.left_out[: content.MOST_ROWS]
        ]
        parts.append(grid(heads, out, "llrll"))
    parts += ["## How it was measured", _terms(content.method(analysis))]
    parts += ["## Host and versions", _terms(content.host(analysis.host) + content.versions(analysis))]
    commands = "\n".join(content.repeat(analysis))
    parts += ["## How to repeat it", f"```sh\n{commands}\n```"]
    when = content.moment(run["created_at"])
    parts.append(f"Run {escape(run['id'])}, {when}, {escape(str(run['status']))}.")
    return "\n\n".join(parts) + "\n"


def _tables(analysis: Analysis) -> list[str]:
    parts = []
    for metric in rows.metrics_with_tables(analysis):
        found = rows.table(analysis, metric)
        parts += [f"## {escape(found.metric.title)}", _table(analysis, found)]
    return parts


def _matrices(analysis: Analysis) -> list[str]:
    """The figures as tables with levels in columns; for many cells these alone."""
    specs = [(spec.title, matrix.of_figure(analysis, spec)) for spec in analysis.figures]
    if not specs:
        specs = [(analysis.metrics[analysis.primary].title, matrix.of_metric(analysis, analysis.primary))]
    parts = [f"Medians with 95% intervals; {matrix.legend(analysis)} The other metrics are in summary.csv."]
    for title, found in specs:
        parts.append(f"## {escape(title)}")
        for one in found:
            parts += [escape(one.title)] if one.title else []
            heads = [
                one.unit,
                *(f"{one.corner} {head}" if one.corner and i == 0 else head for i, head in enumerate(one.heads)),
            ]
            parts.append(
                grid(heads, [[name, *map(matrix.text, line)] for name, line in one.lines], "l" + "r" * len(one.heads))
            )
    return parts


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
