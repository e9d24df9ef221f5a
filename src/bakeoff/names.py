"""How the formats name things: systems, metrics, parameters, levels; and how they pick cells by levels."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, StringConstraints

Scalar = bool | int | float | str
NAME = r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"
Name = Annotated[str, StringConstraints(pattern=NAME)]
Parameter = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
SystemName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*(:[A-Za-z0-9][A-Za-z0-9._+-]*)?$")]
LevelName = Annotated[str, StringConstraints(pattern=r"^[^\s=]+$")]


def level_name(level: Scalar) -> str:
    """The name of a plain level: its text as YAML writes it."""
    return str(level).lower() if isinstance(level, bool) else str(level)


Match = Annotated[
    dict[str, list[str]],
    BeforeValidator(
        lambda match: (
            {
                key: [level_name(v) for v in (value if isinstance(value, list) else [value])]
                for key, value in match.items()
            }
            if isinstance(match, dict)
            else match
        ),
        json_schema_input_type=dict[str, Scalar | list[Scalar]],
    ),
]
