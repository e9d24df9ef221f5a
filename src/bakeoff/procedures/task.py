"""What a procedure gets: one trial with all that it needs to be carried out."""

from __future__ import annotations

import hashlib
import os
import socket
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bakeoff import toolbox
from bakeoff.experiment import Experiment
from bakeoff.instruments import Watched
from bakeoff.names import Scalar
from bakeoff.places import HERE, Place
from bakeoff.plan import Trial
from bakeoff.platforms import Program
from bakeoff.prepare import Prepared, substitute
from bakeoff.procedure import Limits
from bakeoff.system import Part

LOG_KINDS = ("stdout", "stderr")


@dataclass(frozen=True)
class Task:
    """One trial. `logs` and `kept` are folders of the lab's, the second one for the whole run; `scratch` is made and
    removed by the instrument."""

    experiment: Experiment
    prepared: Prepared
    trial: Trial
    seed: int
    logs: Path
    scratch: Path
    kept: Path
    place: Place = HERE

    @cached_property
    def values(self) -> dict[str, Scalar]:
        """All parameters that commands and formulas of this trial may use."""
        system = self.prepared.system
        variant = system.variants[self.prepared.variant].parameters if self.prepared.variant else {}
        ports = {f"port{n if n > 1 else ''}": port for n, port in enumerate(free_ports(9), start=1)}
        built_in = {"host": "127.0.0.1", "scratch": str(self.scratch), **ports, **self.prepared.places()}
        return {**system.parameters, **variant, **self.trial.parameters, **built_in}

    @property
    def numbers(self) -> dict[str, float]:
        """The parameters that are numbers."""
        return {key: float(value) for key, value in self.values.items() if isinstance(value, int | float)}

    def program(self, name: str, part: Part) -> Program:
        """A part's program with all parameters filled in."""
        system, hosting = self.prepared.system, self.prepared.hostings[name]
        variant = system.variants[self.prepared.variant].env if self.prepared.variant else {}

        def fill(text: str) -> str:
            return substitute([text], self.values)[0]

        return Program(
            hosting.kind,
            fill(part.programs()[hosting.kind]),
            tuple(fill(word) for word in part.words()),
            {key: fill(value) for key, value in {**part.env, **variant}.items()},
            {inside: fill(outside) for inside, outside in part.folders.items()},
            fill(part.address) if part.address else None,
            self.trial.procedure == "profile",
        )

    def watched(self, name: str, part: Part, limits: Limits | None = None, **settings: object) -> Watched:
        """A part on its platform as the instrument is to run it, with a clean environment."""
        system, hosting, limits = self.prepared.system, self.prepared.hostings[name], limits or Limits()
        launch = hosting.platform.launch(self.program(name, part), hosting.made, limits, self.prepared.paths)
        return Watched(
            launch.command,
            cwd=self.prepared.out or self.prepared.folder,
            env=self.environment | dict(launch.env),
            limits=Limits() if launch.holds_limits else limits,
            inner_group=launch.inner_group,
            clear_env=True,
            stop_signal=system.stop.signal,
            grace=system.stop.grace,
            stdout=self.logs / f"{name}.stdout",
            stderr=self.logs / f"{name}.stderr",
            place=self.place,
            **settings,  # type: ignore[arg-type]
        )

    @property
    def environment(self) -> dict[str, str]:
        """The environment of every part: the tools' PATH, and a padding of random size.

        The size of the environment shifts the stack, which changes the speed of some programs; drawing it anew
        for each trial turns that bias into noise (Mytkowicz et al., ASPLOS 2009).
        """
        draw = hashlib.sha256(f"{self.seed}|padding|{self.trial.position}".encode()).digest()
        padding = int.from_bytes(draw[:2]) % 4096
        keep = {key: os.environ[key] for key in ("HOME", "USER", "TMPDIR") if key in os.environ}
        return keep | toolbox.environment(self.prepared.paths) | {"LC_ALL": "C.UTF-8", "BAKEOFF_PADDING": "x" * padding}

    @property
    def size(self) -> int | None:
        """Bytes of what has to be carried to another machine that has the platform; None where clean builds tell it."""
        wanted = "artefact_size" in self.experiment.metrics and self.experiment.builds is None
        return (self.prepared.receipt or {}).get("artefact_size") if wanted else None

    def log_files(self) -> list[tuple[str, str, bytes]]:
        """The logs that the parts wrote, as artefacts."""
        return log_files(self.logs)


def log_files(folder: Path) -> list[tuple[str, str, bytes]]:
    """The files of a trial's log folder as artefacts; empty ones are left out."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    return [(file.name, "text/plain", data) for file in files if (data := file.read_bytes())]


def free_ports(count: int) -> list[int]:
    """TCP ports on loopback that nobody listens on now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
