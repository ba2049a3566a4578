"""The launch under seeded interleavings, in a strong and in a weak memory, and planted faults."""

import inspect

import numpy as np
import pytest
from memory_sites import sites_below
from nightly import first
from synthesis.assignment.small import KINDS, assert_optimal, draw, has_assignment

from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu import device
from papers.synthesis.batch import launches, solver
from papers.synthesis.batch.kernels import (
    each,
    each_floats,
    each_integers,
    floats,
    solve,
    warp,
    wide,
)

NOT_NEEDED = {
    "solve.tell: store_release_system": "the host looks at this one word; all else that it reads "
    "of the launch it copies after the launch's end, in the stream's order",
}


def solved(kind, seed, weak, width=12):
    """A few small matrices at once, proved; a second warp where the longer side is 130."""
    costs = []
    for more in range(3):
        cost, maximize = draw(kind, 2 * (3 * seed + more), most=width)
        assert not maximize
        if has_assignment(cost, False):
            costs.append(np.asarray(cost))
    memory = WeakMemory(seed) if weak else None
    with device.executing(Executor(seed, 0.2, memory=memory)):
        answers = solver.solve(costs)
    for cost, answer in zip(costs, answers, strict=True):
        assert_optimal(cost, answer)


@pytest.mark.parametrize("seed", first(1, range(40)))
@pytest.mark.parametrize("kind", KINDS)
def test_any_order_of_the_threads_is_right(kind, seed):
    solved(kind, seed, weak=(seed + list(KINDS).index(kind)) % 2 == 1)


@pytest.mark.parametrize("seed", first(3, range(12)))
def test_any_order_of_several_warps_is_right(seed):
    """Five rows and 130 columns, and the other way; a wide range is solved row by row."""
    g = np.random.default_rng(seed)
    kinds = [
        lambda s: g.integers(0, 2**54, s),
        lambda s: g.random(s),
        lambda s: g.integers(0, 9, s),
    ]
    cost = kinds[seed % 3]((5, 130) if seed % 4 else (130, 4))
    with device.executing(Executor(seed, 0.1, memory=WeakMemory(seed) if seed % 2 else None)):
        answer = solver.solve(cost)
    assert_optimal(cost, answer)


def test_every_site_says_why_it_is_not_needed():
    assert set(sites_below("synthesis/batch")) == set(NOT_NEEDED)


# ------------------------------------------------------------------------------- planted faults

FAULTS = {
    "all rows get what they choose": (
        solve, "choose_with", "chosen >= 0 and work.row[chosen] == i", "chosen >= 0", "floats"
    ),
    "the first column of the order counts": (
        solve, "choose_with", "chosen = int32(place + start)", "chosen = int32(place)", "wide"
    ),
    "the driven row keeps its column": (
        solve, "bids_with", "work.column[driven] = -1", "pass", "floats"
    ),
    "a bid lowers too much": (
        solve, "bids_with", "work.v[j] -= second - first", "work.v[j] -= second - first + 7",
        "wide",
    ),
    "distances forget the path": (
        solve, "path_with", "work.v[j] - least)", "work.v[j])", "twelve decades"
    ),
    "duals stay": (
        solve, "path_with", "+= distance[k] - least", "+= 0 * distance[k]", "wide"
    ),
    "the matching is read while it is written": (
        solve, "bids_with", "cuda.syncthreads()  # all have read the matching and the duals",
        "pass", "wide",
    ),
    "the path is shifted before all know it": (
        solve, "path_with",
        "cuda.syncthreads()  # all have read the duals, and all rows before are stored", "pass",
        "wide",
    ),
    "a warp: all rows get what they choose": (
        warp, "choose_with", "if work.row[uint32(chosen)] == i", "if i >= 0", "two values"
    ),
    "a warp: rows are judged before all have chosen": (
        warp, "choose_with", "cuda.syncwarp()  # all rows have chosen", "pass", "two values"
    ),
    "a warp: a column is freed before all have read it": (
        warp, "choose_with", "work.row[uint32(j)] = -1", "work.row[uint32(j)] = 0", "uniform"
    ),
    "a warp: the search for a free row begins behind it": (
        warp, "next_free", "start <= i", "start < i", "uniform"
    ),
    "a warp: the driven row keeps its column": (
        warp, "bids_with", "work.column[uint32(driven)] = -1", "pass", "uniform"
    ),
    "a warp: a bid lowers too much": (
        warp, "bids_with", "int32(after - least))", "int32(after - least + 7))", "uniform"
    ),
    "a warp: the first column gets the bid, and not the nearest": (
        warp, "bids_with", "place if first == least else int32(NOWHERE)", "place", "uniform"
    ),
    "a warp: the matching is read while it is written": (
        warp, "bids_with", "cuda.syncwarp()  # all have read the matching and the duals", "pass",
        "narrow",
    ),
    "a warp: distances forget the path": (
        warp, "path_with", "- work.v[uint32(end)]) - least)", "- work.v[uint32(end)]))", "product"
    ),
    "a warp: duals stay": (
        warp, "path_with", "int32(dual[k] + distance[k]) - least", "dual[k]", "product"
    ),
    "a warp: the path is shifted before all know it": (
        warp, "path_with", "cuda.syncwarp()  # all columns' rows before are stored", "pass",
        "product",
    ),
    "a warp: the edge is not repeated": (
        warp, "load_with", "int32(m - 1)", "int32(m - 2)", "uniform"
    ),
}  # fmt: skip
"""Words of a maker in a module, wrong ones, and the kind of matrices that shows it."""


@pytest.fixture
def _kernels_are_made_anew():
    caches = [module.assign_with for module in (solve, warp, floats, wide)]
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def solve_many(kind):
    for seed in range(60):
        solved(kind, seed, weak=seed % 2 == 1)


@pytest.mark.usefixtures("_kernels_are_made_anew")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(fault, monkeypatch):
    module, name, right, wrong, kind = FAULTS[fault]
    text = inspect.getsource(getattr(getattr(module, name), "py_func", getattr(module, name)))
    assert right in text
    namespace = dict(vars(module))
    exec(text.replace(right, wrong), namespace)
    monkeypatch.setattr(module, name, namespace[name])
    with pytest.raises(Exception) as told:
        solve_many(kind)
    assert not isinstance(told.value, (NameError, SyntaxError, TypeError))


FAULTS_OF_EACH = {
    "an answer goes to another problem's place": (
        "matching.column[r + i], duals.u[r + i] =", "matching.column[i], duals.u[i] =", 130
    ),
    "duals of columns go to another problem's place": (
        "duals.v[c + j] = its.v[j]", "duals.v[j] = its.v[j]", 130
    ),
    "all problems share one matching": (
        "Matching(matching.column[r : r + n], matching.row[c : c + m])",
        "Matching(matching.column[:n], matching.row[:m])", 330,
    ),
    "all problems have the first one's costs": (
        "matrix.cost[first : first + int64(n) * m]", "matrix.cost[: int64(n) * m]", 130
    ),
}  # fmt: skip
"""Words of `each.assign_each_with`, wrong ones, and a side: in shared memory up to 320."""


@pytest.fixture
def _blocks_kernels_are_made_anew():
    made = (each_integers.assign_each_with, each_floats.assign_each_with, launches.each_kernel)
    for cache in made:
        cache.cache_clear()
    yield
    for cache in made:
        cache.cache_clear()


def solve_wide(side):
    g = np.random.default_rng(side)
    costs = [g.integers(0, 99, shape) for shape in ((3, side), (side, 5), (2, side))]
    with device.executing(Executor(1)):
        answers = solver.solve(costs)
    for cost, answer in zip(costs, answers, strict=True):
        assert_optimal(cost, answer)


@pytest.mark.usefixtures("_blocks_kernels_are_made_anew")
@pytest.mark.parametrize("fault", FAULTS_OF_EACH)
def test_a_planted_fault_between_blocks_is_noticed(fault, monkeypatch):
    right, wrong, side = FAULTS_OF_EACH[fault]
    solve_wide(side)
    text = inspect.getsource(each.assign_each_with)
    assert right in text
    namespace = dict(vars(each))
    exec(text.replace(right, wrong), namespace)
    monkeypatch.setattr(each, "assign_each_with", namespace["assign_each_with"])
    for cache in (each_integers.assign_each_with, launches.each_kernel):
        cache.cache_clear()
    with pytest.raises(Exception) as told:
        solve_wide(side)
    assert not isinstance(told.value, (NameError, SyntaxError, TypeError))
