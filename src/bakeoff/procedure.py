"""The format of an experiment's `procedure:`: how its trials are carried out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from bakeoff.quantities import CpuList, Seconds, SizeBytes, problem
from bakeoff.yamlfile import Strict


class Limits(Strict):
    """What the instrument holds the system to."""

    cpus: CpuList | None = Field(None, description="CPU set, such as 0 or 0-1")
    cpu: float | None = Field(None, gt=0, description="CPU time a second, in cores")
    memory: SizeBytes | None = Field(None, description="memory of all processes together")


class ExecProcedure(Strict):
    """The system's main part runs to its end."""

    kind: Literal["exec"]
    timeout: Seconds = 600.0
    sample: Seconds = Field(0.1, description="interval of the CPU and memory series; 0 for none")
    counters: bool = Field(False, description="read the hardware counters where the machine has them")
    limits: Limits = Limits()


class BuildProcedure(Strict):
    """A clean build in an empty folder, with compiler caches off."""

    kind: Literal["build"]
    timeout: Seconds = 1800.0
    limits: Limits = Limits()


class Request(Strict):
    """One kind of request, and what its answer must be. Texts may use parameters in braces."""

    name: str = ""
    weight: float | str = 1.0
    method: str = "GET"
    path: str = "/"
    headers: dict[str, str] = {}
    body: str | None = None
    status: int = Field(200, ge=100, le=599)
    answer: str | None = Field(None, description="the exact body of the answer")


def _filled_later(value: Any) -> Any:
    """A parameter in braces stands for a value that the cell gives."""
    if isinstance(value, str) and not (value.startswith("{") and value.endswith("}")):
        raise problem(f"{value!r} is neither a number nor a parameter", "write a number, or a parameter as {name}")
    return value


Count = Annotated[int | str, BeforeValidator(_filled_later)]
Number = Annotated[float | str, BeforeValidator(_filled_later)]
Switch = Annotated[bool | str, BeforeValidator(_filled_later)]
Time = Annotated[str | float, Field(description="such as 10s, or a parameter in braces")]


class Load(Strict):
    """The load of a step. With `rate` the loop is open and the rate is given, else it is closed: each connection
    sends its next request when its answer has come."""

    connections: Count = Field(10, description="0: a step without load, as long as `duration`")
    rate: Number | None = Field(None, description="requests a second")
    spacing: Literal["constant", "poisson"] = "constant"
    max_connections: Count | None = None
    duration: Time = "10s"
    requests: Count | None = Field(None, description="end after so many requests, if `duration` is not over")
    timeout: Time = "5s"
    keepalive: Switch = True
    threads: int | None = Field(None, ge=1, description="as many as the generator has CPUs, if not set")
    requests_to_send: list[Request] = Field([Request()], min_length=1, alias="send")


class WarmUp(Strict):
    """Load before the first step, until the rate has settled."""

    connections: Count | None = Field(None, description="as the first step's, if not set")
    at_least: Seconds = 2.0
    at_most: Seconds = 15.0


class CpuSets(Strict):
    """The CPUs of the system and of the load generator; apart where the machine has two or more."""

    system: CpuList | None = None
    load: CpuList | None = None


class ServeProcedure(Strict):
    """The system is started, made ready, checked, warmed up, put under the load steps, left idle, and stopped."""

    kind: Literal["serve"]
    url: str = Field("http://{host}:{port}", description="where the system serves; paths of requests are added")
    load: Load
    checks: list[Request] = Field([], description="sent once before the load; a wrong answer makes the trial wrong")
    warm_up: WarmUp | None = WarmUp()
    pause: Seconds = Field(0.2, description="between two steps")
    idle: Seconds = Field(1.0, description="a window without load, after the steps")
    cpus: Literal["auto"] | CpuSets = "auto"
    sample: Seconds = 0.25
    counters: bool = False
    limits: Limits = Limits()


WASM_INSTRUMENT = "bakeoff-wasm"


class WasmProcedure(Strict):
    """The system's main part, a Wasm module, runs in an embedded engine under bakeoff-wasm, each phase timed."""

    kind: Literal["wasm"]
    engine: str = Field("wasmtime", description="the engine, or a parameter in braces")
    timeout: Seconds = Field(600.0, gt=0, description="of compiling, and of each replication")
    memory: SizeBytes | None = Field(None, ge=1 << 16, description="linear memory that the module may have")
    replications: int = Field(
        1,
        ge=1,
        le=100_000,
        description="in one process, each in a fresh instance; above 1 a trial's figure is their median",
    )
    warm_up: int = Field(0, ge=0, le=100_000, description="replications in the same process before them")
    compile: Literal["each", "once"] = Field(
        "each",
        description="each: every process compiles the module, and times that; "
        "once: the first process of the run compiles it, and all load what it has kept",
    )
    count_calls: bool = Field(
        True, description="one trial more for each cell, in which WASI calls are counted and nothing is timed"
    )
    copies: list[str] = Field([], alias="copy", description="files that are copied into the fresh folder")
    check: list[str] = Field(
        [],
        description="command that looks at the files, started in the fresh folder after each replication; 0 is right",
    )
    counters: bool = Field(False, description="read the hardware counters where the machine has them")
    limits: Limits = Limits()


Procedure = Annotated[ExecProcedure | BuildProcedure | ServeProcedure | WasmProcedure, Field(discriminator="kind")]
