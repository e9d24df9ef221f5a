"""What a report says besides figures and the main table: references, validity, method, host, repetition."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bakeoff.analysis import numbers
from bakeoff.analysis.findings import NO_CELL, Analysis, FlagCount, Reference
from bakeoff.report import rows

MOST_ROWS = 400
PLACES = {"namespace": "a fresh network namespace for each trial", "here": "this machine"}
HOST_WORDS = {"cpu": "CPU", "cpus": "CPUs", "usable cpus": "Usable CPUs", "hypervisor": "Under a hypervisor"}


@dataclass(frozen=True)
class PublishedTable:
    """Published figures of one quantity beside ours, as texts; `note` is what all of them have in common."""

    title: str
    note: str
    heads: list[str]
    lines: list[list[str]]
    left_out: list[str]  # sentences


KINDS = ("ratio", "trend", "value")


def published(analysis: Analysis) -> list[PublishedTable]:
    """The published figures by quantity: those that can be set beside ours as rows, the others counted by reason."""
    groups: dict[str, list[Reference]] = {}
    for r in sorted(analysis.references, key=lambda r: KINDS.index(r.kind)):
        groups.setdefault(_quantity(analysis, r), []).append(r)
    tables = [_published_table(title, found) for title, found in groups.items()]
    return sorted(tables, key=lambda table: not table.lines)


def _quantity(analysis: Analysis, r: Reference) -> str:
    info = analysis.metrics.get(r.metric)
    name = info.title if info else r.metric.replace("_", " ").capitalize()
    if r.against:
        return f"{name}, times {r.against}"
    return f"{name} over {r.cell.removeprefix('x=')}" if r.kind == "trend" else name


def _published_table(title: str, found: list[Reference]) -> PublishedTable:
    shown = [r for r in found if r.ours is not None][:MOST_ROWS]
    unit = next((r.unit for r in shown), "")
    first = unit.partition(" ")[0]
    scale = numbers.scale(first, [value for r in shown for value in (r.published, r.ours)])
    label = (scale.unit + unit[len(first) :]).strip()
    notes = ["; ".join(part for part in (r.reason, r.source) if part) for r in shown]
    same = len(set(notes)) == 1
    heads = [
        "system",
        "cell",
        "published",
        "ours (95% interval)",
        "ours / published",
        "verdict",
        *([] if same else ["note"]),
    ]
    lines = [
        [
            r.system,
            r.cell or "all cells",
            numbers.number(scale.of(r.published)),
            numbers.with_interval(scale.of(r.ours), scale.of(r.low), scale.of(r.high)),
            numbers.number(r.ratio, 2 if r.ratio and r.ratio < 10 else None),
            r.verdict,
            *([] if same else [note]),
        ]
        for r, note in zip(shown, notes, strict=True)
    ]
    name = f"{title}, {label}" if label else title
    return PublishedTable(name, notes[0] if same else "", heads, lines, _absent(found))


def _absent(found: list[Reference]) -> list[str]:
    """Why some cannot be set beside ours: a sentence a reason, with the systems that it is about."""
    by_reason: dict[str, list[Reference]] = {}
    for r in found:
        if r.ours is None:
            by_reason.setdefault(NO_CELL if r.reason.startswith(NO_CELL) else r.reason, []).append(r)
    lines = []
    for reason, of in by_reason.items():
        cells = list(dict.fromkeys(r.reason.removeprefix(NO_CELL) for r in of)) if reason == NO_CELL else []
        systems = ", ".join(dict.fromkeys(r.system for r in of))
        lines.append(
            f"{numbers.count(len(of), 'figure')} of {systems} not set beside ours: {reason}{'; '.join(cells)}."
        )
    return lines


def validity(analysis: Analysis) -> list[str]:
    """Sentences on how far the numbers can be trusted: what is left out, and how quiet the host was."""
    ended = sum(count for status, count in analysis.counts.items() if status not in ("planned", "running"))
    without = ("flagged", "warm-up", "repeated")
    counted = analysis.counts.get("ok", 0) - sum(
        one.count for one in analysis.left_out if one.status in without and not one.step
    )
    lines = [*analysis.run.get("notes", []), f"{numbers.count(ended, 'trial')} ended, of which {counted:,} count."]
    steps = sum(one.count for one in analysis.left_out if one.step)
    if steps:
        lines.append(
            f"Of those, {numbers.count(steps, 'step')} with a validity flag {'is' if steps == 1 else 'are'} left out."
        )
    quiet = analysis.conditions
    if quiet.stolen_max is not None:
        lines.append(
            f"Other guests of the machine took {numbers.percent(quiet.stolen_median)} of the CPU time in the median "
            f"trial and {numbers.percent(quiet.stolen_max)} at most."
        )
    if quiet.load_max is not None:
        lines.append(
            f"The one-minute load before trials was {quiet.load_median:.2f} (median) and {quiet.load_max:.2f} (most). "
            "Trials run one after another, so the load is mostly that of the trial before."
        )
    return lines


def how_many(one: FlagCount) -> str:
    """How many trials or steps have a flag, of how many."""
    parts = []
    if one.trials:
        parts.append(f"{one.trials:,} of {numbers.count(one.of_trials, 'trial')}")
    if one.steps:
        parts.append(f"{one.steps:,} of {numbers.count(one.of_steps, 'step')}")
    return ", ".join(parts)


def method(analysis: Analysis) -> list[tuple[str, str]]:
    """How it was measured, as terms and texts."""
    p = analysis.procedure
    procedure = p.get("procedure", {})
    orders = {
        "blocks": "randomised complete blocks: each replication is one shuffled pass over all cells",
        "random": "one shuffle over all trials",
        "fixed": "as written",
    }
    found = [
        ("Procedure", in_words({key: value for key, value in procedure.items() if value})),
        ("Replications", f"{p.get('replications')} fresh starts of each system in each cell"),
        ("Warm-up", f"{p['warm_up']} trials of each cell are run first and left out" if p.get("warm_up") else ""),
        ("Order", f"{orders.get(str(p.get('order')), str(p.get('order')))}; seed {analysis.run['seed']}"),
        ("Place", PLACES.get(str(p.get("place")), "")),
        ("A right answer", in_words(p.get("expect", {}))),
        ("The same in all cells", ", ".join(f"{key} {value}" for key, value in rows.constants(analysis).items())),
        ("Intervals", "95%; medians by BCa bootstrap over replications, ratios by percentile bootstrap over blocks"),
        ("Tests", "t of logarithms below 4 pairs, rank sum below 10, else signed-rank; p corrected by Holm"),
        ("Same", f"a ratio counts as the same if its interval lies within {analysis.equivalence:.0%} of 1"),
    ]  # fmt: skip
    found += [(m.title, f"{m.derived}, {m.unit}") for m in analysis.metrics.values() if m.derived]
    return [(term, text) for term, text in found if text]


def in_words(value: Any) -> str:
    """Nested settings as one text; what is empty is left out."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {in_words(v)}" for key, v in value.items() if v not in ({}, [], "", None))
    if isinstance(value, list):
        return ", ".join(f"({in_words(one)})" if isinstance(one, dict) else in_words(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def host(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the host is, as it said itself, in words."""
    found = []
    for key, value in facts.items():
        if value in (None, "", []):
            continue
        name = key.removesuffix("_bytes").replace("_", " ")
        if key.endswith("_bytes") and isinstance(value, int | float):
            text = f"{value / 2**30:.1f} GiB"
        elif isinstance(value, list):
            text = ", ".join(map(str, value))
        elif isinstance(value, bool):
            text = "yes" if value else "no"
        else:
            text = in_words(value)
        found.append((HOST_WORDS.get(name, name[:1].upper() + name[1:]), text))
    return found


def versions(analysis: Analysis) -> list[tuple[str, str]]:
    """Versions of the lab, and of each system with its tools."""
    found = [(str(name), in_words(version)) for name, version in analysis.versions.items() if version]
    for system in analysis.systems:
        tools = ", ".join(f"{tool} {in_words(version)}" for tool, version in system.tools.items())
        text = "; ".join(part for part in (system.version or "", tools) if part)
        found.append((system.name, text or ("unavailable" if system.status != "ready" else "no version stored")))
    return found


def repeat(analysis: Analysis) -> list[str]:
    """The commands that run this again, and that write this report again."""
    runs = analysis.run.get("joined") or [analysis.run]
    name = analysis.run["experiment"]
    again = [["bakeoff", "run", name, "--profile", r["profile"] or "full", "--seed", str(r["seed"])] for r in runs]
    return [shlex.join(words) for words in [*again, ["bakeoff", "report", *(r["id"] for r in runs)]]]


def moment(seconds: float | None) -> str:
    """A time as date and minute, UTC."""
    return "" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def duration(start: float | None, end: float | None) -> str:
    """A span as hours and minutes, or minutes and seconds."""
    if start is None or end is None:
        return ""
    minutes, seconds = divmod(round(end - start), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
