# Everything a newcomer needs: `make demo`, `make test`. See README.md.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
OUT ?= runs/demo

.PHONY: demo test check bench bench-accounting install clean

install: $(STAMP)

# torch first and pinned: a bare `torch` would pull gigabytes of GPU libraries.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "discreet needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 -c constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,export]'
	touch $(STAMP)

# The same versions as constraints.txt, each file checked against its hash; torch is not: SECURITY.md.
.PHONY: install-locked locks
install-locked:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 -c constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)

# Writes both lock files from the constraints, with the hashes that PyPI states; after every change of a version.
locks: flower
	for which in '' -flower; do grep -v '^torch==' constraints$$which.txt | $(FLOWER)/bin/uv pip compile - --no-deps \
	  --generate-hashes --universal --python-version 3.11.5 --no-header --no-annotate --quiet -o requirements$$which.lock || exit 1; done

demo: install
	$(BIN)/discreet run examples/heart.toml --out $(OUT) --overwrite

test: check unit

# The tests of `make test` alone.
.PHONY: unit
unit: install
	$(BIN)/python -m pytest -m "not slow" -n 2

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=reproductions $(BIN)/lint-imports --no-cache

# Every known attack on a guarantee, and what it gets; exit code 1 if one works. QUIET=--quiet prints only what works.
.PHONY: attack
attack: install
	$(BIN)/python -m tests.attacks.table $(QUIET)

# Mangled inputs for every reader of what others wrote, for so many seconds; exit code 1 if one ends in an error of another
# kind, and its input is kept in tests/security/corpus. FUZZ_SEED repeats a run.
.PHONY: fuzz
FUZZ_SECONDS ?= 60
fuzz: install
	$(BIN)/python -m tests.security.fuzz --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

# Faults planted one by one into a copy of the tree, in the lines that stop the attacks; exit code 1 if tests miss one.
.PHONY: mutants
mutants: install
	$(BIN)/python -m tests.security.mutants $(ONLY)

# What is published: sdist, the wheel made from it, and the demo run from that wheel, outside the checkout.
.PHONY: wheel
wheel: install
	rm -rf build/dist build/wheel
	$(BIN)/python -m build --outdir build/dist . > /dev/null
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target build/wheel build/dist/*.whl
	cd build/wheel && PYTHONPATH=. $(abspath $(BIN))/python -c 'import discreet, pathlib; assert pathlib.Path(discreet.__file__).is_relative_to(pathlib.Path.cwd()), discreet.__file__'
	cd build/wheel && PYTHONPATH=. $(abspath $(BIN))/python -m discreet run $(CURDIR)/examples/heart.toml --out run --quiet
	cd build/wheel && PYTHONPATH=. $(abspath $(BIN))/python -m discreet verify run
	ls build/dist

# Slow: measures speed and writes docs/performance.md's table; DATA adds rows. BENCH=heart runs one script of bench/ instead.
bench: install
	$(BIN)/python bench/$(if $(BENCH),$(BENCH).py,speed_table.py $(if $(DATA),--data-dir $(DATA)) \
	  $(if $(wildcard $(FLOWER)/bin/python),--flower-python $(FLOWER)/bin/python))

bench-accounting: install
	$(BIN)/python bench/accounting.py

# Every paper's tables at small scale: exit code 1 if a number misses what was expected. Cells that need data sets are
# skipped, counted and named without DATA; what needs none runs everywhere.
.PHONY: reproduce
DATA ?= $(DISCREET_DATA)
reproduce: install
	OMP_NUM_THREADS=1 $(BIN)/discreet reproduce --all --scale small $(if $(DATA),--data-dir $(DATA))

# The documentation site, in build/site; the build itself needs no network, and a warning is an error.
# Writes the pages of commands, config and Python names anew; the tests compare them with the program.
.PHONY: reference
reference: install
	$(BIN)/python docs/reference/reference_pages.py

.PHONY: docs
docs: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# From clone to report and from a table to a private model, each command with its seconds; PATHS=--tutorial-only is the second.
.PHONY: newcomer
newcomer: install
	$(BIN)/python bench/newcomer.py $(PATHS)

# The pages in real Chromium, with axe-core, which is fetched by its hash and stays outside the repository.
# Screenshots and PDFs are left in build/browser.
AXE := build/axe/axe_playwright_python/axe.min.js
.PHONY: browser
browser: install $(AXE)
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || { echo 'Chromium is needed: apt-get install chromium' >&2; exit 1; }
	$(BIN)/python -m pytest tests/browser
	$(BIN)/python bench/browser.py

$(AXE): tests/browser/axe.txt | install
	rm -rf build/axe
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes -r $< -d build/axe
	$(BIN)/python -m zipfile -e build/axe/*.whl build/axe
	touch $@

# Training over real Flower processes; an environment of its own, because Flower pins older libraries.
FLOWER := $(VENV)-flower
.PHONY: flower test-flower test-flower-slow
flower: $(FLOWER)/.installed

$(FLOWER)/.installed: pyproject.toml constraints-flower.txt
	$(PYTHON) -m venv $(FLOWER)
	$(FLOWER)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 -c constraints-flower.txt
	$(FLOWER)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-flower.txt -e '.[dev,flower,parquet]'
	touch $@

# Quick tests, Parquet through the neighbour contract, real deployments on loopback and the tutorial's commands, two at
# a time: deployments wait more than they work. What dies in test_killed.py uses nothing that Flower pins.
test-flower: flower
	$(FLOWER)/bin/python -m pytest tests/engines/flower tests/engines/silo tests/unit/data tests/unit/released \
	  tests/contracts/neighbours --ignore tests/engines/silo/test_killed.py \
	  -m "not slow or loopback" -k "engines or parquet" -n 2 --dist worksteal --durations 8

# Power cuts, cut lines, slow silos; Flower's simulation too where Ray is installed (flwr[simulation]).
test-flower-slow: flower
	$(FLOWER)/bin/python -m pytest tests/engines/flower -m "slow and not loopback" -v

# Ten thousand random timetables, and the server and a silo killed at every request of one: without processes, minutes.
.PHONY: test-timetables
test-timetables: flower
	$(FLOWER)/bin/python -m pytest tests/engines/flower/test_schedule_chaos.py -n 2 -v

# A silo's boundary with three real Unix users, made for the test and removed again: needs root on Linux, skipped elsewhere.
.PHONY: test-users
test-users: install
	$(BIN)/python -m pytest tests/users

clean:
	rm -rf $(VENV) $(FLOWER) runs build dist
