"""`bakeoff list`, `show` and `plan`: what there is, and what would be run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeVar

import typer
from pydantic import BaseModel
from rich.table import Table

from bakeoff import plan as plans
from bakeoff import profiles, yamlfile
from bakeoff.cli import as_dict as error_as_dict
from bakeoff.cli.app import (
    AsJson,
    ExperimentName,
    ProfileName,
    Seed,
    Where,
    app,
    chosen_profile,
    err,
    out,
    print_json,
)
from bakeoff.errors import BakeoffError, Exit
from bakeoff.experiment import Experiment
from bakeoff.lab import Lab

Model = TypeVar("Model", bound=BaseModel)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """Name the experiments and systems of this lab."""
    lab = Where.lab()
    broken: dict[str, BakeoffError] = {}
    experiments = _readable(
        lab.experiment_names, lambda name: yamlfile.load(lab.experiment_file(name), Experiment), broken
    )
    systems = _readable(lab.system_folders, lab.system, broken)
    kinds = {name: folder.parent.name for name, folder in lab.system_folders.items()}
    if as_json:
        print_json(
            {
                "experiments": [{"name": name, "title": each.title} for name, each in experiments.items()],
                "systems": [{"name": name, "kind": kinds[name], "title": each.title} for name, each in systems.items()],
                "broken": [{"name": name, **error_as_dict(error)} for name, error in broken.items()],
            }
        )
    else:
        heads = ("experiment", "question", "systems", "profiles")
        table = Table(*heads, title="Experiments", title_justify="left", box=None)
        for name, each in experiments.items():
            table.add_row(name, each.question, str(len(each.systems)), ", ".join(each.profiles))
        out.print(table)
        table = Table("kind", "system", "title", title="\nSystems", title_justify="left", box=None)
        for name, system in systems.items():
            table.add_row(kinds[name], name, system.title)
        out.print(table)
    for name, error in broken.items():
        err.print(f"bakeoff: {name} is not listed: {error}", soft_wrap=True)
    if broken:
        raise typer.Exit(Exit.BAD_INPUT)


def _readable(names: Iterable[str], load: Callable[[str], Model], broken: dict[str, BakeoffError]) -> dict[str, Model]:
    """What can be loaded, by name; the others go to `broken` with their errors."""
    found = {}
    for name in names:
        try:
            found[name] = load(name)
        except BakeoffError as error:
            broken[name] = error
    return found


@app.command()
def show(name: Annotated[str, typer.Argument(help="An experiment or a system.")], as_json: AsJson = False) -> None:
    """Show an experiment or a system."""
    lab = Where.lab()
    if name in lab.system_folders and name not in lab.experiment_names:
        _show_system(lab, name, as_json)
        return
    experiment = lab.experiment(name)
    if as_json:
        print_json(experiment.model_dump(mode="json", by_alias=True))
        return
    out.print(experiment.title, style="bold")
    out.print(f"{experiment.question}\n")
    facts = Table.grid(padding=(0, 2))
    facts.add_row("systems", ", ".join(experiment.systems))
    facts.add_row("baseline", experiment.baseline or "(none)")
    for factor, each in experiment.factors.items():
        facts.add_row(f"factor {factor}", ", ".join(each.levels) + (" (steps of one trial)" if each.within else ""))
    facts.add_row("procedure", experiment.procedure.kind)
    facts.add_row("metrics", ", ".join(experiment.metrics))
    for profile in ["full", *experiment.profiles]:
        resolved = profiles.resolve(experiment, None if profile == "full" else profile)
        about = experiment.profiles[profile].title if profile in experiment.profiles else "the experiment as written"
        facts.add_row(f"profile {profile}", f"{len(plans.make(resolved))} trials; {about or ''}")
    out.print(facts)


def _show_system(lab: Lab, name: str, as_json: bool) -> None:
    system = lab.system(name)
    if as_json:
        print_json(system.model_dump(mode="json", by_alias=True))
        return
    out.print(system.title, style="bold")
    out.print(system.about)
    facts = Table.grid(padding=(0, 2))
    facts.add_row("folder", str(lab.system_folders[name].relative_to(lab.root)))
    facts.add_row("needs", ", ".join(system.needs) or "nothing")
    for part, each in system.parts.items():
        programs = " or ".join(each.programs().values())
        facts.add_row(f"part {part}", f"{' '.join([programs, *each.words()])} (platform {each.platform})")
    facts.add_row("variants", ", ".join(system.variants) or "none")
    out.print(facts)


@app.command()
def plan(experiment: ExperimentName, profile: ProfileName = None, seed: Seed = None, as_json: AsJson = False) -> None:
    """Show every trial of a run, in order, without running one."""
    lab = Where.lab()
    written = lab.experiment(experiment)
    chosen = chosen_profile(written.profiles, profile)
    resolved = profiles.resolve(written, chosen, lab.experiment_file(experiment))
    trials = plans.make(resolved, seed, lab.experiment_file(experiment))
    if as_json:
        print_json(
            {
                "experiment": experiment,
                "profile": chosen,
                "seed": resolved.seed if seed is None else seed,
                "order": resolved.order,
                "blocks": len({trial.block for trial in trials}),
                "trials": [trial.as_dict() for trial in trials],
            }
        )
        return
    table = Table("trial", "block", "procedure", "system", "cell", box=None)
    for trial in trials:
        row: list[Any] = [
            trial.position + 1,
            "warm-up" if trial.warm_up else trial.block,
            trial.procedure,
            trial.system,
        ]
        table.add_row(*map(str, row), plans.cell_text(trial.cell))
    out.print(table)
    out.print(f"{len(trials)} trials in {len({trial.block for trial in trials})} blocks, profile {chosen or 'full'}")
