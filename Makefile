# shiftdp. Needs Python 3.11 or newer, and make; everything else goes into .venv.
#
#   make demo         see what it does
#   make test         all checks and all tests but the slow ones
#   make test-all     the slow ones too
#   make test-matrix  the tests with other versions, processors and orders; hours
#   make docs         the documentation as a site, in out/docs
#   make bench        all claims beside other libraries, each in an environment of its own
#   make fuzz         inputs by the thousand for every function, command and reader (FUZZ_SECONDS=600)
#   make dist         sdist and wheel in dist/, the same bytes every time
#   make lock         bring the pinned and hashed requirements up to date
#   make bom          the bills of materials, made anew
#   make format       put the code into shape
#   make clean        remove what was generated (.venv included)
#
# LOCKED=1 installs what requirements/ pins, with hashes, in place of what pyproject.toml allows.

PYTHON ?= python3
JOBS   ?= auto

BIN     := .venv/bin
RUN     := $(BIN)/python
PIP     := $(RUN) -m pip --disable-pip-version-check --quiet --quiet
SHOWN   := .venv/.installed-demo
STAMP   := .venv/.installed-dev
FUZZED  := .venv/.installed-fuzz
FUZZ_SECONDS ?= 600
MARKS   :=

# Releases are made in an environment of their own, locked and hashed whatever LOCKED says.
RELEASE := .release/tools/bin
TOOLED  := .release/tools/.installed

# nobody who looks at the demo asked for pip's advice
export PIP_ROOT_USER_ACTION := ignore
export PIP_NO_WARN_SCRIPT_LOCATION := 1

heading = @printf '\n=== %s\n' '$(1)'

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-all test-matrix docs bench fuzz dist lock bom format clean \
	lint format-check types contract snippets doctests tests

help:
	@sed -n 's/^#   //p' Makefile

demo: $(SHOWN)
	@$(RUN) examples/demo.py

test: lint format-check types contract snippets doctests tests
	$(call heading,all passed)

test-all: MARKS := -m ""
test-all: export HYPOTHESIS_PROFILE := thorough
test-all: test

test-matrix:
	@tests/matrix.sh

docs: $(STAMP)
	$(call heading,documentation)
	@$(RUN) -m sphinx --quiet --fail-on-warning --keep-going --conf-dir docs/site docs out/docs
	@printf 'The documentation is in out/docs/index.html\n'

bench: $(STAMP)
	@$(RUN) benchmarks/wall $(BENCH)

# From what is committed, with its date: neither stray files nor clocks nor umasks get in.
dist: $(TOOLED)
	$(call heading,sdist and wheel)
	@rm -rf dist .release/source && mkdir -p .release/source
	@git archive --format=tar HEAD | tar -x -C .release/source
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(RELEASE)/python -m build --no-isolation \
		--outdir dist .release/source
	@$(RELEASE)/python requirements/digests.py dist

COMPILE := $(RELEASE)/uv --config-file requirements/uv.toml pip compile --quiet --upgrade --universal \
	--python-version 3.11 --generate-hashes --no-header --no-annotate

lock: $(TOOLED)
	@$(COMPILE) pyproject.toml --output-file requirements/runtime.txt
	@$(COMPILE) pyproject.toml --extra dev --output-file requirements/dev.txt
	@$(COMPILE) requirements/release.in --output-file requirements/release.txt

bom: $(TOOLED)
	$(call heading,bills of materials)
	@$(RELEASE)/python requirements/bills.py

fuzz: export OPENBLAS_NUM_THREADS := 1
fuzz: $(FUZZED)
	$(call heading,fuzzing)
	@$(RUN) -m tests.fuzz.run --seconds $(FUZZ_SECONDS)

format: $(STAMP)
	$(RUN) -m ruff check --fix-only .
	$(RUN) -m ruff format .

clean:
	rm -rf .venv .matrix .peers .release __pycache__ build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The stages of `make test`, in its order. There is a worker a core: products with threads of their own
# would only be in each other's way.
snippets doctests tests: export OPENBLAS_NUM_THREADS := 1
snippets doctests tests: export OMP_NUM_THREADS := 1

lint: $(STAMP)
	$(call heading,lint)
	@$(RUN) -m ruff check .

format-check: $(STAMP)
	$(call heading,format)
	@$(RUN) -m ruff format --check .

types: $(STAMP)
	$(call heading,types)
	@$(RUN) -m mypy

contract: $(STAMP)
	$(call heading,import contract)
	@$(BIN)/lint-imports --no-logo

snippets: $(STAMP)
	$(call heading,snippets in README and docs)
	@$(RUN) -m pytest -q -n $(JOBS) --dist loadfile README.md docs

doctests: $(STAMP)
	$(call heading,doctests in src)
	@$(RUN) -m pytest -q -n $(JOBS) --dist loadfile src

tests: $(STAMP)
	$(call heading,unit and property tests)
	@$(RUN) -m pytest -q -n $(JOBS) --dist worksteal $(MARKS) tests

# The environment: made once, brought up to date when pyproject.toml changes. The demo needs little.

$(RUN):
	$(call heading,preparing .venv)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"shiftdp needs Python 3.11 or newer; this is " + sys.version.split()[0] + \
		". Try: make PYTHON=python3.11 ...")'
	@$(PYTHON) -m venv .venv

$(SHOWN): pyproject.toml | $(RUN)
	$(call heading,installing shiftdp)
	@$(PIP) install --editable '.[sklearn,plot]'
	@touch $@

ifdef LOCKED
# PyTorch is fetched first, so that pip takes the build that it takes without a lock, and installed
# if its hash is known. The last line then finds everything there, but for the libraries that the
# index's build of PyTorch pins for graphics cards.
$(STAMP): pyproject.toml $(wildcard requirements/*.txt) | $(RUN)
	$(call heading,installing shiftdp and what its tests use, as locked)
	@$(PIP) download --no-deps --dest .venv/torch $$(sed -n 's/^\(torch==[^ ]*\).*/\1/p' requirements/torch.txt)
	@$(PIP) install --no-index --find-links .venv/torch --no-deps --require-hashes --requirement requirements/torch.txt
	@rm -r .venv/torch
	@$(PIP) install --no-deps --require-hashes --requirement requirements/dev.txt
	@$(PIP) install --no-build-isolation --editable '.[dev]'
	@touch $@ $(SHOWN)
else
$(STAMP): pyproject.toml | $(RUN)
	$(call heading,installing shiftdp and what its tests use)
	@$(PIP) install --editable '.[dev]'
	@touch $@ $(SHOWN)
endif

$(TOOLED): requirements/release.txt
	$(call heading,preparing what releases are made with)
	@$(PYTHON) -m venv .release/tools
	@$(RELEASE)/python -m pip --quiet install --no-deps --require-hashes --requirement $<
	@touch $@

$(FUZZED): $(STAMP)
	$(call heading,installing what fuzzing needs)
	@$(PIP) install --editable '.[fuzz]'
	@touch $@
