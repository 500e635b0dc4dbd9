# `make demo` and `make test` install what they need; `make help` lists the rest.
PYTHON ?= python3
BIN := .venv/bin
DEMO := .venv/demo
# Neighbors in the order of the tests go to the same process, which makes what a module's tests share.
PARALLEL := -n 2 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all lint format bench faults lock audit clean

help: ## List these verbs
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

install: .venv/installed ## Install the package and its tools into .venv

# If PYTHON is named and .venv has another version, .venv is made anew.
ifneq ($(origin PYTHON),file)
VERSION := -c 'import sys; print(sys.hexversion)'
ifneq ($(shell $(PYTHON) $(VERSION)),$(shell { $(BIN)/python $(VERSION); } 2>/dev/null))
CLEAR := --clear
.PHONY: .venv/installed
endif
endif

.venv/installed: pyproject.toml requirements.lock
	$(PYTHON) -m venv $(CLEAR) .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

demo: install ## Train on data/simplewiki.txt; print neighbors and scores
	@mkdir -p $(DEMO)
	$(BIN)/w2vtrain fit data/simplewiki.txt --config configs/small-corpus.toml -o $(DEMO)/vectors.txt --force
	@echo
	$(BIN)/w2vtrain neighbors $(DEMO)/vectors.txt -n 6 france water music war red two river doctor king winter
	@echo
	$(BIN)/w2vtrain eval analogies $(DEMO)/vectors.txt data/eval/questions-words.txt
	@echo
	$(BIN)/w2vtrain eval similarity $(DEMO)/vectors.txt data/eval/wordsim353.tsv

test: install ## The tests; under 10 minutes on 2 cores
	$(BIN)/python -m pytest $(PARALLEL)

test-all: install ## Also the slow ones
	$(BIN)/python -m pytest $(PARALLEL) -m ''

lint: install ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install ## Let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install ## Speed and accuracy beside gensim: BENCH="CORPUS [options]", see `w2vtrain bench --help`
	$(BIN)/w2vtrain bench $(or $(BENCH),data/simplewiki.txt)

faults: install ## Faults and what w2vtrain, gensim and fastText do about them: FAULTS="--fasttext-python PYTHON"
	$(BIN)/python tests/faults.py $(FAULTS)

# One lock serves all platforms and Python versions. uv keeps the versions that it finds there if pyproject.toml allows.
lock: ## Rewrite requirements.lock from pyproject.toml; LOCK=--upgrade moves to the newest versions
	rm -rf .venv/lock && $(PYTHON) -m venv .venv/lock
	.venv/lock/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9,<1'
	.venv/lock/bin/python -m uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
		--generate-hashes --no-annotate --custom-compile-command 'make lock' --quiet --output-file requirements.lock $(LOCK)
	rm -rf .venv/lock

# --strict: a package that the service does not answer for is a failure, not a pass.
audit: ## Look up known vulnerabilities of what requirements.lock names; needs the network
	rm -rf .venv/audit && $(PYTHON) -m venv .venv/audit
	.venv/audit/bin/python -m pip install --quiet --disable-pip-version-check 'pip-audit>=2.9,<3'
	.venv/audit/bin/python -m pip_audit --strict --require-hashes --disable-pip --requirement requirements.lock
	rm -rf .venv/audit

clean: ## Remove .venv and everything made
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
