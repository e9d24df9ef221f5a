"""The format of `system.yaml`: how a system gets its tools, is built, started, made ready and stopped."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from bakeoff.experiment import Expect, Levels
from bakeoff.names import Name, Parameter, Scalar
from bakeoff.quantities import Seconds, problem
from bakeoff.yamlfile import Strict


def _words(command: Any) -> Any:
    if isinstance(command, str):
        raise problem(
            "a command is a list of words, never a line for a shell",
            f"write [{', '.join(command.split()) or 'program'}]",
        )
    return (
        [str(word) if isinstance(word, int | float) and not isinstance(word, bool) else word for word in command]
        if (isinstance(command, list))
        else command
    )


Command = Annotated[list[str], BeforeValidator(_words, json_schema_input_type=list[str | float]), Field(min_length=1)]
Environment = dict[str, str]


class Version(Strict):
    """A command that says the version, and the pattern that finds it. It is the receipt that the system is there."""

    command: Command
    pattern: str = r"(\d+\.\d+(?:\.\d+)?)"

    @model_validator(mode="after")
    def _pattern_compiles(self) -> Version:
        try:
            groups = re.compile(self.pattern).groups
        except re.error as error:
            raise problem(f"{self.pattern!r} is no regular expression: {error}", "correct it", "pattern") from error
        if groups < 1:
            raise problem(f"{self.pattern!r} has no group", "put the version itself in parentheses", "pattern")
        return self


class Build(Strict):
    """Commands that make artefacts out of the sources, in a copy of them."""

    fetch: list[Command] = Field([], description="downloads; run before the commands and not timed")
    commands: list[Command] = Field(min_length=1)
    sources: list[str] = Field(["."], description="folders that the build depends on, relative to this one")
    artefacts: list[str] = Field(min_length=1, description="files or folders in {out}; their size is a metric")
    each: dict[Parameter, Levels] = Field(
        {},
        description="factors with their levels, as in experiments: the commands are run for every combination, each in "
        "a {work} of its own, and an experiment's `builds.factors` may time them apart",
    )

    @property
    def parameters(self) -> set[str]:
        """What commands and artefacts may name in braces because of `each`."""
        levels = [level for levels in self.each.values() for level in levels.values() if isinstance(level, dict)]
        return set(self.each).union(*levels)

    env: Environment = {}
    timeout: Seconds = 1800.0

    @model_validator(mode="after")
    def _inside(self) -> Build:
        for index, name in enumerate(self.artefacts):
            if not name.strip("./") or name.startswith("/") or ".." in name.split("/"):
                mend = "write the path of a file or folder below {out}, such as server or bin/server"
                raise problem(f"{name!r} is not inside {{out}}", mend, f"artefacts.{index}")
        return self


class Ready(Strict):
    """How it is known that a part is ready: exactly one of the conditions."""

    marker: str | None = Field(None, description="a marker on standard output")
    tcp: str | None = Field(None, description="an address that accepts, such as {host}:{port}")
    http: str | None = Field(None, description="a URL that answers with the status")
    exit: int | None = Field(None, description="the part ends by itself with this code")
    status: int = Field(200, ge=100, le=599)
    timeout: Seconds = 30.0

    @model_validator(mode="after")
    def _one_condition(self) -> Ready:
        conditions = [name for name in ("marker", "tcp", "http", "exit") if getattr(self, name) is not None]
        if len(conditions) != 1:
            raise problem(
                f"one condition is needed, this has {len(conditions)}",
                "keep one of marker, tcp, http or exit",
            )
        return self


class Part(Strict):
    """One process of a system. The part called `main`, or the only one, is the one whose end or service is measured."""

    role: str = Field("system", description="what its resources are accounted to, such as system, sidecar, database")
    command: Command | None = Field(None, description="its program and arguments, where it has one program only")
    platform: Name = Field("native", description="what it runs on; a variant may name another platform")
    artefacts: dict[Name, str] = Field(
        {}, description="its program by kind (native, wasi, wasi-http …); the platform takes the kind it runs best"
    )
    arguments: list[str] = Field([], description="of the program, after `artefacts`")
    folders: dict[str, str] = Field({}, description="paths as the program sees them, and the folders that they are")
    address: str | None = Field(
        None, description="where it serves, such as {host}:{port}, for platforms that open the port themselves"
    )
    env: Environment = {}
    ready: Ready | None = None

    @model_validator(mode="after")
    def _one_program(self) -> Part:
        if self.command is None and not self.artefacts:
            mend = "add `command:`, or `artefacts:` for a program that runs on several platforms"
            raise problem("a part has either a command or artefacts", mend, "command")
        if self.command is not None and self.artefacts:
            raise problem("a part has either a command or artefacts", "remove one of them", "artefacts")
        if self.command is not None and self.arguments:
            raise problem("the arguments of a command stand in it", "move them to `command:`", "arguments")
        return self

    def programs(self) -> dict[str, str]:
        """Its program by kind; that of a command is native."""
        return {"native": self.command[0]} if self.command else self.artefacts

    def words(self) -> list[str]:
        """The arguments of its program."""
        return self.command[1:] if self.command else self.arguments


class Stop(Strict):
    """How the system is asked to end, and how long it has before it is killed."""

    signal: Literal["TERM", "INT", "QUIT", "HUP"] = "TERM"
    grace: Seconds = 2.0


class Variant(Strict):
    """The same system with other settings; used as `system:variant`."""

    title: str | None = None
    about: str | None = None
    parameters: dict[Parameter, Scalar] = {}
    env: Environment = Field({}, description="added to every part's environment")
    platform: Name | None = Field(None, description="what the main part runs on")
    unavailable: str | None = Field(None, description="why this variant cannot be had; it stays a row in reports")


class System(Strict):
    """One system under test."""

    title: str
    about: str = ""
    needs: list[Name] = Field([], description="entries of the toolbox")
    version: Version | None = None
    build: Build | None = None
    parts: dict[Name, Part] = Field(min_length=1)
    parameters: dict[Parameter, Scalar] = Field({}, description="settings of its own, used in commands in braces")
    stop: Stop = Stop()
    expect: Expect = Expect()
    variants: dict[Name, Variant] = {}
    unavailable: str | None = Field(
        None, description="why this system cannot be had anywhere; it stays a row in reports"
    )

    @property
    def main(self) -> str:
        """The name of the part that is measured as the system's own end or service."""
        return "main" if "main" in self.parts else next(iter(self.parts))

    def platform_of(self, part: str, variant: str | None) -> str:
        """The platform that a part runs on in a variant."""
        other = self.variants[variant].platform if variant and part == self.main else None
        return other or self.parts[part].platform

    @model_validator(mode="after")
    def _has_main(self) -> System:
        if len(self.parts) > 1 and "main" not in self.parts:
            raise problem("with several parts one of them is the main one", "call one of them `main`", "parts")
        return self
