# Everything starts here. `make demo` and `make test` set up what they need, from a clone with Python 3.11+, make, git and
# a C compiler; toolchains and node modules are kept in $(MCPSOL_CACHE), outside the checkout, and reused.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
export MCPSOL_CACHE ?= $(HOME)/.cache/mcpsol
# Images of Python set it. Each of the thousand processes that tests start would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

PY := .venv/bin/python
PYTEST := $(PY) -m pytest
ARGS ?=

.PHONY: help demo test setup runtime lint format types layers unit functional full full-suite full-bodies-pinocchio full-bodies-native full-mutants full-bodies-anchor full-attack-mutants rust oracles peers core-with-anchorpy fuzz \
        sbf-toolchain validator bench docs regen lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 22

demo: runtime ## the whole way on an in-process SVM: tools listed, an instruction built, executed, its effect read back
	.venv/bin/idl2mcp demo

test: ## everything that CI runs, step by step, with a table of what held
	@.ci/test.sh

# ------------------------------------------------------------------------------------------------------------ environments

setup: ## .venv with all that the suite needs, locked by requirements/dev.txt
	@.ci/python.sh dev

runtime:
	@.ci/python.sh demo

sbf-toolchain: ## the compiler and linker for Solana programs (Debian, as root)
	@templates/sbf/install.sh

validator: ## solana-test-validator: half an hour once, then cached
	@.ci/validator.sh

oracles: setup ## the independent implementations: node modules, and anchorpy in an environment of its own
	@.ci/node.sh
	@.ci/python.sh anchorpy
	@.ci/python.sh x402peer

# ------------------------------------------------------------------------------------------------------------------ checks

lint: setup ## ruff: rules and format
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

format: setup ## ruff: mend what can be mended
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

types: setup ## mypy, strict
	$(PY) -m mypy

layers: setup ## import rules between the packages
	.venv/bin/lint-imports

unit: setup ## the fast tests
	$(PYTEST) tests/unit tests/contracts $(ARGS)

functional: setup ## end to end: render, build, LiteSVM, client, CLI, wheel
	$(PYTEST) tests --ignore tests/unit --ignore tests/contracts $(ARGS)

full: full-suite full-bodies-pinocchio full-bodies-native full-bodies-anchor full-mutants full-attack-mutants ## all full-… parts; a part that was interrupted goes on where it ended

full-suite: oracles ## the suite with many more random values and on everything there is; takes an hour
	HYPOTHESIS_PROFILE=full $(PYTEST) tests -n auto --dist loadfile $(ARGS)

full-bodies-pinocchio: sbf-toolchain ## random bodies of specs: compiled without a finding, and the same in Python and in an SVM
	$(PY) -m tests.long bodies pinocchio --bodies 1000

full-bodies-native full-bodies-anchor: full-bodies-%: sbf-toolchain
	$(PY) -m tests.long bodies $* --bodies 120

full-mutants: sbf-toolchain ## small edits of the compiler of bodies: random bodies or its unit tests notice them
	$(PY) -m tests.long mutants

full-attack-mutants: setup sbf-toolchain ## each generated check of the bundled programs left out once: attack reports it
	$(PY) -m tests.attack_mutants $(ARGS)

rust: sbf-toolchain ## rustfmt, clippy and cargo test over programs/
	@.ci/rust.sh

peers: oracles ## our tests against other people's packages, and a program by PEER_SOURCE=FOLDER (needs sbf-toolchain)
	@.ci/peers.sh $(ARGS)

core-with-anchorpy: oracles ## the core's tests beside anchorpy, so with solders 0.26
	@.ci/core_with_anchorpy.sh $(ARGS)

fuzz: setup ## coverage-guided fuzzing, ARGS="TARGET SECONDS"
	.venv/bin/uv pip install --quiet --python .venv --require-hashes -r requirements/fuzz.txt
	$(PY) -m tests.fuzz $(ARGS)

bench: setup ## yardsticks: both sides measured in the same run, and their ratio
	$(PY) -m benchmarks $(ARGS)

# ---------------------------------------------------------------------------------------------------------------- upkeep

docs: ## the documentation site, in site/; a dead link is an error
	@.ci/python.sh dev
	@.ci/docs.sh

regen: setup ## make golden output and the rendered programs anew; CI demands that nothing changes
	@.ci/regen.sh

lock: setup ## requirements/*.txt and the locks in tests/oracles anew, at the newest versions
	@.ci/lock.sh

clean: ## remove what the checks leave in the checkout (not .venv, not the cache)
	rm -rf build dist site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis programs/target
