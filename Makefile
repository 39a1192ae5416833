# Everything runs in its own .venv, made with python3 -m venv and pip alone.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest

.PHONY: demo test lint bench clean test-slow

demo: .venv/ready
	$(BIN)/xskill canon sample_data/*.jsonl.gz | $(BIN)/xskill mine | $(BIN)/xskill tree show --top 12

test: .venv/dev
	$(PYTEST) -n 2 -m "not env and not llm and not browser and not slow"

test-slow: .venv/dev
	$(PYTEST) -n 2 -m slow

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/dev
	$(BIN)/python -m bench

.venv/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "xskill needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/ready: .venv/python pyproject.toml constraints.txt
	$(PIP) -c constraints.txt -e .
	@touch $@

.venv/dev: .venv/ready
	$(PIP) -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis bench/out demo
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
