.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv/bin

.PHONY: help up try policy down setup tools test test-fast prove prove-engine coverage mutants bench check format pins engine-pins facts release

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

up: ## Set up what is missing, start the embedded control plane and deploy Pulumi.dev.yaml onto it
	@$(PYTHON) -m local up

# ENGINE counts on the command line only: a variable of the shell with this name belongs to other programs.
try: ## Deploy behind a real Istio with a real endpoint picker, and send a request through them to played model servers, or with ENGINE=vllm to real ones (9.2 GB of disk while one is installed, 5.3 GB afterwards; `python3 -m local engine` installs them)
	@$(PYTHON) -m local try $(if $(filter command,$(origin ENGINE)),$(addprefix --engine=,$(ENGINE)))

policy: ## Judge Pulumi.dev.yaml by the policy pack, in a preview and on the state of the embedded stack, which is deployed if it is not (`python3 -m local policy --config FILE` sets levels and parameters)
	@$(PYTHON) -m local policy

down: ## Stop gateway and control plane, and remove their state; no process and no file stays behind
	@$(PYTHON) -m local down

setup: ## Make the virtual environment (.venv) from the pinned, hashed requirements
	@$(PYTHON) -m local setup

tools: setup ## Find or build the engine, the provider, the control plane and the endpoint picker
	@$(PYTHON) -m local tools

# Each process would otherwise rewrite the assertions of all test modules anew, which takes it five seconds.
test test-fast: export PYTHONDONTWRITEBYTECODE =

# A fifth of the mutants, and a third of the examples of properties, which differ from run to run; `make test` tries all.
test-fast: export MUTANTS = 200

CHECK := $(VENV)/ruff check . && $(VENV)/ruff format --check . && $(VENV)/lint-imports && $(VENV)/pyright && $(VENV)/python -m tests.english

# Real tests wait for controllers for a third of their time, so three processes and the linters keep two cores busy.
test: tools ## Run everything, the real engine and API server included, in three processes, and `make check` beside them
	@($(CHECK)) & check=$$!; \
		$(VENV)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m "not prove and not engine"; tests=$$?; \
		wait $$check && exit $$tests

# Three plain processes, of which one waits now and then, take a third less time than two workers of pytest-xdist, which
# hand over each test by itself. The folders are divided so that all take equally long.
FAST := $(VENV)/python -m pytest -q -p no:xdist --hypothesis-profile=quick -m "not real and not exhaustive and not engine"
FAST_FIRST := $(addprefix tests/,contracts facts)
FAST_SECOND := $(addprefix tests/,heritage judging manifests models planning)
FAST_THIRD := $(filter-out $(FAST_FIRST) $(FAST_SECOND) tests/guides tests/real tests/support,$(patsubst %/,%,$(wildcard tests/[a-z]*/)))
test-fast: setup ## Run what needs no binaries, but not the walks over every leaf, in three processes; about 70 seconds
	@$(FAST) $(FAST_FIRST) & first=$$!; $(FAST) $(FAST_SECOND) & second=$$!; $(FAST) $(FAST_THIRD); third=$$?; \
		wait $$first && wait $$second && exit $$third

prove: tools ## Compare capacity with the real scheduler in 200 random clusters (`make test`: 30), restart services of 20 random stacks in turns (2), repair 200 broken stacks by what `status` blames (8), change every leaf of a stack, run every row of tests that `make test` runs in part, run 10,000 mutants, simulate 256,000 canaries, compile the SDK of Go, preview a violation of each policy, and run `make try`
	@SCHEDULER_SEEDS=200 $(VENV)/python -m pytest tests/real/test_scheduler.py
	@TURNS_SEEDS=20 $(VENV)/python -m pytest tests/real/test_turns.py
	@STATUS_SEEDS=200 $(VENV)/python -m pytest tests/real/status/test_repairs.py
	@LEAVES_SHARE=1 $(VENV)/python -m pytest tests/contracts/test_leaf_effects.py
	@MUTANTS=10000 $(VENV)/python -m pytest tests/contracts/test_mutations.py
	@$(VENV)/python -m pytest -m prove

prove-engine: tools ## Let vLLM judge every command that is rendered and has no verdict (three versions of 5.3 GB, each for ten minutes), then run the tests with a real vLLM
	@$(VENV)/python -m tests.support.engine.prove $(PROVE)
	@$(VENV)/python -m pytest -m engine tests/real

coverage: setup ## Run the tests of `make test-fast`, and print how many statements and branches of each module they run
	@$(VENV)/python -m pytest -n 2 --dist worksteal --ignore=tests/real -m "not real and not exhaustive and not engine" --cov --cov-report=term:skip-covered --cov-fail-under=98.5

mutants: setup ## Change each line of the modules that differ from origin/main, or of MODULES, and list what no test noticed
	@$(VENV)/python -m pip install --quiet --no-compile --require-hashes -r requirements-mutants.txt
	@$(VENV)/python -m tests.mutants $(MODULES)

bench: tools ## Measure the program beside what it stands on; tables for docs/measurements.md, progress on stderr
	@for module in deciding preview checking deploying policy status; do $(VENV)/python -m benchmarks.$$module || exit 1; done

check: setup ## Lint, types, import contracts, names, docstrings and documents
	@$(CHECK)

format: setup ## Format the code
	@$(VENV)/ruff format . && $(VENV)/ruff check --fix .

# The second file begins with the first and adds what tests and linters need, the third adds what mutation needs; each
# package is pinned once.
COMPILE := $(VENV)/uv pip compile --quiet --upgrade --generate-hashes --no-strip-extras --no-header --no-emit-index-url --no-emit-find-links --python-version 3.11
pins: setup ## Pin every dependency, transitive ones included, with hashes
	@$(COMPILE) pyproject.toml --output-file requirements.txt
	@$(COMPILE) pyproject.toml --extra dev --constraint requirements.txt --output-file requirements-dev.txt \
		$$(sed -nE 's/^([A-Za-z0-9._-]+)==.*/--no-emit-package \1/p' requirements.txt)
	@sed -i -e '1i -r requirements.txt' -e '/^# The following packages were excluded/,$$d' requirements-dev.txt
	@$(COMPILE) pyproject.toml --extra dev --extra mutants --constraint requirements-dev.txt --output-file requirements-mutants.txt \
		$$(cat requirements.txt requirements-dev.txt | sed -nE 's/^([A-Za-z0-9._-]+)==.*/--no-emit-package \1/p')
	@sed -i -e '1i -r requirements-dev.txt' -e '/^# The following packages were excluded/,$$d' requirements-mutants.txt
	@echo setuptools | $(COMPILE) - --no-annotate --output-file reader/requirements-build.txt
	@$(COMPILE) policy/requirements.in --output-file policy/requirements.txt

engine-pins: setup ## Pin every package of the versions of vLLM in local/vllm/versions.toml, with hashes
	@$(VENV)/python -m local.vllm.pins

facts: setup ## Write the tables of planning/releases/engines from the wheels of vLLM, and print which pins are behind
	@$(VENV)/python -m upstream

release: setup ## Build what is published of a version into dist/, with checksums, and check it (docs/versioning.md)
	@$(VENV)/python -m publishing
