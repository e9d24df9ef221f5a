"""Whether a run passes against another one: the rules of `rules.py`, judged in every cell that they are about."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from bakeoff.analysis import change, judgement, summary
from bakeoff.analysis.change import Key
from bakeoff.analysis.data import RunData
from bakeoff.analysis.differences import Difference, differences, other_machine
from bakeoff.analysis.findings import Group, MetricInfo
from bakeoff.analysis.judgement import Judgement, Tested
from bakeoff.analysis.numbers import count
from bakeoff.analysis.pipeline import metric_infos
from bakeoff.analysis.rules import FAILED, FAILED_TRIALS, Rule, parse, resolve
from bakeoff.errors import BadInput
from bakeoff.plan import cell_text

BAD_ENDS = ("failed", "wrong", "timeout")


@dataclass(frozen=True)
class Check:
    """All judgements of a check. With `strict` an unsure one fails."""

    old: dict[str, Any]
    new: dict[str, Any]
    experiment: str
    strict: bool
    rules: list[Rule]
    metrics: dict[str, MetricInfo]
    judgements: list[Judgement]
    warnings: list[str]
    differences: list[Difference]

    @property
    def passed(self) -> bool:
        """Whether no rule fails (and, if strict, none is unsure)."""
        bad = ("fail", "unsure") if self.strict else ("fail",)
        return not any(one.outcome in bad for one in self.judgements)

    def outcomes(self) -> dict[str, int]:
        """How many judgements have which outcome."""
        found = [one.outcome for one in self.judgements]
        return {name: found.count(name) for name in ("fail", "unsure", "pass")}

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"passed": self.passed, "outcomes": self.outcomes(), **asdict(self)}


def check(old: RunData, new: RunData, rules: list[str], strict: bool = False) -> Check:
    """Judges a run (new) against another one (old). Raises BadInput for rules that are none or are about nothing."""
    change.same_experiment(old, new)
    infos = metric_infos(old.experiment, old.samples) | metric_infos(new.experiment, new.samples)
    asked = [resolve(parse(text), infos) for text in rules]
    names = sorted({rule.metric for rule in asked} - {FAILED_TRIALS})
    unlike, sentences = change.unlike_metrics(old, new, names)
    if unlike:
        raise BadInput(sentences[0], "check runs of one and the same experiment.yaml")
    values = _Values(old, new, names)
    found = [one for rule in asked for one in _judge(rule, values)]
    settled = iter(judgement.settle([one for one in found if isinstance(one, Tested)]))
    return Check(
        old=old.run,
        new=new.run,
        experiment=str(new.run["experiment"]),
        strict=strict,
        rules=asked,
        metrics={name: infos[name] for name in names} | {FAILED_TRIALS: FAILED},
        judgements=[next(settled) if isinstance(one, Tested) else one for one in found],
        warnings=_warnings(old, new, values, asked),
        differences=differences(old, new),
    )


class _Values:
    """The values of the two runs by group. `each` are the new run's with those that only bounds look at."""

    def __init__(self, old: RunData, new: RunData, names: list[str]) -> None:
        self.old_run, self.new_run = old, new
        self.old, self.new = change.values_of(old, names), change.values_of(new, names)
        self.each = change.values_of(_with_errors(new), names)
        self.groups: dict[Key, Group] = {
            key: summary.group_of(row, list(row["cell"])) for key, row in (self.old | self.new | self.each).items()
        }
        self.unlike = change.unlike_cells(old, new, self.old, self.new)
        self.left_out = change.left_out(new)
        self.seed = int(new.run["seed"])

    def of(self, rule: Rule) -> list[Key]:
        """The groups that a rule is about: those of the old run for a change, of either run for a bound."""
        keys = self.old if rule.share is not None else self.groups
        return [k for k in keys if k[3] == rule.metric and rule.fits(k[1], self.groups[k].cell)]


def _with_errors(data: RunData) -> RunData:
    """A run in which what is left out for failed requests alone counts too: a bound is about it as well."""
    last = data.trials.select("trial", "last")
    only = pl.col("flags").cast(pl.String).str.contains(r"^errors( errors)*$").fill_null(False)
    fine = (pl.col("status") == "ok") & ~pl.col("warm_up").cast(pl.Boolean) & pl.col("last") & only
    samples = data.samples.join(last, on="trial", how="left").with_columns(counted=pl.col("counted") | fine)
    return replace(data, samples=samples.drop("last"))


def _judge(rule: Rule, values: _Values) -> list[Judgement | Tested]:
    if rule.metric == FAILED_TRIALS:
        return list(_failed_trials(rule, values.new_run))
    keys = values.of(rule)
    if not keys:
        raise BadInput(
            f"{rule.text!r}: no figure of {values.old_run.run['id']} fits",
            "name a metric, a system and levels that the runs have; `bakeoff compare` shows them",
            key="--fail-if",
        )
    return [_one(rule, key, values) for key in keys]


def _one(rule: Rule, key: Key, values: _Values) -> Judgement | Tested:
    group = values.groups[key]
    rows = values.each if rule.share is None and not rule.median else values.new
    if key not in rows:
        why = change.absence(values.new_run, values.left_out, group)
        return Judgement(rule, group, "fail", f"no figure to judge: {why}", limit=rule.bound)
    new = np.asarray(rows[key]["values"], dtype=np.float64)
    if rule.share is None:
        return judgement.of_bound(rule, group, new, values.seed)
    if key[2] in values.unlike:
        return Judgement(rule, group, "unsure", f"not comparable: {values.unlike[key[2]]}")
    return judgement.of_change(rule, group, np.asarray(values.old[key]["values"], dtype=np.float64), new, values.seed)


def _failed_trials(rule: Rule, data: RunData) -> list[Judgement]:
    """Trials that ended badly, counted by system."""
    assert rule.bound is not None
    counts = _bad_ends(data)
    systems = [system.name for system in data.systems if rule.fits(system.name, {})]
    if not systems:
        mend = f"name a system of the run and no level: {', '.join(system.name for system in data.systems)}"
        raise BadInput(f"{rule.text!r}: failed trials are counted by system", mend, key="--fail-if")
    judged = []
    for system in systems:
        bad, of, why = counts.get(system, (0, 0, ""))
        group = Group(data.experiment.procedure.kind, system, {}, FAILED_TRIALS, "1")
        said = f"{bad} of {count(of, 'trial')} ended badly" + (f" ({why})" if why else "")
        outcome = "fail" if bad > rule.bound else "pass"
        judged.append(Judgement(rule, group, outcome, said, n_new=of, new=float(bad), limit=rule.bound, failing=bad))
    return judged


def _bad_ends(data: RunData) -> dict[str, tuple[int, int, str]]:
    """How many last attempts of each system ended badly, of how many, and the first reason."""
    found: dict[str, tuple[int, int, str]] = {}
    for row in data.trials.filter("last").iter_rows(named=True):
        bad, of, why = found.get(row["system"], (0, 0, ""))
        if row["status"] in BAD_ENDS:
            bad, why = bad + 1, why or f"{row['status']}: {row['reason'] or ''}".rstrip(": ")
        found[row["system"]] = bad, of + 1, why
    return found


def _warnings(old: RunData, new: RunData, values: _Values, rules: list[Rule]) -> list[str]:
    """What a reader must know beside the judgements."""
    said = []
    if machine := other_machine(old, new):
        names = ", ".join(one.what.removesuffix("_bytes").replace("_", " ") for one in machine)
        said.append(f"the runs are of different machines ({names}): a change may be the machine's, not the system's")
    for data in (old, new):
        open_ones = pl.col("status").is_in(["planned", "running", "interrupted"])
        left = data.trials.filter(pl.col("last") & open_ones).height
        if left:
            said.append(f"{data.run['id']} is not finished: {count(left, 'trial')} of its plan not carried out")
    if not any(rule.metric == FAILED_TRIALS for rule in rules):
        for system, (bad, of, why) in _bad_ends(new).items():
            many = f"{bad} of {count(of, 'trial')} of {system} ended badly ({why})"
            said += [f"{many}; the rule '{FAILED_TRIALS} > 0' fails on that"] if bad else []
    changes = [rule for rule in rules if rule.share is not None]
    only = {
        place(values.groups[key])
        for key in values.new
        if key not in values.old
        and any(r.metric == key[3] and r.fits(key[1], values.groups[key].cell) for r in changes)
    }
    if only:
        names = ", ".join(sorted(only)[:4]) + (" …" if len(only) > 4 else "")
        said.append(f"only in {new.run['id']}, with nothing to judge a change against: {names}")
    return said


def place(group: Group) -> str:
    """The system and cell of a group as text."""
    return " ".join(part for part in (group.system, cell_text(group.cell)) if part)
