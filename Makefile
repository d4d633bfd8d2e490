# Two commands do everything on a fresh machine with Python ≥ 3.11, make and git: `make up` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-input
PROTOS := $(wildcard proto/flyball_proto/v1/*.proto)
TYPED := -p flyball_proto -p flyball_daemon -p flyball_agent -p flyball_audit -p flyball_collector -p flyball_planner -p flyball_reports -p flyball \
  -p docs.generator -p grafana.generator -p tests

unexport PYTHONDONTWRITEBYTECODE # where it is set, each start of Python would compile all modules again

.PHONY: up test check static-check bench proto proto-fresh generated generated-fresh gpu-check constraints system-packages clean

## Watch this machine: agent, collector and page with the embedded store.
up: .venv/.runtime
	$(BIN)/flyball up

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Flyball needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 up")'
	@$(PYTHON) -m venv .venv

# Packages come by name, version and hash; the project itself is installed editably, without looking anything up.
.venv/.runtime: constraints.txt pyproject.toml | .venv/bin/python
	@echo "installing Flyball into .venv (once; about a minute)"
	@$(PIP) --require-hashes --requirement constraints.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.dev: constraints-dev.txt pyproject.toml | .venv/bin/python
	@echo "installing Flyball and what its tests need into .venv (once; about a minute)"
	@$(PIP) --require-hashes --requirement constraints-dev.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@ .venv/.runtime

## Everything that CI runs. PyTorch and the frameworks are installed meanwhile: types are checked alike without them.
## What `generated-fresh` runs is part of the tests.
test: system-packages .venv/.dev
	@$(MAKE) --no-print-directory --jobs=2 static-check .venv/.frameworks
	@$(MAKE) --no-print-directory proto-fresh
	@$(BIN)/python -m tests.everything

# PyTorch runs the audit's fixes and traces models. Tests that need it are skipped without it. Only what is imported is
# compiled: pip would compile 195 MB of PyTorch, the frameworks and their packages, of which the tests use a part.
.venv/.training: requirements-training.txt | .venv/.dev
	@$(PIP) --no-compile --requirement requirements-training.txt && $(BIN)/python -c "import torch.distributed" && touch $@ || echo "PyTorch cannot be installed here: tests that need it are skipped"

# Frameworks of training, without a change to what is installed already. Their tests are skipped without them.
.venv/.frameworks: requirements-frameworks.txt | .venv/.training
	@$(BIN)/python -m pip freeze --exclude-editable > .venv/installed.txt
	@test -e .venv/.training && $(PIP) --no-compile --constraint .venv/installed.txt --requirement requirements-frameworks.txt && touch $@ \
	  || echo "the training frameworks cannot be installed here: tests that need them are skipped"

system-packages:
	@tests/system-packages

## Format, lint, words, types, architecture, and generated files that are stale.
check: static-check
	@$(MAKE) --no-print-directory proto-fresh generated-fresh

static-check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m tests.plain_words
	$(BIN)/mypy $(TYPED)
	$(BIN)/lint-imports --no-cache

## Every number of docs/benchmarks.md, with the peers in the same run.
bench: .venv/.dev
	@tests/system-packages stress-ng:stress-ng
	$(BIN)/python -m tests.benchmarks.run

## What can be read from a real NVIDIA GPU here, and what it costs; what the client costs a training on it.
gpu-check: .venv/.runtime
	$(BIN)/python -m flyball_agent.accelerators.check
	$(BIN)/python -m tests.benchmarks.client_on_gpu

## Python modules from the .proto files.
proto: .venv/.dev
	$(BIN)/python -m tests.proto_generation proto

proto-fresh:
	@rm -rf build/proto && mkdir -p build/proto
	@$(BIN)/python -m tests.proto_generation build/proto
	@for made in build/proto/flyball_proto/v1/*; do \
	  cmp -s $$made proto/flyball_proto/v1/$$(basename $$made) || { echo "$$(basename $$made) is stale: run 'make proto'"; exit 1; }; done

## Documents and examples that are made from the code.
generated: .venv/.dev
	$(BIN)/python -m docs.generator
	$(BIN)/python -m grafana.generator

generated-fresh: .venv/.dev
	@$(BIN)/python -m pytest --quiet tests/docs/test_generated.py tests/grafana/test_generated.py tests/client/test_documents.py

## Pin the newest allowed version of every package, with hashes.
constraints: .venv/.dev
	$(BIN)/python -m piptools --version >/dev/null || $(PIP) pip-tools
	$(BIN)/python tests/pin_packages.py

clean:
	rm -rf .venv build dist .flyball
