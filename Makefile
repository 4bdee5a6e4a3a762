# Two commands matter: `make run` and `make test`. Both set up what they need in .venv; a second call is instant.

PYTHON ?= python3
ARGS ?=
COUNT ?= 20
MESSAGES ?= 10000
WORKERS ?= 3
RUNS ?= 5
ON_CITUS := $(patsubst %,tests/integration/test_%.py,conformance citus audit chosen_ids dialects everything isolation server_routes server_transfer \
	transfer transfer_files turn_approval turn_cancel turn_policies turn_recovery turn_whole)
BENCHES ?= store turn context loop server workers keeping parts scale followups understanding adapters page
SEED ?= 1

# A provider whose key is in the environment answers at once: `make run` installs its package.
MODELS := $(if $(OPENAI_API_KEY)$(ANTHROPIC_API_KEY),.venv/.models-stamp)

# Published clients and frameworks that tests drive, each in an environment of its own.
CLIENTS := $(patsubst requirements/clients/%/package-lock.json,.venv/clients/%/.stamp,$(wildcard requirements/clients/*/package-lock.json))
FRAMEWORKS := $(patsubst requirements/frameworks/%.txt,.venv/frameworks/%/.stamp,$(wildcard requirements/frameworks/*.txt))

BIN := .venv/bin
NPM := .venv/npm
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup run test flaky versions check bench torture failover citus lock sbom programs

help: ## list what make can do
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s  %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.dev-stamp .venv/.npm-stamp $(CLIENTS) $(FRAMEWORKS) programs ## install everything: to run, to test, to check

run: .venv/.run-stamp $(MODELS) ## serve on http://127.0.0.1:8000 (ARGS="--port 9000")
	@exec $(BIN)/threadkeep serve --killable $(ARGS)

test: .venv/.test-stamp .venv/.npm-stamp $(CLIENTS) $(FRAMEWORKS) programs ## run all tests (ARGS="-k name")
	@$(BIN)/pytest -n $(WORKERS) --dist loadfile $(ARGS)

flaky: .venv/.test-stamp .venv/.npm-stamp $(CLIENTS) $(FRAMEWORKS) programs ## run all tests RUNS times while every core is kept busy (RUNS=5 ARGS="-k name")
	@tests/flaky $(RUNS) $(BIN)/pytest -q -n $(WORKERS) --dist loadfile $(ARGS)

versions: .venv/.test-stamp ## run the unit suite with the lowest versions allowed and with every other Python (ARGS="lowest")
	@WORKERS=$(WORKERS) tests/versions $(ARGS)

check: .venv/.dev-stamp .venv/.npm-stamp ## format, lint, types and layers
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m bench.house --check
	$(BIN)/python -m bench.looks
	$(BIN)/python -m tests.contract --check
	$(BIN)/oxfmt --check src/threadkeep_pages/web tests/unit/threadkeep_pages/web
	$(BIN)/oxlint src/threadkeep_pages/web tests/unit/threadkeep_pages/web
	$(BIN)/node $(NPM)/node_modules/typescript-7/bin/tsc
	$(BIN)/hadolint deploy/Dockerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
	$(BIN)/kubernetes-validate --quiet --strict deploy/kubernetes.yaml

bench: .venv/.test-stamp .venv/.bench-stamp ## measure stores, turns, contexts, loops, server, workers, keeping, parts, instances, follow-ups, adapters and page (ARGS="--quick" BENCHES="store server")
	@$(BIN)/python -m bench.report --forget
	@status=0; for part in $(BENCHES); do $(BIN)/python -m bench.$$part $(ARGS) || status=1; done; \
		$(BIN)/python -m bench.report; exit $$status

torture: .venv/.test-stamp ## kill real processes while they write, and cut streams (COUNT=20 MESSAGES=10000 SEED=1)
	@$(BIN)/python -m tests.acceptance.torture --count $(COUNT) --seed $(SEED)
	@$(BIN)/python -m tests.acceptance.fuzz --requests 20000 --seed $(SEED)
	@$(BIN)/python -m tests.acceptance.torture_turns --count $(COUNT) --seed $(SEED)
	@$(BIN)/python -m tests.acceptance.torture_loops
	@THREADKEEP_CUTS=10000 $(BIN)/pytest -q -n 2 --timeout 1800 tests/integration/test_loop_cuts.py tests/integration/test_openai.py -k "is_cut or cut_at"
	@$(BIN)/python -m tests.acceptance.torture_keeping --every
	@$(BIN)/python -m tests.acceptance.torture_files --seed $(SEED)
	@$(BIN)/python -m tests.acceptance.torture_keeping --count $(COUNT) --seed $(SEED)
	@$(BIN)/python -m tests.acceptance.instances --instances 2 --faults 200 --seed $(SEED)
	@$(BIN)/python -m tests.acceptance.instances --instances 1 --workers 3 --store sqlite --faults 200 --seed $(SEED)
	@$(BIN)/python -m tests.acceptance.retries --count $(MESSAGES) --seed $(SEED)
	@$$(unshare --mount true 2>/dev/null && echo unshare --mount) $(BIN)/python -m tests.acceptance.outages --count $(COUNT) --seed $(SEED)
	@$(BIN)/python -m tests.acceptance.outages --kills $(COUNT) --seed $(SEED)
	@$(BIN)/python -m tests.acceptance.outage_people --count 200 --seed $(SEED)
	@place=$$(mktemp -d) && $(BIN)/python -m tests.acceptance.skill_player $$place; status=$$?; rm -rf $$place; exit $$status

failover: .venv/.test-stamp programs ## kill and freeze a PostgreSQL beside its standby, RUNS times each; all through PgBouncer, and with replicas (RUNS=5 SEED=1)
	@$(BIN)/python -m tests.acceptance.failover --runs $(RUNS) --seed $(SEED)
	@THREADKEEP_TEST_PGBOUNCER=1 $(BIN)/pytest -q -n 2 tests/integration/test_conformance.py tests/acceptance/test_instances.py -k "postgresql or instances"
	@THREADKEEP_TEST_REPLICAS=1 $(BIN)/pytest -q --timeout 1800 tests/integration/test_postgres_replicas.py

citus: .venv/.test-stamp ## the suites of store and server on a Citus of three machines, which then fail and move (SEED=1)
	@$(BIN)/python -m tests.citus_programs
	@THREADKEEP_TEST_CELLS=1 THREADKEEP_TEST_POSTGRES=citus $(BIN)/pytest -q tests/integration/test_postgres_cells.py
	@THREADKEEP_TEST_POSTGRES=citus $(BIN)/pytest -q -n 2 --dist loadfile $(ON_CITUS) -k "postgresql or citus"
	@$(BIN)/python -m tests.acceptance.torture_citus --seed $(SEED)

lock: ## pin requirements/*.txt anew (needs uv)
	requirements/lock $(ARGS)

sbom: ## write the bill of materials of a release, build/threadkeep.cdx.json
	@mkdir -p build
	@$(PYTHON) requirements/sbom > build/threadkeep.cdx.json

# The tests drive the system's Chromium and PgBouncer; where they are this takes no time.
programs:
	@tests/install

# pip is the last thing that venv installs, so an environment that was cut off is made again.
$(BIN)/pip:
	@command -v $(PYTHON) >/dev/null || { echo "threadkeep: there is no $(PYTHON); install Python 3.11 or newer, or name one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("threadkeep: Python 3.11 or newer is needed, $(PYTHON) is %d.%d; name another: make PYTHON=python3.12" % sys.version_info[:2])'
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "threadkeep: $(PYTHON) cannot make virtual environments; on Debian: apt install python3-venv" >&2; exit 1; }
	@echo "Setting up .venv ..."
	@$(PYTHON) -m venv --clear .venv

.venv/.run-stamp: pyproject.toml requirements/run.txt | $(BIN)/pip
	@echo "Installing what running needs ..."
	@$(PIP) install --require-hashes -r requirements/run.txt
	@$(PIP) install --no-deps -e .
	@touch $@

.venv/.models-stamp: .venv/.run-stamp requirements/models.txt
	@echo "Installing what the models of providers need ..."
	@$(PIP) install --require-hashes -r requirements/models.txt
	@touch $@

# The OpenAI Agents SDK wants other versions of some packages than Threadkeep's tests.
.venv/.bench-stamp: requirements/bench.txt | $(BIN)/pip
	@echo "Installing what is measured beside Threadkeep ..."
	@$(PYTHON) -m venv --clear .venv/bench
	@.venv/bench/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/bench.txt
	@touch $@

.venv/.test-stamp: .venv/.run-stamp requirements/test.txt requirements/local.txt
	@echo "Installing what the tests need ..."
	@$(PIP) install --require-hashes -r requirements/test.txt
	@$(PIP) install --require-hashes --no-deps -r requirements/local.txt
	@touch $@

.venv/.dev-stamp: .venv/.test-stamp requirements/dev.txt
	@echo "Installing what the checks need ..."
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

.venv/.npm-stamp: requirements/npm/package-lock.json .venv/.test-stamp
	@echo "Installing what checking the page needs ..."
	@mkdir -p $(NPM)
	@cp requirements/npm/package.json requirements/npm/package-lock.json $(NPM)
	@$(BIN)/npm ci --prefix $(NPM) --no-audit --no-fund --loglevel error --fetch-timeout 60000
	@touch $@

.venv/clients/%/.stamp: requirements/clients/%/package-lock.json .venv/.test-stamp
	@echo "Installing the client $* for its tests ..."
	@mkdir -p $(@D)
	@cp $(<D)/package.json $(<D)/package-lock.json $(@D)
	@$(BIN)/npm ci --prefix $(@D) --no-audit --no-fund --loglevel error --fetch-timeout 60000
	@touch $@

.venv/frameworks/%/.stamp: requirements/frameworks/%.txt pyproject.toml | $(BIN)/pip
	@echo "Installing the framework $* for its tests ..."
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r $<
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --no-deps -e .
	@touch $@
