"""Arithmetic over named numbers, as `expect` and `metrics` use it: `neighbourhoods * workers * pings`."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping

from pydantic_core import PydanticCustomError
from simpleeval import InvalidExpression, SimpleEval

from bakeoff.quantities import problem

_FUNCTIONS = {
    "sqrt": math.sqrt,
    "log": math.log,
    "exp": math.exp,
    "min": min,
    "max": max,
    "abs": abs,
    "round": round,
}

_ARITHMETIC = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Name, ast.Load, ast.Call)


def names(text: str) -> set[str]:
    """The parameter and metric names that a formula uses; a format error if it is no formula."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise problem(f"{text!r} is no formula", "write arithmetic over parameter names, such as a * b / c") from error
    for node in ast.walk(tree):
        number = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
        if not number and not isinstance(node, _ARITHMETIC):
            raise problem(
                f"{text!r} is more than arithmetic", "use numbers, names, + - * / ** and sqrt, log, exp, min, max"
            )
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - set(_FUNCTIONS)


def evaluate(text: str, values: Mapping[str, float]) -> float:
    """The value of a formula. Raises ValueError if a name is unknown or the arithmetic has no result."""
    try:
        names(text)
        return float(SimpleEval(functions=_FUNCTIONS, names=dict(values)).eval(text))
    except (PydanticCustomError, InvalidExpression, ArithmeticError, TypeError) as error:
        raise ValueError(f"{text!r} has no value: {error}") from error
