"""The rules of `bakeoff check`: when a run fails against another one, as a line of words.

    [median] METRIC [of SYSTEM] [in FACTOR=LEVEL …] > +10%      a change of the median, against the other run
    [median] METRIC [of SYSTEM] [in FACTOR=LEVEL …] > 50ms      a bound, of this run alone

A rule is read as it stands: it fails if what it says is so. docs/comparing.md says how each is judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from bakeoff.analysis import units
from bakeoff.analysis.findings import Cell, MetricInfo
from bakeoff.errors import BadInput, choose

FAILED_TRIALS = "failed_trials"
FAILED = MetricInfo(FAILED_TRIALS, "Trials that failed, were wrong or timed out", "1", "lower")

_RULE = re.compile(
    r"^\s*(?P<median>median\s+)?(?P<metric>[A-Za-z_][\w.-]*)"
    r"(?:\s+of\s+(?P<system>[A-Za-z0-9._+:-]+))?"
    r"(?:\s+in\s+(?P<cell>[^\s=<>]+=[^\s=<>]+(?:\s+[^\s=<>]+=[^\s=<>]+)*))?"
    r"\s*(?P<operator>[<>](?!=))\s*(?P<value>\S.*?)\s*$"
)
_CHANGE = re.compile(r"^([+-])\s*(\d+(?:\.\d+)?|\.\d+)\s*%$")
_BOUND = re.compile(r"^(-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-zµ/1]*)$")
_EXAMPLE = "write such as 'latency_p99 > +10%', 'throughput of go < -5%' or 'errors > 0'"


@dataclass(frozen=True)
class Rule:
    """One condition under which a check fails. Either `share` (0.1 is +10%) or `bound` (in `unit`) is set."""

    text: str
    metric: str
    above: bool  # it fails above the limit, else below
    share: float | None = None
    bound: float | None = None
    unit: str = ""
    median: bool = False  # a bound is for the median; else each replication must hold it
    system: str | None = None
    cell: Cell | None = None

    def fits(self, system: str, cell: Cell) -> bool:
        """Whether the rule is about a system in a cell."""
        return self.system in (None, system) and (self.cell or {}).items() <= cell.items()


def parse(text: str) -> Rule:
    """Reads one rule. Raises BadInput with an example if it is none."""
    found = _RULE.match(text)
    if not found:
        raise _bad(text, "this is no rule", _EXAMPLE)
    cell = dict(pair.split("=", 1) for pair in (found["cell"] or "").split()) or None
    rule = Rule(
        text=" ".join(text.split()),
        metric=found["metric"],
        above=found["operator"] == ">",
        median=bool(found["median"]),
        system=found["system"],
        cell=cell,
    )
    value = found["value"]
    if change := _CHANGE.match(value):
        share = float(change[1] + change[2]) / 100
        if share <= -1:
            raise _bad(text, "nothing falls by 100% or more", "write a smaller change, such as -10%")
        return replace(rule, share=share)
    if "%" in value:
        raise _bad(text, f"a change has a sign, {value!r} has none", f"write +{value} or -{value}")
    bound = _BOUND.match(value)
    if not bound:
        raise _bad(text, f"{value!r} is neither a change nor a bound", _EXAMPLE)
    return replace(rule, bound=float(bound[1]), unit=bound[2])


def resolve(rule: Rule, known: dict[str, MetricInfo]) -> Rule:
    """The rule with its metric's whole name and its bound in the metric's unit.

    A metric may be named by the end of its name where only one has it (`p99` for latency_p99). Raises BadInput for an
    unknown metric or unit, and for a rule that would fail on what the metric counts as better.
    """
    known = known | {FAILED_TRIALS: FAILED}
    ends = [name for name in known if name.endswith("_" + rule.metric)]
    name = rule.metric if rule.metric in known else ends[0] if len(ends) == 1 else None
    if name is None:
        several = f"it may be {', '.join(ends)}: write one of them" if ends else ""
        raise _bad(rule.text, f"no metric {rule.metric!r}", several or choose(rule.metric, known, "bakeoff show"))
    metric = known[name]
    if name == FAILED_TRIALS and rule.share is not None:
        raise _bad(rule.text, "failed trials have no percentage", f"write a bound: {FAILED_TRIALS} > 0")
    if metric.better != "neither" and rule.above == (metric.better == "higher"):
        turned = "<" if rule.above else ">"
        limit = "" if rule.share is None else f" {-rule.share * 100:+g}%"
        raise _bad(
            rule.text,
            f"{name} is better when {metric.better}, so this would fail a run for being better",
            f"turn it: {name} {turned}{limit}",
        )
    return replace(rule, metric=name, bound=_bound(rule, metric), unit=metric.unit)


def _bound(rule: Rule, metric: MetricInfo) -> float | None:
    if rule.bound is None:
        return None
    if rule.unit:
        factor = units.factor(rule.unit, metric.unit)
        if factor is None:
            raise _bad(rule.text, f"{metric.name} is in {metric.unit}, not in {rule.unit}", "write it in that unit")
        return rule.bound * factor
    if rule.bound != 0 and metric.unit in ("s", "B"):
        example = "50ms" if metric.unit == "s" else "512MiB"
        raise _bad(rule.text, f"the bound of {metric.name} has no unit", f"add one, such as {example}")
    return rule.bound


def _bad(text: str, problem: str, mend: str) -> BadInput:
    return BadInput(f"{text!r}: {problem}", mend, key="--fail-if")
