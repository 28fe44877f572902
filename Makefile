# Needs Python 3.11 or newer with pip, and make. The rest is installed into .venv by the first target that runs,
# and again only when pyproject.toml or constraints.txt change.

PYTHON ?= python3
BIN := .venv/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check

TOO_OLD := maskpredict needs Python 3.11 or newer; name one, as in: make PYTHON=/usr/bin/python3.12

.DEFAULT_GOAL := help
.PHONY: help demo serve test lint torture soak image constraints release audit

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST)

demo: .venv/.installed ## translate German and English with the shipped models and play the iterations
	@$(BIN)/maskpredict demo

serve: .venv/.installed-serve ## translate on a web page, at http://127.0.0.1:8000
	@$(BIN)/maskpredict serve

test: lint ## run every check that CI runs: lint, types, tests
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: .venv/.installed-dev ## check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

torture: .venv/.installed-dev ## kill verbs, random requests and files; make torture KILLS=500 REQUESTS=1000000 INPUTS=1000000
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/python -m tests.torture.kill_verbs $(or $(KILLS),500) --slow
	$(BIN)/python tests/serve/fuzz_server.py $(or $(REQUESTS),1000000)
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/python -m tests.fuzz.fuzz_readers $(or $(INPUTS),1000000)

release: .venv/.installed-dev ## build dist/ twice, try it and list its contents; PYTHONS="python3.11 python3.12"
	rm -rf dist build
	PYTHON=$(abspath $(BIN)/python) deploy/build.sh dist
	PYTHON=$(abspath $(BIN)/python) deploy/build.sh build/again
	cmp dist/*.whl build/again/*.whl
	$(BIN)/python deploy/try_release.py dist $(PYTHONS)

audit: .venv/.installed-dev ## look for known vulnerabilities; asks the Python Package Index
	@$(PIP) -c constraints.txt pip-audit
	$(BIN)/python -m pip_audit --disable-pip --requirement deploy/locks/serve.txt

soak: .venv/.installed-dev ## run a server and a training run for a long time; make soak MINUTES=30
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/python -m tests.soak.soak --minutes $(or $(MINUTES),30)

image: ## carry out the Dockerfile without Docker, in a fresh Debian; needs root and debootstrap
	$(PYTHON) deploy/try_dockerfile.py

# Keeps the versions that still fit; make constraints UPGRADE=--upgrade takes the newest of all packages.
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header --generate-hashes \
	--constraint constraints.txt
constraints: $(BIN)/uv ## pin the versions of all dependencies, for every Python and platform
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --no-annotate $(UPGRADE) \
		pyproject.toml --output-file constraints.txt
	$(LOCK) pyproject.toml --output-file deploy/locks/runtime.txt
	$(LOCK) --extra serve pyproject.toml --output-file deploy/locks/serve.txt
	$(LOCK) deploy/locks/build.in --output-file deploy/locks/build.txt

# The demo needs the package alone, without PyTorch; the service and the checks need more.
.venv/.installed .venv/.installed-serve .venv/.installed-dev: pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing maskpredict$(EXTRA) into .venv; this happens once."
	@$(PIP) -c constraints.txt -e '.$(EXTRA)'
	@touch $@

.venv/.installed-serve: EXTRA := [serve]
.venv/.installed-dev: EXTRA := [dev]

# Without the constraints, which may be what needs mending.
$(BIN)/uv: | $(BIN)/pip
	@$(PIP) uv

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "$(TOO_OLD)")'
	@$(PYTHON) -m venv .venv
