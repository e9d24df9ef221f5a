"""Derived metrics: the experiment's formulas over parameters and over the metrics of the same trial."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bakeoff import formula, plan
from bakeoff.analysis import columns as frames
from bakeoff.experiment import Experiment
from bakeoff.metrics import DERIVED

Vector = NDArray[np.float64]

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "log": np.log,
    "exp": np.exp,
    "abs": np.abs,
    "round": np.round,
    "min": lambda *values: np.minimum.reduce(np.broadcast_arrays(*values)),
    "max": lambda *values: np.maximum.reduce(np.broadcast_arrays(*values)),
}


def evaluate(text: str, columns: Mapping[str, Vector], rows: int) -> Vector:
    """The formula's value for each row, shape (rows,); NaN where it has none.

    Raises ValueError for an unknown name, or what is no arithmetic.
    """
    missing = formula.names(text) - set(columns)
    if missing:
        raise ValueError(f"{text!r} uses {min(missing)!r}, which has no values")
    with np.errstate(all="ignore"):
        value = _node(ast.parse(text, mode="eval").body, columns)
    result = np.broadcast_to(np.asarray(value, dtype=np.float64), (rows,)).copy()
    result[~np.isfinite(result)] = np.nan
    return result


def _node(node: ast.expr, columns: Mapping[str, Vector]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return np.float64(number)
        case ast.Name(id=name):
            return columns[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_node(left, columns), _node(right, columns))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_node(operand, columns)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _node(operand, columns)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_node(argument, columns) for argument in arguments))
    raise ValueError(f"{ast.unparse(node)!r} is no arithmetic")


def add(samples: pl.DataFrame, experiment: Experiment, parameters: dict[str, dict[str, Any]]) -> pl.DataFrame:
    """The samples with one more row for each derived metric of each trial and step that has what the formula needs."""
    open_ones = formulas(experiment)
    while open_ones:
        ready = [name for name, one in open_ones.items() if not (one.names & set(open_ones)) - {name}]
        if not ready:  # formulas that need each other have no value
            break
        for name in ready:
            one = open_ones.pop(name)
            rows = _rows(samples, experiment, parameters, one.text)
            if rows is not None and one.over:
                rows = _cumulative(rows, samples, experiment, one.over)
            if rows is not None:
                constant = [pl.lit(name).alias("metric"), pl.lit(one.unit).alias("unit")]
                samples = frames.append(samples, rows.with_columns(constant))
    return samples


@dataclass(frozen=True)
class Formula:
    """What a derived metric is worked out by; with `over`, sums from the start of the system on are divided."""

    text: str
    unit: str
    over: str = ""

    @property
    def names(self) -> set[str]:
        """The metrics and parameters that it needs."""
        return formula.names(self.text) | ({self.over} if self.over else set())

    def __str__(self) -> str:
        return f"sum of ({self.text}) / sum of {self.over}, from the start to the step" if self.over else self.text


def formulas(experiment: Experiment) -> dict[str, Formula]:
    """The formulas of the experiment's metrics: its own, and those that bakeoff.metrics defines."""
    found = {}
    for name, metric in experiment.metrics.items():
        known = DERIVED.get(name)
        if metric.formula is not None:
            found[name] = Formula(metric.formula, metric.unit or "1")
        elif known is not None and not (metric.marker or metric.result):
            found[name] = Formula(known.formula, known.unit, known.over)
    return found


def _cumulative(rows: pl.DataFrame, samples: pl.DataFrame, experiment: Experiment, over: str) -> pl.DataFrame:
    """Sums up to each step, over the sums of another metric; that metric's phase `start` is in them."""
    steps = list(experiment.step_factors)
    key = ["trial", *experiment.cell_factors, *steps]
    mine = samples.filter((pl.col("metric") == over) & (pl.col("procedure") == experiment.procedure.kind))
    each = mine.filter(pl.col("labels") == "").select(*key, pl.col("value").alias("@over"))
    start = mine.filter(pl.col("labels") == "phase=start").group_by("trial").agg(pl.col("value").sum().alias("@start"))
    both = rows.join(each, on=key, how="inner", nulls_equal=True).join(start, on="trial", how="left")
    places = [
        pl.col(name).cast(pl.String).replace_strict(_places(experiment, name), default=-1).alias(f"@{name}")
        for name in steps
    ]
    both = both.with_columns(places).sort("trial", *(f"@{name}" for name in steps), maintain_order=True)
    sums = pl.col("@over").cum_sum().over("trial") + pl.col("@start").fill_null(0.0)
    value = pl.col("value").cum_sum().over("trial") / sums
    return both.with_columns(value.alias("value")).filter(pl.col("value").is_finite())


def _places(experiment: Experiment, name: str) -> dict[str, int]:
    return {level: place for place, level in enumerate(experiment.factors[name].levels)}


def _rows(
    samples: pl.DataFrame, experiment: Experiment, parameters: dict[str, dict[str, Any]], text: str
) -> pl.DataFrame | None:
    """One row for each trial and step with the formula's value; None if no trial has all that it needs."""
    factors = [*experiment.cell_factors, *experiment.step_factors]
    key = ["trial", *factors]
    needed = formula.names(text)
    plain = samples.filter((pl.col("labels") == "") & (pl.col("procedure") == experiment.procedure.kind))
    observed = [name for name in sorted(needed) if name in set(plain["metric"].unique())]
    if not observed:
        return None
    first = plain.filter(pl.col("metric") == observed[0])
    frame = first.rename({"value": f"@{observed[0]}"})
    for name in observed[1:]:
        other = plain.filter(pl.col("metric") == name).select(*key, pl.col("value").alias(f"@{name}"))
        frame = frame.join(other, on=key, how="inner", nulls_equal=True)
    settings = _parameters(frame.select(factors).unique(), experiment, parameters, sorted(needed - set(observed)))
    frame = frame.join(settings, on=factors, how="left", nulls_equal=True) if factors else frame
    columns = {name: frame[f"@{name}"].to_numpy() for name in [*observed, *_known(settings)]}
    columns |= {name: np.full(len(frame), experiment.constants[name]) for name in needed & set(experiment.constants)}
    try:
        values = evaluate(text, columns, len(frame))
    except ValueError:
        return None
    return frame.with_columns(pl.Series("value", values)).filter(pl.col("value").is_not_nan())


def _known(settings: pl.DataFrame) -> list[str]:
    return [column[1:] for column in settings.columns if column.startswith("@")]


def _parameters(
    cells: pl.DataFrame, experiment: Experiment, parameters: dict[str, dict[str, Any]], names: list[str]
) -> pl.DataFrame:
    """The cells with a column `@name` for each numeric parameter among the names."""
    values: dict[str, list[float | None]] = {name: [] for name in names}
    for row in cells.iter_rows(named=True):
        found = cell_parameters(experiment, parameters, row)
        for name in names:
            value = found.get(name)
            values[name].append(float(value) if isinstance(value, int | float) else None)
    have = {name: column for name, column in values.items() if any(value is not None for value in column)}
    return cells.with_columns([pl.Series(f"@{name}", column, dtype=pl.Float64) for name, column in have.items()])


def cell_parameters(
    experiment: Experiment, parameters: dict[str, dict[str, Any]], row: Mapping[str, str | None]
) -> dict[str, Any]:
    """All parameters of a cell with its steps, as stored or as the experiment sets them."""
    cell = {name: level for name in experiment.cell_factors if (level := row.get(name)) is not None}
    steps = {name: level for name in experiment.step_factors if (level := row.get(name)) is not None}
    known = {name: level for name, level in steps.items() if level in experiment.factors[name].levels}
    return dict(parameters.get(plan.cell_text(cell), {})) | plan.parameters(experiment, known)
