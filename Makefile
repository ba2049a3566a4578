# Two commands do everything from a bare clone: `make reproduce` and `make test`.
# Both make .venv themselves; a stamp file keeps a second call from installing again.

VENV := .venv
BIN := $(VENV)/bin
# One worker more than two cores: some tests wait for processes that they have started.
JOBS ?= 3
PRESET ?=
# More extras of pyproject.toml, e.g. EXTRAS=mpi,suitesparse; `make install EXTRAS=...` adds them later.
EXTRAS ?=

# The driver's CUDA version, e.g. 13.0; empty without a GPU. Compiler and linker must not be newer
# than the driver, so the toolkit is pinned to it.
CUDA := $(shell nvidia-smi 2>/dev/null | sed -nE 's/.*CUDA[A-Za-z ]* Version: *([0-9]+\.[0-9]+).*/\1/p' | head -n 1)
CUDA_MAJOR := $(firstword $(subst ., ,$(CUDA)))

ifeq ($(CUDA),)
# With MPI, so that cells for several ranks run in the executor.
RUN_EXTRAS := [maxflow,mpi,peers]
# The tests compile every kernel to PTX, which needs the compiler but no GPU.
TEST_EXTRAS := [cuda13,test]
TOOLKIT :=
DEFAULT_PRESET := quick
else
RUN_EXTRAS := [cuda$(CUDA_MAJOR),maxflow,peers]
TEST_EXTRAS := [cuda$(CUDA_MAJOR),test]
TOOLKIT := "cuda-toolkit==$(CUDA).*"
ifeq ($(CUDA_MAJOR),13)
TOOLKIT += "nvidia-nvjitlink==$(CUDA).*"
endif
DEFAULT_PRESET := paper
endif

.PHONY: reproduce test test-all lint install clean

reproduce: $(VENV)/.stamp-run
	$(BIN)/reproduce run --preset $(or $(PRESET),$(DEFAULT_PRESET))

test: $(VENV)/.stamp-test lint
	$(BIN)/python -m pytest -n $(JOBS)

# With the cases that `make test` leaves out because they take long.
test-all: $(VENV)/.stamp-test lint
	$(BIN)/python -m pytest -n $(JOBS) -m "nightly or not nightly"

# What a message of the command asks for, into the same environment.
install: $(VENV)/.stamp-run
	$(if $(EXTRAS),$(BIN)/python -m pip install --quiet -e ".[$(EXTRAS)]")

lint: $(VENV)/.stamp-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/.stamp-venv:
	@for python in python3.13 python3.12 python3.11 python3 python; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "$$python -m venv $(VENV)"; $$python -m venv $(VENV) && touch $@; exit; \
	  fi; \
	done; echo "Python 3.11 or newer is needed"; exit 1

$(VENV)/.stamp-run: $(VENV)/.stamp-venv pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.$(RUN_EXTRAS)' $(TOOLKIT)
	touch $@

# What the tests need includes what a run needs.
$(VENV)/.stamp-test: $(VENV)/.stamp-venv pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.$(TEST_EXTRAS)' $(TOOLKIT)
	touch $(VENV)/.stamp-run $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache *.egg-info
