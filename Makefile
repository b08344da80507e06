# Each target sets up what it needs. The two that matter: `make reproduce` and `make test`.
VENV ?= .venv
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: reproduce test lint docs bench clean

reproduce: $(READY)
	$(BIN)/ebbing reproduce --out results

test: $(READY) # one thread each: threads of several processes wait for each other; modules are compiled once, not in each
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pydoclint --quiet src
	$(BIN)/pyright

docs: $(READY)
	rm -rf build/docs
	$(BIN)/sphinx-build -W -n -q -b html docs build/docs
	touch build/docs/.complete

bench: $(READY)
	$(BIN)/python benchmarks/run.py $(SUITES)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV) || { echo "no venv module: apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps avalanche-lib
	for samples in 5 5,6,7; do $(BIN)/ebbing order --tasks orthogonal:3 -n $$samples -p 20 >/dev/null; done # compiles the search
	touch $@

clean:
	rm -rf $(VENV) results
