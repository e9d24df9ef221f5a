"""`bakeoff schema`: the formats as JSON Schemas, for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from bakeoff.cli.app import AsJson, Where, app, out, print_json
from bakeoff.experiment import Experiment
from bakeoff.system import System
from bakeoff.toolbox import Tool

FORMATS: dict[str, type[BaseModel]] = {"experiment": Experiment, "system": System, "tool": Tool}


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schema (2020-12) of each format."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {name: head | model.model_json_schema(by_alias=True) for name, model in FORMATS.items()}


@app.command()
def schema(
    folder: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write; schemas/ of the lab if not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the JSON Schemas of experiment.yaml, system.yaml and the toolbox's files."""
    if as_json:
        print_json(schemas())
        return
    target = folder or Where.lab().root / "schemas"
    target.mkdir(parents=True, exist_ok=True)
    for name, data in schemas().items():
        path = target / f"{name}.schema.json"
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        out.print(str(path), markup=False, soft_wrap=True)
