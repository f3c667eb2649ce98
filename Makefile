# Every target creates the virtual environment that it needs. The only requirement is python3 (3.11 or newer).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-all test-studies fuzz check types format bench reproduce docs dist coverage clean help

help:
	@echo "make demo    install bagwise, and run a multiple-instance learning demo on images"
	@echo "make test    install bagwise, and run the quick tests: at most six minutes on two cores"
	@echo "make test-all      run the quick and the slow tests, without the studies"
	@echo "make test-studies  run the studies, which take minutes each"
	@echo "make fuzz    test unusual and damaged input for SECONDS=600, starting at SEED=0 (docs/reliability.md)"
	@echo "make check   check lint, formatting, types, and the call chains of fits (tools/walks.py)"
	@echo "make types   check with pyright that at least 95 % of the public types are complete"
	@echo "make format  format the code, and write the type stub of the public names"
	@echo "make bench   run the benchmarks, and write benchmarks/RESULTS.md"
	@echo "make reproduce NAME=milr-fig2  rerun an experiment of a paper; without NAME, list them (OPTIONS=--quick: seconds)"
	@echo "make coverage  measure line coverage, also of the compiled kernels; much slower than make test"
	@echo "make dist    build sdist and wheel, and check the wheel's contents and its size (below 1.5 MB)"
	@echo "make docs    build the site in docs/_build/html/index.html (GALLERY=0: do not execute the tutorials)"

demo: $(VENV)/.demo
	$(BIN)/bagwise demo

# The markers of a test decide which of these three targets runs it (tests/project/test_groups.py).
# Two workers with one BLAS thread each use a laptop well without overloading it. Warnings are errors.
# PYTEST passes other options to pytest: make test PYTEST="-k mixture", or PYTEST='-m ""' for all tests in one run.
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
	$(BIN)/python tools/check_names.py
	$(BIN)/python tools/check_prose.py
	$(BIN)/python tools/walks.py

# pyright and the third-party stubs of scikit-learn have a separate environment: otherwise mypy would use the stubs.
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

# The experiments of the papers (reproduction/). Results are written to bagwise-results/ unless OPTIONS has --out.
NAME    ?=
OPTIONS ?=
reproduce: $(VENV)/.dev
	$(BIN)/python -m reproduction $(NAME) $(OPTIONS)

# Coverage cannot be measured in compiled code. The kernels are therefore measured with the compiler off, which is a hundred
# times slower, with their own tests and without the public data. Plain Python warns about infinities where compiled code does
# not, and raises an error if exp overflows. Three tests of densities fail for this reason; their lines count nevertheless.
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

# One stamp file per set of extras: make installs them again only when pyproject.toml changes.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "installing bagwise and its dependencies into $(VENV) (first run only: one or two minutes)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plot,cli]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	@echo "installing the dependencies of the site into $(VENV) (first run only: a few minutes)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "installing the dependencies of tests and checks into $(VENV) (first run only: a few minutes)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("bagwise needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
