"""The launch: the reference's answers and counts, on every kind, in the CPU executor."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from nightly import first
from numba import cuda
from synthesis.assignment.small import KINDS, assert_optimal, draw, has_assignment

from papers.common.executor import scheduler
from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.model import GivenUpError
from papers.kawtikwar_opts.kernels.clock import globaltimer
from papers.synthesis.assignment import reference, solver
from papers.synthesis.assignment import settings as module
from papers.synthesis.assignment.costs import as_they_are, prepare
from papers.synthesis.assignment.kernels import integers, words
from papers.synthesis.assignment.kernels.grid import chains
from papers.synthesis.assignment.settings import SPARSE, Settings
from papers.synthesis.solvers import SOLVERS

SMALL = {"threads": 32, "blocks": 3, "loads": 2}

SHAPES = (
    Settings(**SMALL, tile=8),
    Settings(**SMALL | {"threads": 64}, tile=32, warps_a_row=2, scale_above=0, most_rounds=9),
    Settings(**SMALL | {"blocks": 2}, tile=2, start_rounds=0, scale_above=1000),
)
"""The usual schedule, scales of few rounds, and phases alone; of several shapes."""


def assert_solved(cost, maximize, settings=SHAPES[0]):
    if not has_assignment(cost, maximize):
        with pytest.raises(ValueError, match="infeasible"):
            solver.solve(cost, maximize, settings=settings)
        return None
    answer = solver.solve(cost, maximize, settings=settings)
    assert_optimal(cost, answer, maximize)
    return answer


@pytest.mark.parametrize("seed", first(1, range(30)))
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_solved_and_proved(kind, seed):
    settings = SHAPES[(seed + len(kind)) % len(SHAPES)]
    cost, maximize = draw(kind, seed, most=7)
    assert_solved(cost, maximize, settings)


@pytest.mark.parametrize(
    "case", first(2, itertools.product(("euclid", "low rank", "uniform", "product"), SHAPES))
)
def test_the_launch_counts_as_the_reference(case):
    """Without interleavings one block takes the same turns, bids and relaxations, one by one.

    So does a grid where no row bids: its rows do not wait for each other between two bids.
    """
    kind, settings = case
    if settings.start_rounds:
        settings = replace(settings, blocks=1)
    g = np.random.default_rng(2)
    cost = 10**6 * KINDS[kind](g, 12, 12) + g.integers(0, 10**5, (12, 12))
    counts = reference.solve(cost, settings=settings).counters
    answer = solver.solve(cost, settings=settings)
    assert {name: answer.counters[name] for name in reference.COUNTS} == counts
    assert answer.counters["kernel_launches"] == 1


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0), (1, 1), (1, 9), (9, 1), (4, 37)])
def test_shapes(shape):
    assert_solved(np.random.default_rng(1).integers(-9, 50, shape), False)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_state_runs_again(dtype):
    cost = np.random.default_rng(2).integers(0, 99, (8, 8))
    state = solver.upload(cost, dtype=dtype, settings=SHAPES[2])
    assert state.arrays["cost"].dtype == dtype
    for _ in range(2):
        solver.run(state)
        assert_optimal(cost, solver.download(state))
        for name in state.arrays.keys() - {"cost", "signal", "words"}:
            state.arrays[name].view(np.uint8)[...] = 0xA5  # a run makes all the others itself


def sorted_in_vain(g, n):
    return np.outer(np.arange(n), np.arange(n)) + g.integers(0, 9, (n, n))


def test_barriers_are_those_that_the_kernel_comes_by(monkeypatch):
    """The count of the download, and the grid's barriers in the executor.

    The levels of a search have reports instead (`kernels.grid.levels`); each counts as one barrier.
    """
    from papers.common.executor._cuda_namespace import _GridGroup

    met = []
    sync = _GridGroup.sync
    monkeypatch.setattr(_GridGroup, "sync", lambda group: (met.append(1), sync(group)))
    g = np.random.default_rng(3)
    vain = sorted_in_vain(g, 9)
    at_once = replace(SHAPES[0], start_rounds=0, scale_above=0)
    for cost, settings, sorts in (
        (KINDS["product"](g, 5, 5), SHAPES[0], None), (g.normal(size=(6, 6)), SHAPES[0], (0, 0)),
        (g.normal(size=(3, 6)), SHAPES[0], (0, 0)), (KINDS["product"](g, 12, 12), at_once, (1, 1)),
        (vain, at_once, (1, 0)), (vain, replace(at_once, start_rounds=1, start_left=0), None),
    ):  # fmt: skip
        met.clear()
        counters = solver.solve(cost, settings=settings).counters
        assert sorts in (None, (counters["sorts"], counters["sorted"]))
        reports = counters["iterations"]
        assert len(met) == (counters["barriers"] - reports) * 3 * 32


# ------------------------------------------------------------------------------- limits


def test_a_run_gives_up_and_its_state_runs_again():
    cost = np.random.default_rng(4).integers(0, 99, (9, 9))
    state = solver.upload(cost, settings=SHAPES[2], seconds=1e-9)
    with pytest.raises(GivenUpError, match=r"gave up after 0\.0 s and \d matched") as told:
        solver.run(state)
    assert told.value.after_ms > 0
    assert 0 <= told.value.reached["matched"] < 9
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)
    assert_optimal(cost, solver.solve(cost, settings=SHAPES[2], seconds=600))


def test_a_run_may_give_up_at_any_turn(monkeypatch):
    """The clock counts how often it is looked at; whenever it runs out, all blocks leave together.

    The time is over in the rounds, in the scales, in a search, and at last not at all.
    """
    monkeypatch.setattr(words, "CLOCK_EVERY", 1)
    cost = 10 * KINDS["product"](np.random.default_rng(1), 6, 6)
    cost[0, 3] = 1
    reached = []
    for settings, looks in (SHAPES[2], range(1, 26, 4)), (SHAPES[1], (2, 9, 30)):
        for look in looks:
            ticks = itertools.count()
            monkeypatch.setattr(globaltimer, "__executor__", ticks.__next__)
            seconds = 1e-9 * (settings.blocks * settings.threads + look)  # each looks once at first
            with device.executing(Executor()):
                state = solver.upload(cost, settings=settings, seconds=seconds)
                try:
                    solver.run(state)
                except GivenUpError as told:
                    reached.append({name for name, count in told.reached.items() if count})
                else:
                    assert_optimal(cost, solver.download(state))
                    reached.append({"solved"})
    for name in ("rounds", "scales", "iterations", "solved"):
        assert any(name in names for names in reached), name


@pytest.mark.parametrize("seconds", [0, -1, True, "1", float("nan")])
def test_wrong_limits_are_bad_input(seconds):
    with pytest.raises(ValueError, match="seconds="):
        solver.upload([[1]], seconds=seconds)


BAD = {
    "NaN": ([[1.0, np.nan], [2.0, 3.0]], {}, "NaN"),
    "an infinity of the wrong sign": ([[1.0, -np.inf], [2.0, 3.0]], {}, "wrong sign"),
    "the same when maximizing": ([[1.0, np.inf], [2.0, 3.0]], {"maximize": True}, "wrong sign"),
    "a range of 2**52": ([[0, 2**52]], {}, "overflow"),
    "costs above 2**60": ([[2**61, 2**61]], {}, "2\\*\\*60"),
    "a type too narrow": ([[0, 2**40]], {"dtype": "int32"}, "int32"),
    "floats as integers": ([[0.5]], {"dtype": "int32"}, "float64"),
    "an unknown type": ([[1]], {"dtype": "int16"}, "int16"),
    "three dimensions": (np.zeros((2, 2, 2)), {}, "2-D"),
    "floats that overflow": ([[1e308, -1e308], [1e308, 1e308]], {}, "overflow"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    cost, options, words = BAD[name]
    with pytest.raises(ValueError, match=words):
        solver.upload(cost, **options)


@pytest.mark.parametrize(
    "wrong",
    [
        {"threads": 48},
        {"tile": 64},
        {"loads": 0},
        {"divisor": 1},
        {"delta": 0.5},
        {"near": 8, "tile": 16},
    ],
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Settings(**wrong)


@pytest.mark.parametrize(("m", "tile"), [(65, 8), (1024, 8), (1025, 16), (4096, 32), (10**5, 32)])
def test_a_tile_leaves_work_for_a_hundred_blocks(m, tile):
    assert Settings.for_shape(1, m).tile == tile


@pytest.mark.parametrize(("m", "blocks"), [(1, 1), (64, 1), (65, 0)])
def test_the_smallest_problems_are_one_blocks(m, blocks):
    assert Settings.for_shape(1, m).blocks == blocks


@pytest.mark.parametrize(
    ("n", "blocks", "left", "scaled"),
    [(20, 1, 0, 8), (32, 0, 8, 8), (48, 0, 8, 7), (512, 0, 8, 40), (1000, 0, 10, 80)],
)
def test_a_scale_of_a_grid_leaves_as_many_rows_as_are_not_worth_one(n, blocks, left, scaled):
    """Eight, or a hundredth of the rows; of one block nothing was measured."""
    chosen = Settings.for_shape(n, n)
    assert chosen.blocks == blocks
    assert (chosen.of_rows(n)["stop"], chosen.of_rows(n)["many"]) == (left, scaled)


@pytest.mark.parametrize(
    ("n", "threads", "of_short", "deltas", "near"),
    [
        (2048, 256, 256, (4, 16), 0), (2049, 256, 512, (1, 4), 48), (8192, 256, 512, (1, 4), 48),
        (8193, 512, 512, (1, 4), 48),
    ],
)  # fmt: skip
def test_large_matrices_have_large_blocks_narrow_buckets_and_marks(
    n, threads, of_short, deltas, near
):
    chosen = Settings.for_shape(n, n)
    assert (chosen.threads, chosen.near) == (threads, near)
    assert (chosen.delta, chosen.delta_scaled) == deltas
    short = Settings.for_shape(n, n, short=True)
    assert replace(chosen, threads=of_short, warps_marked=4) == short
    assert chosen.warps_marked == 1
    assert Settings.for_shape(n, n, np.int64).threads == 256


@pytest.mark.parametrize(("capability", "cluster"), [((8, 0), 0), ((9, 0), 16)])
def test_short_sides_have_one_block_where_there_are_no_clusters(monkeypatch, capability, cluster):
    card = device.Device("a card", True, 108, 1 << 36, capability)
    monkeypatch.setattr(solver.device, "describe", lambda: card)
    assert solver.default_settings(64, 64).cluster == cluster
    assert (solver.default_settings(64, 64).blocks == 1) == (cluster == 0)
    assert solver.default_settings(31, 64).blocks == 1
    assert solver.default_settings(64, 65).blocks == 0


def test_a_sample_tells_whether_costs_differ_by_little(monkeypatch):
    monkeypatch.setattr(module, "FEW_ROWS", 30)
    g = np.random.default_rng(2)
    low, wide = g.integers(-8, 7, (40, 50)), g.integers(0, 30, (40, 50))
    for few in (
        low,
        low.astype(np.int8),
        (low + 8).astype(np.uint16),
        low.T,
        np.asfortranarray(low),
        low[:31, ::1],
    ):
        assert module.have_short_range(few)
    for many in (wide, low + np.arange(50), low * 1.0, low[:30], low[:, :30]):
        assert not module.have_short_range(many)
    assert not module.have_short_range(np.where(low > 0, 2**63 - 1, -(2**63)))
    seen = []
    usual = solver.default_settings
    monkeypatch.setattr(
        solver, "default_settings", lambda *given: seen.append(given[3]) or usual(*given)
    )
    for sent in (False, True):  # few costs, and such as go to the device as they are
        monkeypatch.setattr(solver.sending, "LEAST_BYTES", 0 if sent else 1 << 20)
        for cost, short in ((low, True), (wide, False)):
            solver.upload(cost.astype(np.int32))
            assert seen.pop() is short


@pytest.mark.parametrize(("n", "delta"), [(2048, 32), (2049, 4)])
def test_buckets_of_floats_and_of_rectangles_are_wide(n, delta):
    for chosen in (Settings.for_shape(n, n, np.float64), Settings.for_shape(n, n + 1)):
        assert (chosen.delta, chosen.delta_scaled) == (delta, delta)


# ------------------------------------------------------------------------------- near pairs

MARKS = {
    "threads": 64,
    "loads": 2,
    "warps_a_row": 2,
    "tile": 32,
    "near": 3,
    "near_least": 0,
    "start_rounds": 2,
}


@pytest.mark.parametrize("scale_above", [80, 1000])
@pytest.mark.parametrize("blocks", [2, 4])
@pytest.mark.parametrize("kind", ["uniform", "wide", "floats", "forbidden", "twelve decades"])
def test_by_marks_every_kind_is_solved_and_proved(kind, blocks, scale_above):
    """Two blocks have two tiles of 100 columns each and search by marks; of four only bids do."""
    g = np.random.default_rng([blocks, len(kind)])
    cost = KINDS[kind](g, *(100, 100) if scale_above == 80 else (70, 100))
    warps = 1 if blocks == 4 else 2
    settings = Settings(**MARKS, blocks=blocks, scale_above=scale_above, warps_marked=warps)
    answer = solver.solve(cost, settings=settings)
    assert_optimal(cost, answer)
    assert 0 < answer.counters["near"] < cost.size


def test_marks_are_those_within_the_threshold():
    """The words of the first marking, read where the launch has left them, by their definition."""
    g = np.random.default_rng(1)
    cost = g.integers(0, 1000, (40, 70))
    state = solver.upload(cost, settings=Settings(**MARKS, blocks=3))
    solver.run(state)
    words = device.to_host(state.arrays["near"]).view(np.uint32).reshape(40, 3)
    marked = (words[:, :, None] >> np.arange(32, dtype=np.uint32) & 1).reshape(40, 96).astype(bool)
    rest = cost - cost.min(axis=1)[:, None]
    threshold = 3 * (rest.sum() // rest.size) // 40
    assert (marked[:, :70] == (rest <= threshold)).all()
    assert not marked[:, 70:].any()
    bounds = device.to_host(state.arrays["bound"])
    assert (bounds == cost.min(axis=1) + threshold).all()
    assert solver.download(state).counters["near"] == marked.sum()


def test_few_marks_are_not_used(monkeypatch):
    """Three a row are not worth it by default: the bids of `look_at_nothing` are not made."""
    monkeypatch.setattr(chains, "look_at_marked", look_at_nothing)
    assert integers.assign_with(5, False, 1) is integers.assign_with(5, False, 1)  # made of it
    cost = KINDS["uniform"](np.random.default_rng(2), 70, 70)
    settings = Settings(**MARKS | {"loads": 5, "near_least": 16}, blocks=3)
    answer = solver.solve(cost, settings=settings)
    assert_optimal(cost, answer)
    assert 70 < answer.counters["near"] < 16 * 70


@cuda.jit(device=True)
def look_at_nothing(shape, matrix, held, row, start, power):
    raise AssertionError


@pytest.mark.parametrize(("kind", "used"), [("two values", False), ("uniform", True)])
def test_many_marks_are_not_used(kind, used, monkeypatch):
    """Of two values half the pairs are near: no bid goes by marks. Of few marks each does."""
    monkeypatch.setattr(chains, "look_at_marked", look_at_nothing)
    cost, made = KINDS[kind](np.random.default_rng(2), 70, 70), integers.assign_with(3, False, 1)
    settings = Settings(**MARKS | {"loads": 3}, blocks=3)
    assert made is integers.assign_with(3, False, 1)  # nobody else has three loads
    if used:
        with pytest.raises(AssertionError):
            solver.solve(cost, settings=settings)
    else:
        answer = solver.solve(cost, settings=settings)
        assert_optimal(cost, answer)
        assert SPARSE * answer.counters["near"] > cost.size


def test_sums_of_wide_costs_do_not_overflow():
    """Reduced costs of 2**52 are added up with fewer bits, and the mean has the others again."""
    cost = np.zeros((40, 40), np.int64)
    cost[:, ::2] = cost[::2] = 2**52 - 1
    costs = prepare(cost)
    state = solver.upload(cost, settings=SHAPES[0])
    shape = state.launches["assign"].arguments[1]
    assert shape.shift == 53 + (40 * 40).bit_length() - 62
    assert int(costs.matrix.max()) * 2 * 1600 >> int(shape.shift) < 2**63


def test_the_solver_is_declared():
    declared = SOLVERS["dense"]
    cost = np.random.default_rng(5).integers(0, 99, (6, 6))
    state = declared.upload(cost)
    declared.run(state)
    assert_optimal(cost, declared.download(state))
    with pytest.raises(ValueError, match=declared.limits["wide integers"]):
        declared.upload(np.array([[0, 2**53]]))


@pytest.mark.parametrize("seed", first(2, range(8)))
@pytest.mark.parametrize("kind", ["uniform", "narrow", "product", "line", "all equal"])
def test_int32_is_solved_without_a_pass_as_after_one(kind, seed, monkeypatch):
    """Neither answer nor counts change with a shift of all costs."""
    monkeypatch.setattr(scheduler, "QUANTUM", 10**9)  # else a run's order depends on those before
    g = np.random.default_rng(seed)
    cost = (KINDS[kind](g, 5, 5 + seed % 2) - 30).astype(np.int32)
    found = solver.solve(cost)
    assert as_they_are(cost, False, None).matrix is cost
    monkeypatch.setattr(solver, "as_they_are", lambda *given: None)
    passed = solver.solve(cost)
    assert_optimal(cost, found)
    assert (found.cost, found.counters) == (passed.cost, passed.counters)
    for name in ("row_ind", "col_ind", "row_duals", "column_duals"):
        assert np.array_equal(getattr(found, name), getattr(passed, name))


@pytest.mark.parametrize(
    ("cost", "maximize", "dtype"),
    [
        (np.ones((3, 4), np.int64), False, None), (np.ones((3, 4), np.int32), True, None),
        (np.ones((4, 3), np.int32), False, None), (np.ones((3, 4), np.int32), False, "int64"),
        (np.ones((3, 4), np.int32).T.copy().T, False, None), (np.ones((3, 4), ">i4"), False, None),
        (np.ones((0, 4), np.int32), False, None), (np.ones((3, 8), np.int32)[:, ::2], False, None),
    ],
)  # fmt: skip
def test_other_costs_are_prepared(cost, maximize, dtype):
    assert as_they_are(cost, maximize, dtype) is None
