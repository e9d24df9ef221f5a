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

LONGEST = 1000  # characters
_ARITHMETIC = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Name, ast.Load, ast.Call)


def names(text: str) -> set[str]:
    """The parameter and metric names that a formula uses; a format error if it is no formula."""
    if len(text) > LONGEST:
        raise problem(f"a formula of {len(text)} characters is too long", f"use at most {LONGEST}")
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise problem(f"{text!r} is no formula", "write arithmetic over parameter names, such as a * b / c") from error
    for node in ast.walk(tree):
        number = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
        if not number and not isinstance(node, _ARITHMETIC):
            raise problem(
                f"{text!r} is more than arithmetic", "use numbers, names, + - * / ** and sqrt, log, exp, min, max"
            )
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS):
            raise problem(f"{text!r} calls an unknown function", f"use {', '.join(_FUNCTIONS)}")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - set(_FUNCTIONS)


def exact(text: str, values: Mapping[str, object]) -> int | float:
    """The value of a formula; whole numbers stay whole, however large. Raises ValueError as `evaluate` does."""
    try:
        names(text)
        value = SimpleEval(functions=_FUNCTIONS, names=dict(values)).eval(text)
    except (PydanticCustomError, InvalidExpression, ArithmeticError, TypeError) as error:
        raise ValueError(f"{text!r} has no value: {error}") from error
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{text!r} has no value: it gives {value!r}")
    return value


def evaluate(text: str, values: Mapping[str, float]) -> float:
    """The value of a formula as a float. Raises ValueError if a name is unknown or the arithmetic has no result."""
    return float(exact(text, values))
