# Each target sets up what it needs; a bare clone and Python 3.10+ are enough.
VENV ?= .venv
PYTHON_BIN = $(VENV)/bin/python
export VENV
# Tests start hundreds of processes; none should compile the package anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help demo cluster-demo test test-fast test-oldest coverage mutate load faults fuzz check bench docs setup

help:            ## what there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 14

demo:            ## the bundled US flights: from itineraries to predictions and a page
	@scripts/setup.sh
	@$(VENV)/bin/honlearn demo $(ARGS)

cluster-demo:    ## a local Ray and a local Dask, two workers each: the same network and records
	@scripts/setup.sh dev
	@$(PYTHON_BIN) scripts/cluster_demo.py $(ARGS)

test:            ## every test, in parallel
	@scripts/setup.sh dev
	@$(PYTHON_BIN) -m pytest -q -n auto --dist loadgroup $(ARGS)

test-fast:       ## the tests that fit little and start no process, in parallel
	@scripts/setup.sh dev
	@$(PYTHON_BIN) -m pytest -q -n auto --dist loadgroup -m "not slow" $(ARGS)

test-oldest:     ## the fast tests with the oldest versions that the metadata admits, in .venv-oldest
	@scripts/oldest.sh $(ARGS)

coverage:        ## lines and branches that tests reach, compiled functions too; ARGS="tests/hon" for a part
	@scripts/setup.sh dev
	@PYTHON_BIN=$(PYTHON_BIN) scripts/coverage.sh $(ARGS)

mutate:          ## small faults in chosen modules that their tests have to see; ARGS="--most 20"
	@scripts/setup.sh dev
	@PYTHONPATH="tests$${PYTHONPATH:+:$$PYTHONPATH}" $(PYTHON_BIN) -m mutation $(ARGS)

load:            ## many fits, predictions, jobs with kills, a large report; ARGS="--scale 0.1"
	@scripts/setup.sh dev
	@$(PYTHON_BIN) benchmarks/load.py $(ARGS)

faults:          ## commands killed at random moments, full and read-only disks; ARGS="--kills 200"
	@scripts/setup.sh dev
	@$(PYTHON_BIN) tests/faults/harness.py $(ARGS)

fuzz:            ## damaged files for every reader; ARGS="--minutes 10 --seed 7 --target hon"
	@scripts/setup.sh dev
	@PYTHONPATH="tests$${PYTHONPATH:+:$$PYTHONPATH}" $(PYTHON_BIN) -m fuzz $(ARGS)

check:           ## style and types
	@scripts/setup.sh dev
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy

bench:           ## speed and memory, each beside its limit, and docs/benchmarks.md; SCALE=0.01 for a quick look
	@scripts/setup.sh dev
	@$(PYTHON_BIN) benchmarks/run.py $(ARGS)

docs:            ## the documentation site, to docs/_build/html; offline, warnings are errors
	@scripts/setup.sh docs
	@$(PYTHON_BIN) scripts/make_docs.py $(ARGS)

setup:           ## only the set-up, with the tools of the tests
	@scripts/setup.sh dev
