"""Clusters of more than two blocks, and runs that end in one without an answer."""

import dataclasses
import itertools
from contextlib import nullcontext

import numpy as np
import pytest
from numba import cuda
from synthesis.assignment.small import KINDS, assert_optimal, has_assignment, spoiled

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.model import GivenUpError
from papers.kawtikwar_opts.kernels.clock import globaltimer
from papers.synthesis.assignment import launches, solver
from papers.synthesis.assignment.kernels import search, words
from papers.synthesis.assignment.kernels.cluster import conclusion, levels, short
from papers.synthesis.assignment.settings import Settings

CLUSTER = Settings(threads=64, loads=2, blocks=2, cluster=4, start_rounds=0, scale_above=1000)

WRONG = (AssertionError, IndexError, OverflowError, RuntimeError, ValueError)
"""A proof fails, a number does not fit, a run ends at its bounds, or no way seems to be left."""


@pytest.fixture(autouse=True)
def _four_blocks(monkeypatch):
    monkeypatch.setattr(launches, "EXECUTOR_CLUSTER", 4)


def uploaded(cost, seconds=None):
    """A state whose phases are a cluster's, which has not begun."""
    state = solver.upload(cost, settings=CLUSTER, seconds=seconds)
    assert state.workspace.conclusion.config[:2] == (4, 64)
    assert state.workspace.conclusion.cluster
    return state


@pytest.mark.parametrize("shape", [(6, 129), (5, 192), (4, 193), (4, 256), (1, 1), (1, 200)])
@pytest.mark.parametrize("kind", ["uniform", "forbidden", "product"])
def test_three_and_four_blocks_have_columns(kind, shape):
    """A column more than a block's, as many as all have, and blocks that have none."""
    cost = KINDS[kind](np.random.default_rng(4), *shape)
    assert has_assignment(cost, False)
    with device.executing(Executor()):
        state = uploaded(cost)
        solver.run(state)
        assert_optimal(cost, solver.download(state))


@pytest.mark.parametrize("shape", [(4, 4), (4, 9), (5, 70)])
def test_an_infeasible_matrix_is_seen_by_all_blocks(shape):
    cost = np.full(shape, np.inf)
    cost[:3, :2] = 1.0  # three rows have two columns
    cost[3:] = 2.0
    with device.executing(Executor()):
        state = uploaded(cost)
        with pytest.raises(ValueError, match="infeasible"):
            solver.run(state)
        cost[2, 2] = 9.0
        state = uploaded(cost)
        solver.run(state)
        assert_optimal(cost, solver.download(state))


@pytest.mark.parametrize("kind", ["euclid", "floats"])
def test_a_cluster_gives_up_at_any_turn(kind, monkeypatch):
    """The clock counts how often it is looked at; when it runs out, all blocks leave together."""
    monkeypatch.setattr(words, "CLOCK_EVERY", 1)
    cost = KINDS[kind](np.random.default_rng(1), 9, 9)
    ended = []
    for look in range(1, 24, 2):
        ticks = itertools.count()
        monkeypatch.setattr(globaltimer, "__executor__", ticks.__next__)
        with device.executing(Executor()):
            state = uploaded(cost, 1e-9 * (CLUSTER.blocks * CLUSTER.threads + look))
            try:
                solver.run(state)
            except GivenUpError as told:
                ended.append(told.reached["iterations"])
            else:
                assert_optimal(cost, solver.download(state))
                ended.append("solved")
    assert ended[-1] == "solved"
    assert any(levels > 0 for levels in ended if levels != "solved")


def test_a_circle_ends_the_trace_and_the_run(monkeypatch):
    """Planted: no path is ever claimed, and the bound on the phases ends the cluster's run."""

    @cuda.jit(device=True)
    def lost(column, shape, tree):
        return -1

    monkeypatch.setattr(search, "root_of", lost)
    with device.executing(Executor()):
        state = uploaded(KINDS["uniform"](np.random.default_rng(1), 6, 6))
        with pytest.raises(RuntimeError, match="has not ended within its bounds"):
            solver.run(state)


def test_a_card_that_refuses_the_cluster_keeps_the_grid(monkeypatch):
    def refused(*given, cluster=False, **options):
        if cluster:
            raise launches.ClusterError("the driver refused a cluster")
        return bind(*given, **options)

    bind = launches.bind
    monkeypatch.setattr(launches, "bind", refused)
    cost = KINDS["uniform"](np.random.default_rng(2), 7, 7)
    with device.executing(Executor()):
        answer = solver.solve(cost, settings=CLUSTER)
    assert_optimal(cost, answer)
    assert answer.counters["cluster_barriers"] == 0


@pytest.mark.parametrize("room", [0, 6000, 10_000])
def test_a_card_with_less_shared_memory_keeps_the_cluster(room, monkeypatch):
    """Costs go to the largest strip that it has room for, and stay in the matrix without any."""
    bound = []

    def refusing(kernel, blocks, threads, *given, shared_bytes=0, **options):
        if shared_bytes > room:
            raise launches.SharedMemoryError("the driver refused it")
        bound.append(shared_bytes)
        return bind(kernel, blocks, threads, *given, shared_bytes=shared_bytes, **options)

    bind = launches.bind
    monkeypatch.setattr(launches, "bind", refusing)
    cost = KINDS["uniform"](np.random.default_rng(3), 40, 65).astype(np.int32)
    sizes = dict(launches.strips_for(cost.shape, cost.dtype, 4))
    assert sizes == {"whole": 6400, "narrow": 3200, "noted": 0}
    with device.executing(Executor()):
        answer = solver.solve(cost, settings=CLUSTER)
    assert_optimal(cost, answer)
    assert answer.counters["cluster_barriers"] > 0
    assert max(bound) == max(size for size in sizes.values() if size <= room)


def test_strips_fit_beside_what_else_a_block_has():
    """Large sides have narrow strips, or none: of floats, and of integers of 64 bits."""
    for n, m, kind, strip in (
        (512, 512, np.float64, "whole"), (1024, 1024, np.int32, "narrow"),
        (1024, 1024, np.int64, "nowhere"), (640, 1000, np.int32, "whole"),
        (641, 1000, np.int32, "narrow"), (320, 1000, np.float64, "whole"),
        (321, 1000, np.float64, "nowhere"),
    ):  # fmt: skip
        found = launches.strips_for((n, m), np.dtype(kind), 16)
        assert found[0][0] == strip
        assert found[-1] == ("noted" if kind == np.int32 else "nowhere", 0)
        assert all(size <= launches.STRIP_BYTES for _, size in found)


@pytest.fixture
def sizes(monkeypatch):
    """What each thread that began a search was told of the largest size of a cost or dual."""
    told, fits = [], short.fits

    @cuda.jit(device=True)
    def noted(shape):
        told.append(int(shape.widest[short.ALL]))
        return fits(shape)

    monkeypatch.setattr(short, "fits", noted)
    return told


def one_is(size, column, n=12, m=200):
    """Small costs, but one, in a column of which a block has no other."""
    cost = np.random.default_rng(5).integers(0, 50, (n, m)).astype(np.int32)
    cost[3, column] = size
    return cost


@pytest.mark.parametrize("strip", ["whole", "narrow"])
@pytest.mark.parametrize("size", [20_000, -20_000])
@pytest.mark.parametrize("column", [0, 40, 110, 199])
def test_all_blocks_know_the_largest_cost(strip, size, column, sizes, monkeypatch):
    """Whichever block has it, and whichever lane; a negative one is its row's dual, too."""
    strips_for = launches.strips_for
    monkeypatch.setattr(
        launches, "strips_for", lambda *given: [s for s in strips_for(*given) if s[0] == strip]
    )
    cost = one_is(size, column)
    with device.executing(Executor()):
        assert_optimal(cost, solver.solve(cost, settings=CLUSTER))
    first = sizes[: 4 * CLUSTER.threads]
    assert len(set(first)) == 1
    assert 19_999 <= first[0] <= 20_050  # -size is within, as of all whole numbers


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("shape", [(40, 40), (12, 200)])
def test_the_largest_costs_that_count_in_32_bits_do_not_run_over(shape, side, sizes):
    """Costs of 32 bits go to the kernel as they are, on both sides of 0."""
    size = 2**short.BITS // 2 - 1
    cost = np.random.default_rng(6).integers(-size, size, shape, endpoint=True, dtype=np.int32)
    cost[0, 0] = side * (2**short.BITS - 1)
    with device.executing(Executor()):
        assert_optimal(cost, solver.solve(cost, settings=CLUSTER))
    assert 2**short.BITS - 2 <= sizes[0] <= 2**short.BITS - 1
    # The duals of a square grow, and its last searches count in 64 bits.
    assert (sizes[-1] >= 2**short.BITS) == (shape[0] == shape[1])


def test_duals_count_where_they_are_larger_than_costs(sizes):
    cost = np.array([[-1000, 1000], [-1000, 1000]], np.int32)  # columns' duals are 0 and 2000
    with device.executing(Executor()):
        assert_optimal(cost, solver.solve(cost, settings=CLUSTER))
    assert sizes[0] == 2000


@pytest.mark.parametrize("seed", range(4))
def test_a_column_that_nobody_reaches_has_no_row_before(seed, monkeypatch):
    """An empty front offers nothing, and a negative dual does not make it something."""
    monkeypatch.setattr(launches, "EXECUTOR_CLUSTER", 3)
    nearest = dataclasses.replace(CLUSTER, cluster=3, delta=0, delta_scaled=0)
    g, n = np.random.default_rng(seed), 5 + seed % 2
    cost = (g.integers(0, 8000, (n, 1)) * g.integers(-8000, 8000, (1, n))).astype(np.int32)
    with device.executing(Executor()):
        assert_optimal(cost, solver.solve(cost, settings=nearest))


def test_duals_that_grow_are_counted_in_64_bits(sizes, monkeypatch):
    """Every search adds how far it has gone."""
    monkeypatch.setattr(short, "BITS", 6)
    cost = KINDS["product"](np.random.default_rng(1), 24, 24) % 64
    with device.executing(Executor()):
        answer = solver.solve(cost, settings=CLUSTER)
    assert_optimal(cost, answer)
    assert sizes[0] < 2**6 <= sizes[-1]
    assert sizes == sorted(sizes)
    assert sizes[-1] >= max(np.abs(answer.row_duals).max(), np.abs(answer.column_duals).max())


@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize(("which", "bound"), [("u", "shape.n"), ("v", "shape.m")])
@pytest.mark.parametrize("left_out", [False, True])
def test_rows_and_columns_duals_are_noted(which, bound, place, left_out, sizes, monkeypatch):
    """One dual of a million is noted, whoever has it; planted: those duals are left out."""
    right = short.note
    if left_out:
        right = spoiled(short, "note", f"{bound}, threads_of", "0, threads_of")

    @cuda.jit(device=True)
    def noted(size, shape, duals):
        values = np.zeros(30 if which == "u" else 200, np.int64)
        values[place] = -1_000_000
        right(size, shape, duals._replace(**{which: values}))

    monkeypatch.setattr(short, "note", noted)
    cost = KINDS["uniform"](np.random.default_rng(1), 30, 200)
    with device.executing(Executor()):
        assert_optimal(cost, solver.solve(cost, settings=CLUSTER))
    assert (sizes[0] == 999_999) != left_out


def test_every_search_adds_how_far_it_has_gone(sizes, monkeypatch):
    reaches, risen = [], short.risen

    @cuda.jit(device=True)
    def noted(reach, status, shape):
        if cuda.grid(1) == 0:
            reaches.append(int(reach))
        risen(reach, status, shape)

    monkeypatch.setattr(short, "risen", noted)
    cost = KINDS["product"](np.random.default_rng(1), 24, 24)
    with device.executing(Executor()):
        assert_optimal(cost, solver.solve(cost, settings=CLUSTER))
    assert len(reaches) > 2
    told = sizes[0] + np.cumsum([0, *reaches[:-1]])
    assert sorted(set(sizes)) == sorted(set(told.tolist()))


@pytest.mark.usefixtures("_kernels_are_made_anew")
@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("fits", "shape.widest[ALL]", "shape.widest[ALL]"),  # as it is
        ("fits", "shape.widest[ALL] < 1 << BITS", "True"),
        ("agree", "shape.widest[ALL] = size", "shape.widest[ALL] = shape.widest[MINE]"),
        ("note", "cuda.atomic.max(shape.widest, MINE, size)", "pass"),
    ],
)
def test_without_its_bound_a_search_runs_over(name, right, wrong, monkeypatch):
    """Planted: 32 bits for costs that do not fit in them, by all blocks or by some."""
    monkeypatch.setattr(short, name, spoiled(short, name, right, wrong))
    random = np.random.default_rng(0)
    cost = random.integers(0, 50, (30, 200)).astype(np.int32)
    cost[:, 190:] = random.integers(-(2**31) + 1, 0, (30, 10))
    expected = pytest.raises(WRONG) if right != wrong else nullcontext()
    with device.executing(Executor()), expected:
        assert_optimal(cost, solver.solve(cost, settings=CLUSTER))


@pytest.mark.usefixtures("_kernels_are_made_anew")
@pytest.mark.parametrize("bits", [0, short.BITS])
@pytest.mark.parametrize("planted", [False, True])
def test_the_parts_of_a_column_meet_across_warps(bits, planted, monkeypatch):
    """Only blocks of many threads have parts of one column in several warps."""
    many = dataclasses.replace(CLUSTER, threads=256, cluster=2)
    monkeypatch.setattr(short, "BITS", bits)
    if planted:
        module = short if bits else levels
        spoilt = spoiled(module, "least_of_parts", "while other < warp_columns:", "while False:")
        monkeypatch.setattr(module, "least_of_parts", spoilt)
    expected = pytest.raises(WRONG) if planted else nullcontext()
    cost = KINDS["uniform"](np.random.default_rng(9), 40, 40)
    with device.executing(Executor()), expected:
        assert_optimal(cost, solver.solve(cost, settings=many))


@pytest.mark.usefixtures("_kernels_are_made_anew")
@pytest.mark.parametrize("planted", [False, True])
def test_a_block_clears_its_size_before_any_warp_notes_one(planted, sizes, monkeypatch):
    """Its first thread is late; planted: without the barrier it clears what others have noted."""
    taken_over = conclusion.taken_over

    @cuda.jit(device=True)
    def late(log):
        if cuda.threadIdx.x == 0:
            for _ in range(300):
                cuda.nanosleep(1)
        return taken_over(log)

    if planted:
        barrier = "cuda.syncthreads()\n            short.note"
        spoilt = spoiled(conclusion, "conclude_with", barrier, "short.note")
        monkeypatch.setattr(conclusion, "conclude_with", spoilt)
        monkeypatch.setitem(spoilt.__globals__, "taken_over", late)
    monkeypatch.setattr(conclusion, "taken_over", late)
    cost = one_is(20_000, 110)
    with device.executing(Executor()):
        assert_optimal(cost, solver.solve(cost, settings=CLUSTER))
    assert (min(sizes) < 20_000) == planted


def without_strips(monkeypatch):
    strips_for = launches.strips_for
    monkeypatch.setattr(launches, "strips_for", lambda *given: strips_for(*given)[-1:])


@pytest.mark.usefixtures("_kernels_are_made_anew")
@pytest.mark.parametrize(
    ("module", "name", "right", "wrong"),
    [
        (short, "fits", "shape.widest[ALL]", "shape.widest[ALL]"),  # as it is
        (short, "noted_with", "beyond = int32(beyond | int32(cost ^ int32(found[x])))", "pass"),
        (short, "large", "shape.widest[SEEN] != 0", "False"),
        (levels, "search_with", "notes and flags & short.TOO_LARGE != 0", "False"),
    ],
    ids=["right", "not noted", "not told", "not left"],
)
def test_a_search_that_has_read_too_large_a_cost_is_begun_anew(
    module, name, right, wrong, sizes, monkeypatch
):
    """A rectangle whose rows are near one column alone: its duals are small when it begins."""
    without_strips(monkeypatch)
    monkeypatch.setattr(short, "BITS", 5)
    if right != wrong:
        monkeypatch.setattr(module, name, spoiled(module, name, right, wrong))
    cost = np.random.default_rng(9).integers(100, 200, (8, 200)).astype(np.int32)
    cost[:, 70] = 0
    with (
        device.executing(Executor()),
        nullcontext() if right == wrong else pytest.raises(AssertionError),
    ):
        assert_optimal(cost, solver.solve(cost, settings=CLUSTER))
    assert sizes[0] < 2**5


@pytest.mark.parametrize("shape", [(30, 30), (12, 200)])
@pytest.mark.parametrize("size", [2**short.BITS // 2 - 1, 2**short.BITS, 2**31 - 1])
def test_costs_that_nobody_has_seen_are_noted_as_they_are_read(shape, size, sizes, monkeypatch):
    """Where they are too large the search is left, and begun anew in 64 bits."""
    without_strips(monkeypatch)
    cost = np.random.default_rng(8).integers(0, 90, shape).astype(np.int32)
    cost[:, -1], cost[0, :-1] = -size, size
    with device.executing(Executor()):
        assert_optimal(cost, solver.solve(cost, settings=CLUSTER))
    assert sizes[0] < 2**31
    assert (sizes[-1] >= 2**short.BITS) == (size >= 2**short.BITS)


@pytest.mark.usefixtures("_kernels_are_made_anew")
@pytest.mark.parametrize(
    ("module", "name", "right", "wrong"),
    [
        (short, "fits", "shape.widest[ALL]", "shape.widest[ALL]"),  # as it is
        (levels, "searches_with", "notes and status == UNDER_WAY",
         "notes and status == UNDER_WAY and short.large(shape) != 0"),
        (short, "leave", "if cuda.threadIdx.x == 0:", "if False:"),
    ],
    ids=["right", "left by its reader alone", "begun anew each time"],
)  # fmt: skip
@pytest.mark.parametrize(("shape", "spot"), [((12, 200), (0, 70)), ((30, 100), (5, 80))])
def test_one_block_that_has_read_too_large_a_cost_is_enough(
    shape, spot, module, name, right, wrong, sizes, monkeypatch
):
    """All blocks leave the search, and no later one is begun in 32 bits."""
    without_strips(monkeypatch)
    planted = right != wrong
    if planted:
        monkeypatch.setattr(module, name, spoiled(module, name, right, wrong))
    cost = np.random.default_rng(8).integers(0, 90, shape).astype(np.int32)
    cost[spot] = 2**31 - 1
    left_by_reader = planted and name == "searches_with"
    with (
        device.executing(Executor()),
        pytest.raises(Exception) if left_by_reader else nullcontext(),
    ):
        assert_optimal(cost, solver.solve(cost, settings=CLUSTER))
    if not left_by_reader:
        assert (sizes[-1] < 2**short.BITS) == planted


@pytest.mark.usefixtures("_kernels_are_made_anew")
@pytest.mark.parametrize("stores", [False, True], ids=["right", "stores what it has found"])
def test_a_search_that_was_left_stores_no_tree(stores, monkeypatch):
    """Of two free rows the first is augmented, and the tree of the second stays.

    It has the first two columns. Their rows come into the second search's front: one finds the
    last column, over the first; the other reads too large a cost of the first column, which seems
    to come from it then.
    """
    without_strips(monkeypatch)
    monkeypatch.setattr(short, "BITS", 8)
    if stores:
        kept = spoiled(levels, "search_with", " and status != UNDER_WAY", "")
        monkeypatch.setattr(levels, "search_with", kept)
    leave, gone = short.leave, []

    @cuda.jit(device=True)
    def left(shape):
        gone.append(cuda.blockIdx.x)
        leave(shape)

    monkeypatch.setattr(short, "leave", left)
    u, v = np.array([0, 0, 0, 220]), np.array([220, 0, 0, 0])
    slack = np.array([[5, 20, 0, 0], [0, 0, 20, 20], [0, 20, 0, 0], [10, 0, 20, 20]])
    cost = (u[:, None] + v + slack).astype(np.int32)
    with device.executing(Executor()):
        state = uploaded(cost)
        begin, conclude = state.workspace.solver()

        def place():
            """The first two columns have rows, and the duals are those above."""
            arrays = state.workspace.arrays
            turn = int(arrays["words"][words.TURN])
            arrays["u"][:], arrays["v"][:] = u, v
            arrays["column"][:], arrays["row"][:] = [-1, -1, 0, 1], [2, 3, -1, -1]
            arrays["rows"][4 * (turn % 2)], arrays["rows"][4 * (turn % 2) + 1] = 0, 1
            arrays["words"][words.FREE + turn % 3] = 2

        monkeypatch.setattr(state.workspace, "solver", lambda: (begin, place, conclude))
        solver.run(state)
        answer = solver.download(state)
    assert answer.counters["phases"] == 2
    assert len(gone) == 4 * 64, "all threads have left the second search"
    with pytest.raises(AssertionError) if stores else nullcontext():
        assert_optimal(cost, answer)


@pytest.mark.parametrize(
    ("kind", "changed", "cluster"),
    [
        ("uniform", {}, True),
        ("uniform", {"delta": 0}, False),  # a bucket holds one distance
        ("narrow", {"delta": 1}, False),
        ("uniform", {"scale_above": 0, "left_free": 300}, False),
    ],
)
def test_a_cluster_is_used_where_fronts_are_narrow(kind, changed, cluster):
    """The device decides; a run behind another has the same memory, and decides for itself."""
    settings = dataclasses.replace(CLUSTER, cluster_unscaled=1, **{"delta": 32} | changed)
    cost = KINDS[kind](np.random.default_rng(2), 40, 40)
    other = KINDS["narrow" if cluster else "uniform"](np.random.default_rng(3), 40, 40)
    with device.executing(Executor()):
        for matrix, by in ((cost, cluster), (other, None), (cost, cluster)):
            answer = solver.solve(matrix, settings=settings)
            assert_optimal(matrix, answer)
            if by is not None:
                assert (answer.counters["cluster_barriers"] > 0) == by


@pytest.mark.parametrize("kind", [np.int32, np.float64])
def test_a_run_without_a_free_row_ends_in_the_grid(kind):
    """The start matches all rows of the first matrix; a run on the same memory has a cluster."""
    settings = dataclasses.replace(CLUSTER, start_rounds=16, start_left=100)
    settled = np.ones((40, 40), kind) - np.eye(40, dtype=kind)
    cost = KINDS["uniform"](np.random.default_rng(2), 40, 40).astype(kind)
    with device.executing(Executor()):
        for matrix, by in ((settled, False), (cost, True), (settled, False)):
            answer = solver.solve(matrix, settings=settings)
            assert_optimal(matrix, answer)
            assert (answer.counters["cluster_barriers"] > 0) == by


def test_which_shapes_have_a_cluster():
    for n, m, kind, blocks, unscaled in (
        (1024, 1024, np.int32, 16, 0), (1025, 1025, np.int32, 16, 1), (2048, 2048, np.int32, 16, 1),
        (2049, 2049, np.int32, 0, 0), (1025, 1025, np.int64, 0, 0), (1025, 1025, np.float64, 0, 0),
        (1000, 1025, np.int32, 0, 0), (512, 1024, np.float64, 16, 0),
    ):  # fmt: skip
        settings = Settings.for_shape(n, m, np.dtype(kind))
        assert (settings.cluster, settings.cluster_unscaled) == (blocks, unscaled)


def test_a_row_that_fits_no_narrow_strip_is_read_in_the_matrix(monkeypatch):
    strips_for = launches.strips_for
    monkeypatch.setattr(
        launches, "strips_for", lambda *given: [s for s in strips_for(*given) if s[0] == "narrow"]
    )
    for seed in range(3):
        cost = one_is(70_000 + seed, 40)
        with device.executing(Executor()):
            assert_optimal(cost, solver.solve(cost, settings=CLUSTER))
