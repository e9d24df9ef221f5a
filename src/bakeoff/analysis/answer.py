"""The answer in sentences, made from the findings alone."""

from __future__ import annotations

from collections import Counter

from bakeoff.analysis import brief
from bakeoff.analysis.findings import Analysis, Comparison, GeometricMean
from bakeoff.analysis.numbers import count, number, with_interval

ORDER = ("pass", "fail", "unsure")
SIDES = ("faster", "slower", "better", "worse", "higher", "lower")


def sentences(analysis: Analysis) -> list[str]:
    """The answer to the experiment's question as far as this run supports one."""
    said = brief.sentences(analysis) if analysis.many else [_system(analysis, name) for name in _others(analysis)]
    lines = [line for line in said if line]
    if not lines:
        lines = [_nothing(analysis)]
    lines += _required(analysis)
    lines += [line for line in (_power(analysis), _published(analysis), _scaled(analysis)) if line]
    lines += _unavailable(analysis)
    lines += _unfinished(analysis)
    return lines


def _required(analysis: Analysis) -> list[str]:
    """Who meets the experiment's requirements, who fails which, and for whom it is not settled."""
    by_system: dict[str, dict[str, list[str]]] = {}
    for requirement in analysis.requirements:
        for system, verdict in requirement.verdicts.items():
            by_system.setdefault(system, {}).setdefault(verdict, []).append(f"“{requirement.title}”")
    ready = {s.name for s in analysis.systems if s.status == "ready"}
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, of in by_system.items():
        verdict = "fail" if "fail" in of else "unsure" if "unsure" in of else "pass"
        if verdict != "unsure" or name in ready:
            groups.setdefault((verdict, *(of[verdict] if verdict != "pass" else [])), []).append(name)
    lines = []
    for (verdict, *titles), names in sorted(groups.items(), key=lambda group: ORDER.index(group[0][0])):
        one = len(names) == 1
        if verdict == "pass":
            lines.append(f"{_listed(names)} {'meets' if one else 'meet'} all requirements.")
        elif verdict == "fail":
            lines.append(f"{_listed(names)} {'fails' if one else 'fail'} {_listed(titles)}.")
        else:
            lines.append(f"It is not settled whether {_listed(names)} {'meets' if one else 'meet'} {_listed(titles)}.")
    return lines


def _listed(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _unavailable(analysis: Analysis) -> list[str]:
    missing = [s for s in analysis.systems if s.status != "ready"]
    if len(missing) > 2 and analysis.many:
        return [f"Unavailable here, for reasons given below: {', '.join(s.name for s in missing)}."]
    return [f"{s.name} is unavailable here: {s.reason or s.status}." for s in missing]


def main_comparisons(analysis: Analysis) -> list[Comparison]:
    """The comparisons with the experiment's baseline in its main metric."""
    return list(analysis.comparisons_of.get(analysis.primary, {}).values())


def cell_name(cell: dict[str, str]) -> str:
    """A cell in words: the level alone if there is one factor."""
    if len(cell) == 1:
        return next(iter(cell.values()))
    return ", ".join(f"{factor} {level}" for factor, level in cell.items())


def _others(analysis: Analysis) -> list[str]:
    return [s.name for s in analysis.systems if s.name != analysis.baseline and s.status == "ready"]


def _system(analysis: Analysis, system: str) -> str:
    found = [c for c in main_comparisons(analysis) if c.group.system == system and c.ratio is not None]
    if not found:
        return ""
    return _one_cell(analysis, found[0]) if len(found) == 1 else _many_cells(analysis, found)


def _one_cell(analysis: Analysis, c: Comparison) -> str:
    place = f" at {cell_name(c.group.cell)}" if c.group.cell else ""
    figure, interval = _with_bounds(c)
    return f"{_verdict(analysis, c.verdict, c, place)}: {figure} times {_thing(analysis, c)}{interval}."


def _many_cells(analysis: Analysis, found: list[Comparison]) -> str:
    verdicts = Counter(c.verdict for c in found)
    least, most = min(found, key=_ratio), max(found, key=_ratio)
    low, high = number(least.ratio), number(most.ratio)
    if low != high:
        low = f"{low} ({cell_name(least.group.cell)}) to {high} ({cell_name(most.group.cell)})"
    span = f"{low} times {_thing(analysis, found[0])}"
    mean = next((m for m in analysis.means if _same_family(m, found[0])), None)
    if mean is not None:
        figure, interval = _with_bounds(mean)
        span += f", on the geometric mean {figure} times{interval}"
    if len(verdicts) == 1:
        return f"{_verdict(analysis, found[0].verdict, found[0], f' in all {len(found)} cells')}: {span}."
    parts = ", ".join(f"{verdict} in {many}" for verdict, many in verdicts.most_common())
    return f"{found[0].group.system} against {found[0].baseline}, of {len(found)} cells: {parts}; {span}."


def _verdict(analysis: Analysis, verdict: str, c: Comparison, place: str) -> str:
    system, baseline = c.group.system, c.baseline
    if verdict in SIDES:
        return f"{system} is {verdict} than {baseline}{place}"
    if verdict == "same":
        return f"{system} is the same as {baseline}{place}, within {number(analysis.equivalence * 100)}%"
    return f"It is not settled whether {system} differs from {baseline}{place}"


def _thing(analysis: Analysis, c: Comparison) -> str:
    return f"the {analysis.metrics[c.group.metric].title.lower()}"


def _same_family(mean: GeometricMean, c: Comparison) -> bool:
    return (mean.system, mean.baseline, mean.metric) == (c.group.system, c.baseline, c.group.metric)


def _ratio(c: Comparison) -> float:
    return c.ratio or 0.0


def _with_bounds(c: Comparison | GeometricMean) -> tuple[str, str]:
    """A ratio, and its interval in brackets with a space before; empty without one."""
    figure, opening, bounds = with_interval(c.ratio, c.low, c.high).partition(" (")
    return figure, f" (95% interval {bounds}" if opening else ""


def _nothing(analysis: Analysis) -> str:
    if not any(s.group.metric == analysis.primary for s in analysis.summaries):
        return "No trial of this run has given a figure that counts yet."
    if analysis.baseline is None:
        return "The experiment names no baseline; the tables have the figures of each system."
    return f"There is no counted trial of both {analysis.baseline} and another system in one cell yet."


def _power(analysis: Analysis) -> str:
    every = main_comparisons(analysis)
    weak = [c for c in every if c.low_power]
    if not weak:
        return ""
    fewest, most = min(c.pairs for c in weak), max(c.pairs for c in weak)
    many = count(most, "replication") if fewest == most else f"{fewest} to {most} replications"
    where = "" if len(weak) == len(every) else f" in {len(weak)} of {len(every)} comparisons"
    return (
        f"Power is low{where} ({many}, {count(len(every), 'comparison')}): intervals of so few are rough, and a system "
        "counts as different where the rank test reaches 5% or its trials all lie on one side of all trials of the "
        "baseline."
    )


def _published(analysis: Analysis) -> str:
    ratios = [r for r in analysis.references if r.kind == "ratio" and r.verdict != "not comparable"]
    if not ratios:
        return ""
    verdicts = Counter(r.verdict for r in ratios)
    parts = [
        f"{verdicts[key]} {one if verdicts[key] == 1 else many}"
        for key, one, many in (
            ("reproduced", "is reproduced", "are reproduced"),
            ("same direction", "agrees in direction only", "agree in direction only"),
            ("contradicted", "is contradicted", "are contradicted"),
        )
        if verdicts[key]
    ]
    if len(parts) == 1 and len(ratios) > 1:
        return f"All {len(ratios):,} published ratios that can be set beside ours {parts[0].partition(' ')[2]}."
    return f"Of {count(len(ratios), 'published ratio')} that can be set beside ours, {', '.join(parts)}."


def _scaled(analysis: Analysis) -> str:
    return " ".join(analysis.scaled.split()) if analysis.scaled else ""


def _unfinished(analysis: Analysis) -> list[str]:
    waiting = analysis.counts.get("planned", 0) + analysis.counts.get("running", 0)
    lines = []
    if waiting:
        lines.append(f"The run is not finished: {count(waiting, 'trial')} still to be run.")
    words = {"wrong": "with a wrong answer", "failed": "that failed", "timeout": "that timed out"}
    parts = [f"{count(analysis.counts[s], 'trial')} {text}" for s, text in words.items() if s in analysis.counts]
    for thing, step in (("trial", False), ("step", True)):
        flagged = sum(one.count for one in analysis.left_out if one.status == "flagged" and one.step == step)
        if flagged:
            parts.append(f"{count(flagged, thing)} with a validity flag")
    if parts:
        lines.append(f"Left out: {', '.join(parts)}.")
    return lines
