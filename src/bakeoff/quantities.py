"""Times and sizes as people write them (`30s`, `512MiB`), held as seconds and bytes."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

_TIME_UNITS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_SIZE_UNITS = {"": 1, "B": 1} | {
    prefix + suffix: base**power
    for power, prefix in enumerate(("k", "M", "G", "T"), start=1)
    for suffix, base in (("B", 1000), ("iB", 1024))
}
_SIZE_UNITS |= {"K" + s: _SIZE_UNITS["k" + s] for s in ("B", "iB")}
_QUANTITY = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ]*)\s*$")


def problem(what: str, mend: str, key: str = "") -> PydanticCustomError:
    """An error inside a model that carries its own mend, and the key below the model that is wrong (`a.b`)."""
    return PydanticCustomError("bakeoff", "{problem}", {"problem": what, "mend": mend, "key": key})


def seconds(text: Any) -> float:
    """Reads a duration: a text with a unit (`250ms`, `30s`, `2m`), or a number of seconds."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        value, unit = float(text), "s"
    else:
        match = _QUANTITY.match(str(text))
        if not match or match[2] not in _TIME_UNITS:
            raise problem(f"{text!r} is not a time", "write a number and a unit, such as 250ms, 30s or 2m")
        value, unit = float(match[1]), match[2]
    if value < 0:
        raise problem(f"{text!r} is a negative time", "write a time of zero or more, such as 30s")
    return value * _TIME_UNITS[unit]


def size_bytes(text: Any) -> int:
    """Reads a size: a text with a unit (`512MiB`, `2GB`), or a number of bytes."""
    match = _QUANTITY.match(str(text))
    if isinstance(text, bool) or not match or match[2] not in _SIZE_UNITS:
        raise problem(f"{text!r} is not a size", "write a number and a unit, such as 512MiB or 2GB")
    return int(float(match[1]) * _SIZE_UNITS[match[2]])


def cpu_list(text: Any) -> str:
    """Checks a CPU set such as `0`, `0-1` or `0,2-3` and returns it without spaces."""
    compact = str(text).replace(" ", "")
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", compact):
        raise problem(f"{text!r} is not a CPU set", "write CPU numbers and ranges, such as 0 or 0-1,3")
    return compact


def _text_or_number(pattern: str, example: str) -> dict[str, Any]:
    return {"anyOf": [{"type": "string", "pattern": pattern}, {"type": "number"}], "examples": [example]}


Seconds = Annotated[
    float,
    BeforeValidator(seconds),
    WithJsonSchema(_text_or_number(r"^\d+(\.\d+)?\s*(us|µs|ms|s|m|min|h)$", "30s")),
]
SizeBytes = Annotated[
    int,
    BeforeValidator(size_bytes),
    WithJsonSchema(_text_or_number(r"^\d+(\.\d+)?\s*([kKMGT]i?)?B?$", "512MiB")),
]
CpuList = Annotated[
    str, BeforeValidator(cpu_list), WithJsonSchema(_text_or_number(r"^\d+(-\d+)?(,\d+(-\d+)?)*$", "0-1"))
]
