"""The eight variants under adversarial schedules: threads preempted anywhere.

Stores and loads that are late: `kernels/test_memory_order.py`.
"""

import itertools

import numpy as np
import pytest
from deveci_matching.examples import check, pairs_of, variants
from scipy.sparse import random_array

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.problems.graph import bipartite
from papers.deveci_matching import solver
from papers.deveci_matching.launches import Geometry

SEEDS = 30  # for each variant and graph
FEWER = ("layers", "crossing")  # Their runs are long, and differ already under a few seeds.


def layers(width, depth):
    """All paths have the same length, and any two may cross at any layer.

    Columns of layer i see all rows of layer i + 1; the last rows are free, the first columns too.
    """
    edges, cmatch = [], [-1] * width
    for i in range(depth + 1):
        for a, b in itertools.product(range(width), repeat=2):
            edges.append((i * width + b, i * width + a))
    for i in range(depth):
        for a in range(width):
            edges.append((i * width + a, (i + 1) * width + a))
            cmatch.append(i * width + a)
    size = (depth + 1) * width
    rmatch = np.full(size, -1, np.int32)
    rmatch[np.array(cmatch[width:])] = np.arange(width, size)
    return pairs_of(*edges, shape=(size, size)), (rmatch, np.array(cmatch, np.int32))


def funnel():
    """Six free columns share one row, whose column leads on to three columns and four free rows."""
    edges = [(0, c) for c in range(6)] + [(0, 6)] + [(r, 6) for r in (1, 2, 3)]
    edges += [(r, 6 + r) for r in (1, 2, 3)]
    edges += [(r, c) for r in (4, 5, 6, 7) for c in (7, 8, 9)]
    cmatch = np.array([-1] * 6 + [0, 1, 2, 3], np.int32)
    rmatch = np.array([6, 7, 8, 9, -1, -1, -1, -1], np.int32)
    return pairs_of(*edges, shape=(8, 10)), (rmatch, cmatch)


def crossing():
    """Two long paths that share the row in their middle, and rungs between them."""
    n = 7
    edges, rmatch, cmatch = [], np.full(2 * n + 2, -1, np.int32), np.full(2 * n + 2, -1, np.int32)
    for side, k in itertools.product(range(2), range(n)):
        row, column, before = side * n + k, 2 + side * n + k, 2 + side * n + k - 1 if k else side
        edges += [(row, column), (row, before), ((1 - side) * n + k, before)]
        rmatch[row], cmatch[column] = column, row
    edges += [(2 * n + end, 2 + side * n + n - 1) for end in range(2) for side in range(2)]
    return pairs_of(*edges, shape=(2 * n + 2, 2 * n + 2)), (rmatch, cmatch)


def figure_1():
    """[D13 Fig.1], and nothing else."""
    graph = pairs_of((0, 0), (0, 1), (1, 1), (2, 1), shape=(3, 2))
    return graph, (np.array([1, -1, -1], np.int32), np.array([-1, 0], np.int32))


COLLISIONS = {
    "figure 1": figure_1(),
    "layers": layers(3, 3),
    "funnel": funnel(),
    "crossing": crossing(),
    "complete": (np.ones((6, 5)), "empty"),
    "random": (random_array((14, 15), density=0.16, rng=3), "empty"),
}


def grid_of(variant, columns):
    """CT: five columns and more a thread; MT: one. Several blocks in both."""
    return Geometry(2, 2) if variant["threads"] == "ct" else Geometry(-(-columns // 4), 4)


def solve_under(executor, variant, graph, initial):
    """A whole run whose launches all go to one executor."""
    with device.executing(executor):
        shapes = grid_of(variant, bipartite(graph).columns)
        state = solver.upload(graph, initial=initial, geometry=shapes, **variant)
        solver.run(state)
        return solver.download(state)


@variants
@pytest.mark.parametrize("name", COLLISIONS)
def test_under_interleavings(variant, name):
    """Threads preempted anywhere, several blocks: always maximum."""
    graph, initial = COLLISIONS[name]
    found = set()
    for seed in range(SEEDS // 3 if name in FEWER else SEEDS):
        answer = solve_under(Executor(seed, 0.3, warp_size=4), variant, graph, initial)
        check(graph, answer)
        found.add(tuple(answer.row_match.tolist()))
    if name != "figure 1":
        assert len(found) > 3, "the interleavings did not differ: the test would prove nothing"
    elif (variant["algorithm"], variant["bfs"]) == ("apsb", "wr"):
        assert len(found) == 1, "its one root names the last end that its one column has found"
    else:
        assert len(found) == 2


@variants
def test_every_phase_with_a_path_gains(variant):
    """The matching grows in every phase with a path, which bounds the host's loop."""
    graph, initial = COLLISIONS["random"]
    for seed in range(10):
        with device.executing(Executor(seed, 0.3)):
            state = solver.upload(graph, initial=initial, geometry=Geometry(2, 8), **variant)
            sizes = []

            def fixing(enqueue, state=state, sizes=sizes):
                enqueue()
                rmatch, cmatch = state.arrays["rmatch"], state.arrays["cmatch"]
                sizes.append(np.count_nonzero(cmatch >= 0))
                assert np.count_nonzero(rmatch >= 0) == sizes[-1]
                assert rmatch.min() >= -1

            state.launches["fix_matching"].on_enqueue = fixing
            solver.run(state)
            assert sizes == sorted(set(sizes))
            assert sizes[0] > 0
            assert len(sizes) == len(state.levels) - 1
