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
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

demo: install
	$(BIN)/discreet run examples/heart.toml --out $(OUT) --overwrite

test: check
	$(BIN)/python -m pytest -m "not slow" -n 2

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Slow and exact: each script prints its own table. BENCH=heart runs one of them.
BENCH ?= heart accounting secagg integers training
bench: install
	for name in $(BENCH); do $(BIN)/python bench/$$name.py || exit 1; done

bench-accounting: install
	$(BIN)/python bench/accounting.py

# The documentation site, in build/site; the build itself needs no network, and a warning is an error.
.PHONY: docs
docs: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Training over real Flower processes; an environment of its own, because Flower pins older libraries.
FLOWER := $(VENV)-flower
.PHONY: flower test-flower
flower: $(FLOWER)/.installed

$(FLOWER)/.installed: pyproject.toml constraints-flower.txt
	$(PYTHON) -m venv $(FLOWER)
	$(FLOWER)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 -c constraints-flower.txt
	$(FLOWER)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-flower.txt -e '.[dev,flower,parquet]'
	touch $@

# The slow ones bring SuperLink and SuperNodes up on this machine and run the tutorial: minutes.
test-flower: flower
	$(FLOWER)/bin/python -m pytest tests/engines

clean:
	rm -rf $(VENV) $(FLOWER) runs build dist
