"""What the systems cost before they run: bars from zero for build time and size, with every build."""

from __future__ import annotations

from bakeoff.analysis import numbers
from bakeoff.analysis.data import RunData
from bakeoff.analysis.findings import Analysis
from bakeoff.report import distributions, forest, rows
from bakeoff.report.draw import Figure

METRICS = {"build_time": "Build time", "artefact_size": "Size of what was built"}


def figures(analysis: Analysis, data: RunData, sizes: distributions.Sizes) -> list[Figure]:
    """A figure for each of the two, where clean builds were trials of the run."""
    return [figure for name, title in METRICS.items() if (figure := _figure(analysis, data, sizes, name, title))]


def _figure(analysis: Analysis, data: RunData, sizes: distributions.Sizes, name: str, title: str) -> Figure | None:
    found = {
        s.group.system: s
        for s in analysis.summaries
        if s.group.procedure == "build" and s.group.metric == name and not s.group.labels
    }
    if not found or analysis.kind == "build" or name not in analysis.metrics:
        return None
    if any(s.group.cell for s in found.values()):  # a chart for each of them is the experiment's own to name
        return None
    trials = distributions.trials(analysis, data, name, "build")
    scale = numbers.scale(analysis.metrics[name].unit, [max(s.median for s in found.values()) / 100])
    axis = forest.Axis(f"{title}{rows.unit_label(scale)}", log=False, zero=True, text=f"median{rows.unit_label(scale)}")
    members = [
        rows.Row(state.name, {}, found[state.name], None, None) for state in analysis.systems if state.name in found
    ]
    charts = []
    for size in (sizes.wide, sizes.narrow):
        marks = [distributions.mark(row, scale, trials.get((row.system, "")), None, size.wide) for row in members]
        charts.append(forest.chart([forest.Block("", "", marks)], axis, size))
    return Figure(title, "Bars from zero are medians, circles single builds.", [charts[0]], [charts[1]])
