"""What an experiment demands of its systems: requirements, knees of load curves, and the rule of its assessment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from bakeoff.names import Match, Name, SystemName
from bakeoff.quantities import problem
from bakeoff.yamlfile import Strict

if TYPE_CHECKING:
    from bakeoff.experiment import Experiment

RELIABILITY = "reliability"  # a criterion's metric that is no observation: the share of trials that ended right
THRESHOLDS = [1.1, 2.0, 5.0, 20.0]
RELIABLE = [1.0, 0.99, 0.95, 0.75]


class Bound(Strict):
    """A metric, and how much it may be at most or must be at least, in the metric's unit."""

    title: str | None = None
    metric: str
    at_most: float | None = None
    at_least: float | None = None
    systems: list[SystemName] | None = None
    cells: Match | None = Field(None, description="levels of factors; all cells if not set")

    @model_validator(mode="after")
    def _one_bound(self) -> Bound:
        if (self.at_most is None) == (self.at_least is None):
            raise problem("there is to be one bound", "write either `at_most:` or `at_least:`")
        return self

    @property
    def limit(self) -> float:
        """The bound, in the metric's unit."""
        return self.at_most if self.at_most is not None else self.at_least or 0.0


class Requirement(Bound):
    """A bound that a system must hold to be eligible."""


class Knee(Bound):
    """Up to which level of a numeric factor a bound holds, such as the highest rate with a p99 of 50 ms at most."""

    over: str = Field(description="the factor whose levels rise, such as rate or connections")


class Criterion(Strict):
    """One row of an assessment: a metric in some cells, and where one mark ends and the next begins."""

    title: str | None = None
    metric: str = Field(description=f"one of the metrics, or `{RELIABILITY}`: the share of trials that ended right")
    cells: Match | None = Field(None, description="levels of factors; all cells if not set")
    thresholds: list[float] | None = Field(
        None,
        min_length=4,
        max_length=4,
        description=f"as the assessment's; for `{RELIABILITY}` the least shares for ++, +, o and -",
    )

    @model_validator(mode="after")
    def _in_order(self) -> Criterion:
        given = self.thresholds or []
        if given != sorted(given, reverse=self.metric == RELIABILITY) or len(set(given)) < len(given):
            way = "fall" if self.metric == RELIABILITY else "rise"
            raise problem("the thresholds are out of order", f"let them {way} from ++ to -", "thresholds")
        if self.metric != RELIABILITY and given and given[0] < 1:
            raise problem("a system cannot be below the best", "write thresholds of 1 or more", "thresholds")
        return self


class Assessment(Strict):
    """Marks from ++ to -- by a written rule: how many times the best system's figure each system has.

    A figure of at most `thresholds[0]` times the best is ++, then +, o, -, and -- beyond the last.
    """

    thresholds: list[float] = Field(THRESHOLDS, min_length=4, max_length=4, description="where ++, +, o and - end")
    criteria: dict[Name, Criterion] = Field(min_length=1)

    @model_validator(mode="after")
    def _in_order(self) -> Assessment:
        if self.thresholds != sorted(set(self.thresholds)) or self.thresholds[0] < 1:
            raise problem("the thresholds are out of order", "write four rising numbers from 1 up", "thresholds")
        return self

    def rule(self, criterion: Criterion) -> list[float]:
        """The thresholds of a criterion."""
        if criterion.thresholds is not None:
            return criterion.thresholds
        return RELIABLE if criterion.metric == RELIABILITY else self.thresholds


def check_metric(experiment: Experiment, name: str, where: str) -> None:
    """Raises a format error unless the experiment has a metric of this name."""
    if name not in experiment.metrics:
        raise problem(f"{name!r} is none of the metrics", f"use one of {', '.join(sorted(experiment.metrics))}", where)


def check_criteria(experiment: Experiment) -> None:
    """What the requirements, knees and criteria name is there."""
    named: list[tuple[str, Bound | Criterion]] = []
    named += [(f"requirements.{index}", need) for index, need in enumerate(experiment.requirements)]
    named += [(f"knees.{index}", knee) for index, knee in enumerate(experiment.knees)]
    if experiment.assessment:
        named += [(f"assessment.criteria.{name}", one) for name, one in experiment.assessment.criteria.items()]
    for where, one in named:
        if isinstance(one, Bound) or one.metric != RELIABILITY:
            check_metric(experiment, one.metric, f"{where}.metric")
        check_match(experiment, one.cells or {}, f"{where}.cells")
        if isinstance(one, Bound):
            check_match(experiment, {"system": list(one.systems or [])}, f"{where}.systems")
        if isinstance(one, Knee):
            _check_rising(experiment, one.over, f"{where}.over")


def _check_rising(experiment: Experiment, name: str, where: str) -> None:
    factor = experiment.factors.get(name)
    if factor is None:
        mend = f"use one of {', '.join(experiment.factors) or '(no factors)'}"
        raise problem(f"there is no factor {name!r}", mend, where)
    if not all(isinstance(level, int | float) and not isinstance(level, bool) for level in factor.levels.values()):
        raise problem(f"the levels of {name!r} are not all numbers", "name a factor whose levels can rise", where)


def check_match(experiment: Experiment, match: dict[str, list[str]], key: str) -> None:
    """Raises a format error unless the experiment has these systems, factors and levels."""
    for factor, levels in match.items():
        known = experiment.systems if factor == "system" else experiment.factors.get(factor, None)
        if known is None:
            raise problem(
                f"there is no factor {factor!r}",
                f"use system or one of {', '.join(experiment.factors) or '(no factors)'}",
                key,
            )
        names = known if isinstance(known, list) else list(known.levels)
        wrong = [level for level in levels if level not in names]
        if wrong:
            raise problem(
                f"{factor} has no level {wrong[0]!r}",
                f"use one of {', '.join(names)}",
                key,
            )
