"""Propositions 1 and 2 under many seeded interleavings, threads preempted anywhere.

Memory is sequentially consistent here, which shows races of order; `test_memory_order.py` has the
same kernels on a weak memory, which shows a missing fence.
"""

import numpy as np
import pytest
from datenagi2016.kernels.test_kernels import augment_and_check, check_forest, searching, walk
from nightly import first
from numba import cuda
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.common.problems import assignment_proof
from papers.datenagi2016 import reference, solver
from papers.datenagi2016.kernels.shared import TO_AUGMENT, Flag
from papers.datenagi2016.launches import VARIANTS, Geometry

SEEDS = 30
SHAPES = dict(
    line_threads=9, row_threads=32, column_threads=8, rows_a_block=5, search_threads=64,
    search_blocks=3, reduction_threads=8, scan_threads=32, stage_width=2,
)  # fmt: skip
SMALL = Geometry(**SHAPES)
variants = pytest.mark.parametrize("variant", VARIANTS)


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def under(seed, switch=0.2):
    """All launches bound inside run under one interleaving."""
    return device.executing(Executor(seed=seed, switch=switch))


# ------------------------------------------------------------------------------- one search


def coins(n):
    """Half of the edges have no slack; a third of the rows is assigned."""
    zero = np.random.default_rng(n).random((n, n)) < 0.5
    pairs = [(i, (i + 1) % n) for i in range(n // 3)]
    zero[tuple(zip(*pairs, strict=True))] = True
    return zero, pairs


def constant(n):
    """Every row sees every column; the odd ones are assigned."""
    return np.ones((n, n), bool), [(i, i) for i in range(1, n, 2)]


def funnel(n):
    """All free rows race for one column, its row leads on to many, and those race for two free."""
    half = n // 2
    zero = np.zeros((n, n), bool)
    pairs = [(half + k, k) for k in range(half)]
    zero[:half, 0] = True
    zero[half, :half] = True
    zero[half + 1 :, [n - 2, n - 1]] = True
    for i, j in pairs:
        zero[i, j] = True
    return zero, pairs


def ladder(n):
    """Many rows race for each of the columns of every level; free columns only at the end."""
    third = n // 3
    zero = np.zeros((n, n), bool)
    zero[:third, :third] = True
    zero[third : 2 * third, third : 2 * third] = True
    zero[2 * third :, 2 * third :] = True
    pairs = [(third + k, k) for k in range(third)] + [(2 * third + k, third + k) for k in range(3)]
    for i, j in pairs:
        zero[i, j] = True
    return zero, pairs


def dead_end(n):
    """As `coins`, but all columns that can be reached are assigned: a dual update would follow."""
    zero, _ = coins(n)
    zero[:, n // 2 :] = False
    pairs = [(n - 1 - j, j) for j in range(n // 2)]
    for i, j in pairs:
        zero[i, j] = True
    return zero, pairs


def into_frontier(rows):
    """An `on_access` that notes the rows that become active: F_out (classical), F_in (tree)."""

    def note(kind, array, index, value):
        if kind == "store" and array in ("frontiers.f_out", "frontier"):
            rows.append(int(value))

    return note


@variants
@pytest.mark.parametrize("instance", first(1, [ladder, coins, dead_end, constant, funnel]))
def test_propositions_1_and_2(instance, variant):
    """Trees share no line and reach all there is; paths share no line, one a tree; all is matched.

    In the classical search any of the rows that race for a column may win. In the tree variant the
    first of them in the frontier wins, and only the order of whole warps in the frontier varies.
    """
    usual, fewest = (40, 15) if variant == "classical" else (130, 2)
    forests, assignments, reached = set(), set(), set()
    for seed in range(SEEDS):
        n = (20, 33, 70)[seed % 3] if seed >= 20 else usual
        gathered = []
        executor = Executor(seed=seed, switch=0.2, on_access=into_frontier(gathered))
        state, root = searching(variant, *instance(n), executor, **SHAPES)
        assert len(set(gathered)) == len(gathered), "a row was gathered twice"
        a = state.arrays
        signal = state.wait()
        assert signal.path_found == (instance is not dead_end)
        assert not signal.stuck
        if n == usual:
            forests.add(tuple(a["column_predecessor"].tolist()))
            reached.add((tuple(a["column_cover"]), tuple(a["row_cover"])))
        if signal.path_found:
            augment_and_check(state, root)
            assignments.add(tuple(a["row_assignment"].tolist()))
    assert len(reached) == 1, "what is reachable does not depend on the order"
    assert len(forests) >= fewest, "the interleavings did not differ: the test would prove nothing"
    if instance is not dead_end:
        assert len(assignments) > 3


@variants
def test_reverse_pass_under_interleavings(variant):
    """One tree with every column free below two rows: all the ways to meet, one path each time."""
    n = 24
    zero = np.zeros((n, n), bool)
    zero[0, :2] = True
    zero[1, 2:12] = zero[2, 12:] = True
    zero[1, 0] = zero[2, 1] = True
    winners = set()
    for seed in range(SEEDS):
        executor = Executor(seed=seed, switch=0.4)
        state, root = searching(variant, zero, [(1, 0), (2, 1)], executor, **SHAPES)
        assert set(root.values()) >= {0}
        assert augment_and_check(state, root) == 1
        winners.add(int(np.flatnonzero(state.arrays["column_assignment"][2:] >= 0)[0]))
    assert len(winners) > 5, "not every winner was seen"


def test_three_sizes_of_frontiers_by_turns():
    """Tree: the size that is cleared in a level is not the one that is counted up in it.

    In natural order thread 0 clears before anyone counts, so the order of accesses shows it.
    """
    events = []

    def note(kind, array, index, value):
        if array == "flags" and Flag.SIZES <= index < Flag.SIZES + 3:
            events.append((kind, index - Flag.SIZES))

    n = 20  # row 0 is free, column j leads on to row j + 1
    zero = np.eye(n, dtype=bool) | np.eye(n, k=-1, dtype=bool)
    pairs = [(i + 1, i) for i in range(n - 1)]
    searching("tree", zero, pairs, Executor(on_access=note), **SHAPES)
    assert events[0] == ("atomic", 0)
    level = 0
    for kind, slot in events[1:-3]:
        if kind == "store":
            assert slot == (level + 2) % 3
            level += 1
        else:
            assert slot == level % 3
    assert level == n


# ------------------------------------------------------------------------------- whole solves


def instance(seed):
    """Ties of several kinds, and a few costs that are all different."""
    n = 5 + seed * 7 % 19
    kind = seed % 6
    if kind == 0:
        return uniform(n, seed, cost_range=2)
    if kind == 1:
        return np.full((min(n, 12), min(n, 12)), 3, np.int32)
    if kind == 2:
        return uniform(n, seed, cost_range=max(2, n // 3))
    if kind == 3:  # rows alike in threes
        return np.repeat(uniform(n, seed, cost_range=n), 3, axis=0)[:n]
    if kind == 4:  # n - 1 rows want the same few columns
        return uniform(n, seed, cost_range=3) + 4 * (np.arange(n) > 2).astype(np.int32)
    return uniform(n, seed, cost_range=10 * n)


def sequential(variant):
    """The variant's sequential listing."""
    return {
        "classical": reference.classical_hungarian,
        "tree": reference.alternating_tree_hungarian,
    }[variant]


@variants
@pytest.mark.parametrize("part", first(1, range(4)))
def test_every_pass_of_a_solve_under_interleavings(variant, part):
    """All that holds after a pass, an augmentation, an update holds under every order.

    The dual updates are those of the sequential listing: an update is only made when the matching
    is maximum among the zero-slack edges, and what alternating paths then reach is the same for
    every maximum matching (Dulmage and Mendelsohn).
    """
    for seed in range(part * 6, part * 6 + 6):
        cost = instance(seed)
        with under(seed):
            state = solver.upload(cost, variant=variant, geometry=SMALL)
        updates, _, found = walk(state)
        t = sequential(variant)(state.problem.matrix)
        assert found == len(cost)
        assert updates == t.updates
        assert np.array_equal(state.arrays["row_dual"], t.D_r)
        assert np.array_equal(state.arrays["column_dual"], t.D_c)


@variants
@pytest.mark.parametrize("part", first(1, range(4)))
def test_whole_solves_under_interleavings(variant, part):
    """Always optimal, always proved, always the same dual updates."""
    for seed in range(100 + part * 7, 107 + part * 7):
        cost = instance(seed)
        with under(seed, 0.1):
            answer = solver.solve(cost, variant=variant, geometry=SMALL)
        verdict = assignment_proof.assignment(cost, answer)
        assert verdict.ok, (seed, verdict)
        t = sequential(variant)(cost)
        assert answer.counters["dual_updates"] == len(t.updates)
        first = t.updates[0] if t.updates else len(cost)
        assert answer.counters["initial_assignments"] == first


@variants
def test_updates_and_duals_are_the_same_in_every_order(variant):
    """One instance, many orders: the same duals, while passes and assignments differ."""
    cost = np.repeat(uniform(15, 2, cost_range=15)[:5], 3, axis=0)
    duals, updates, passes, assignments = set(), set(), set(), set()
    for seed in range(8):
        with under(seed):
            state = solver.upload(cost, variant=variant, geometry=SMALL)
            solver.run(state)
            answer = solver.download(state)
        assert assignment_proof.assignment(cost, answer).ok
        duals.add((*state.arrays["row_dual"].tolist(), *state.arrays["column_dual"].tolist()))
        updates.add(tuple(state.matches_at_update))
        passes.add(answer.counters["forward_passes"])
        assignments.add(tuple(answer.col_ind.tolist()))
    assert len(duals) == len(updates) == 1
    assert updates.pop() == tuple(sequential(variant)(cost).updates) != ()
    assert len(assignments) > 3, "the interleavings did not differ: the test would prove nothing"


@pytest.mark.nightly
def test_doubles_under_interleavings():
    for seed in range(10):
        cost = np.random.default_rng(seed).random((6 + seed, 6 + seed)) * 2
        for variant in VARIANTS:
            with under(seed):
                answer = solver.solve(cost, variant=variant, geometry=SMALL)
            assert assignment_proof.assignment(cost, answer).ok


@variants
def test_initial_assignments_are_a_maximum_matching_in_every_order(variant):
    cost = uniform(30, 9, cost_range=15)
    t = reference.tableau(cost)
    reference.initial_reduction(t)
    zero = csr_array(t.C - t.D_r[:, None] - t.D_c == 0)
    most = (maximum_bipartite_matching(zero, perm_type="column") >= 0).sum()
    for seed in range(4):
        with under(seed):
            counters = solver.solve(cost, variant=variant, geometry=SMALL).counters
        assert counters["initial_assignments"] == most < 30


# ------------------------------------------------------------------------------- planted faults


def test_interleavings_find_a_column_taken_twice():
    """Without the exchange of the cover [DN16 Alg.3] a row is gathered by two frontier rows."""

    @cuda.jit
    def expansion_without_exchange(column_cover, column_predecessor, frontier_out, gathered):
        i = cuda.grid(1)
        if column_cover[0] == 0:
            column_cover[0] = 1
            column_predecessor[0] = i
            frontier_out[cuda.atomic.add(gathered, 0, 1)] = 7

    sizes = set()
    for seed in range(50):
        cover, predecessor, gathered = (np.zeros(1, np.int32) for _ in range(3))
        Executor(seed=seed, switch=0.2).launch(
            expansion_without_exchange, 1, 4, (cover, predecessor, np.zeros(4, np.int32), gathered)
        )
        sizes.add(int(gathered[0]))
    assert max(sizes) > 1, "the executor never met the race that the exchange is there for"


def test_interleavings_find_a_root_appended_twice():
    """Without the exchange of the root's mark [DN16 Alg.5] two threads of a tree append it."""

    @cuda.jit
    def reverse_pass_without_exchange(
        n, frontier_reverse, row_predecessor, column_predecessor, row_successor, column_successor,
        row_mark, frontier_augment, flags,
    ):  # fmt: skip
        k = cuda.grid(1)
        if k >= flags[1]:
            return
        row = -1
        column = frontier_reverse[k]
        for _ in range(n):
            column_successor[column] = row
            row = column_predecessor[column]
            row_successor[row] = column
            column = row_predecessor[row]
            if column == -1:
                break
        if row_mark[row] != TO_AUGMENT:
            row_mark[row] = TO_AUGMENT
            frontier_augment[cuda.atomic.add(flags, 2, 1)] = row

    assert (Flag.REVERSE, Flag.AUGMENT) == (1, 2)
    zero = np.zeros((8, 8), bool)
    zero[3] = True
    sizes = set()
    for seed in range(SEEDS):
        state, _ = searching("classical", zero, [], **SHAPES)
        a = state.arrays
        names = ("frontier_reverse", "row_predecessor", "column_predecessor", "row_successor",
                 "column_successor", "row_mark", "frontier_augment", "flags")  # fmt: skip
        Executor(seed=seed, switch=0.2).launch(
            reverse_pass_without_exchange, 1, 8, (np.int32(8), *(a[name] for name in names))
        )
        sizes.add(int(a["flags"][Flag.AUGMENT]))
    assert max(sizes) > 1, "the executor never met the race that the exchange is there for"


@variants
def test_the_checks_find_a_wrong_forest(variant):
    """A predecessor without an edge, a circle, a column left out: each is noticed."""
    state, _ = searching(variant, *funnel(20), **SHAPES)
    a = state.arrays
    for name, index, value in (
        ("column_predecessor", 3, 2), ("column_predecessor", 0, 13), ("column_cover", 4, 0),
        ("row_cover", 12, 1), ("row_predecessor", 13, 9),
    ):  # fmt: skip
        before = int(a[name][index])
        assert before != value
        a[name][index] = value
        with pytest.raises(AssertionError):
            check_forest(state)
        a[name][index] = before
    check_forest(state)


@pytest.mark.parametrize("threads", [96, 160])
def test_warps_of_the_search_must_be_a_power_of_two(threads):
    """Else a warp would be left over, and share another's columns."""
    with pytest.raises(ValueError, match=f"search_threads={threads} is no power of two"):
        Geometry(16, 64, 32, 8, threads, 2, 16, 32, 4)
