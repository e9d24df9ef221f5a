"""The format of a toolbox entry's `platforms:`: how the command line of a runtime is spoken to."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, model_validator

from bakeoff.experiment import PLACEHOLDER
from bakeoff.names import Name
from bakeoff.quantities import problem
from bakeoff.yamlfile import Strict

Words = Annotated[list[str], Field(min_length=1)]
MANY = ("folders", "variables", "listen", "profile", "arguments")


class Runtime(Strict):
    """One way in which a runtime runs an artefact: `{artefact}` is its file, `compile` fills the folder `{made}`."""

    title: str
    about: str = ""
    kinds: list[Name] = Field(min_length=1, description="kinds of artefacts that it runs, the best first")
    compile: list[Words] = Field([], description="commands before any start, with {artefact} and {made}")
    run: Words = Field(
        description="the command; the words {folders}, {variables}, {listen}, {profile} and {arguments} stand for many"
    )
    folder: list[str] = Field([], description="words for each folder of the program, with {inside} and {outside}")
    maps: bool = Field(True, description="whether a folder can be shown under another path than its own")
    variable: list[str] = Field([], description="words for each variable of the program, with {name} and {value}")
    listen: list[str] = Field([], description="words for a program that serves, with {host} and {port}")
    profile: list[str] = Field([], description="words that make the runtime tell perf of the code that it makes")
    env: dict[str, str] = Field(
        {}, description="environment of the runtime itself, with {artefact}, {made}, {host} and {port}"
    )
    state: Literal["cold", "warm", "none"] = Field(
        description="what a start finds: it compiles, it was compiled before, or there is nothing to compile"
    )
    starts: Literal["start", "request"] = Field("start", description="when the program's first statement runs")

    @model_validator(mode="after")
    def _words(self) -> Runtime:
        places = {
            "run": {"artefact", "made", "here", *MANY},
            "folder": {"inside", "outside"},
            "variable": {"name", "value"},
            "listen": {"host", "port"},
            "env": {"artefact", "made", "host", "port"},
        }
        for key, known in places.items():
            for word in self.env.values() if key == "env" else getattr(self, key):
                for used in PLACEHOLDER.findall(word):
                    if used not in known:
                        raise problem(f"{{{used}}} means nothing here", f"use one of {', '.join(sorted(known))}", key)
                    if used in MANY and not re.fullmatch(r"\{\w+\}", word):
                        raise problem(f"{{{used}}} stands for many words", "write it as a word of its own", key)
        if (self.state == "warm") != bool(self.compile):
            raise problem("a warm start was compiled before, and only that", "add or remove `compile:`", "state")
        return self
