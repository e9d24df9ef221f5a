"""What the tests of platforms share."""

from __future__ import annotations

import os

import pytest

from bench import LAB, Bench, Unavailable

# A container around a runtime is one platform, whichever runtime it is.
TESTED = [name for name in LAB.platforms if not name.startswith("podman+") or name == "podman+wasmtime"]
# What `make test` leaves to `make test-platforms`, and why.
LATER = {
    "qemu-emulated": "an emulated machine takes minutes",
    "wasmedge-universal": "it differs from wasmedge-aot in the file's form alone",
    "wazero-interpreter": "it differs from wazero in one word",
    "wazero-warm": "it differs from wazero in one word",
    "podman-crun-wasmedge-aot": "it differs from podman-crun-wasmedge in the module alone",
}


@pytest.fixture(scope="session", params=TESTED)
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Each platform of the lab, with the subject on it; skipped with the reason where it cannot be had."""
    folder = tmp_path_factory.getbasetemp() / "platforms"
    folder.mkdir(exist_ok=True)
    if request.param in LATER and "BAKEOFF_TEST_INSTALL" not in os.environ:
        pytest.skip(f"{LATER[request.param]}; `make test-platforms` tests it")
    try:
        return Bench(LAB.platforms[request.param], folder / request.param)
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The subject without anything around it."""
    folder = tmp_path_factory.getbasetemp() / "platforms"
    folder.mkdir(exist_ok=True)
    try:
        return Bench(LAB.platforms["native"], folder / "bare")
    except Unavailable as reason:
        pytest.skip(str(reason))
