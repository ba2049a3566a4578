"""What all tests share: the executor, threads that sleep, and a division of the work.

Workers (pytest-xdist) are dealt groups of tests. Tests that need the same compiled code or the same
fixture of a session are one group, so that neither is made twice; see `group_of`.
"""

import functools
import gc
import os
import re
import sys
from collections import OrderedDict
from pathlib import Path
from zlib import crc32

# Workers share the cores: a thread that waits must sleep. Read when Numba and BLAS are loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Each worker, and each process that a test starts, would else compile all of the sources anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import numpy as np
import pytest

import papers
from papers.common.executor import arrays
from papers.common.gpu import device
from papers.reproduce.run import measurements

sys.dont_write_bytecode = False  # as above, for this process

PACKAGE = Path(papers.__file__).parent

WHOLE = (
    "common/", "reproduce/", "test_pages.py", "test_planted_faults.py", "test_sixth_paper.py",
    "test_architecture.py",
)  # fmt: skip
"""Paths whose files are a group each."""

HEAVY = {
    "test_planted_faults.py": 60, "test_sixth_paper.py": 20, "test_architecture.py": 8,
    "test_pages.py": 8,
    "datenagi2016/several_gpus/": 10, "lopes2019/evidence/": 10, "reproduce": 6, "/evidence/": 4,
}  # fmt: skip
"""Groups whose tests take about so many times as long as others do: they come first, so that none
of them is left to one worker at the end."""

SHARES = 8
"""Groups that the tests of any other file are dealt out in."""


def group_of(nodeid):
    """The group of a test by its id."""
    path = nodeid.partition("::")[0].removeprefix("tests/")
    if path.startswith("test_contract"):
        solver = re.search(r"(\w+:\w+)(-[^]]*)?\]$", nodeid)
        if solver and solver[1] in compiled():
            return compiled()[solver[1]]
    elif path.startswith("test_planted_faults.py"):
        return path + (re.search(r"\[(\w+?)[-\]]", nodeid) or ["", ""])[1]  # tables of one paper
    elif path.endswith("/test_baselines.py"):
        return path.replace("/test_baselines.py", "/baselines")
    elif "/baselines/" in path:
        return path.partition("/baselines/")[0] + "/baselines"
    elif path.startswith(tuple(f"reproduce/{r}/" for r in ("run", "report", "site", "explain"))):
        return "reproduce"  # runs of the toy paper, fixtures of the session
    elif path.startswith(WHOLE) or "/evidence/" in path:  # tables of a record, made once a file
        return path
    return f"{path}, {crc32(nodeid.encode()) % SHARES}"


@functools.cache
def compiled():
    """The groups of the solvers that Numba compiles: those of the tests of their own rooms."""
    import contract

    return {
        case.id.partition("-")[0]: contract.room_of(case.values[0])
        for problem in ("assignment", "matching", "flow")
        for case in contract.solvers(problem)
        if case.values[0].device == "cpu"
    }


def weight(group, tests):
    """About how long a group takes, in usual tests."""
    return tests * next((times for part, times in HEAVY.items() if part in group), 1)


class LongestFirst(OrderedDict):
    """Groups and their tests, of which the scheduler takes one after the other."""

    def popitem(self, last=True):
        group = max(self, key=lambda name: weight(name, len(self[name])))
        return group, self.pop(group)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Deal out groups, whatever ``--dist`` says; those that take long first."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def __init__(self, *given):
            super().__init__(*given)
            self.workqueue = LongestFirst()

        def _split_scope(self, nodeid):
            return group_of(nodeid)

    return Groups(config, log)


THINNED = {
    "test_contract_assignment.py::test_case": 4,
    "test_contract_assignment.py::test_hard_families": 2,
    "test_contract_assignment.py::test_maximize": 3,
    "test_contract_assignment.py::test_the_guarantee_for_floats_holds_at_mixed_scales": 2,
    "test_contract_flow.py::test_maximum_and_proved": 2,
    "datenagi2016/kernels/test_kernels.py::test_every_step_of_a_solve_equals_reference": 3,
    "datenagi2016/kernels/test_kernels.py::test_compressed_edges_are_those_without_slack": 3,
    "datenagi2016/test_solver.py::test_costs_of_every_kind": 2,
    "datenagi2016/test_solver.py::test_a_run_after_an_interrupted_one": 2,
    "deveci_matching/test_interleavings.py::test_under_interleavings": 3,
    "deveci_matching/test_solver.py::test_maximum_from_every_start": 3,
    "kawtikwar_opts/test_solver.py::test_optimal_with_the_dual_updates_of_lopes": 3,
    "lupinska_costscale/assignment/test_batch.py::test_optimal": 2,
    "lupinska_costscale/flow/test_solver.py::test_grids": 3,
    "synthesis/assignment/test_pool.py::test_used_memory_answers_as_fresh_memory": 4,
    "synthesis/assignment/test_resident.py::test_every_kind_is_solved_as_on_the_host": 3,
    "synthesis/batch/test_solver.py::test_what_a_thread_knows_of_its_columns_is_in_registers": 4,
}
"""Tests that combine several parameters: by day about one combination in so many, in which each
value of each parameter occurs; nightly all of them."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave most combinations of `THINNED` tests to the night."""
    found = {}
    for item in items:
        name = item.nodeid.partition("[")[0].removeprefix("tests/")
        if name in THINNED and item.get_closest_marker("nightly") is None:
            found.setdefault(name, []).append(item)
    for name, mine in found.items():
        daily = combined([values_of(item) for item in mine], THINNED[name])
        for place, item in enumerate(mine):
            if place not in daily:
                item.add_marker(pytest.mark.nightly)


def values_of(item):
    """The values of a test's parameters, in a form that can be compared."""
    params = item.callspec.params.items()
    return {(name, value if isinstance(value, (int, str)) else id(value)) for name, value in params}


def combined(cases, step):
    """The places of one case in `step`, and of further ones until each value occurs.

    Parameters
    ----------
    cases : list of set
        The values of each case.
    step : int
    """
    kept = set(range(0, len(cases), step))
    seen = set().union(*(cases[place] for place in kept))
    for place, case in enumerate(cases):
        if not case <= seen:
            kept.add(place)
            seen |= case
    return kept


@pytest.fixture(autouse=True)
def _on_the_executor():
    """Kernels run in the executor, on machines with a GPU too; a test may select otherwise."""
    device.select("cpu")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Thousands of tests are made, and none dies: looking for dead ones takes longer than that."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # nor is one looked for among them later
        gc.enable()


@pytest.fixture(autouse=True, scope="module")
def _what_stays_is_looked_through_once():
    """What earlier files left alive stays: later calls of ``gc.collect`` pass over it.

    Protocol, pool and their tests collect often, and after thousands of tests that takes seconds.
    """
    gc.collect()
    gc.freeze()


_read = measurements.read
_read_once = functools.cache(_read)


@pytest.fixture(autouse=True)
def _records_are_read_once(monkeypatch):
    """The papers' own records stay as they are: a process parses each of them once."""

    def read(path):
        recorded = PACKAGE in path.parents
        return _read_once(path).copy() if recorded else _read(path)

    monkeypatch.setattr(measurements, "read", read)


@pytest.fixture
def only_written(monkeypatch):
    """A kernel that loads a word of `device.empty` before anybody has written it fails the test.

    The executor fills such memory with one byte; NVIDIA's initcheck finds the same on a GPU.
    """
    unwritten, load = [], arrays.ArrayView.__getitem__

    def noted(view, index):
        value = load(view, index)
        size = view.dtype.itemsize
        if size >= 4 and np.ndim(value) == 0:
            word = np.asarray(value, view.dtype).tobytes()
            if word == device.POISON * size:
                unwritten.append(f"{view.name}[{index}] in {view.scheduler.where()}")
        return value

    monkeypatch.setattr(arrays.ArrayView, "__getitem__", noted)
    yield unwritten
    assert not unwritten, unwritten[:5]
