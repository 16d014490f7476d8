# Everything below needs only Python >= 3.11, Node >= 20, make, and the package registries.

.PHONY: setup demo test lint types clean
.DELETE_ON_ERROR:

SHELL := /bin/bash
BIN := .venv/bin
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)

setup: .venv/installed demo/node_modules/installed

.venv/installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11 or newer is on PATH: install one, or say make PYTHON=/path/to/python" >&2; exit 1; }
	"$(PYTHON)" -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,demo]'
	@touch $@

demo/node_modules/installed: demo/package.json demo/package-lock.json
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || { echo "make: no Node 20 or newer is on PATH: install one" >&2; exit 1; }
	@command -v npm >/dev/null || { echo "make: npm is not on PATH: install it with Node" >&2; exit 1; }
	cd demo && npm ci --ignore-scripts --no-progress --loglevel=error
	@touch $@

demo: setup
	@$(BIN)/python demo/demo.py

test: setup
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: setup
	$(BIN)/mypy

clean:
	rm -rf .venv demo/node_modules .mypy_cache .ruff_cache .pytest_cache
