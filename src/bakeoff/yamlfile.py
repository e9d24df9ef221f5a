"""Reading YAML files into models, with errors that name the file, the line, the key and the mend.

YAML is read by the 1.2 core rules: only `true` and `false` are booleans, so that `on` and `off` can be levels.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from bakeoff.errors import BadInput


class Strict(BaseModel):
    """A part of a file format: unknown keys are errors, and a loaded file does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


DEEPEST = 50
MOST_NODES = 1_000_000  # of a file with its aliases spelt out
Model = TypeVar("Model", bound=BaseModel)


class _Core(yaml.SafeLoader):
    """PyYAML with the implicit types of YAML 1.2's core schema, and duplicate keys refused."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's own way to set resolvers

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                continue
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key is a plain word", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} stands here twice", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


# PyYAML would read 010 as octal
_Core.add_constructor("tag:yaml.org,2002:int", lambda _loader, node: int(node.value))
for _tag, _pattern, _first in (
    ("bool", r"^(?:true|false)$", "tf"),
    ("int", r"^[-+]?\d+$", "-+0123456789"),
    ("float", r"^[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?$", "-+.0123456789"),
    ("null", r"^(?:~|null|)$", ["~", "n", ""]),
    ("merge", r"^<<$", "<"),
):
    _Core.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


def parse(text: str, file: Path | str) -> tuple[Any, yaml.Node | None]:
    """Returns the data of a YAML text and its node tree, which knows the lines."""
    try:
        loader = _Core(text)
        try:
            node = loader.get_single_node()
            if _spelt_out(node, {}) > MOST_NODES:
                raise ValueError("its aliases stand for too much")
            data = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BadInput(
            f"this is not YAML: {error.problem or error.context}",
            "correct the line (indentation, colons, quotes, brackets, doubled keys)",
            file=file,
            line=mark.line + 1 if mark else None,
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError) as error:
        problem = f"this YAML holds a value that cannot be read: {str(error)[:200] or type(error).__name__}"
        raise BadInput(
            problem, "write plain values, without tags and without thousands of brackets", file=file
        ) from None
    except yaml.YAMLError as error:
        raise BadInput(f"this is not YAML: {error}", "save the file as plain UTF-8 text", file=file) from None
    return data, node


def _spelt_out(node: yaml.Node | None, known: dict[int, int]) -> int:
    """How many nodes a file has if each alias is spelt out: a few lines of aliases of aliases can mean billions."""
    if node is None or isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        known[id(node)] = MOST_NODES  # a node within itself has no end
        below = node.value if isinstance(node, yaml.SequenceNode) else [one for pair in node.value for one in pair]
        known[id(node)] = 1 + sum(_spelt_out(one, known) for one in below)
    return known[id(node)]


def load(path: Path, model: type[Model]) -> Model:
    """Reads one file into a model; raises BadInput with the place of the first error."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadInput("there is no such file", "check the name, or make the file", file=path) from None
    except UnicodeDecodeError:
        raise BadInput("this is not UTF-8 text", "save the file as UTF-8", file=path) from None
    except OSError as error:
        raise BadInput(f"it cannot be read: {error.strerror}", "check its permissions", file=path) from None
    data, node = parse(text, path)
    return validate(data, model, path, node)


def validate(data: Any, model: type[Model], file: Path | str, node: yaml.Node | None = None) -> Model:
    """Checks data against a model; `node` gives the lines for errors."""
    if not isinstance(data, dict):
        keys = ", ".join(name for name, field in model.model_fields.items() if field.is_required())
        raise BadInput("the file holds no mapping", f"write keys and values; needed are: {keys}", file=file, line=1)
    _refuse_strange(data, file)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise bad_input(error, model, file, node) from None


def _refuse_strange(data: Any, file: Path | str, depth: int = 0) -> None:
    """Numbers that are not finite, texts that are no UTF-8 and data that contains itself have no place in a file."""
    if depth > DEEPEST:
        raise BadInput("it is nested too deeply", f"nest at most {DEEPEST} levels", file=file)
    if isinstance(data, float) and not math.isfinite(data):
        raise BadInput(f"{data} is no finite number", "write a number", file=file)
    if isinstance(data, str) and any("\ud800" <= letter <= "\udfff" for letter in data):
        raise BadInput("a text holds half a character (a surrogate)", "write the character itself", file=file)
    for value in [*data, *data.values()] if isinstance(data, dict) else data if isinstance(data, list) else ():
        _refuse_strange(value, file, depth + 1)


def bad_input(error: ValidationError, model: type[BaseModel], file: Path | str, node: yaml.Node | None) -> BadInput:
    """Turns the first validation error into the one message that the user sees."""
    errors = error.errors(include_url=False)
    # A misspelt key comes before the one that is therefore missing.
    first = min(errors, key=lambda one: one["type"] != "extra_forbidden")
    below = first.get("ctx", {}).get("key", "")
    location = _real_location([step for step in first["loc"] if step != "[key]"], node) + [
        int(k) if k.isdigit() else k for k in below.split(".") if k
    ]
    problem, mend = _explain(first, model)
    if len(errors) > 1:
        problem += f" (and {len(errors) - 1} more)"
    return BadInput(problem, mend, file=file, line=line_of(node, location), key=".".join(map(str, location)) or None)


def _explain(error: ErrorDetails, model: type[BaseModel]) -> tuple[str, str]:
    kind, message, ctx = error["type"], error["msg"], error.get("ctx", {})
    key = str(error["loc"][-1]) if error["loc"] else ""
    if kind == "bakeoff":
        return str(ctx["problem"]), str(ctx["mend"])
    if kind == "missing":
        return "this key is needed and missing", f"add `{key}:` with its value"
    if kind == "extra_forbidden":
        known = _keys_beside(model, error["loc"])
        close = difflib.get_close_matches(key, known, 1)
        if close:
            return "this key is unknown", f"did you mean `{close[0]}`?"
        return "this key is unknown", "remove it" + (f"; known keys are: {', '.join(sorted(known))}" if known else "")
    if kind.startswith("union_tag"):
        tag = str(ctx["discriminator"]).strip("'")
        tags = sorted(
            t for node in _schemas_at(model, error["loc"]) for t in node.get("discriminator", {}).get("mapping", {})
        )
        found = "is missing" if kind == "union_tag_not_found" else f"{ctx.get('tag')!r} is not known"
        return f"its `{tag}` {found}", f"set `{tag}:` to one of {', '.join(tags)}"
    if kind == "literal_error":
        return f"{error['input']!r} is not known here", f"write {ctx.get('expected')}"
    if kind == "string_pattern_mismatch":
        return f"{error['input']!r} is no name", f"use only what fits {ctx['pattern']}"
    mend = f"write {ctx['expected']}" if "expected" in ctx else "write a value of the kind named"
    return f"{str(error['input'])[:80]!r}: {message[0].lower() + message[1:]}", mend


def _keys_beside(model: type[BaseModel], location: Sequence[int | str]) -> set[str]:
    """The keys that the format knows at the place of an unknown key."""
    return {key for node in _schemas_at(model, location[:-1]) for key in node.get("properties", {})}


def _schemas_at(model: type[BaseModel], location: Sequence[int | str]) -> list[dict[str, Any]]:
    """The parts of the model's JSON Schema that describe a location."""
    schema = model.model_json_schema(by_alias=True)
    definitions = schema.get("$defs", {})

    def resolve(node: dict[str, Any]) -> list[dict[str, Any]]:
        if "$ref" in node:
            return resolve(definitions[node["$ref"].rsplit("/", 1)[-1]])
        options = node.get("anyOf", []) + node.get("oneOf", []) + node.get("allOf", [])
        return [node] + [leaf for option in options for leaf in resolve(option)]

    nodes = resolve(schema)
    for step in location:
        below: list[dict[str, Any]] = []
        for node in nodes:
            inside = node.get("properties", {}).get(step) if isinstance(step, str) else node.get("items")
            named = [*node.get("patternProperties", {}).values(), node.get("additionalProperties")]
            for schema in [inside] if inside else named if isinstance(step, str) else []:
                below += resolve(schema) if isinstance(schema, dict) else []
        nodes = below or nodes  # a union's tag stands in the location but not in the file
    return nodes


def _real_location(location: Sequence[int | str], node: yaml.Node | None) -> list[int | str]:
    """The location without the names that pydantic adds for unions, which are not in the file."""
    real: list[int | str] = []
    for position, step in enumerate(location):
        last = position == len(location) - 1
        if isinstance(node, yaml.MappingNode):
            child = next((value for key, value in node.value if key.value == str(step)), None)
            if child is not None or last:
                real.append(step)
                node = child
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            real.append(step)
            node = node.value[step]
    return real or [step for step in location if isinstance(step, int | str)]


def line_of(node: yaml.Node | None, location: Sequence[int | str]) -> int | None:
    """The line of a key (or of the nearest thing around it that the file has), counted from 1."""
    if node is None:
        return None
    line = node.start_mark.line + 1
    for step in location:
        if isinstance(node, yaml.MappingNode):
            pair = next(((key, value) for key, value in node.value if key.value == str(step)), None)
            if pair is None:
                return line
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line + 1
        else:
            return line
    return line


def dump(data: Any) -> str:
    """Writes plain data as YAML in the order of its keys."""
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)
