"""The launch under seeded interleavings of several blocks, in a strong and in a weak memory.

Every word that goes from block to block lies behind a barrier of the grid or in an atomic, but for
the reports between two levels of a search (`reports`), whose words bear the level's number, and one
harmless race (`rounds.row_duals_with`). What these tests notice is a barrier that is left out, and
a word that is taken unseen.
"""

import contextlib
from unittest import mock

import numpy as np
import pytest
from memory_sites import noticed, sites_below
from nightly import first
from numba import cuda
from synthesis.assignment.small import (
    KINDS,
    NEARLY_SORTED,
    assert_optimal,
    draw,
    has_assignment,
    spoiled,
)

from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu import device
from papers.common.gpu.memory_order import load_acquire_system, pause
from papers.synthesis.assignment import launches, solver
from papers.synthesis.assignment.kernels import (
    dense,
    floats,
    integers,
    rounds,
    search,
    sorting,
)
from papers.synthesis.assignment.kernels.cluster import boxes, conclusion, short, strips
from papers.synthesis.assignment.kernels.cluster import levels as crew
from papers.synthesis.assignment.kernels.costs import deliver
from papers.synthesis.assignment.kernels.grid import chains, levels, near, reports
from papers.synthesis.assignment.settings import Settings

SMALL = {"threads": 32, "loads": 2, "tile": 2}

SCHEDULES = {
    "phases": Settings(**SMALL, blocks=2, start_rounds=2, scale_above=1000),
    "scales": Settings(
        **SMALL, blocks=3, start_rounds=1, scale_above=0, most_rounds=4, left_free=300, sorting=0
    ),
    "warps": Settings(
        **SMALL | {"threads": 64}, blocks=2, start_rounds=0, scale_above=1000, warps_a_row=2
    ),
    "many": Settings(
        **SMALL | {"tile": 8}, blocks=2, start_rounds=0, scale_above=1000, delta=10_000
    ),
    "groups": Settings(
        **SMALL | {"threads": 64, "loads": 1},
        blocks=2,
        scale_above=0,
        left_free=300,
        most_rounds=4,
        sorting=0,
    ),
    "queue": Settings(**SMALL, blocks=2, start_left=0, scale_above=1000),
    "rounds": Settings(**SMALL | {"threads": 64}, blocks=1, start_rounds=2, scale_above=1000),
    "alone": Settings(
        **SMALL | {"threads": 64},
        blocks=1,
        start_rounds=1,
        scale_above=0,
        most_rounds=2,
        last_rounds=0,
        left_free=300,
        sorting=0,
    ),
    "sorting": Settings(**SMALL, blocks=3, start_rounds=0, scale_above=0),
    "sorting alone": Settings(**SMALL | {"threads": 64}, blocks=1, start_rounds=0, scale_above=0),
}


MARKED = {
    "threads": 32,
    "loads": 2,
    "tile": 32,
    "near": 1,
    "near_least": 0,
    "start_rounds": 2,
    "scale_above": 1000,
}
"""Of marks a tile has a warp's columns, so that matrices are larger."""

SCHEDULES |= {
    "bids by marks": Settings(**MARKED, blocks=3),
    "searches by marks": Settings(
        **MARKED | {"threads": 64, "start_rounds": 0}, delta=0, delta_scaled=0, blocks=2
    ),
}

CLUSTER = {"threads": 64, "loads": 2, "blocks": 2, "cluster": 2, "scale_above": 1000}

CLUSTERS = {
    "cluster": Settings(**CLUSTER, start_rounds=0),
    "groups of a cluster": Settings(**CLUSTER, start_rounds=0, delta=10_000),
    "long fronts of a cluster": Settings(**CLUSTER, start_rounds=0, delta=10_000),
    "whole ends of a cluster": Settings(**CLUSTER, start_rounds=0),
    "narrow strips of a cluster": Settings(**CLUSTER, start_rounds=0),
    "strips that do not fit a cluster": Settings(**CLUSTER, start_rounds=0),
    "no strips of a cluster": Settings(**CLUSTER, start_rounds=0),
    "costs too large for a cluster's 32 bits": Settings(**CLUSTER, start_rounds=0),
}
"""A cluster of two blocks ends what two of a grid have begun."""

IN_64_BITS = "{}, in 64 bits"

LONG = {
    IN_64_BITS.format(name): name
    for name in (
        "cluster", "groups of a cluster", "long fronts of a cluster", "narrow strips of a cluster"
    )
}  # fmt: skip
"""Costs of small matrices are counted in 32 bits; the same schedules, where none is."""

SCHEDULES |= CLUSTERS | {long: CLUSTERS[name] for long, name in LONG.items()}

IN_PARTS = {
    "parts of a front": Settings(
        **SMALL | {"tile": 8}, blocks=2, start_rounds=0, scale_above=1000, delta=10_000
    ),
    "parts of a front by marks": Settings(
        **MARKED | {"threads": 64, "start_rounds": 0}, delta=10_000, delta_scaled=0, blocks=2
    ),
}
"""Fronts that a block takes in several parts; structured costs take minutes in the executor."""

PARTS = (
    (reports, "GRID_CHUNK", 5), (reports, "GRID_CHUNK_FLOATS", 3),
    (launches, "kernel_for", launches.kernel_for.__wrapped__),
    (integers, "assign_with", integers.assign_with.__wrapped__),
    (floats, "assign_with", floats.assign_with.__wrapped__),
)  # fmt: skip
"""A kernel is made with its chunk in it, so that these are made anew."""


def strips_of(*wanted):
    """`launches.strips_for`, but of the kinds that are wanted alone; without one, none is used."""
    kinds, usual = (*wanted, strips.NOTED, strips.NOWHERE), launches.strips_for
    return lambda *given: [pair for pair in usual(*given) if pair[0] in kinds]


@cuda.jit(device=True)
def in_64_bits(shape):
    """In place of `short.fits`: no search counts in 32 bits."""
    return False


PATCHED = {
    "narrow strips of a cluster": ((launches, "strips_for", strips_of(strips.NARROW)),),
    "strips that do not fit a cluster": (
        (launches, "strips_for", strips_of(strips.NARROW)),
        (strips, "WIDEST", 3),  # a mask of ones, too: with 5 a cost of 2 was kept as 0
    ),
    "no strips of a cluster": ((launches, "strips_for", strips_of()),),
    "costs too large for a cluster's 32 bits": (
        (launches, "strips_for", strips_of()),
        (short, "BITS", 4),
    ),
    "queue": ((chains, "DEEP", 2),),
    "long fronts of a cluster": tuple((each, "FRONT_CHUNK", 32) for each in (boxes, crew, short)),
    "whole ends of a cluster": ((boxes, "NEVER", 3), (short, "fits", in_64_bits)),
    "parts of a front": PARTS,
    "parts of a front by marks": PARTS,
}
"""Constants of kernels that small matrices would never reach."""

PATCHED |= {
    long: (*PATCHED.get(name, ()), (short, "fits", in_64_bits)) for long, name in LONG.items()
}

LARGER = {
    "sorting": 40, "sorting alone": 12, "many": 12, "groups": 40,
    "queue": 12, "bids by marks": 40, "searches by marks": 72,
    "parts of a front": 24, "parts of a front by marks": 72,
    "cluster": 24, "narrow strips of a cluster": 72, "groups of a cluster": 100,
    "long fronts of a cluster": 100,
}  # fmt: skip
"""The longest side, for lists and rows that small matrices do not have."""

LARGER |= {long: LARGER[name] for long, name in LONG.items()}

LEAST = {
    "searches by marks": 66,
    "parts of a front by marks": 66,
    "groups of a cluster": 66,
    "long fronts of a cluster": 66,
    "narrow strips of a cluster": 66,
}
"""The shortest side: two blocks have three tiles of columns, or groups."""

LEAST |= {long: LEAST[name] for long, name in LONG.items() if name in LEAST}

SLOW, ROWS_OF_SLOW = "product", 36
"""A kind that takes the executor's whole bound where matrices are larger, and its rows there."""

SITES = sites_below("synthesis/assignment")

NOT_NEEDED = {
    "dense.finish: store_release_system": "the host looks at this one word; all else that it "
    "reads of the launch it copies after the launch's end, in the stream's order",
}
"""Left out, nothing that is right becomes wrong: the reason why."""

NEEDED = ("costs.deliver: store_release_system",)
"""The host reads the pairs as soon as it has seen this word."""


def solve(kind, seed, schedule, weak, without=()):
    """One small matrix, solved and proved; the memory, if there was something to solve."""
    cost, maximize = draw(kind, seed, LARGER.get(schedule, 6), LEAST.get(schedule, 1))
    if kind == SLOW and schedule in LEAST:
        cost = cost[:ROWS_OF_SLOW]
    if not has_assignment(cost, maximize):
        return None
    memory = WeakMemory(seed, without=without) if weak else None
    with contextlib.ExitStack() as patched:
        for patch in PATCHED.get(schedule, ()):
            patched.enter_context(mock.patch.object(*patch))
        patched.enter_context(device.executing(Executor(seed, 0.2, memory=memory)))
        answer = solver.solve(cost, maximize, settings=(SCHEDULES | IN_PARTS)[schedule])
    assert_optimal(cost, answer, maximize)
    if schedule.startswith("sorting") and kind in ("product", "line", NEARLY_SORTED):
        n, m = cost.shape
        square = n == m > 1
        assert answer.counters["sorts"] == square
        if kind != NEARLY_SORTED:
            assert answer.counters["sorted"] == square
        elif n > 6 and not maximize:
            assert answer.counters["sorted"] == 0
    assert (answer.counters["cluster_barriers"] > 0) == ("cluster" in schedule)
    return memory


@pytest.mark.parametrize("seed", first(1, range(40)))
@pytest.mark.parametrize("kind", KINDS)
def test_any_order_of_the_threads_is_right(kind, seed):
    place = seed + list(KINDS).index(kind)
    solve(kind, seed, list(SCHEDULES)[place % len(SCHEDULES)], weak=place % 2 == 1)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_is_right(schedule):
    """By day the kinds above do not come to all of them."""
    place = list(SCHEDULES).index(schedule)
    for kind in ("uniform", list(KINDS)[place % len(KINDS)]):
        solve(kind, place, schedule, weak=place % 2 == 0)


@pytest.mark.parametrize("kind", ["uniform", "two values", "floats"])
@pytest.mark.parametrize("schedule", IN_PARTS)
def test_a_front_in_several_parts_is_right(schedule, kind):
    solve(kind, 1, schedule, weak=True)


def test_every_site_is_needed_or_says_why_not():
    """The launch has barriers of the grid and atomics, and one release; its delivery another."""
    assert set(SITES) == {*NOT_NEEDED, *NEEDED}


@cuda.jit
def delivered_and_read(n, column, target, signal, found):
    """The first block delivers; the second stands for the host, which looks at the word."""
    if cuda.blockIdx.x == 0:
        deliver(n, 0, n, 7, column, target, signal)
    elif cuda.threadIdx.x == 0:
        for _ in range(100_000):
            if load_acquire_system(signal, 0) == 7:
                break
            pause()
        for k in range(2 * n):
            found[k] = target[k]


@pytest.mark.parametrize("name", NEEDED)
def test_without_the_release_the_host_finds_old_words(name):
    n = 40

    def run(seed, without=()):
        column = np.random.default_rng(seed).permutation(n).astype(np.int32)
        target, found = np.full(2 * n, -7), np.full(2 * n, -9)
        memory = WeakMemory(seed, without=without)
        with device.executing(Executor(seed, 0.2, memory=memory)) as executor:
            given = np.int32(n), column, target, np.zeros(1, np.int64), found
            executor.launch(delivered_and_read, 2, 32, given, 0)
        assert found.tolist() == [*range(n), *column.tolist()]
        return memory

    for seed in range(12):
        run(seed)
    assert noticed(run, range(12), SITES[name]) is not None


@pytest.mark.parametrize("name", NOT_NEEDED)
def test_what_is_not_needed_is_not_missed(name):
    """Fewer seeds by day; the kinds and the schedules take turns."""

    def run(seed, without=()):
        kind, schedule = list(KINDS)[seed % len(KINDS)], list(SCHEDULES)[seed % len(SCHEDULES)]
        return solve(kind, seed, schedule, True, without) or WeakMemory(seed)

    assert noticed(run, range(12), SITES[name]) is None


# ------------------------------------------------------------------------------- planted faults

FAULTS = {
    "two rows take one column": (
        rounds, "take_bids",
        "if cuda.atomic.exch(tree.column_claim, column, turn + 1) != turn + 1:", "if True:",
        "two values", "rounds",
    ),
    "two paths of one tree": (
        search, "augment",
        "cuda.atomic.exch(tree.row_claim, root, turn + 1) != turn + 1",
        "cuda.atomic.exch(tree.row_claim, root, turn + 1) != -1", "all equal", "warps",
    ),
    "a block's reach is lost": (
        levels, "tell_head_with", "low, reach = least_of_warp(low), farthest_of_warp(reach, shape)",
        "low, reach = least_of_warp(low), reach - reach - 1", "uniform", "warps",
    ),
    "places are handed out twice": (
        rounds, "place_for", "int32(first + rank)", "int32(first)", "uniform", "rounds",
    ),
    "the front is read before it is there": (
        levels, "gather_with", "cuda.syncthreads()\n        if flags & MANY", "if flags & MANY",
        "uniform", "warps",
    ),
    "reports are added up before all are read": (
        levels, "gather_with", "inclusive, flags\n        cuda.syncthreads()",
        "inclusive, flags", "uniform", "warps",
    ),
    "a list's count is not cleared": (
        rounds, "prepare_turn",
        "store_relaxed_anywhere(log.words, FREE + (turn + 2) % 3, int32(0))", "pass",
        "product", "scales",
    ),
    "lines are ranked before all keys are there": (
        sorting, "sort_with", "count(shape, log, SORTS, 1)\n        meet()",
        "count(shape, log, SORTS, 1)", "product", "sorting",
    ),
    "steps are added up before all lines are ranked": (
        sorting, "sort_with", "rank_lines(tree.distance, tree.opened, shape)\n        meet()",
        "rank_lines(tree.distance, tree.opened, shape)", "product", "sorting",
    ),
    "pairs are proved before all duals are there": (
        sorting, "sort_with", "add_up(shape, matrix, lists, tree, log)\n        meet()",
        "add_up(shape, matrix, lists, tree, log)", "product", "sorting",
    ),
    "the diagonal is taken before all pairs are proved": (
        sorting, "sort_with", "prove(shape, matrix, lists, tree, log)\n        meet()",
        "prove(shape, matrix, lists, tree, log)", "nearly sorted", "sorting",
    ),
    "a search begins before the diagonal is taken": (
        sorting, "sort_with", "lists, tree, log)\n        meet()\n        return True",
        "lists, tree, log)\n        return True", "line", "sorting",
    ),
    "the diagonal is taken unproved": (
        sorting, "prove", "holds = False", "holds = True", "nearly sorted", "sorting",
    ),
    "equal keys share a place": (
        sorting, "rank_lines", "(key == mine and other < line)", "False", "line", "sorting",
    ),
    "a level's nearest column is not cleared": (
        search, "clear_level", "log.levels[LEAST + slot] = matrix.top", "pass",
        "product", "alone",
    ),
    "an old report is taken for a new one": (
        reports, "read_report", "if head >> 32 == level and second >> 32 == level",
        "if head >> 32 >= 0 and second >> 32 >= 0", "uniform", "warps",
    ),
    "half of a report is old": (
        reports, "read_report", "if head >> 32 == level and second >> 32 == level",
        "if head >> 32 == level", "uniform", "warps",
    ),
    "a row is taken before it is there": (
        reports, "there", "listed <= behind or tag >> 32 == level", "True", "uniform", "warps",
    ),
    "a later row is taken before it is there": (
        reports, "hear_row", "tag >> 32 != level", "False", "uniform", "many",
    ),
    "a later row is not told": (
        levels, "take_rows_with", "if taken:", "if taken and rank == 0:", "uniform", "many",
    ),
    "a part of a long report is not told": (
        levels, "take_rows_with", "if taken:", "if taken and rank < 4:", "uniform", "many",
    ),
    "long reports are read in part": (
        levels, "gather_with", "if flags & MANY != 0:", "if False:", "uniform", "many",
    ),
    "a part begins at the wrong block": (
        reports, "parts_with", "<= wanted:", "< wanted:", "uniform", "many",
    ),
    "a chain takes a column that has changed": (
        chains, "bid", "if found == owner and value == v:", "if True:", "uniform", "phases",
    ),
    "a chain bids too much": (
        chains, "chains_with", "fall = second - first", "fall = second - first + 9",
        "uniform", "scales",
    ),
    "chains begin before the columns are told": (
        dense, "scales_with", "lists, front, log)\n                meet()",
        "lists, front, log)", "uniform", "phases",
    ),
    "the matching is told before all chains have ended": (
        chains, "chains_with", "meet_in_grid()\n        end_chains", "end_chains",
        "uniform", "phases",
    ),
    "free rows are listed before all columns are told": (
        chains, "chains_with", "meet_in_grid()\n        list_free", "list_free",
        "uniform", "phases",
    ),
    "the duals of matched rows are old": (
        chains, "end_chains", "duals.u[row] = matrix.cost", "_ = matrix.cost",
        "uniform", "groups",
    ),
    "a group decides before all its warps have looked": (
        chains, "nearest_with", "cuda.syncthreads()", "pass", "uniform", "groups",
    ),
    "one warp goes on with the row of the step before": (
        chains, "chains_with", "block[HALTED] = word\n            cuda.syncthreads()",
        "block[HALTED] = word", "uniform", "groups",
    ),
    "two groups take one row that waits": (
        chains, "next_row", "cuda.atomic.add(log.words, NEXT, 1)",
        "load_relaxed_anywhere(log.words, NEXT)", "uniform", "queue",
    ),
    "a row that was taken still waits": (
        chains, "next_row", "cuda.atomic.exch(lists.column, int32((place - free) % ring), NO_ROW)",
        "lists.column[int32((place - free) % ring)]", "product", "queue",
    ),
    "free columns rise too far": (
        rounds, "raise_free_columns", "least[j] + eps", "least[j] + eps + eps + 99",
        "low rank", "scales",
    ),
    "rows that are free behind chains get one place": (
        chains, "place_for", "int32(first + rank)", "int32(first)", "product", "groups",
    ),
    "bids are taken before all are made": (
        rounds, "rounds_with",
        "matching, lists)\n            meet()", "matching, lists)", "narrow", "rounds",
    ),
    "paths are walked before all are traced": (
        search, "phases_with", "lists, tree)\n            meet()", "lists, tree)",
        "narrow", "warps",
    ),
    "lanes of one column do not meet": (
        levels, "least_of_block", "if step >= tile:", "if step > 99:", "uniform", "warps",
    ),
    "an equal distance changes the row before": (
        levels, "lowered", "if best < distance:", "if best <= distance:",
        "narrow", "warps",
    ),
    "a slack is handed on without its row's distance": (
        levels, "take_rows_with", "value = distance - dual", "value = -dual", "uniform", "warps",
    ),
    "a phase goes on before the search has ended": (
        levels, "search_with", "meet_in_grid()\n", "pass\n", "uniform", "warps",
    ),
    "one block begins a level before the last one ends": (
        search, "search_alone_with", "meet_in_block()\n            level =", "level =",
        "uniform", "alone",
    ),
    "what is not marked is never looked at": (
        near, "weighed_by_bound", "left = int32(WAITS)", "left = int32(CLOSED)",
        "uniform", "searches by marks",
    ),
    "a warp reads its tile before the first warp has left it": (
        levels, "search_with", "cuda.syncthreads()  # the first", "pass  # the first",
        "uniform", "searches by marks",
    ),
    "a bid takes what is marked for all that is near": (
        chains, "nearest_with", "second > bound", "False",
        "uniform", "bids by marks",
    ),
    "a level of a cluster begins before all have told": (
        crew, "search_with",
        "            meet_in_cluster()\n        if decides", "        if decides",
        "uniform", "cluster",
    ),
    "a phase of a cluster goes on before its search has ended": (
        crew, "search_with", "relaxed)\n        meet_in_cluster()", "relaxed)",
        "low rank", "cluster",
    ),
    "what a level has told is not cleared": (
        boxes, "clear_numbers",
        "shape.sums[at + NEAR], shape.sums[at + FAR] = NEVER, NEVER", "pass",
        "uniform", "groups of a cluster, in 64 bits",
    ),
    "what a level has told in 32 bits is not cleared": (
        short, "gather_with", "clear_numbers(int32(level + 1), shape)", "pass",
        "uniform", "groups of a cluster",
    ),
    "a short distance is not from the nearest column": (
        crew, "tell_with", "near = short_of(low - least)", "near = short_of(low)",
        "uniform", "groups of a cluster, in 64 bits",
    ),
    "a group's later rows are left out": (
        boxes, "rows_with", "behind = int32(behind + step)", "behind = int32(behind + 99)",
        "uniform", "groups of a cluster, in 64 bits",
    ),
    "a group's later rows are left out of pairs": (
        short, "rows_with", "behind = int32(behind + step)", "behind = int32(behind + 99)",
        "uniform", "groups of a cluster",
    ),
    "a row is taken before it is in the block's memory": (
        crew, "gather_with", "duals)\n        cuda.syncthreads()", "duals)",
        "uniform", "cluster, in 64 bits",
    ),
    "a pair is taken before it is in the block's memory": (
        short, "gather_with", "duals)\n        cuda.syncthreads()", "duals)",
        "uniform", "cluster",
    ),
    "a part of a long front is left out": (
        crew, "fronts_with", "more = first < groups_of(shape)", "more = False",
        "uniform", "long fronts of a cluster",
    ),
    "the parts of a column do not meet": (
        crew, "least_of_parts", "if step >= apart:", "if step > 99:",
        "uniform", "cluster, in 64 bits",
    ),
    "the parts of a column do not meet in 32 bits": (
        short, "least_of_parts", "if step >= apart:", "if step > 99:", "uniform", "cluster",
    ),
    "a part of a front is looked at by nobody": (
        crew, "nearest_with", "first, last, left = int32(part * each)",
        "first, last, left = int32(0 * each)", "uniform", "cluster, in 64 bits",
    ),
    "a part of a front in a strip is looked at by nobody": (
        short, "nearest_in_strip", "first, last, left = int32(part * each)",
        "first, last, left = int32(0 * each)", "uniform", "cluster",
    ),
    "strips that do not fit are looked at in 32 bits": (
        conclusion, "conclude_with", "short.note(size, crew", "short.note(int32(0), crew",
        "uniform", "strips that do not fit a cluster",
    ),
    "a part of a front in the matrix is looked at by nobody": (
        short, "nearest_with", "first, last, left, beyond = int32(part * each)",
        "first, last, left, beyond = int32(0 * each)", "uniform", "no strips of a cluster",
    ),
    "strips that do not fit are looked at": (
        crew, "nearest_with", "narrow and shape.in_strip[0] != 0", "narrow", "uniform",
        "strips that do not fit a cluster",
    ),
    "a row's least cost in a strip is forgotten": (
        boxes, "hold_with", "value += shape.floors[uint32(row)]", "pass", "uniform",
        "narrow strips of a cluster, in 64 bits",
    ),
    "a row's least cost is forgotten in 32 bits": (
        short, "hold_with", "value = int32(value + shape.floors[uint32(row)])", "pass",
        "uniform", "narrow strips of a cluster",
    ),
    "the nearest column of a pair is forgotten": (
        short, "rows_with", "cuda.atomic.min(shape.sums, at + NEAR, near)", "pass",
        "uniform", "cluster",
    ),
    "the farthest column of a pair is forgotten": (
        short, "rows_with", "cuda.atomic.min(shape.sums, at + FAR, far)", "pass",
        "uniform", "cluster",
    ),
    "paths are turned by steps that nobody has noted": (
        levels, "search_with",
        "note_steps(shape, matrix, matching, tree)\n        meet_in_grid()", "pass",
        "uniform", "warps",
    ),
    "a tree that was augmented stays": (
        search, "forget_and_list", "tree.row_claim[max(root, 0)] != turn + 1",
        "tree.row_claim[max(root, 0)] != -1", "narrow", "warps",
    ),
    "a column of a tree that stays is not open": (
        search, "begin_column", "tree.opened[column] = 1", "tree.opened[column] = 0",
        "narrow", "warps",
    ),
    "a cluster forgets the row before a column of a tree that stays": (
        crew, "search_with", "distance, before = zero, tree.before[inside]",
        "distance, before = zero, int32(-1)", "narrow", "cluster",
    ),
    "a block alone opens no column": (
        search, "weighed", "distance < goal", "False", "uniform", "alone",
    ),
}  # fmt: skip


def solve_many(kind, schedule, seeds=40):
    for seed in range(seeds):
        solve(kind, seed, schedule, weak=seed % 2 == 1)


@pytest.mark.usefixtures("_kernels_are_made_anew")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(fault, monkeypatch):
    """By a proof that fails, or by a run that ends at one of its bounds."""
    module, name, right, wrong, kind, schedule = FAULTS[fault]
    monkeypatch.setattr(module, name, spoiled(module, name, right, wrong))
    with pytest.raises(Exception) as told:
        solve_many(kind, schedule)
    assert not isinstance(told.value, (NameError, SyntaxError, TypeError))


def test_the_planted_faults_are_what_fails(monkeypatch):
    """The same runs without a fault, made of the same text: all are right."""
    assert {fault[4:] for fault in FAULTS.values()} >= {("uniform", "warps")}
    monkeypatch.setattr(levels, "relax_with", spoiled(levels, "relax_with", "reach", "reach"))
    solve_many("uniform", "warps", seeds=4)


@pytest.mark.usefixtures("_kernels_are_made_anew")
@pytest.mark.parametrize("slots", ["level & 1", "0"])
def test_a_slow_reader_still_finds_the_report_and_with_one_slot_it_would_not(slots, monkeypatch):
    """The second block sleeps before it reads; the first goes on as far as it can meanwhile."""
    begin = "at, beside = head_at(FLAGS, level, block, shape), int32(2 * shape.workers)\n    word"
    sleep = "for _ in range(900 * shape.block):\n        pause()\n    "
    monkeypatch.setattr(
        reports, "read_report", spoiled(reports, "read_report", begin, sleep + begin)
    )
    for places in ("head_at", "row_at"):
        one_of = spoiled(reports, places, "int32(level & 1)", f"int32({slots})")
        monkeypatch.setattr(reports, places, one_of)
    if slots == "0":
        with pytest.raises(RuntimeError, match="has not ended within its bounds"):
            solve_many("uniform", "warps")
    else:
        solve_many("uniform", "warps", seeds=6)


@pytest.mark.usefixtures("_kernels_are_made_anew")
@pytest.mark.parametrize("half", ["level & 1", "0"])
@pytest.mark.parametrize(
    ("module", "schedule"),
    [(short, "groups of a cluster"), (boxes, "groups of a cluster, in 64 bits")],
    ids=["32 bits", "64 bits"],
)
def test_a_slow_reader_still_finds_the_box_and_with_one_half_it_would_not(
    module, schedule, half, monkeypatch
):
    """As above: the first block goes on up to the barrier behind its next box."""
    begin = "            word = load_from_block(shape.heads"
    sleep = "            for _ in range(300 * shape.block):\n                cuda.nanosleep(1)\n"
    for places in ("head_of", "row_of"):
        one_of = spoiled(boxes, places, "int32(level & 1)", f"int32({half})")
        monkeypatch.setattr(module, places, one_of)
    monkeypatch.setattr(module, "rows_with", spoiled(module, "rows_with", begin, sleep + begin))
    if half == "0":
        with pytest.raises((AssertionError, IndexError, RuntimeError)):
            solve_many("uniform", schedule)
    else:
        solve_many("uniform", schedule, seeds=2)


def test_a_circle_ends_the_trace_and_the_run(monkeypatch):
    """Planted: no path is ever claimed; the bound on the phases ends the run, which says so."""

    @cuda.jit(device=True)
    def lost(column, shape, tree):
        return -1

    monkeypatch.setattr(search, "root_of", lost)
    with (
        device.executing(Executor()),
        pytest.raises(RuntimeError, match="has not ended within its bounds"),
    ):
        solver.solve(*draw("uniform", 1, most=6), settings=SCHEDULES["warps"])
