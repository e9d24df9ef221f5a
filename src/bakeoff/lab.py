"""The lab's files: where experiments, systems and tools are, and loading them by name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bakeoff import formula, platforms, profiles, references, yamlfile
from bakeoff.errors import BadInput, choose
from bakeoff.experiment import BUILT_IN, PLACEHOLDER, Expect, Experiment, parameter_names
from bakeoff.platforms import Platform
from bakeoff.procedure import WASM_INSTRUMENT
from bakeoff.system import System
from bakeoff.toolbox import Tool


@dataclass(frozen=True)
class Lab:
    """A folder with `experiments/`, `systems/` and `toolbox/`."""

    root: Path

    @staticmethod
    def find(named: Path | None = None) -> Lab:
        """The lab that is named, or the one around the working directory."""
        given = named or (Path(os.environ["BAKEOFF_LAB"]) if os.environ.get("BAKEOFF_LAB") else None)
        candidates = [given] if given else [Path.cwd(), *Path.cwd().parents]
        for folder in candidates:
            if (folder / "experiments").is_dir() and (folder / "systems").is_dir():
                return Lab(folder.resolve())
        where = f"{given}" if given else "this folder or above it"
        raise BadInput(
            f"there is no lab in {where} (a folder with experiments/ and systems/)",
            "go to the lab's folder, or name it with --lab DIR or BAKEOFF_LAB",
        )

    @property
    def state(self) -> Path:
        """Where the store and the reports go."""
        return self.root / ".bakeoff"

    @cached_property
    def system_folders(self) -> dict[str, Path]:
        """Each system's folder by name; a name is unique in the whole lab."""
        folders: dict[str, Path] = {}
        for file in sorted(self.root.glob("systems/*/*/system.yaml")):
            name = file.parent.name
            if name in folders:
                raise BadInput(
                    f"two systems are called {name!r}: here and in {folders[name]}",
                    "rename one folder",
                    file=file,
                )
            folders[name] = file.parent
        return folders

    @cached_property
    def experiment_names(self) -> list[str]:
        """The experiments of this lab."""
        return sorted(file.parent.name for file in self.root.glob("experiments/*/experiment.yaml"))

    def experiment_file(self, name: str) -> Path:
        """The file of an experiment: a name of this lab, or a path."""
        path = Path(name).resolve()
        if path.suffix in (".yaml", ".yml"):
            return path
        if (path / "experiment.yaml").is_file():
            return path / "experiment.yaml"
        if name not in self.experiment_names:
            raise BadInput(f"there is no experiment {name!r}", choose(name, self.experiment_names, "bakeoff list"))
        return self.root / "experiments" / name / "experiment.yaml"

    def experiment(self, name: str) -> Experiment:
        """Loads an experiment and checks it against the systems it names."""
        file = self.experiment_file(name)
        experiment = yamlfile.load(file, Experiment)
        self._check(experiment, file)
        for profile in experiment.profiles:
            self._check(profiles.resolve(experiment, profile, file), file)
        return experiment

    def system(self, name: str) -> System:
        """Loads a system by its name, without the variant."""
        base = name.split(":", maxsplit=1)[0]
        if base not in self.system_folders:
            raise BadInput(f"there is no system {base!r}", choose(base, self.system_folders, "bakeoff list"))
        file = self.system_folders[base] / "system.yaml"
        system = yamlfile.load(file, System)
        if system.build:
            self._check_sources(system.build.sources, file)
        return system

    def _check_sources(self, sources: list[str], file: Path) -> None:
        """Raises BadInput if a source folder is not there, or lies outside the lab's systems."""
        systems = (self.root / "systems").resolve()
        for index, source in enumerate(sources):
            folder = (file.parent / source).resolve()
            key = f"build.sources.{index}"
            if not folder.is_relative_to(systems) or folder == systems:
                _, node = yamlfile.parse(file.read_text(encoding="utf-8"), file)
                line = yamlfile.line_of(node, ["build", "sources", index])
                mend = "name folders beside or below the system's own, such as . or ../common"
                raise BadInput(f"{source!r} lies outside the lab's systems/", mend, file=file, line=line, key=key)
            if not folder.is_dir():
                raise BadInput(f"there is no folder {source!r}", "make it, or remove the line", file=file, key=key)

    def tool(self, name: str) -> Tool:
        """Loads an entry of the toolbox."""
        file = self.root / "toolbox" / f"{name}.yaml"
        if not file.is_file():
            known = sorted(path.stem for path in self.root.glob("toolbox/*.yaml"))
            raise BadInput(f"there is no tool {name!r}", choose(name, known, "ls toolbox"), file=file)
        return yamlfile.load(file, Tool).within(self.root)

    @cached_property
    def platforms(self) -> dict[str, Platform]:
        """All platforms by name."""
        return platforms.known({path.stem: self.tool(path.stem) for path in sorted(self.root.glob("toolbox/*.yaml"))})

    def platform(self, name: str) -> Platform:
        """A platform by name. Raises BadInput if there is none."""
        if name not in self.platforms:
            raise BadInput(f"there is no platform {name!r}", choose(name, self.platforms, "bakeoff doctor"))
        return self.platforms[name]

    def references(self, name: str) -> list[dict[str, str]]:
        """The published figures of an experiment, as rows of texts."""
        file = self.experiment_file(name)
        experiment = yamlfile.load(file, Experiment)
        return references.read(file.parent / experiment.references) if experiment.references else []

    def _check(self, experiment: Experiment, file: Path) -> None:
        _, node = yamlfile.parse(file.read_text(encoding="utf-8"), file)
        parameters = parameter_names(experiment)
        for index, full in enumerate(experiment.systems):
            name, _, variant = full.partition(":")
            line = yamlfile.line_of(node, ["systems", index])
            if name not in self.system_folders:
                raise BadInput(
                    f"there is no system {name!r}",
                    choose(name, self.system_folders, "bakeoff list"),
                    file=file,
                    line=line,
                    key=f"systems.{index}",
                )
            system = self.system(name)
            if variant and variant not in system.variants:
                raise BadInput(
                    f"the system {name} has no variant {variant!r}",
                    choose(variant, system.variants, f"bakeoff show {name}"),
                    file=file,
                    line=line,
                    key=f"systems.{index}",
                )
            own = set(system.parameters) | set(system.variants[variant].parameters if variant else ())
            known = parameters | (BUILT_IN - {"work"}) | own
            check_expect(experiment.expect, parameters | own, file)
            check_expect(system.expect, parameters | own, self.system_folders[name] / "system.yaml")
            check_procedure(experiment, known, file)
            if experiment.procedure.kind == "wasm":
                check_module(system, self.system_folders[name] / "system.yaml")
            check_platforms(self, system, variant or None, self.system_folders[name] / "system.yaml")
            check_placeholders(system, known, self.system_folders[name] / "system.yaml", file)
        if experiment.references:
            references.read(file.parent / experiment.references)


def check_procedure(experiment: Experiment, known: set[str], file: Path) -> None:
    """Raises BadInput if the procedure uses a parameter that nobody sets."""

    def look(value: object, key: str) -> None:
        if isinstance(value, dict):
            for name, inside in value.items():
                look(inside, f"{key}.{name}")
        elif isinstance(value, list):
            for index, inside in enumerate(value):
                look(inside, f"{key}.{index}")
        elif isinstance(value, str):
            for used in PLACEHOLDER.findall(value):
                if used not in known:
                    mend = f"use one of {', '.join(sorted(known))}, or set it in every level of a factor"
                    raise BadInput(f"{{{used}}} is set neither by a factor nor by the lab", mend, file=file, key=key)

    look(experiment.procedure.model_dump(mode="json", by_alias=True), "procedure")


def check_module(system: System, file: Path) -> None:
    """Raises BadInput if the system does not run its module by the instrument, as the procedure `wasm` wants it."""
    first = (system.parts[system.main].command or [""])[0]
    if first != WASM_INSTRUMENT or len(system.parts) > 1:
        raise BadInput(
            f"the procedure wasm runs one part, by {WASM_INSTRUMENT}",
            f"write its command as [{WASM_INSTRUMENT}, MODULE, …], and add {WASM_INSTRUMENT} to `needs:`",
            file=file,
            key=f"parts.{system.main}.command",
        )


def check_expect(expect: Expect, known: set[str], file: Path) -> None:
    """Raises BadInput if a formula of the right answer uses a parameter that nobody sets."""
    for key, text in expect.result.items():
        unknown = sorted(formula.names(text) - known)
        if unknown:
            mend = f"use one of {', '.join(sorted(known)) or '(no parameters)'}"
            raise BadInput(f"{unknown[0]!r} is no parameter", mend, file=file, key=f"expect.result.{key}")


def check_platforms(lab: Lab, system: System, variant: str | None, file: Path) -> None:
    """Raises BadInput if a part's platform is not known, or runs none of the part's artefacts."""
    for part, each in system.parts.items():
        name = system.platform_of(part, variant)
        key = f"variants.{variant}.platform" if name != each.platform else f"parts.{part}.platform"
        if name not in lab.platforms:
            mend = choose(name, lab.platforms, "bakeoff doctor")
            raise BadInput(f"there is no platform {name!r}", mend, file=file, key=key)
        kinds = lab.platforms[name].kinds
        if not set(kinds) & set(each.programs()):
            mend = f"add one of them to parts.{part}.artefacts"
            raise BadInput(f"the platform {name} runs {' or '.join(kinds)}", mend, file=file, key=key)


def check_placeholders(system: System, known: set[str], file: Path, experiment: Path) -> None:
    """Raises BadInput if something of the system uses a parameter that nobody sets."""
    building = {"out", "work", "source"}
    texts = (
        [(f"version.command.{i}", word, building) for i, word in enumerate(system.version.command)]
        if system.version
        else []
    )
    if system.build:
        commands = [("fetch", system.build.fetch), ("commands", system.build.commands)]
        texts += [
            (f"build.artefacts.{i}", name, system.build.parameters) for i, name in enumerate(system.build.artefacts)
        ]
        texts += [
            (f"build.{kind}.{i}", word, building | system.build.parameters)
            for kind, several in commands
            for i, command in enumerate(several)
            for word in command
        ]
    for name, part in system.parts.items():
        texts += [(f"parts.{name}.command", word, known) for word in part.command or ()]
        texts += [
            (f"parts.{name}.artefacts.{kind}", word, building - {"work"}) for kind, word in part.artefacts.items()
        ]
        texts += [(f"parts.{name}.arguments", word, known) for word in [*part.arguments, part.address or ""]]
        texts += [(f"parts.{name}.folders", folder, known) for folder in part.folders.values()]
        texts += [(f"parts.{name}.env.{key}", value, known) for key, value in part.env.items()]
        if part.ready:
            texts += [(f"parts.{name}.ready", part.ready.http or part.ready.tcp or "", known)]
    for key, text, names in texts:
        for used in PLACEHOLDER.findall(text):
            if used not in names:
                raise BadInput(
                    f"{{{used}}} is set neither by {experiment} nor by the lab",
                    f"use one of {', '.join(sorted(names))}, or set it under `parameters:`",
                    file=file,
                    key=key,
                )
