# `make demo` and `make test` install what they need; `make help` lists the rest.
PYTHON ?= python3
BIN := .venv/bin
DEMO := .venv/demo
# Three processes for two cores, because many tests wait. worksteal keeps consecutive tests in the same process, so that
# the tests of a module share their fixtures.
PARALLEL := -n 3 --dist worksteal

# With PYTHONWARNINGS=error, warnings of pip's own code would end the installation. The tests set what they need.
unexport PYTHONWARNINGS

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all test-processors emulated lint docs man reference format bench objectives faults mutants lock audit clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 17

install: .venv/tools ## Install the package and its tools into .venv

# If PYTHON is given and .venv has another Python version, create .venv again from scratch.
ifneq ($(origin PYTHON),file)
VERSION := -c 'import sys; print(sys.hexversion)'
ifneq ($(shell $(PYTHON) $(VERSION)),$(shell { $(BIN)/python $(VERSION); } 2>/dev/null))
CLEAR := --clear
.PHONY: .venv/installed
endif
endif

# What a user needs, and the build backend.
.venv/installed: pyproject.toml requirements-user.lock
	$(PYTHON) -m venv $(CLEAR) .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-user.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

.venv/tools: .venv/installed requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	touch $@

demo: .venv/installed ## Train on data/simplewiki.txt; print neighbors and scores
	@mkdir -p $(DEMO)
	$(BIN)/w2vtrain fit data/simplewiki.txt --config configs/small-corpus.toml -o $(DEMO)/vectors.txt --force
	@echo
	$(BIN)/w2vtrain neighbors $(DEMO)/vectors.txt -n 6 france water music war red two river doctor king winter
	@echo
	$(BIN)/w2vtrain eval analogies $(DEMO)/vectors.txt data/eval/questions-words.txt
	@echo
	$(BIN)/w2vtrain eval similarity $(DEMO)/vectors.txt data/eval/wordsim353.tsv

test: install ## Run the tests; takes 4 to 5 minutes on 2 cores (AMD Zen 5) if no kernel is compiled
	$(BIN)/python -m pytest $(PARALLEL)

test-all: install ## Run all tests, including the slow ones
	$(BIN)/python -m pytest $(PARALLEL) -m ''

# Kernels and the order of their sums depend on the vectors of the processor: of 4 float32 with SSE, 8 with AVX2, 16 with
# AVX-512. Given only a name, Numba keeps the features of this processor. W2V_LANES is what a test expects.
LANES_4 := W2V_LANES=4 NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES=
LANES_8 := W2V_LANES=8 NUMBA_CPU_NAME=haswell
LANES_8 := $(LANES_8) NUMBA_CPU_FEATURES=+sse4.2,+popcnt,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe
COMPILED := tests/kernels tests/engines tests/architectures tests/objectives tests/probability/test_dense.py

ifeq ($(shell uname -m),x86_64)
test-processors: export W2V_KEEP := NUMBA_CPU_NAME NUMBA_CPU_FEATURES
test-processors: export NUMBA_CACHE_DIR := $(CURDIR)/build/processors
test-processors: install ## Run the tests of kernels as compiled for x86-64 without AVX, and without AVX-512
	$(LANES_4) $(BIN)/python -m pytest $(PARALLEL) $(COMPILED)
	$(LANES_8) $(BIN)/python -m pytest $(PARALLEL) $(COMPILED)
else
test-processors:
	@echo "make test-processors is for x86-64"
endif

# An ARM Python of Debian, extracted without running its scripts, and wheels in the locked versions. What it emulates
# cannot start processes of its own, as one of the tests does.
ARM := build/arm64
ARM_DEBIAN := python3.11-minimal,libpython3.11-stdlib,libstdc++6,zlib1g
ARM_PYTHON := click|filelock|msgspec|numba|llvmlite|numpy|orjson|platformdirs|psutil|safetensors|scipy|threadpoolctl|tqdm|zstandard
ARM_PYTHON := $(ARM_PYTHON)|pytest|hypothesis|sortedcontainers|iniconfig|packaging|pluggy|pygments|markdown-it-py|mdurl
ARM_PLATFORMS := manylinux_2_28_aarch64 manylinux_2_27_aarch64 manylinux_2_17_aarch64 manylinux2014_aarch64
EMULATED := tests/kernels/test_tiles.py tests/kernels/test_rows.py tests/kernels/test_logistic.py

$(ARM)/installed: requirements.lock
	rm -rf $(ARM) && mkdir -p $(ARM)
	mmdebstrap --quiet --variant=extract --arch=arm64 --include=$(ARM_DEBIAN) bookworm $(ARM)/root
	grep -oE '^($(ARM_PYTHON))==[^ ;]+' requirements.lock > $(ARM)/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.11 \
		$(addprefix --platform ,$(ARM_PLATFORMS)) --target $(ARM)/packages --requirement $(ARM)/requirements.txt
	touch $@

emulated: install $(ARM)/installed ## Test kernels on emulated 64-bit ARM; needs qemu-user-static, mmdebstrap: EMULATED="TESTS"
	qemu-aarch64-static -L $(CURDIR)/$(ARM)/root -E PYTHONPATH=$(CURDIR)/$(ARM)/packages:$(CURDIR) \
		-E NUMBA_CACHE_DIR=$(CURDIR)/$(ARM)/kernels $(ARM)/root/usr/bin/python3.11 \
		-m pytest -p no:cacheprovider -k "not reads_nothing_beyond" $(EMULATED)

lint: install ## Run ruff, and mypy for each operating system
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin

docs: install ## Build the documentation site in build/docs; warnings are errors
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/docs

man: install ## Write the manual page build/man/w2vtrain.1, from the help of the commands
	$(BIN)/sphinx-build --quiet --fail-on-warning -b man -d build/docs/.doctrees docs build/man

reference: install ## Write the pages and figures of docs/ that the code determines
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/learning.py

format: install ## Fix lint errors that ruff can fix, and format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install ## Compare speed and accuracy with gensim: BENCH="CORPUS [options]", see `w2vtrain bench --help`
	$(BIN)/w2vtrain bench $(or $(BENCH),data/simplewiki.txt)

objectives: install ## Measure docs/measurements.md, in hours: PTB=FOLDER ENWIKI=FILE GERMAN=FILE; or any text: CORPUS=FILE
	$(BIN)/python benchmarks/objective_runs.py --ptb "$(PTB)" --enwiki "$(ENWIKI)" --german "$(GERMAN)" $(if $(CORPUS),--corpus "$(CORPUS)")
	$(if $(CORPUS),,$(BIN)/python docs/generate.py)

faults: install ## Show how w2vtrain, gensim and fastText handle faults: FAULTS="--fasttext-python PYTHON"
	$(BIN)/python tests/faults.py $(FAULTS)

mutants: install ## Show that the tests notice each of a table of bugs, in 6 minutes: MUTANTS="NAMES OR FOLDERS"
	$(BIN)/python tests/mutants.py $(MUTANTS)

# A lock serves all platforms and Python versions. uv keeps the locked versions if pyproject.toml allows them. The lock
# of `make demo` is a part of the other: what the package needs, and its build backend.
COMPILE := .venv/lock/bin/python -m uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-annotate --custom-compile-command 'make lock' --quiet
lock: ## Rewrite requirements*.lock from pyproject.toml; LOCK=--upgrade selects the newest versions
	rm -rf .venv/lock && $(PYTHON) -m venv .venv/lock
	.venv/lock/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9,<1'
	$(COMPILE) --extra dev --output-file requirements.lock $(LOCK)
	printf '%s\n' hatchling editables | $(COMPILE) - --constraints requirements.lock --output-file requirements-user.lock
	rm -rf .venv/lock

# --strict: fail if a package cannot be looked up, instead of skipping it.
audit: ## Check the packages in requirements.lock for known vulnerabilities; needs network access
	rm -rf .venv/audit && $(PYTHON) -m venv .venv/audit
	.venv/audit/bin/python -m pip install --quiet --disable-pip-version-check 'pip-audit>=2.9,<3'
	.venv/audit/bin/python -m pip_audit --strict --require-hashes --disable-pip --requirement requirements.lock
	rm -rf .venv/audit

clean: ## Remove .venv and all generated files
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
