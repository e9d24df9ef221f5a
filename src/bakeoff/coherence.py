"""Whether the parts of an experiment fit each other: names that it uses are names that it sets."""

from __future__ import annotations

from bakeoff import formula
from bakeoff.criteria import check_criteria, check_match, check_metric
from bakeoff.experiment import BUILT_IN, Experiment, parameter_names
from bakeoff.metrics import DERIVED, STANDARD
from bakeoff.quantities import problem


def check(experiment: Experiment) -> None:
    """Raises a format error, with key and mend, for the first thing that does not fit."""
    _systems(experiment)
    _metrics(experiment)
    _figures(experiment)
    _constraints(experiment)
    check_criteria(experiment)
    _factors(experiment)
    _builds(experiment)


# Columns of the tables that the analysis makes.
RESERVED_FACTORS = frozenset(
    {
        "system",
        "block",
        "replication",
        "trial",
        "position",
        "attempt",
        "warm_up",
        "procedure",
        "metric",
        "labels",
        "unit",
        "value",
        "status",
        "flags",
        "counted",
        "kept",
        "why",
        "values",
        "blocks",
        "last",
        "reason",
        "started_at",
        "ended_at",
        "cell",
        "n",
        "median",
        "q1",
        "q3",
        "mean",
        "sd",
        "run",
    }
)


def _builds(experiment: Experiment) -> None:
    for index, name in enumerate(experiment.builds.factors if experiment.builds else ()):
        if name not in experiment.cell_factors:
            mend = f"use one of {', '.join(experiment.cell_factors) or '(no factors)'}"
            raise problem(f"there is no factor {name!r} that makes cells", mend, f"builds.factors.{index}")


def _factors(experiment: Experiment) -> None:
    setters = dict.fromkeys(experiment.constants, "constants")
    for name, factor in experiment.factors.items():
        if name in RESERVED_FACTORS:
            raise problem(f"a factor cannot be called {name!r}", "give it another name", f"factors.{name}")
        sets = [set(level) if isinstance(level, dict) else {name} for level in factor.levels.values()]
        for parameter in sorted(set().union(*sets)):
            if parameter in BUILT_IN:
                raise problem(
                    f"the lab itself sets {parameter!r}", "give the parameter another name", f"factors.{name}"
                )
            if parameter in setters:
                where = f"factors.{name}"
                raise problem(f"{parameter!r} is set by {setters[parameter]} too", "keep one of them", where)
            setters[parameter] = f"the factor {name}"
            lacking = [level for level, own in zip(factor.levels, sets, strict=True) if parameter not in own]
            if lacking:
                where = f"factors.{name}.levels.{lacking[0]}"
                raise problem(f"this level does not set {parameter!r} as the others do", f"add `{parameter}:`", where)


def _systems(experiment: Experiment) -> None:
    twice = {name for name in experiment.systems if experiment.systems.count(name) > 1}
    if twice:
        raise problem(f"{min(twice)} stands there twice", "remove one of the two", "systems")
    if experiment.baseline is not None and experiment.baseline not in experiment.systems:
        raise problem(
            f"{experiment.baseline!r} is none of the systems",
            f"use one of {', '.join(experiment.systems)}",
            "baseline",
        )


def _metrics(experiment: Experiment) -> None:
    for name, metric in experiment.metrics.items():
        if metric.formula:
            _formula(experiment, name, (name,))
        if metric.marker or metric.result or metric.formula or name in STANDARD:
            continue
        if name not in DERIVED:
            raise problem(
                "this is no standard metric and it has no source",
                f"add marker, result or formula; standard metrics are {', '.join(sorted({**STANDARD, **DERIVED}))}",
                f"metrics.{name}",
            )
        lacking = DERIVED[name].constants - set(experiment.constants)
        if lacking:
            raise problem(
                f"this metric needs the constant {min(lacking)!r}",
                f"add it, such as `constants: {{{min(lacking)}: 0.0275}}`",
                f"metrics.{name}",
            )
    if experiment.primary:
        check_metric(experiment, experiment.primary, "primary")


def _formula(experiment: Experiment, name: str, way: tuple[str, ...]) -> None:
    """The names of a formula are parameters or other metrics, and it does not lead back to itself."""
    text = experiment.metrics[name].formula
    known = parameter_names(experiment) | set(experiment.constants) | set(STANDARD) | set(experiment.metrics)
    for used in sorted(formula.names(text)) if text else ():
        if used in way:
            raise problem(f"the formula leads back to {used!r}", "break the circle", f"metrics.{way[0]}.formula")
        if used not in known:
            mend = f"use parameters or metrics: {', '.join(sorted(known))}"
            raise problem(f"{used!r} is no parameter and no metric", mend, f"metrics.{way[0]}.formula")
        if used in experiment.metrics:
            _formula(experiment, used, (*way, used))


def _figures(experiment: Experiment) -> None:
    for index, figure in enumerate(experiment.figures):
        check_metric(experiment, figure.metric, f"figures.{index}.metric")
        if figure.x is not None and figure.x not in experiment.factors:
            mend = f"use one of {', '.join(experiment.factors)}"
            raise problem(f"there is no factor {figure.x!r}", mend, f"figures.{index}.x")
        check_match(experiment, figure.where, f"figures.{index}.where")


def _constraints(experiment: Experiment) -> None:
    for index, constraint in enumerate(experiment.constraints):
        for match in (constraint.exclude, constraint.when, constraint.only):
            check_match(experiment, match or {}, f"constraints.{index}")
    for index, repeat in enumerate(experiment.repeat):
        check_match(experiment, repeat.cells, f"repeat.{index}.cells")
