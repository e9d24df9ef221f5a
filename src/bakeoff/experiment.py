"""The format of `experiment.yaml`: one question, and how it is to be answered."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from bakeoff import formula
from bakeoff.criteria import Assessment, Knee, Requirement
from bakeoff.names import LevelName, Match, Name, Parameter, Scalar, SystemName, level_name
from bakeoff.procedure import Procedure
from bakeoff.quantities import Seconds, problem
from bakeoff.yamlfile import Strict


def _formula(text: str) -> str:
    formula.names(text)
    return text


Formula = Annotated[str, BeforeValidator(str), AfterValidator(_formula)]


def _levels(levels: Any) -> Any:
    """A list of plain levels is a mapping from their texts to themselves."""
    if not isinstance(levels, list):
        return levels
    if any(isinstance(level, dict | list) for level in levels):
        raise problem("a list of levels holds plain values only", "write levels with values as `name: {key: value}`")
    named = {level_name(level): level for level in levels}
    if len(named) < len(levels):
        raise problem("a level stands here twice", "remove one of the two")
    return named


Levels = Annotated[
    dict[LevelName, Scalar | dict[Parameter, Scalar]],
    Field(min_length=1, description="A list of plain values, or names with the parameters that each sets"),
    BeforeValidator(_levels, json_schema_input_type=list[Scalar] | dict[str, Scalar | dict[str, Scalar]]),
]


class Factor(Strict):
    """A thing varied. Its levels are a list of plain values, or names with the parameters that each sets."""

    title: str | None = None
    unit: str | None = None
    within: bool = Field(False, description="The levels are steps of one trial, not cells of their own")
    levels: Levels


class Constraint(Strict):
    """Which combinations of levels are left out: `exclude` those that match, or keep `only` these `when` those."""

    exclude: Match | None = None
    when: Match | None = None
    only: Match | None = None
    why: str | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Constraint:
        if (self.exclude is None) == (self.only is None) or (self.when is not None and self.only is None):
            raise problem(
                "a constraint is either `exclude`, or `only` with an optional `when`", "keep one of the forms"
            )
        return self


class Expect(Strict):
    """What a right answer looks like. A trial that differs is `wrong`, whatever its speed."""

    exit: int | Literal["any"] | None = Field(None, description="exit code of the main part; 0 if nobody says another")
    result: dict[str, Formula] = Field({}, description="keys of the result marker and the formulas of their values")


class Between(Strict):
    """Two markers; `exec` is the start of the process and `exit` its end."""

    start: str = Field("exec", alias="from")
    end: str = Field("exit", alias="to")


class Metric(Strict):
    """One measured or derived number. Without a source it is one of the standard metrics of docs/metrics.md."""

    title: str | None = None
    unit: str | None = None
    better: Literal["lower", "higher", "neither"] | None = None
    marker: Between | None = Field(None, description="seconds between two markers")
    result: str | None = Field(None, description="a key of the result marker")
    formula: Formula | None = Field(None, description="arithmetic over parameters and other metrics")
    scale: Literal["linear", "log"] | None = Field(None, description="scale of the axis in charts")
    optional: bool = Field(False, description="a system that does not report it is right all the same")

    @model_validator(mode="after")
    def _one_source(self) -> Metric:
        sources = [name for name in ("marker", "result", "formula") if getattr(self, name) is not None]
        if len(sources) > 1:
            raise problem(f"a metric has one source, this has {' and '.join(sources)}", "keep one of them")
        if sources and self.unit is None:
            raise problem("a metric with a source of its own needs a unit", "add `unit:`, such as s, B or 1/s")
        return self


class Figure(Strict):
    """A chart of the report: one metric in the cells that match, as the study has it."""

    title: str
    metric: str
    kind: Literal["points", "curve"] = Field("points", description="a row a system, or a line a system over `x`")
    x: str | None = Field(None, description="the factor on the axis of a curve")
    where: Match = {}
    systems: list[SystemName] | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _has_axis(self) -> Figure:
        if (self.kind == "curve") != (self.x is not None):
            raise problem("a curve needs the factor on its axis, and only a curve", "add or remove `x:`", "x")
        return self


class Validity(Strict):
    """From where on a trial's numbers are not trusted."""

    stolen_cpu: float = Field(
        0.1, gt=0, le=1, description="share of the CPU time that went to other guests of the machine"
    )


class BuildPlan(Strict):
    """Clean builds as trials of their own, beside the procedure."""

    replications: int = Field(ge=1, le=1000)
    timeout: Seconds = 1800.0
    factors: list[Name] = Field([], description="factors whose levels are built apart; systems name them under `each`")


class Repeat(Strict):
    """Cells that are repeated more or less often than the others."""

    cells: Match
    replications: int = Field(ge=1, le=10_000)


class ProfileFactor(Strict):
    """The levels that a profile keeps, with the values that it changes."""

    levels: Levels


class Profile(Strict):
    """A size of the experiment: what it changes in the experiment as written."""

    title: str | None = None
    systems: list[SystemName] | None = None
    factors: dict[Name, ProfileFactor] = {}
    replications: int | None = Field(None, ge=1, le=10_000)
    repeat: list[Repeat] | None = None
    warm_up: int | None = Field(None, ge=0, le=1000)
    procedure: dict[str, Any] = {}
    builds: BuildPlan | None = None
    validity: Validity | None = None
    scaled: str | None = Field(
        None, description="one sentence: what is smaller here than published, and why it still tells"
    )


class Experiment(Strict):
    """One question, with the systems, factors, procedure and metrics that answer it."""

    title: str
    question: str
    about: str | None = None
    systems: list[SystemName] = Field(min_length=1)
    baseline: SystemName | None = None
    factors: dict[Name, Factor] = {}
    constraints: list[Constraint] = []
    procedure: Procedure
    expect: Expect = Expect()
    metrics: dict[Parameter, Metric] = Field(min_length=1)
    primary: str | None = Field(None, description="the metric that answers the question; the first one if not set")
    replications: int = Field(5, ge=1, le=10_000)
    repeat: list[Repeat] = Field([], description="cells with another number of replications; the last that fits counts")
    warm_up: int = Field(0, ge=0, le=1000, description="trials of each cell that are run first and left out")
    order: Literal["blocks", "random", "fixed"] = "blocks"
    seed: int = Field(1, ge=0)
    equivalence: float = Field(0.05, gt=0, lt=1, description="a ratio within this margin of 1 counts as the same")
    builds: BuildPlan | None = None
    requirements: list[Requirement] = []
    knees: list[Knee] = Field([], description="up to which level of a factor a bound holds")
    assessment: Assessment | None = None
    constants: dict[Parameter, float] = Field({}, description="numbers that formulas use, such as a price")
    figures: list[Figure] = Field([], description="charts in this order; without any, the main metric's are made")
    validity: Validity = Validity()
    place: Literal["here", "namespace"] = Field(
        "here",
        description="where the system runs: this machine as it is, or a fresh network namespace a trial",
    )
    references: str | None = Field(None, description="a CSV file beside this one")
    scaled: str | None = Field(None, description="what the chosen profile has made smaller; set by the profile")
    profiles: dict[Name, Profile] = {}

    @property
    def main_metric(self) -> str:
        """The metric that answers the question."""
        return self.primary or next(iter(self.metrics))

    @property
    def cell_factors(self) -> dict[str, Factor]:
        """The factors whose levels make cells."""
        return {name: factor for name, factor in self.factors.items() if not factor.within}

    @property
    def step_factors(self) -> dict[str, Factor]:
        """The factors whose levels are steps of one trial."""
        return {name: factor for name, factor in self.factors.items() if factor.within}

    @model_validator(mode="after")
    def _whole(self) -> Experiment:
        from bakeoff import coherence

        coherence.check(self)
        return self


def parameter_names(experiment: Experiment) -> set[str]:
    """The parameters that every cell of the experiment sets."""
    names: set[str] = set()
    for factor_name, factor in experiment.factors.items():
        for level in factor.levels.values():
            names |= set(level) if isinstance(level, dict) else {factor_name}
    return names


# What the lab itself sets.
BUILT_IN = {"out", "work", "scratch", "source", "host", "port"} | {f"port{n}" for n in range(2, 10)}
PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
