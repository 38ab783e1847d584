# Each target is complete on a fresh machine with Python 3.11 or newer: it makes .venv, installs, runs.
PYTHON ?= python3
BIN := .venv/bin
# Python compiles a module when it first imports it: pip would compile 16,000 files, most of which no test imports.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt

# The kernels are C++: the first build takes a minute or so, later ones compile what has changed. They are compiled
# before pip is called, which shows no progress; it builds in the same folder, without isolation, and finds all done.
BUILD_TOOLS = $(BIN)/python scripts/build/compiler.py
UNISOLATED = $(INSTALL) --no-build-isolation
KERNELS := $(shell find solvers CMakeLists.txt -name '*.[ch]' -o -name '*.[ch]pp' -o -name CMakeLists.txt)

.PHONY: demo test check lint types docs kernels sanitize wheels solvers-alone lowest benchmarks clean

# The extras that development needs.
EXTRAS := cplex dev docs explorer

# Two hundred bits with a learnt prior; without these options `structured-vae train` has the paper's model.
MANY_BITS = --encoder independent --n 200 --prior linear --estimator straight_through --temperature.start 0.5 \
	--temperature.floor 0.5 --dropout 0.2 --dropout_decay cosine

demo: .venv/for-demo .venv/kernels  ## train on the embedded images, about two minutes
	$(BIN)/structured-vae train $(MANY_BITS) --epochs 60 --evaluate_every 5 --run runs/demo-$$(date +%Y%m%d-%H%M%S)

# Dozens of processes import the packages, and each would compile them again where none may keep bytecode.
unexport PYTHONDONTWRITEBYTECODE

# Each worker has one core: the threads of PyTorch in several workers would wait for each other.
# A worker that is done takes tests from the other one.
WORKERS ?= auto

test: .venv/for-development .venv/kernels  ## the fast tests; `make test WORKERS=1` leaves the other cores alone
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

# The docs take longest and come first: `make -j2` builds them on one core while the other core runs the rest.
check: docs lint types  ## docs, format, lint, import layers, types; `make -j2 check` runs two of them at a time

# The static analyser of clang explores few paths here: its deep mode, in `make sanitize`, takes four times as long.
SHALLOW := $(foreach word,-Xclang -analyzer-config -Xclang mode=shallow,--extra-arg=$(word))

lint: .venv/for-development .venv/kernels
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	git ls-files -z '*.[ch]pp' '*.c' '*.h' | xargs -0 $(BIN)/clang-format --dry-run --Werror
	BIN=$(BIN) scripts/tidy.sh $(SHALLOW)
	$(BIN)/python scripts/kernel_stubs.py --check

types: .venv/for-development
	$(BIN)/mypy

# One thread: those of PyTorch would wait for a core that tests or checks use.
docs: .venv/for-development  ## HTML in docs/_build/html; every example in it is run
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	$(MAKE) docs/_build/doctested

# The examples of pages run again where a page or a package has changed. The pages are those that the build of the HTML
# has read, so that nothing is read twice.
docs/_build/doctested: .venv/for-development $(shell find docs solvers models structured_vae results \
		-path docs/_build -prune -o -path docs/auto_gallery -prune -o -path docs/generated -prune \
		-o -path docs/reference -prune -o -path docs/reproduction -prune \
		-o \( -name '*.py' -o -name '*.md' -o -name '*.json' \) -print)
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -q -b doctest -d docs/_build/doctrees -D plot_gallery=0 \
		docs docs/_build/doctest
	touch $@

solvers-alone: .venv/kernels  ## `solvers` without torch in a separate environment: installed, tried, and some of its tests
	PYTHON=$(PYTHON) KERNELS=$(CURDIR)/solvers/compiled/_kernels TESTS="tests/test_solvers_imports.py tests/test_solvers_given.py tests/test_solvers_formats.py" \
		scripts/solvers_alone.sh .venv-solvers

sanitize: .venv/for-development .venv/kernels  ## clang's deep analysis; the solvers' tests and fuzzed calls with sanitizers; slow
	scripts/sanitize.sh

wheels:  ## wheels for all levels of x86-64, and a source distribution, in dist/
	scripts/wheels.sh

lowest:  ## the solvers' tests with the lowest versions allowed; slow, as PyTorch of that age brings 3 GB of CUDA
	PYTHON=$(PYTHON) scripts/lowest_versions.sh

benchmarks: .venv/for-development  ## ratios, measured side by side; writes results/
	$(BIN)/python benchmarks/training_step.py --output results/training_step.json
	$(INSTALL) --editable '.[benchmarks]'
	$(BIN)/python benchmarks/solvers.py --output results/solvers.json

clean:
	rm -rf .venv .venv-lowest .venv-solvers build docs/_build *.egg-info
	rm -f solvers/compiled/_kernels/*.so solvers/compiled/_kernels/*.pyd

.venv/build-tools: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) $$($(BUILD_TOOLS))
	touch $@

.venv/for-demo: .venv/build-tools | .venv/kernels
	@echo "installing; this happens once"
	$(UNISOLATED) --editable .
	touch $@

# `make -j2` installs these packages while the kernels are compiled.
.venv/packages: .venv/build-tools
	@echo "installing; this happens once"
	$(BIN)/python scripts/build/requirements.py $(EXTRAS) >.venv/requirements.txt
	$(UNISOLATED) --requirement .venv/requirements.txt
	touch $@

# All that it requires has just been installed; pip would take half a minute to find that.
.venv/for-development: .venv/packages | .venv/kernels
	$(UNISOLATED) --no-deps --editable .
	touch $@

kernels: .venv/kernels  ## compile the kernels that have changed

.venv/kernels: .venv/build-tools $(KERNELS)
	env -u MAKEFLAGS $(BIN)/python scripts/build/build_backend.py  # ninja would ask for the job server of make
	touch $@
