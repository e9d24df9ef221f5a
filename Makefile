# Two commands matter: `make demo` and `make test`. Both start on a bare machine and install what they need.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUST := $(shell find instruments -path instruments/wasm -prune -o \( -name '*.rs' -o -name Cargo.toml \) -print) Cargo.toml Cargo.lock
WASM := --manifest-path instruments/wasm/Cargo.toml --locked
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

.PHONY: setup demo test lint test-python test-rust test-systems test-wasm test-wasm-languages platforms test-platforms programs clean
.DEFAULT_GOAL := setup

setup: $(STAMP)

# The virtual environment with pinned packages, each checked by its hash.
$(BIN)/python: requirements.lock
	test -x $@ || python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements.lock
	touch $@

# The lab (editable) and the instruments (compiled), as one wheel.
$(STAMP): $(BIN)/python pyproject.toml packaging.data/scripts/bakeoff $(RUST)
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# From nothing to a report: threads against two kinds of services.
demo: setup
	$(BIN)/bakeoff doctor
	$(BIN)/bakeoff run message-passing --profile quick

test: setup lint test-rust test-systems test-python

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	cargo fmt --all --check
	cargo fmt --manifest-path instruments/wasm/Cargo.toml --check
	cargo clippy --workspace --all-targets --locked --quiet -- --deny warnings

test-rust:
	cargo test --workspace --locked --quiet

# The systems' own tests, in the languages they are written in.
test-systems: setup
	./tests/systems.sh

# The instrument for Wasm modules with all its engines, apart because these take many minutes to build.
test-wasm: setup
	cargo clippy $(WASM) --features all --all-targets --quiet -- --deny warnings
	cargo test $(WASM) --features all --quiet
	BAKEOFF_WASM=instruments/wasm/target/debug/bakeoff-wasm $(BIN)/python -m pytest tests/test_wasm.py

# The languages of the experiment wasm-languages: every toolchain is installed, every program built, run and checked. The first time takes an hour.
test-wasm-languages: setup
	BAKEOFF_TEST_INSTALL=1 $(BIN)/python -m pytest tests/test_wasm_languages.py tests/test_debs.py

# The platforms whose tools are quick to have, for the tests of them. What cannot be had is skipped with its reason.
platforms: setup
	$(BIN)/bakeoff setup wasm-platforms wasm-platforms-http container-isolation --profile smoke

# Every platform that this machine can have: its tools are installed, its contract is tested, and it is started and stopped a hundred times.
test-platforms: setup
	$(BIN)/bakeoff setup wasm-platforms wasm-platforms-http container-isolation
	BAKEOFF_TEST_INSTALL=1 $(BIN)/python -m pytest tests/platforms
	$(BIN)/python tests/platforms/start_and_stop.py --count 100

# Debian's programs that tests use: a browser for the pages, and cpio, which must read the archives that we write.
programs:
	command -v cpio >/dev/null || (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends cpio)
	command -v chromium >/dev/null || (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core)

test-python: setup programs platforms
	$(BIN)/python -m pytest

clean:
	rm -rf $(VENV) target instruments/wasm/target .bakeoff
