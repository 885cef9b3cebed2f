# Every target prepares what it needs in .venv first, from python3 alone and the hashed locks.
#   make run     the dashboard over sample_data, at PORT (default 8501)
#   make test    all tests; ARGS is passed to pytest, e.g. make test ARGS="-k vidur"
#   make check   format, lint, types, import contracts, SQL
#   make bench   the benchmarks; ARGS=quick for smaller data
#   make fuzz    damage files at random; fails if any gets in changed or costs a neighbour
#   make fmt     rewrite Python and SQL in the house format
#   make lock    resolve the locks again; UPGRADE=--upgrade takes newer releases

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := setup

PYTHON ?= python3
PORT ?= 8501
ARGS ?=
UPGRADE ?=

BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-cache-dir
EDITABLE := $(INSTALL) --no-deps --no-build-isolation --editable .
SELECTS = $(filter-out queries/macros/% queries/schema/% queries/views/%,$(wildcard queries/*/*.sql))
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --cache-dir .venv/.uv $(UPGRADE)

.PHONY: setup run test bench fuzz fmt lock \
	check check-format check-lint check-types check-imports check-sql

setup: .venv/.dev

run: .venv/.run
	@echo "Headway: http://localhost:$(PORT)"
	@exec $(BIN)/headway serve sample_data --port $(PORT)

test: .venv/.dev
	@$(BIN)/python -m pytest -n 2 --dist loadgroup $(ARGS)

# Each part is a target too; `make -k check` goes on after a failure.
check: check-format check-lint check-types check-imports check-sql

check-format: .venv/.dev
	$(BIN)/ruff format --check .

check-lint: .venv/.dev
	$(BIN)/ruff check .

check-types: .venv/.dev
	$(BIN)/mypy

check-imports: .venv/.dev
	$(BIN)/lint-imports

check-sql: .venv/.dev
	$(BIN)/sqlfluff lint --disable-progress-bar queries
	@$(BIN)/sqlfluff lint --disable-progress-bar --rules CP05,LT02 --exclude-rules "" $(SELECTS)

bench: .venv/.dev
	@$(BIN)/python benchmarks/run.py $(ARGS)

fuzz: .venv/.dev
	@$(BIN)/python benchmarks/fuzz.py $(ARGS)

fmt: .venv/.dev
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	$(BIN)/sqlfluff fix --disable-progress-bar --quiet queries
	$(BIN)/sqlfluff fix --disable-progress-bar --quiet --rules CP05,LT02 --exclude-rules "" $(SELECTS)

# The other two locks are held to the runtime lock, so that no package has two versions.
lock: .venv/.dev
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) --group build -c requirements.lock -o requirements-build.lock
	$(COMPILE) pyproject.toml --group dev -c requirements.lock -c requirements-build.lock \
		-o requirements-dev.lock

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Headway needs Python 3.11 or newer; name one with PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' \
		|| { echo "This Python has no venv; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@echo "Preparing .venv" >&2
	@$(PYTHON) -m venv .venv

# A stamp is older than a changed lock or pyproject.toml, and the next call installs again.
.venv/.run: requirements.lock requirements-build.lock pyproject.toml | .venv/bin/python
	@echo "Installing what the dashboard needs" >&2
	@$(INSTALL) --require-hashes -r requirements.lock -r requirements-build.lock
	@$(EDITABLE)
	@touch $@

.venv/.dev: requirements-dev.lock pyproject.toml | .venv/bin/python
	@echo "Installing what the dashboard, the tests and the checks need" >&2
	@$(INSTALL) --require-hashes -r requirements-dev.lock
	@$(EDITABLE)
	@touch .venv/.run $@
