"""The CPU baselines: right, certified, counted, re-runnable."""

import itertools
import time

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from papers.common import deadline
from papers.common.gpu.clocks import StepClock
from papers.common.instances import matrices
from papers.common.model import GivenUpError
from papers.common.problems import assignment_proof
from papers.lopes2019 import PAPER
from papers.lopes2019.baselines import auction, auction_jacobi, solvers
from papers.lopes2019.baselines import hungarian_o4 as o4
from papers.lopes2019.baselines.stages import with_headroom

RAW = {
    "cpu_o4": solvers.hungarian_o4,
    "cpu_o3": solvers.hungarian_o3,
    "cpu_o3_tree": solvers.hungarian_o3_tree,
    "cpu_sp": solvers.shortest_path,
    "cpu_sp_lists": solvers.scan_lists,
    "cpu_sp_plain": solvers.scan_lists_plain,
    "cpu_auction": solvers.auction,
    "cpu_auction_jacobi": solvers.auction_jacobi,
}
algorithms = pytest.mark.parametrize("name", sorted(RAW))
DEFAULT = PAPER.defaults["assignment"].cpu
"""The code that `make test` has compiled for int64, too: Numba compiles each type anew, and duals
are int64 beside costs of int32."""

WIDENING = ("cpu_sp", "cpu_sp_lists", "cpu_sp_plain")
"""The codes whose path lengths would wrap around in int32 where reduced costs do not."""


def of_matrices(cases):
    """Every code on every matrix, as parameters of a test; int64 by night but for `DEFAULT`."""
    for name, case in itertools.product(sorted(RAW), cases):
        (matrix,) = case.values
        given = with_headroom(matrix) if name in WIDENING else matrix
        marks = [pytest.mark.nightly] if given.dtype == np.int64 and name != DEFAULT else []
        yield pytest.param(name, matrix, id=f"{case.id}-{name}", marks=[*case.marks, *marks])


def optimum(matrix):
    return matrix[linear_sum_assignment(matrix)].sum()


def assert_solved(matrix, answer, tolerance=0):
    """SciPy's cost, and duals that prove it: feasible, and tight on the matching."""
    columns, u, v, counters = answer
    rows = np.arange(len(matrix))
    assert sorted(columns) == rows.tolist()
    assert abs(matrix[rows, columns].sum() - optimum(matrix)) <= tolerance * max(len(matrix), 1)
    wide = matrix.astype(np.int64) if matrix.dtype.kind == "i" else matrix
    slack = wide - u[:, None] - v[None, :]
    assert slack.dtype == wide.dtype
    assert slack.min() >= -tolerance
    assert slack[rows, columns].max() <= tolerance
    assert all(isinstance(count, int) and count >= 0 for count in counters.values())


def random_cases():
    rng = np.random.default_rng(20191)
    cases = []
    for case in range(60):
        n = int(rng.integers(1, 45))
        high = int(rng.choice([1, 2, 5, n, 10 * n, 2**29]))
        dtype = rng.choice([np.int32, np.int64])
        matrix = rng.integers(0, high, (n, n)).astype(dtype)
        marks = [pytest.mark.nightly] if case >= 12 else []
        cases.append(pytest.param(matrix, id=f"{case}-{n}-{high}", marks=marks))
    return cases


@pytest.mark.parametrize(("name", "matrix"), list(of_matrices(random_cases())))
def test_random_integers(name, matrix):
    assert_solved(matrix, RAW[name](matrix))


@algorithms
@pytest.mark.parametrize("n", [255, 256, 257, 300])
def test_around_the_block_edges(name, n):
    matrix = np.random.default_rng(n).integers(0, n, (n, n)).astype(np.int32)
    assert_solved(matrix, RAW[name](matrix))


STRUCTURED = {
    "zero": matrices.constant(30, value=0),
    "large": matrices.constant(30, value=2**30 - 1),
    "product": matrices.adversarial(60),
    "reversed": matrices.adversarial(60)[::-1].copy(),
    "planted": matrices.planted(80, 2, cost_range=50),
    "geometric": matrices.geometric(80, 2, cost_range=300),
    "cpp": matrices.lopes_cpp(64, high=6),
    "eye": np.eye(40, dtype=np.int32),
    "inverse": 1 - np.eye(40, dtype=np.int32),
    "upper": np.triu(np.ones((40, 40), np.int32)),
    "lower": np.tril(np.full((40, 40), 2**30 - 1, np.int32)),
}


def largest(n):
    """Entries up to half the type's largest: path lengths must not wrap around."""
    draw = np.random.default_rng(n)
    return draw.choice([0, 1, 2**29, 2**30 - 2, 2**30 - 1], (n, n)).astype(np.int32)


WRAPPING = np.array(
    [
        [1, 536870912, 1057294446, 900876339, 1073741822],
        [1073741823, 87314810, 1, 1, 536870912],
        [382822053, 536870912, 1073741823, 1073741823, 1073741822],
        [1073741823, 1, 1073741822, 394177215, 1],
        [274731129, 536870912, 1073741823, 1073741822, 536870912],
    ],
    np.int32,
)
"""Found by search: in int32, a path length of the shortest path solver wraps around here."""

LARGEST = {f"largest-{n}": largest(n) for n in (2, 3, 20, 60)} | {"wrapping": WRAPPING}
STRUCTURED_CASES = [pytest.param(m, id=name) for name, m in (STRUCTURED | LARGEST).items()]


@pytest.mark.parametrize(("name", "matrix"), list(of_matrices(STRUCTURED_CASES)))
def test_structured_integers(name, matrix):
    assert_solved(matrix, RAW[name](matrix))


@pytest.mark.parametrize("name", WIDENING)
def test_path_lengths_beyond_int32_are_int64(name):
    assert RAW[name].allocate(WRAPPING).cost.dtype == np.int64
    assert RAW[name].allocate(WRAPPING // 2).cost.dtype == np.int32


@algorithms
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_floats(name, scale):
    for seed in range(8):
        matrix = matrices.uniform_double(11 * seed + 1, seed) * scale
        assert_solved(matrix, RAW[name](matrix), 1e-10 * scale)


@algorithms
def test_floats_with_ties(name):
    rng = np.random.default_rng(8)
    for n in (1, 2, 17, 50):
        matrix = rng.integers(0, 4, (n, n)) / 4.0
        assert_solved(matrix, RAW[name](matrix), 1e-10)


REFERENCE = [(512, 512, 596, 1), (512, 512, 614, 2), (512, 512, 580, 3),
             (512, 5120, 7845, 1), (512, 5120, 8462, 2), (512, 5120, 8198, 3),
             (1024, 10240, 16673, 1), (1024, 10240, 16149, 2), (1024, 10240, 16292, 3)]  # fmt: skip


@algorithms
@pytest.mark.parametrize(("n", "cost_range", "expected", "seed"), REFERENCE)
def test_reference_costs(name, n, cost_range, expected, seed):
    matrix = matrices.uniform(n, seed, cost_range=cost_range)
    solver = solvers.SOLVERS[name]
    state = solver.upload(matrix)
    solver.run(state)
    answer = solver.download(state)
    assert answer.cost == expected
    verdict = assignment_proof.assignment(matrix, answer)
    assert verdict.ok, verdict.reason


# --------------------------------------------------------------------------- the three stages


@algorithms
@pytest.mark.parametrize(
    ("shape", "maximize", "dtype"),
    [((0, 0), False, int), ((1, 1), False, int), ((7, 12), False, int), ((12, 7), True, int),
     ((9, 9), True, float), ((6, 15), False, float), ((15, 6), True, float)],
)  # fmt: skip
def test_input_contract(name, shape, maximize, dtype):
    rng = np.random.default_rng(11)
    cost = rng.integers(-50, 50, shape) if dtype is int else rng.normal(size=shape)
    solver = solvers.SOLVERS[name]
    state = solver.upload(cost, maximize=maximize)
    solver.run(state)
    answer = solver.download(state)
    verdict = assignment_proof.assignment(cost, answer)
    assert verdict.ok, verdict.reason
    expected = cost[linear_sum_assignment(cost, maximize=maximize)].sum()
    assert answer.cost == pytest.approx(expected, rel=1e-9, abs=1e-12)


@algorithms
def test_forbidden_pairs(name):
    rng = np.random.default_rng(12)
    cost = rng.uniform(0, 100, (30, 30))
    cost[rng.random((30, 30)) < 0.6] = np.inf
    np.fill_diagonal(cost, 99.0)
    solver = solvers.SOLVERS[name]
    state = solver.upload(cost)
    solver.run(state)
    answer = solver.download(state)
    assert np.isfinite(answer.cost)
    assert answer.cost == pytest.approx(optimum(cost), rel=1e-9)


@algorithms
def test_second_run_on_a_state_repeats_the_first(name):
    solver = solvers.SOLVERS[name]
    matrix = matrices.uniform(70, 9, cost_range=200)
    kept = matrix.copy()
    state = solver.upload(matrix)
    answers = []
    for _ in range(2):
        solver.run(state)
        answers.append(solver.download(state))
    first, second = answers
    np.testing.assert_array_equal(first.col_ind, second.col_ind)
    np.testing.assert_array_equal(first.row_duals, second.row_duals)
    np.testing.assert_array_equal(first.column_duals, second.column_duals)
    assert first.counters == second.counters
    np.testing.assert_array_equal(matrix, kept)


@algorithms
def test_nothing_to_download_before_a_run(name):
    solver = solvers.SOLVERS[name]
    with pytest.raises(RuntimeError, match="nothing to download"):
        solver.download(solver.upload(np.eye(3)))


def test_a_loop_beyond_its_worst_case_gives_up(monkeypatch):
    state = solvers.upload_hungarian_o4(np.eye(3, dtype=int))
    solvers.run_hungarian_o4(state)
    monkeypatch.setattr(o4, "hungarian", lambda work: False)
    with pytest.raises(GivenUpError, match="worst case at n = 3") as told:
        solvers.run_hungarian_o4(state)
    assert told.value.reached == {"matched": 3, "searches": 2, "dual_updates": 0}
    with pytest.raises(RuntimeError, match="nothing to download"):
        solvers.download_hungarian_o4(state)


@algorithms
@pytest.mark.parametrize("slice_", [1, 1 << 22])
def test_slices_do_what_the_whole_does(name, slice_, monkeypatch):
    monkeypatch.setattr(auction, "SLICE", slice_)
    solver, matrix = solvers.SOLVERS[name], matrices.uniform(40, 9, cost_range=200)
    answers = []
    for options in ({}, {"seconds": 1e6}):
        state = solver.upload(matrix, **options)
        solver.run(state)
        answers.append(solver.download(state))
    whole, slices = answers
    assert np.array_equal(whole.col_ind, slices.col_ind)
    assert np.array_equal(whole.column_duals, slices.column_duals)
    assert whole.counters == slices.counters


@algorithms
def test_a_run_that_gives_up_in_the_middle_leaves_a_state_that_runs_again(name, monkeypatch):
    """The clock jumps after some slices: the counts are those of that moment."""
    monkeypatch.setattr(auction, "SLICE", 1)
    solver, matrix = solvers.SOLVERS[name], matrices.uniform(40, 9, cost_range=200)
    state = solver.upload(matrix, seconds=1e6)
    ticks = itertools.chain([0.0] * 3, itertools.count(1e7))
    with monkeypatch.context() as patched:
        patched.setattr(deadline.time, "perf_counter", lambda: next(ticks))
        with pytest.raises(GivenUpError, match="gave up after") as told:
            solver.run(state)
    assert 0 < told.value.reached["matched"] < 40
    with pytest.raises(RuntimeError, match="nothing to download"):
        solver.download(state)
    solver.run(state)
    assert_solved(matrix, RAW[name](matrix))
    assert solver.download(state).cost == optimum(matrix)


@pytest.mark.parametrize(
    ("name", "module", "slices"),
    [("cpu_auction", auction, "_bid"), ("cpu_auction_jacobi", auction_jacobi, "_rounds")],
)
def test_an_auction_that_only_displaces_ends_by_the_bound(name, module, slices, monkeypatch):
    """Planted: no slice of bids makes a row wait no longer."""
    monkeypatch.setattr(module, slices, lambda work, eps, size, steps: size)
    solver = solvers.SOLVERS[name]
    state = solver.upload(matrices.uniform(12, 9, cost_range=30), seconds=1e6)
    with pytest.raises(GivenUpError, match="auction algorithm did not end within its worst"):
        solver.run(state)


# --------------------------------------------------------------------------- O(n^4), step by step


def assert_tableau(work, matrix):
    """The slack is what the duals leave, never negative, and the lists hold just its zeros."""
    slack = matrix - work.column_dual[:, None] - work.row_dual[None, :]
    np.testing.assert_array_equal(work.slack, slack)
    assert work.slack.min() >= 0
    listed = np.zeros(matrix.shape, bool)
    for c, size in enumerate(work.zeros_size):
        rows = work.zeros[c, :size]
        assert len(set(rows.tolist())) == size
        listed[c, rows] = True
    np.testing.assert_array_equal(listed, slack == 0)


@pytest.mark.parametrize(("n", "cost_range"), [(6, 40), (23, 10), (40, 400), (300, 3000)])
def test_o4_tableau_before_every_step(n, cost_range):
    matrix = matrices.uniform(n, 5, cost_range=cost_range)
    work = o4.allocate(matrix)
    seen = []

    def trace(step):
        if len(seen) > 1:  # before step 1 there is nothing to see, after it no list of zeros
            assert_tableau(work, matrix)
        seen.append(step)

    assert o4.run_steps(work, trace)
    assert seen[:4] == ["step_1", "step_6", "step_2", "step_3"]  # the first list of zeros
    del seen[1]
    assert set(seen) <= set(o4.STEPS)
    for number in (3, 4, 5, 6):
        counted = work.counters[o4.COUNTERS.index(f"iterations_step_{number}")]
        assert counted == seen.count(f"step_{number}")
    # Fig. 1: step 4 leads to 5 or 6, both of which lead on; step 3 is entered once a path.
    assert seen.count("step_4") == seen.count("step_5") + seen.count("step_6")
    assert seen.count("step_3") == seen.count("step_5") + 1
    assert "step_6" in seen


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_o4_step_by_step_equals_the_compiled_loop(dtype):
    for seed in range(6):
        matrix = matrices.uniform(35, seed, cost_range=70).astype(dtype)
        traced, compiled = solvers.upload_hungarian_o4(matrix), solvers.upload_hungarian_o4(matrix)
        solvers.run_hungarian_o4(traced, trace=lambda step: None)
        solvers.run_hungarian_o4(compiled)
        for name in set(o4.Workspace._fields) - {"zeros", "open_columns"}:  # leftovers at the end
            one, other = getattr(traced.workspace, name), getattr(compiled.workspace, name)
            np.testing.assert_array_equal(one, other, err_msg=name)


def test_o4_initial_counters_against_numpy():
    for seed in range(5):
        matrix = matrices.uniform(50, seed, cost_range=60)
        counters = solvers.hungarian_o4(matrix)[3]
        # The paper's rows are the caller's columns, and step 1 subtracts row minima first.
        slack = matrix - matrix.min(axis=0)
        slack = slack - slack.min(axis=1, keepdims=True)
        assert counters["zeros_initial"] == np.count_nonzero(slack == 0)
        columns_taken, matches = set(), 0
        for row in range(50):
            for column in np.flatnonzero(slack[row] == 0):
                if column not in columns_taken:
                    columns_taken.add(column)
                    matches += 1
                    break
        assert counters["matches_initial"] == matches
        assert counters["iterations_step_5"] == 50 - matches


def test_o4_needs_no_search_when_the_zeros_match():
    counters = solvers.hungarian_o4(1 - np.eye(20, dtype=np.int32))[3]
    assert counters["matches_initial"] == 20
    assert counters["iterations_step_3"] == 1
    assert counters["iterations_step_4"] == 0
    assert counters["zeros_initial"] == 20


# --------------------------------------------------------------------------- the others


def test_augmentations_complete_the_initial_matching():
    matrix = matrices.uniform(120, 1, cost_range=1200)
    o3, sp = solvers.hungarian_o3(matrix)[3], solvers.shortest_path(matrix)[3]
    assert o3["matches_initial"] + o3["augmentations"] == 120
    assert o3["dual_updates"] > 0
    assert o3["rows_planted"] > o3["augmentations"]
    assert 0 < sp["augmentations"] <= 120 - sp["matches_column_reduction"]
    assert sp["row_reductions"] > 0


def test_published_forms_differ_where_their_descriptions_say():
    matrix = matrices.uniform(120, 1, cost_range=30)
    forest, tree = solvers.hungarian_o3(matrix)[3], solvers.hungarian_o3_tree(matrix)[3]
    assert tree["rows_planted"] == tree["augmentations"] < forest["rows_planted"]
    assert tree["matches_initial"] == forest["matches_initial"]
    plain, lists = solvers.scan_lists_plain(matrix)[3], solvers.scan_lists(matrix)[3]
    assert plain["augmentations"] == 120
    assert plain["matches_initial"] == plain["row_reductions"] == 0
    sweeps = solvers.shortest_path(matrix)[3]  # the same initialisation
    assert lists["matches_initial"] == sweeps["matches_column_reduction"]
    for counter in ("row_reductions", "augmentations"):
        assert lists[counter] == sweeps[counter] > 0
    ties = matrices.uniform(120, 1, cost_range=4)  # many bids for one column, lost but one
    jacobi, seidel = solvers.auction_jacobi(ties)[3], solvers.auction(ties)[3]
    assert jacobi["phases"] == seidel["phases"]
    assert jacobi["bids"] > 1.5 * seidel["bids"]


def test_rows_that_tie_bid_for_one_column_and_one_of_them_has_it():
    work = auction.allocate(np.array([[1, 5, 9], [1, 5, 9], [1, 9, 5]], np.int32))
    work.v[:], work.bidder[:], work.column_of_row[:], work.row_of_column[:] = 0, -1, -1, -1
    work.waiting[:] = 0, 1, 2
    assert auction_jacobi._bid(work, 1, 3) == 1
    assert (work.contested[0], work.bidder[0], work.offer[0]) == (0, 0, 4 * 4 + 1)
    assert auction_jacobi._award(work, 1, 3) == 2
    assert work.waiting[:2].tolist() == [1, 2]
    assert work.v.tolist() == [-17, 0, 0]
    assert auction_jacobi._bid(work, 1, 2) == 2
    assert work.bidder.tolist() == [-1, 1, 2]


def test_auction_scales_eps_down_to_one():
    work = auction.allocate(np.array([[3, 1], [2, 9]], np.int32), theta=4)
    assert work.scale.tolist() == [3]
    assert work.eps.tolist() == [6, 1]
    counters = solvers.auction(np.array([[3, 1], [2, 9]], np.int32), theta=4)[3]
    assert counters["phases"] == 2
    assert counters["bids"] >= 4  # every row bids in every phase


def test_auction_refuses_costs_that_overflow():
    matrix = np.full((10, 10), 2**52, np.int64)
    with pytest.raises(ValueError, match=r"overflow.*fit at this n"):
        solvers.auction(matrix)
    with pytest.raises(ValueError, match="overflow"):
        solvers.SOLVERS["cpu_auction"].upload(matrix * np.eye(10, dtype=np.int64))


def test_auction_refuses_parameters():
    with pytest.raises(ValueError, match="theta"):
        solvers.auction(np.eye(3), theta=1)
    for tolerance in (0.0, 1e-17, float("nan")):
        with pytest.raises(ValueError, match="tolerance"):
            solvers.auction(np.eye(3), tolerance=tolerance)


def test_auction_tolerance_bounds_the_error():
    matrix = matrices.uniform_double(60, 4)
    for tolerance in (0.5, 1e-3, 1e-9):
        columns = solvers.auction(matrix, tolerance=tolerance)[0]
        error = matrix[np.arange(60), columns].sum() - optimum(matrix)
        assert -1e-12 <= error <= tolerance


def test_exact_duals_need_an_optimal_matching():
    matrix = matrices.uniform(30, 2, cost_range=100)
    columns = solvers.auction(matrix)[0]
    start = np.zeros(30, np.int64)
    u, v = auction.exact_duals(matrix, columns, start)
    assert_solved(matrix, (columns, u, v, {}))
    worse = columns.copy()
    worse[[0, 1]] = worse[[1, 0]]
    assert matrix[[0, 1], worse[:2]].sum() > matrix[[0, 1], columns[:2]].sum()
    assert auction.exact_duals(matrix, worse, start) is None


def test_auction_with_a_spoiled_matching_is_not_downloaded():
    matrix = matrices.uniform(30, 2, cost_range=100)
    state = solvers.upload_auction(matrix)
    solvers.run_auction(state)
    state.workspace.column_of_row[[0, 1]] = state.workspace.column_of_row[[1, 0]]
    with pytest.raises(RuntimeError, match="not optimal"):
        solvers.download_auction(state)


def test_step_clock_of_the_compiled_code():
    """Every visit is counted; the steps add up to no more than the wall time, and to some work.

    No machine does this work in 50 us, however idle: the lower bound tells milliseconds from
    seconds, and holds on a busy machine.
    """
    state = solvers.upload_hungarian_o4(matrices.uniform(200, 4, cost_range=2000))
    solvers.run_hungarian_o4(state, StepClock(lambda: None))  # compiles
    clock = StepClock(lambda: None, solvers.SOLVERS["cpu_o4"].steps)
    start = time.perf_counter()
    solvers.run_hungarian_o4(state, clock)
    wall_ms = (time.perf_counter() - start) * 1e3
    counters = solvers.download_hungarian_o4(state).counters
    assert clock.visits == {
        "step_1": 1,
        "step_2": 1,
        "step_3": counters["iterations_step_3"],
        "step_4": counters["iterations_step_4"],
        "step_5": counters["iterations_step_5"],
        "step_6": 1 + counters["iterations_step_6"],  # and the first list of zeros
    }
    assert 0.05 < sum(clock.totals.values()) <= wall_ms
    assert all(clock.totals[step] > 0 for step in ("step_1", "step_4", "step_6"))
