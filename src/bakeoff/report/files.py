"""The files of a report: the page, Markdown, and the data as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from bakeoff import analysis as analyses
from bakeoff.analysis.data import RunData
from bakeoff.analysis.findings import Analysis
from bakeoff.plan import cell_text
from bakeoff.report import markdown, page
from bakeoff.store import Store


def write_files(store: Store, runs: list[str], folder: Path) -> dict[str, Path]:
    """Writes report.html, report.md, observations.csv and summary.csv into the folder, which is made.

    Runs of one experiment are joined; those of several experiments stand one after the other.
    """
    data = analyses.load_joined(store, runs)
    found = [analyses.analyse(one) for one in data]
    folder.mkdir(parents=True, exist_ok=True)
    paths = {
        "html": folder / "report.html",
        "markdown": folder / "report.md",
        "observations": folder / "observations.csv",
        "summary": folder / "summary.csv",
    }
    paths["html"].write_text(page.html(list(zip(found, data, strict=True))), encoding="utf-8")
    paths["markdown"].write_text("\n\n".join(markdown.text(one) for one in found), encoding="utf-8")
    observations(data).write_csv(paths["observations"])
    summary(found).write_csv(paths["summary"])
    return paths


def observations(data: list[RunData]) -> pl.DataFrame:
    """Every observed and derived number, one row each, with the run that it belongs to."""
    runs = [part for one in data for part in one.parts or [one]]
    frames = [one.samples.with_columns(pl.lit(one.run["id"]).alias("run")) for one in runs]
    return pl.concat(frames, how="diagonal").select("run", pl.exclude("run"))


def summary(found: list[Analysis]) -> pl.DataFrame:
    """One row for each summary, with its comparison to the baseline and the published ratio."""
    lines: list[dict[str, Any]] = []
    for analysis in found:
        compared = {_key(c.group): c for c in analysis.comparisons if c.baseline == analysis.baseline}
        published = {
            (r.system, r.cell, r.metric): r.published
            for r in analysis.references
            if r.kind == "ratio" and r.against == analysis.baseline
        }
        for s in analysis.summaries:
            group = s.group
            line: dict[str, Any] = {"run": analysis.run["id"], "procedure": group.procedure, "system": group.system}
            line |= {name: group.cell.get(name) for name in analysis.factors}
            line |= {"metric": group.metric, "labels": group.labels, "unit": group.unit}
            line |= {
                name: getattr(s, name) for name in ("n", "median", "low", "high", "q1", "q3", "mean", "sd", "low_power")
            }
            c = compared.get(_key(group))
            line["baseline"] = analysis.baseline
            for name in (
                "pairs",
                "ratio",
                "ratio_low",
                "ratio_high",
                "ratio_of_means",
                "delta",
                "test",
                "p",
                "p_holm",
                "verdict",
            ):
                line[name] = getattr(c, name.replace("ratio_low", "low").replace("ratio_high", "high")) if c else None
            line["published_ratio"] = published.get((group.system, cell_text(group.cell), group.metric))
            lines.append(line)
    return pl.DataFrame(lines, infer_schema_length=None)


def _key(group: Any) -> tuple[str, ...]:
    return (group.procedure, group.system, cell_text(group.cell), group.metric, group.labels)
