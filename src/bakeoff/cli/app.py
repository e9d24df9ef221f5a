"""The commands together, and what they share: which lab, which store, which output."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

import bakeoff
from bakeoff.lab import Lab

if TYPE_CHECKING:
    from bakeoff.store import Store

app = typer.Typer(
    name="bakeoff",
    help="A laboratory for comparing server-side technology.",
    epilog="Exit codes: 0 done, 1 trials failed or a check failed, 2 bad input, 3 cannot run here, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
# Texts from files and logs may hold brackets; they are never markup.
out = Console(highlight=False, markup=False)
err = Console(stderr=True, highlight=False, markup=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
ExperimentName = Annotated[str, typer.Argument(help="An experiment of this lab, or the path of an experiment.yaml.")]
RunName = Annotated[str, typer.Argument(help="A run's id, a beginning of it, `last` or `last~1`.")]
ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile", "-p", help="A profile; `quick` where there is one. `full` for the experiment as written."
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed of the order; the experiment's if not given.")]


class Where:
    """The lab and the store that the options before the command name."""

    folder: Path | None = None
    store_url: str | None = None

    @classmethod
    def lab(cls) -> Lab:
        """The lab."""
        return Lab.find(cls.folder)

    @classmethod
    def named_store(cls) -> str:
        """The URL that the user has named; empty if none."""
        return cls.store_url or os.environ.get("BAKEOFF_STORE", "")

    @classmethod
    def store(cls, read_only: bool = False) -> Store:
        """The store, opened."""
        from bakeoff.store import Store

        return Store(cls.named_store() or f"sqlite:///{cls.lab().state / 'store.db'}", read_only)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"bakeoff {bakeoff.__version__}")
        raise typer.Exit


@app.callback()
def options(
    lab: Annotated[
        Path | None, typer.Option("--lab", help="The lab's folder; the one around this folder if not given.")
    ] = None,
    store: Annotated[
        str | None, typer.Option("--store", help="The store's URL; the lab's own SQLite file if not given.")
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A laboratory for comparing server-side technology."""
    Where.folder, Where.store_url = lab, store


def print_json(data: Any) -> None:
    """Prints plain data as one JSON document."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False, default=str))


def chosen_profile(profiles: Any, asked: str | None) -> str | None:
    """The profile to take: the one asked for, else `quick` where there is one; `full` is the experiment as written."""
    if asked == "full":
        return None
    return asked or ("quick" if "quick" in profiles else None)


# The commands register themselves.
from bakeoff.cli import compare, doctor, export, look, report, run, schema, serve, setup, status  # noqa: E402, F401
