# Two commands are all a newcomer needs: `make demo` and `make test`. Both set themselves up in .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --constraint constraints.txt
# Tests run side by side; threads of linear algebra on tiny matrices would only wait for each other.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/pytest
# LIBMF comes as source, without AVX unless asked for; the other peers are wheels.
LIBMF_FLAGS := -O3 -march=native -DUSEAVX -DUSEOMP -fopenmp
KERNELS := pyproject.toml CMakeLists.txt constraints.txt $(wildcard cpp/*)

.PHONY: help demo test lint types contracts format coverage nightly mutants bench bench-accuracy bench-peers bench-recall bench-scale bench-papers nightly-scale wheel wheel-check clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

$(BIN)/pip:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tacit needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1'

$(VENV)/.installed: $(BIN)/pip $(KERNELS)
	PIP_CONSTRAINT= $(PIP) --editable .
	@touch $@

$(VENV)/.tools: $(VENV)/.installed
	$(PIP) --group test --group lint
	@touch $@

demo: $(VENV)/.installed ## build, train a private recommender on made-up ratings, show the result
	$(BIN)/tacit demo

test: $(VENV)/.tools ## the tests that belong in CI
	$(PYTEST) --numprocesses auto --dist loadgroup --quiet -m "not nightly"

lint: $(VENV)/.tools ## ruff, formatting, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell src tests bench docs examples proofs cpp README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md

types: $(VENV)/.tools ## mypy, strict
	$(BIN)/mypy

contracts: $(VENV)/.tools ## who may import whom
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.tools ## let ruff rewrite
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

coverage: $(VENV)/.tools ## branch coverage of the CI tests: 95% of all, 100% of what carries the proof
	$(PYTEST) --numprocesses auto --dist loadgroup --quiet -m "not nightly" --cov --cov-report=term-missing:skip-covered --cov-fail-under=95
	$(BIN)/coverage report --fail-under=100 --include='src/tacit/accounting/*,src/tacit/bounding/*,src/tacit/contributions/*,src/tacit/mechanisms/*'

nightly: $(VENV)/.tools mutants ## everything that is too long for CI
	HYPOTHESIS_PROFILE=nightly $(PYTEST) --quiet

mutants: $(VENV)/.tools ## break the privacy layer on purpose: every mutant must be caught
	$(BIN)/python bench/mutants.py --output bench/results/mutants.txt
	$(BIN)/python bench/report.py

bench: $(VENV)/.tools ## all that is measured, on a quiet machine; output under bench/results
	$(PIP) --group bench
	$(BIN)/python bench/fresh_clone.py > bench/results/fresh_clone.txt
	$(BIN)/python bench/kernels/noise.py > bench/results/noise.txt
	$(BIN)/python bench/kernels/solve.py > bench/results/solve.txt
	$(BIN)/python bench/kernels/sums.py --repeats 5 > bench/results/sums.txt
	$(BIN)/python bench/read.py --repeats 2 > bench/results/read.txt
	OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/serving.py > bench/results/serving.txt
	$(BIN)/python bench/steps.py > bench/results/steps.txt
	$(BIN)/python bench/frank_wolfe_speed.py > bench/results/frank_wolfe_speed.txt
	$(BIN)/python bench/report.py

bench-accuracy: $(VENV)/.tools ## how well models predict on real ratings (TACIT_DATA), at each budget and beside the published algorithm
	$(BIN)/python bench/accuracy.py > bench/results/accuracy.txt
	$(BIN)/python bench/recipe.py > bench/results/recipe.txt
	$(BIN)/python bench/warm_start.py > bench/results/warm_start.txt
	$(BIN)/python bench/papers/dpals.py > bench/results/dpals.txt
	$(BIN)/python bench/report.py

bench-recall: $(VENV)/.tools ## Recall@20 on held-out users at each budget; needs the ratings
	$(BIN)/python bench/recall.py > bench/results/recall.txt
	$(BIN)/python bench/report.py

.venv-peers/.installed: bench/peers.txt
	$(PYTHON) -m venv .venv-peers
	CFLAGS="$(LIBMF_FLAGS)" CXXFLAGS="$(LIBMF_FLAGS)" LDFLAGS=-fopenmp .venv-peers/bin/pip install --quiet --no-cache-dir \
	  --requirement bench/peers.txt
	@touch $@

bench-peers: $(VENV)/.installed .venv-peers/.installed ## training beside implicit, LensKit and LIBMF
	$(BIN)/python bench/peers.py > bench/results/peers.txt
	$(BIN)/python bench/sgd.py > bench/results/sgd.txt
	$(BIN)/python bench/report.py

bench-scale: $(VENV)/.tools ## what is measured beyond one process or its memory: rows on disk, many items, Spark
	$(BIN)/python bench/scale.py > bench/results/scale.txt
	$(BIN)/python bench/catalogue.py > bench/results/catalogue.txt
	$(BIN)/python bench/spark.py > bench/results/spark.txt
	$(BIN)/python bench/report.py

nightly-scale: $(VENV)/.tools ## a billion ratings on this machine: ten minutes and 30 GB of disk
	$(BIN)/python bench/scale.py --billion > bench/results/scale_billion.txt
	$(BIN)/python bench/report.py

bench-papers: $(VENV)/.tools ## the experiments of the papers, some minutes each; what is missed is in the output
	-OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/papers/dpals_synthetic.py > bench/results/dpals_synthetic.txt
	-OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/papers/dplmc_synthetic.py > bench/results/dplmc_synthetic.txt
	-$(BIN)/python bench/papers/frank_wolfe.py > bench/results/frank_wolfe.txt
	-$(BIN)/python bench/papers/frank_wolfe.py --data rank-one > bench/results/frank_wolfe_rank_one.txt
	-$(BIN)/python bench/papers/sgld.py > bench/results/sgld.txt
	$(BIN)/python bench/papers/sgld_speed.py > bench/results/sgld_speed.txt
	$(BIN)/python bench/papers/table5.py > bench/results/table5.txt
	$(BIN)/python bench/papers/dpals_ml1m.py > bench/results/dpals_ml1m.txt
	$(BIN)/python bench/papers/dpmf.py > bench/results/dpmf.txt
	$(BIN)/python bench/report.py

wheel: $(BIN)/pip ## dist/: the wheel of the Python at hand (abi3 from 3.12 on; PYTHON=python3.11 for cp311)
	$(PIP) build
	$(BIN)/python -m build --wheel --outdir dist .

wheel-check: wheel ## the wheel installs and works in an empty environment without a compiler
	bash .ci/wheel-check

clean: ## remove all that make has made
	rm -rf $(VENV) build dist demo-output
