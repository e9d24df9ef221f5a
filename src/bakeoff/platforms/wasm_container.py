"""Wasm as an OCI container: the image holds a module and no runtime; crun's handler runs it in WasmEdge's library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bakeoff.platforms import runtime
from bakeoff.platforms.platform import Made
from bakeoff.platforms.podman import Podman
from bakeoff.platforms.runtime import CommandLine
from bakeoff.toolbox import Tool


class WasmContainer(Podman):
    """A container of a module. The handler gives it the container's root as `/`, its variables, and sockets."""

    kinds = ("wasi", "wasmedge")
    tells_exit = False  # crun's handler ends with 0 once the module has run

    def __init__(self, name: str, title: str, about: str, compiler: CommandLine | None = None) -> None:
        super().__init__(name, title, about, "crun")
        self.needs = ("podman", "crun-wasmedge", *(compiler.needs if compiler else ()))
        self.compiler = compiler
        self.state = "warm" if compiler else "none"
        self.recipe = f"{self.recipe} {compiler.recipe if compiler else ''}"

    def make(self, kind: str, artefact: Path, folder: Path, paths: list[str]) -> Made:
        """The image: the module, or what the compiler has made of it under the same name."""
        if self.compiler is None:
            return self.make_image({f"/{artefact.name}": artefact}, folder, paths)
        compiled = folder / "compiled"
        compiled.mkdir()
        inner = self.compiler.make(kind, artefact, compiled, paths)
        made = self.make_image({f"/{artefact.name}": next(compiled.iterdir())}, folder, paths)
        return Made(folder, made.size, {**made.facts, **(inner.facts if inner else {})})

    def options(self) -> list[str]:
        """The annotation by which crun knows a module."""
        return ["--annotation=module.wasm.image/variant=compat"]


def platforms(tools: Mapping[str, Tool]) -> list[WasmContainer]:
    """The platforms of this module."""
    compiler = next((each for each in runtime.platforms(tools) if each.name == "wasmedge-universal"), None)
    about = (
        "A container whose image holds the module alone; crun runs it in WasmEdge's library inside of the container's"
    )
    interpreting = WasmContainer("podman-crun-wasmedge", "podman with crun and WasmEdge", f"{about} process.")
    if compiler is None:
        return [interpreting]
    title = "podman with crun and WasmEdge, compiled before"
    return [
        interpreting,
        WasmContainer("podman-crun-wasmedge-aot", title, f"{about} process, compiled before.", compiler),
    ]
