"""The files of a report: the page, Markdown, and the data as CSV and Parquet."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl

from bakeoff import analysis as analyses
from bakeoff.analysis import columns, pipeline
from bakeoff.analysis.data import RunData
from bakeoff.analysis.findings import Analysis
from bakeoff.analysis.reading import Reading
from bakeoff.plan import cell_text
from bakeoff.report import markdown, page
from bakeoff.store import Store

MOST_LINES = 1_000_000  # of a CSV file; more observations are written as Parquet alone


def make(
    store: Store, runs: list[str], folder: Path, reading: Reading | None = None
) -> tuple[dict[str, Path], list[Analysis]]:
    """Writes report.html, report.md, and observations and summary as CSV and Parquet into the folder, which is made.

    Runs of one experiment are joined; those of several experiments stand one after the other. A file of an earlier
    report that is not written again is removed. `reading` is one of the runs that has been begun. Returns the paths
    by kind, and the analyses.
    """
    data = analyses.load_joined(store, runs, reading)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {
        "html": folder / "report.html",
        "markdown": folder / "report.md",
        "observations": folder / "observations.csv",
        "summary": folder / "summary.csv",
        "observations_parquet": folder / "observations.parquet",
        "summary_parquet": folder / "summary.parquet",
    }
    with ThreadPoolExecutor(1) as beside:  # Polars works without the interpreter, so both cores do
        written = beside.submit(_write_observations, data, paths)
        found = [pipeline.analyse(one) for one in data]
        paths["html"].write_text(page.html(list(zip(found, data, strict=True))), encoding="utf-8")
    if not written.result():
        paths.pop("observations").unlink(missing_ok=True)
    paths["markdown"].write_text("\n\n".join(markdown.text(one) for one in found), encoding="utf-8")
    lines = summary(found)
    lines.write_csv(paths["summary"])
    lines.write_parquet(paths["summary_parquet"])
    return paths, found


def _write_observations(data: list[RunData], paths: dict[str, Path]) -> bool:
    """Writes them as Parquet, and as CSV if they are not too many; says whether they are as CSV."""
    every = observations(data)
    every.write_parquet(paths["observations_parquet"], compression="lz4")
    if every.height > MOST_LINES:
        return False
    every.write_csv(paths["observations"])
    return True


def observations(data: list[RunData]) -> pl.DataFrame:
    """Every observed and derived number, one row each, with the run that it belongs to."""
    parts = [part for one in data for part in one.parts or [one]]
    names = [str(part.run["id"]) for part in parts]
    runs = [pl.lit(name, dtype=pl.Enum([name])).alias("run") for name in names]
    frames = [part.samples.with_columns(run) for part, run in zip(parts, runs, strict=True)]
    return columns.joined(frames).select("run", pl.exclude("run"))


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
