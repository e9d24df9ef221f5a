"""Small logic of the formats: quantities, YAML, formulas, references, profiles, schemas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from bakeoff import formula, quantities, references, yamlfile
from bakeoff.cli.schema import schemas
from bakeoff.errors import BadInput
from bakeoff.experiment import Experiment
from bakeoff.lab import Lab
from bakeoff.prepare import substitute
from test_plan import make

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("text", "value"), [("30s", 30), ("250ms", 0.25), ("2 m", 120), ("1.5h", 5400), ("10us", 1e-5), (3, 3), (0.5, 0.5)]
)
def test_times(text: object, value: float) -> None:
    assert quantities.seconds(text) == pytest.approx(value)


@pytest.mark.parametrize(("text", "value"), [("512MiB", 2**29), ("2GB", 2_000_000_000), ("4kB", 4000), (17, 17)])
def test_sizes(text: object, value: int) -> None:
    assert quantities.size_bytes(text) == value


@pytest.mark.parametrize("text", ["", "s", "1 d", "-3s", "1e3s", "nan", True, None, [1]])
def test_no_times(text: object) -> None:
    with pytest.raises((PydanticCustomError, ValueError)):
        quantities.seconds(text)


def test_yaml_core_schema() -> None:
    data, _ = yamlfile.parse("a: on\nb: off\nc: yes\nd: true\ne: 010\nf: 1e3\ng: 2021-01-01\nh: 12:30\ni: ~\n", "x")
    assert data == {
        "a": "on", "b": "off", "c": "yes", "d": True, "e": 10, "f": 1000.0, "g": "2021-01-01", "h": "12:30", "i": None
    }  # fmt: skip


def test_dumped_yaml_is_read_back() -> None:
    experiment = make(factors={"keep": {"levels": ["on", "off", "1:30", "010", "null"]}})
    text = yamlfile.dump(experiment.model_dump(mode="json", by_alias=True))
    data, _ = yamlfile.parse(text, "x")
    assert yamlfile.validate(data, Experiment, "x") == experiment


def test_formula() -> None:
    assert (
        formula.evaluate("neighbourhoods * workers * pings", {"neighbourhoods": 10, "workers": 10, "pings": 5}) == 500
    )
    assert formula.names("2 * a / sqrt(b)") == {"a", "b"}


@pytest.mark.parametrize("text", ["a + nobody", "1 / 0", "__import__('os')", "a.real", "'x' * 3"])
def test_formula_without_value(text: str) -> None:
    with pytest.raises(ValueError, match="has no value"):
        formula.evaluate(text, {"a": 1})


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_formula_is_arithmetic(a: float, b: float) -> None:
    assert formula.evaluate("a * b - a", {"a": a, "b": b}) == a * b - a


def test_substitution() -> None:
    values = {"n": 3, "keep": True, "out": "/o"}
    assert substitute(["{out}/x", "--n={n}", "{keep}", "{not closed"], values) == [
        "/o/x",
        "--n=3",
        "true",
        "{not closed",
    ]


def test_references_name_the_wrong_line(tmp_path: Path) -> None:
    file = tmp_path / "reference.csv"
    file.write_text("target,factors,metric,unit,value,source\na,x=1,m,s,fast,Tab. 1\n")
    with pytest.raises(BadInput, match=r"reference\.csv:2: value"):
        references.read(file)
    file.write_text("target,metric\n")
    with pytest.raises(BadInput, match="the column 'factors' is missing"):
        references.read(file)


def test_every_experiment_and_system_of_this_lab_is_whole() -> None:
    lab = Lab(ROOT)
    assert lab.experiment_names and lab.system_folders
    for name in lab.experiment_names:
        assert lab.experiment(name).question.endswith("?")
    for name in lab.system_folders:
        for tool in lab.system(name).needs:
            assert lab.tool(tool).title


def test_schemas_on_disk_are_those_of_the_code() -> None:
    for name, schema in schemas().items():
        assert json.loads((ROOT / f"schemas/{name}.schema.json").read_text()) == schema, "run `bakeoff schema`"
