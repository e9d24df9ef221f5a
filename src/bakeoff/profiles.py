"""Profiles: the sizes of an experiment, each a change to the experiment as written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from bakeoff import yamlfile
from bakeoff.errors import BadInput, choose
from bakeoff.experiment import Experiment, Factor


def resolve(experiment: Experiment, profile: str | None, file: Path | str = "experiment.yaml") -> Experiment:
    """The experiment as the profile changes it; the result has no profiles left."""
    data = experiment.model_dump(mode="json", by_alias=True)
    profiles = data.pop("profiles")
    if profile is None:
        return yamlfile.validate(data, Experiment, file)
    if profile not in profiles:
        raise BadInput(f"there is no profile {profile!r}", choose(profile, profiles, "bakeoff show"), file=file)
    change = experiment.profiles[profile]
    if change.systems is not None:
        unknown = [name for name in change.systems if name not in experiment.systems]
        if unknown:
            raise BadInput(
                f"{unknown[0]!r} is none of the experiment's systems",
                f"use some of {', '.join(experiment.systems)}",
                file=file,
                key=f"profiles.{profile}.systems",
            )
        data["systems"] = change.systems
        if data["baseline"] not in change.systems:
            data["baseline"] = None
    for name, factor in change.factors.items():
        if name not in data["factors"]:
            raise BadInput(
                f"there is no factor {name!r}",
                choose(name, experiment.factors, "bakeoff show"),
                file=file,
                key=f"profiles.{profile}.factors",
            )
        key = f"profiles.{profile}.factors.{name}.levels"
        levels = {level: _level(experiment.factors[name], level, v, key, file) for level, v in factor.levels.items()}
        data["factors"][name]["levels"] = levels
    for key in ("replications", "warm_up", "builds", "repeat", "validity"):
        if (value := getattr(change, key)) is not None:
            data[key] = _plain(value)
    data["scaled"] = change.scaled
    data["procedure"] = _merged(data["procedure"], change.procedure)
    data["constraints"] = [c for c in data["constraints"] if _still_applies(c, data)]
    data["repeat"] = [r for r in data["repeat"] if _still_applies({"exclude": r["cells"]}, data)]
    data["figures"] = [f for f in data["figures"] if _still_applies({"exclude": f["where"]}, data)]
    for figure in data["figures"]:
        if figure["systems"] is not None:
            figure["systems"] = [name for name in figure["systems"] if name in data["systems"]]
    _narrow_criteria(data)
    return yamlfile.validate(data, Experiment, f"{file} (profile {profile})")


def _narrow_criteria(data: dict[str, Any]) -> None:
    """Requirements, knees and criteria about the systems and levels that the profile has kept; those of others go."""
    for key in ("requirements", "knees"):
        for one in data[key]:
            if one["systems"] is not None:
                one["systems"] = [name for name in one["systems"] if name in data["systems"]]
        data[key] = [
            one for one in data[key] if one["systems"] != [] and _still_applies({"exclude": one["cells"]}, data)
        ]
    if data["assessment"]:
        kept = data["assessment"]["criteria"]
        kept = {name: one for name, one in kept.items() if _still_applies({"exclude": one["cells"]}, data)}
        data["assessment"] = data["assessment"] | {"criteria": kept} if kept else None


def _level(factor: Factor, level: str, values: object, key: str, file: Path | str) -> object:
    """A level as the profile has it: kept where only its name is given, else with the values that it changes."""
    base = factor.levels.get(level)
    if base is None and any(isinstance(known, dict) for known in factor.levels.values()):
        raise BadInput(f"there is no level {level!r}", choose(level, factor.levels, "bakeoff show"), file=file, key=key)
    if isinstance(base, dict) and not isinstance(values, dict):
        return base
    return _merged(base, values)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.model_dump() if isinstance(value, BaseModel) else value


def _merged(base: object, change: object) -> object:
    """The base with what the change says otherwise, at any depth."""
    if not (isinstance(base, dict) and isinstance(change, dict)):
        return change
    return base | {key: _merged(base.get(key), value) for key, value in change.items()}


def _still_applies(constraint: dict[str, Any], data: dict[str, Any]) -> bool:
    """Whether a constraint still names levels that the profile has kept; it is narrowed to those."""
    for form in ("exclude", "when", "only"):
        for factor, levels in list((constraint.get(form) or {}).items()):
            known = data["systems"] if factor == "system" else data["factors"][factor]["levels"]
            kept = [level for level in levels if level in known]
            constraint[form][factor] = kept
            if not kept and form != "only":
                return False
    return True
