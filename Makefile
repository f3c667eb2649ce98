# Everything here bootstraps its own virtual environment; all it needs is python3 (3.11 or newer).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-all test-studies fuzz check types format bench reproduce docs dist coverage clean help

help:
	@echo "make demo    set up, and see multiple-instance learning at work on images"
	@echo "make test    set up, and run the quick tests: six minutes at most on two cores"
	@echo "make test-all      these and the slow tests: all but the studies"
	@echo "make test-studies  the tests that take minutes each"
	@echo "make fuzz    hostile cases for SECONDS=600, from SEED=0 on (docs/reliability.md)"
	@echo "make check   lint, formatting, types, and how many functions a fit runs through (tools/walks.py)"
	@echo "make types   how much of the public types pyright knows: 95 % or more"
	@echo "make format  apply the formatting, and write the stub of public names"
	@echo "make bench   run the benchmarks and write benchmarks/RESULTS.md"
	@echo "make reproduce NAME=milr-fig2  rerun an experiment of a paper; without NAME, list them (OPTIONS=--quick: seconds)"
	@echo "make coverage  which lines the tests run, the kernels as plain Python; much slower than make test"
	@echo "make dist    build sdist and wheel, and see that the wheel is whole and below a megabyte"
	@echo "make docs    build the site: docs/_build/html/index.html (GALLERY=0: tutorials are not executed)"

demo: $(VENV)/.demo
	$(BIN)/bagwise demo

# Every test is run by one of these three recipes, chosen by its markers (tests/project/test_groups.py).
# Two workers with one BLAS thread each, so that a laptop is used and not fought over; warnings are errors.
# Other options for pytest come from outside: make test PYTEST="-k mixture", or PYTEST='-m ""' for all tests at once.
test: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not study" $(PYTEST)

test-all: test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "slow and not study" $(PYTEST)

test-studies: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "study" $(PYTEST)

SECONDS ?= 600
SEED    ?= 0
fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $(SEED)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/walks.py

# pyright and the types of scikit-learn that others wrote stand apart: mypy would take those for scikit-learn's own.
types: $(VENV)/.dev
	test -x $(VENV)-types/bin/pyright || { $(PYTHON) -m venv $(VENV)-types && $(VENV)-types/bin/python -m pip install --quiet --disable-pip-version-check pyright scikit-learn-stubs; }
	$(BIN)/python tools/type_completeness.py $(VENV)-types

format: $(VENV)/.dev
	$(BIN)/python tools/write_stub.py
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# The experiments of the papers (reproduction/); results go to bagwise-results/ unless OPTIONS has --out.
NAME    ?=
OPTIONS ?=
reproduce: $(VENV)/.dev
	$(BIN)/python -m reproduction $(NAME) $(OPTIONS)

# Compiled code runs no lines that could be counted: the kernels are counted with the compiler off, which is a hundred times
# slower, by the tests near them and without the public data. Plain Python warns of infinities where compiled code does
# not, and refuses exponentials beyond the largest number: three tests of densities fail so, and count nevertheless.
KERNELS := tests/rules tests/solvers tests/models/prototypes tests/models/neighbors tests/similarity tests/families \
  tests/models/trees tests/models/multilabel tests/models/mixture/test_exactness.py tests/models/pu/test_instances.py \
  tests/core/test_arrays.py
coverage: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m coverage run --data-file=.coverage.suite -m pytest -q
	-BAGWISE_DATA= OPENBLAS_NUM_THREADS=1 NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run --data-file=.coverage.kernels \
	  -m pytest -q -W ignore::RuntimeWarning -m "not slow" -k "not cost_not_much_more" $(KERNELS)
	$(BIN)/python -m coverage report --data-file=.coverage.suite --omit='*/_core/compiled/*'
	$(BIN)/python -m coverage report --data-file=.coverage.kernels --include='*/_core/compiled/*'

dist: $(VENV)/.dev
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python -m pytest -q tests/project/test_release.py
	@ls -l dist

GALLERY ?= 1
docs: $(VENV)/.docs
	OPENBLAS_NUM_THREADS=1 BAGWISE_GALLERY=$(GALLERY) $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "written: docs/_build/html/index.html"

clean:
	rm -rf $(VENV) dist .coverage.* docs/_build docs/reference docs/tutorials docs/_static/drawn .pytest_cache .mypy_cache .ruff_cache .hypothesis

# A stamp per set of extras: installing again happens only when pyproject.toml changes.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "installing bagwise and what it needs into $(VENV), once: a minute or two"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plot,cli]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	@echo "installing what the site needs into $(VENV), once: some minutes"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "installing what tests and checks need into $(VENV), once: some minutes"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("bagwise needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
