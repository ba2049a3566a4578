"""The solver as a whole: limits, options, counters, what ends a run, costs of every kind."""

import dataclasses
import itertools
import re

import numpy as np
import pytest
from nightly import first
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from papers.common import deadline
from papers.common.executor.scheduler import Executor
from papers.common.gpu import device, launch
from papers.common.gpu.signatures import argument_types
from papers.common.instances.matrices import on_device, uniform, uniform_double
from papers.common.model import GivenUpError
from papers.common.problems import assignment_proof, costs_on_device
from papers.datenagi2016 import launches, reference, solve, solver
from papers.datenagi2016.kernels import shared
from papers.datenagi2016.launches import VARIANTS, Geometry

LARGEST = (2**31 - 1) // 4
"""The largest range of costs that int32 holds: a slack is at most twice it, and doubled."""

variants = pytest.mark.parametrize("variant", VARIANTS)


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def assert_optimal(cost, maximize=False, **options):
    """SciPy's cost, and a certificate."""
    cost = np.asarray(cost)
    answer = solve(cost, maximize, **options)
    best = cost[linear_sum_assignment(cost, maximize)]
    best = best.sum(dtype=np.float64 if cost.dtype.kind == "f" else None)
    assert answer.cost == (pytest.approx(best, rel=1e-9) if cost.dtype.kind == "f" else best)
    verdict = assignment_proof.assignment(cost, answer, maximize)
    assert verdict.ok, verdict
    return answer


# ------------------------------------------------------------------------------- right answers


def crossed(n):
    """Every greedy choice is wrong: the optimum is the diagonal that nobody prefers."""
    i, j = np.indices((n, n))
    return np.where(i == j, n, np.where(i < j, 2 * (j - i) - 1 + n // 2, 3 * (i - j)))


rng = np.random.default_rng(16)
FORBIDDEN = np.where(rng.random((16, 16)) < 0.5, np.inf, rng.random((16, 16)))
np.fill_diagonal(FORBIDDEN, 0.75)
COSTS = {
    "random": rng.integers(0, 200, (24, 24)),
    "ties": rng.integers(0, 2, (21, 21)),
    "negative": rng.integers(-99, -9, (17, 17)),
    "wide": rng.integers(0, 50, (7, 19)),
    "tall": rng.integers(-20, 50, (19, 7)),
    "constant": np.full((18, 18), 3),
    "Machol-Wien": np.outer(np.arange(1, 12), np.arange(1, 12)),
    "crossed": crossed(18),
    "int8": rng.integers(-128, 128, (20, 20)).astype(np.int8),
    "uint16": rng.integers(0, 2**16, (20, 20)).astype(np.uint16),
    "int64": rng.integers(-(2**40), 2**40, (15, 15)),
    "float": rng.normal(size=(18, 18)),
    "float32": rng.random((18, 18)).astype(np.float32),
    "float ties": rng.integers(0, 3, (18, 18)) / 3,
}


@variants
@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("maximize", first(1, [False, True]))
def test_costs_of_every_kind(name, maximize, variant):
    assert_optimal(COSTS[name], maximize, variant=variant)


@variants
def test_forbidden_pairs(variant):
    answer = assert_optimal(FORBIDDEN, variant=variant)
    assert np.isfinite(answer.cost)
    assert_optimal(-FORBIDDEN, True, variant=variant)


@variants
@pytest.mark.parametrize("dtype", solver.DTYPES)
@pytest.mark.parametrize("maximize", [False, True])
def test_every_working_type(dtype, maximize, variant):
    cost = uniform(20, 6, cost_range=120)
    answer = assert_optimal(
        cost.astype(float) if dtype == "float64" else cost, maximize, dtype=dtype, variant=variant
    )
    assert answer.counters["cost_bytes"] == 400 * np.dtype(dtype).itemsize


@variants
def test_integer_costs_in_doubles_have_the_same_updates(variant):
    cost = uniform(24, 6, cost_range=240)
    exact, rounded = (solve(cost, dtype=d, variant=variant) for d in ("int32", "float64"))
    assert exact.cost == rounded.cost
    assert exact.counters["dual_updates"] == rounded.counters["dual_updates"] > 0
    assert np.array_equal(exact.row_duals, rounded.row_duals)


@pytest.mark.parametrize("variant", first(1, ["tree", "classical"]))
def test_doubles_in_0_to_2(variant):
    """As at n = 10,000 below, small enough for the executor: gaps far below 1e-6 take part."""
    cost = uniform_double(64, 23, cost_range=2.0)
    assert_optimal(cost, variant=variant)


@pytest.mark.skipif(not device.gpu_present(), reason="n = 10,000 needs a GPU, and there is none")
@variants
def test_doubles_in_0_to_2_at_full_size(variant):
    """The gaps between 10**8 costs in [0, 2] are smaller than any fixed epsilon of 1e-6."""
    device.select("gpu")
    cost = uniform_double(10_000, 1, cost_range=2.0)
    state = solver.upload(cost, variant=variant)
    solver.run(state)
    answer = solver.download(state)
    verdict = assignment_proof.assignment(cost, answer)
    assert verdict.ok, verdict


# ------------------------------------------------------------------------------- limits


def test_an_unknown_variant_is_named():
    with pytest.raises(ValueError, match="variant='both' is not one of classical, tree"):
        solve([[1]], variant="both")


@pytest.mark.parametrize(("variant", "largest"), [("classical", 46340), ("tree", 2**30)])
def test_orders_beyond_the_index_types(variant, largest):
    with pytest.raises(ValueError, match=rf"int32 indices of the {variant} .* n <= {largest}"):
        solver.check_size(largest + 1, np.dtype(np.int32), variant)
    assert (largest + 1) ** 2 > 2**31 or variant == "tree"


@variants
@pytest.mark.parametrize("dtype", solver.DTYPES)
@pytest.mark.parametrize("matrix_there", [False, True])
def test_orders_beyond_the_memory(variant, dtype, matrix_there, monkeypatch):
    """The message names the largest order that does; it does, and the next does not."""
    free = 10**7
    monkeypatch.setattr(device, "free_bytes", lambda: free)
    kind = np.dtype(dtype)
    with pytest.raises(ValueError, match=r"GiB on the card, 0\.0 GiB are free: n <= \d+") as caught:
        solver.check_size(10**6 if variant == "tree" else 46340, kind, variant, 16, matrix_there)
    largest = int(re.search(r"n <= (\d+)", str(caught.value))[1])
    solver.check_size(largest, kind, variant, 16, matrix_there)
    with pytest.raises(ValueError, match=f"n <= {largest}"):
        solver.check_size(largest + 1, kind, variant, 16, matrix_there)
    matrix = 0 if matrix_there else kind.itemsize
    fits = [matrix * n * n + launches.state_bytes((n, n), kind.itemsize, variant) <= free
            for n in (largest, largest + 1)]  # fmt: skip
    assert fits == [True, False]


@variants
def test_a_matrix_too_large_is_refused_before_anything_is_allocated(variant, monkeypatch):
    monkeypatch.setattr(device, "free_bytes", lambda: 1000)
    forbid(monkeypatch, "empty", "to_device", "mapped")
    with pytest.raises(ValueError, match=r"order 30 needs .* n <= \d+"):
        solver.upload(uniform(30, 1, cost_range=9), variant=variant)


@pytest.mark.parametrize(
    "wrong",
    [{"line_threads": 0}, {"line_threads": 8}, {"row_threads": 48}, {"search_threads": 2048},
     {"search_threads": 16}, {"reduction_threads": 24}, {"scan_threads": 31},
     {"search_blocks": 0}, {"stage_width": 0}, {"rows_a_block": -1}, {"column_threads": 1025}],
)  # fmt: skip
def test_bad_geometry_is_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        dataclasses.replace(Geometry.for_device(20, "tree"), **wrong)


@variants
@pytest.mark.parametrize(
    "shapes", [(9, 32, 1, 1, 32, 1, 1, 32, 1), (13, 96, 5, 3, 128, 2, 64, 64, 3)]
)
def test_unusual_geometries_are_right(shapes, variant):
    geometry = Geometry(*shapes)
    cost = uniform(35, 2, cost_range=40)
    if variant == "classical":
        geometry = dataclasses.replace(geometry, search_blocks=1)
    assert_optimal(cost, variant=variant, geometry=geometry)


@variants
@pytest.mark.parametrize("over", [0, 1])
def test_costs_at_the_edge_of_int32(variant, over):
    """A range of (2**31 - 1) / 4 is worked on in int32 and never wraps; one more takes int64.

    The executor raises where a stored value would wrap; differences in between are checked here.
    """
    top = LARGEST + over
    n = 7
    line = np.arange(1, n + 1)
    spread = np.random.default_rng(3)
    matrices = [
        np.outer(line, line) * (top // n**2),
        spread.integers(0, 2, (n, n)) * top,
        spread.integers(0, top + 1, (n, n)),
        np.where(np.triu(np.ones((n, n), bool)), top, 0),
        np.minimum.outer(line, line) * (top // n),
    ]
    for cost in matrices:
        cost[0, 0], cost[0, 1] = 0, top
        for flipped in (cost - top // 3, top - cost, cost.T.copy()):
            state = solver.upload(flipped, variant=variant)
            assert state.arrays["cost"].dtype == ("int64" if over else "int32")
            if not over:
                solver.run(state, differences_fit(state))
                assert assignment_proof.assignment(flipped, solver.download(state)).ok
                continue
            assert_optimal(flipped, variant=variant)
            with pytest.raises(ValueError, match=f"int32: it holds a range of at most {LARGEST}"):
                solver.upload(flipped, dtype="int32", variant=variant)


def differences_fit(state):
    """A trace that checks 2 c - u - v, from left to right, against int32."""

    def look(step):
        if step not in ("forward_pass", "dual_update"):
            return
        a, n = state.arrays, state.n
        cost, u, v = (a[name].astype(np.int64) for name in ("cost", "row_dual", "column_dual"))
        doubled = 2 * cost.reshape(n, n)
        for value in (doubled, doubled - u[:, None], doubled - u[:, None] - v):
            assert -(2**31) <= value.min() <= value.max() < 2**31

    return look


@variants
def test_costs_at_the_edge_of_int64(variant):
    cost = np.array([[-(2**60), 2**60 - 1, 0], [5, -(2**59), 2**58], [2**60 - 1, 7, -3]])
    answer = solve(cost, variant=variant)
    assert assignment_proof.assignment(cost, answer).ok
    cost[0, 1] = 2**60
    with pytest.raises(ValueError, match="would overflow the working type int64"):
        solve(cost, variant=variant)


# ------------------------------------------------------------------------------- duals


@variants
def test_integers_kept_as_doubles_are_exact(variant):
    """Odd half units give whole duals, and large duals no tolerance."""
    for seed in range(12):
        cost = np.random.default_rng(seed).integers(0, 10, (5, 5))
        assert_optimal(cost, variant=variant, dtype="float64")
    rng, other = np.random.default_rng(0), np.random.default_rng(9)
    cost = rng.integers(0, 8, (6, 6)) + np.add.outer(
        np.random.default_rng(0).integers(0, 2**50, 6), other.integers(0, 2**49, 6)
    )
    assert assert_optimal(cost, variant=variant, dtype="float64").cost == 5376033654028555


@variants
def test_an_edge_whose_terms_cancel_takes_a_second_update(variant):
    """The residue that rounding leaves on theta's edge is large beside the small terms."""
    cost = np.array(
        [
            [5, 9, 9, 9, 0, 9, 9],
            [9, 1.3, 9, 9, 9, 0, 9],
            [9, 2.4, 9, 9, 0, 9, 9],
            [9, 2.3000000000000003, 1.2000000000000002, 9, 9, 9, 9],
            [9, 9, 9, 9, 9, 0, 1.2],
            [2, 9, 9, 1.2000000000000002, 9, 9, 1.3],
            [9, 9, 9, 9, 9, 0, 9],
        ]
    )
    assert_optimal(cost, variant=variant)


@variants
def test_terms_whose_sum_overflows(variant):
    n = 6
    cost = np.full((n, n), np.inf)
    cost[np.arange(n), np.arange(n)] = np.finfo(float).max / (2 * n + 4) * 0.9999
    cost[np.arange(n - 1), np.arange(1, n)] = 0.0
    with np.errstate(over="ignore"):
        assert_optimal(cost, variant=variant)


def test_halves_of_denormals_keep_their_sums():
    """All odd multiples of the smallest denormal, as in a run; larger numbers are simply halved."""
    tiny = 5e-324
    u, v = tiny * np.array([3, -5, 1]), tiny * np.array([-1, 7, 3])
    rows, columns = solver.whole_units(u, v, whole=False)
    assert np.array_equal(2 * (rows[:, None] + columns), u[:, None] + v)
    large = np.array([1.0, -3.0, 2.0**-1021])
    assert np.array_equal(solver.whole_units(large, large, whole=False), [large / 2, large / 2])


def test_the_reference_solves_doubles_with_rounding():
    from scipy.optimize import linear_sum_assignment

    from papers.datenagi2016 import reference

    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 14))
        cost = np.multiply.outer(rng.random(n), rng.random(n))
        tree = reference.alternating_tree_hungarian(cost)
        best = cost[linear_sum_assignment(cost)].sum()
        assert cost[np.arange(n), tree.A_r].sum() == pytest.approx(best, rel=1e-9)


def test_whole_units_of_even_and_odd_duals():
    for u, v in (([4, -6], [0, 2]), ([3, -7], [-1, 5]), ([-1, 1], [1, -1])):
        whole = solver.whole_units(np.array(u, np.int32), np.array(v, np.int32), whole=True)
        assert all(side.dtype == np.int64 for side in whole)
        assert np.array_equal(2 * (whole[0][:, None] + whole[1]), np.add.outer(u, v))
        assert whole[0].sum() + whole[1].sum() == (sum(u) + sum(v)) / 2
    u, v = solver.whole_units(np.array([3.0]), np.array([0.5]), whole=False)
    assert (u[0], v[0]) == (1.5, 0.25)


@variants
def test_duals_are_all_even_or_all_odd_at_any_time(variant):
    seen = set()

    def look(step):
        duals = np.concatenate([state.arrays["row_dual"], state.arrays["column_dual"]])
        if step == "forward_pass":
            assert len(set(duals & 1)) == 1
            seen.add(int(duals[0] & 1))

    ends = set()
    for seed in range(8):
        cost = uniform(9, seed, cost_range=100)
        state = solver.upload(cost, variant=variant)
        solver.run(state, look)
        ends.add(int(state.arrays["row_dual"][0] & 1))
        assert assignment_proof.assignment(cost, solver.download(state)).ok
    assert seen == ends == {0, 1}


# ------------------------------------------------------------------------------- runs


def test_an_empty_matrix():
    state = solver.upload(np.zeros((0, 3)))
    solver.run(state)
    assert solver.download(state).cost == 0


@variants
def test_a_state_runs_again(variant):
    cost = uniform(26, 4, cost_range=130)
    state = solver.upload(cost, variant=variant)
    answers = []
    for _ in range(3):
        solver.run(state)
        answers.append(solver.download(state))
        assert assignment_proof.assignment(cost, answers[-1]).ok
    assert len({answer.cost for answer in answers}) == 1
    assert answers[0].counters == answers[2].counters


@variants
@pytest.mark.parametrize("position", [0, 1, 2, 3, 5, 8])
def test_a_run_after_an_interrupted_one(position, variant):
    """At whatever step it stopped: nothing to download, and the next run is as new."""

    class Stop(Exception):
        pass

    steps = []

    def stop(step):
        steps.append(step)
        if len(steps) > position:
            raise Stop

    cost = uniform(22, 3, cost_range=60)
    state = solver.upload(cost, variant=variant)
    solver.run(state)
    before = solver.download(state)
    with pytest.raises(Stop):
        solver.run(state, stop)
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)
    state.launches["forward_pass"]()  # a signal that nobody waited for
    solver.run(state)
    after = solver.download(state)
    assert assignment_proof.assignment(cost, after).ok
    assert after.counters == before.counters


@variants
def test_download_before_a_run(variant):
    state = solver.upload(uniform(6, 1, cost_range=60), variant=variant)
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)
    state.solved = True
    state.arrays["row_assignment"][:] = -1
    with pytest.raises(RuntimeError, match="perfect matching"):
        solver.download(state)


def forbid(monkeypatch, *names):
    """Let these functions of `device` raise."""
    for name in names:

        def refuse(*args, _name=name, **options):
            raise AssertionError(f"device.{_name} was called")

        monkeypatch.setattr(device, name, refuse)


@variants
def test_a_run_allocates_and_copies_nothing(variant, monkeypatch):
    """Memory, copies and bindings belong to the upload; what comes back is a word a pass."""
    cost = uniform(30, 3, cost_range=90)
    state = solver.upload(cost, variant=variant)
    with monkeypatch.context() as patched:
        forbid(patched, "empty", "to_device", "to_host", "mapped", "free_bytes")
        patched.setattr(launch.Launch, "__init__", None)
        arrays = {name: id(array) for name, array in state.arrays.items()}
        solver.run(state)
        assert arrays == {name: id(array) for name, array in state.arrays.items()}
    assert assignment_proof.assignment(cost, solver.download(state)).ok


@variants
def test_a_forward_pass_is_one_round_trip(variant, monkeypatch):
    """The host waits once a pass, right after it, and at no other step."""
    state = solver.upload(uniform(30, 3, cost_range=90), variant=variant)
    events = []
    wait = state.mailbox.wait
    monkeypatch.setattr(state.mailbox, "wait", lambda: (events.append("wait"), wait())[1])
    state.launches = {name: Recorder(bound, events) for name, bound in state.launches.items()}
    monkeypatch.setattr(device, "synchronize", lambda: events.append("synchronize"))
    solver.run(state)
    counters = solver.download(state).counters
    assert events.count("wait") == counters["forward_passes"] > counters["dual_updates"] > 0
    assert events.count("synchronize") == 1
    assert events[0] == "synchronize", "before the run only"
    waits = [k for k, event in enumerate(events) if event == "wait"]
    assert all(events[k - 1] == "forward_pass" for k in waits)


class Recorder:
    """A bound launch that notes its kernel's name."""

    def __init__(self, bound, launched):
        self.bound, self.launched, self.name = bound, launched, bound.name

    def __call__(self):
        self.launched.append(self.name)
        self.bound()

    def __getattr__(self, name):
        return getattr(self.bound, name)


@variants
def test_steps_follow_one_another_as_in_the_paper(variant):
    """[DN16 sec.2.2, 2.3]: check, search; then reverse pass and augmentation, or an update."""
    seen = []
    state = solver.upload(uniform(20, 5, cost_range=100), variant=variant)
    solver.run(state, seen.append)
    classical = variant == "classical"
    assert set(seen) == set(solver.STEPS_CLASSICAL if classical else solver.STEPS_TREE)
    compress = "matrix_compression " if classical else ""
    search = f"(forward_pass dual_update {compress})*forward_pass "
    pattern = (
        f"initial_reduction {compress}(optimality_check {search}reverse_pass augmentation )*"
        "optimality_check forward_pass "
    )
    assert re.fullmatch(pattern, "".join(f"{step} " for step in seen))


# ------------------------------------------------------------------------------- no progress


@variants
def test_an_infeasible_matrix_makes_no_progress(variant):
    """Two rows with one finite cost each, in one column: theta is infinite, and that ends it."""
    state = solver.upload(uniform_double(9, 1), variant=variant)
    state.arrays["cost"].reshape(9, 9)[[2, 6], 1:] = np.inf
    with pytest.raises(RuntimeError, match=r"dual update \d+ made no progress \(8 of 9 rows"):
        solver.run(state)
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)


@variants
def test_nothing_but_infinities_or_nan_makes_no_progress(variant):
    last = 1 if variant == "tree" else 1 + solver.PATIENCE
    for value in (np.inf, np.nan):
        state = solver.upload(uniform_double(7, 1), variant=variant)
        state.arrays["cost"][:] = value
        with (
            np.errstate(invalid="ignore"),
            pytest.raises(RuntimeError, match=rf"update {last} made no progress \(0 of 7"),
        ):
            solver.run(state)


@variants
@pytest.mark.parametrize("dtype", solver.DTYPES)
def test_an_update_without_a_slack_makes_no_progress(dtype, variant):
    """Slacks, or covers, that were overwritten: no slack is positive, theta is infinite."""

    def corrupt(step):
        if step == "dual_update":
            state.arrays["slack" if variant == "tree" else "column_cover"][:] = variant != "tree"

    cost = uniform(12, 5, cost_range=100)
    updates = reference.classical_hungarian(cost).updates
    state = solver.upload(cost, dtype=dtype, variant=variant)
    said = rf"dual update 1 made no progress \({updates[0]} of 12 rows are assigned\)"
    with pytest.raises(RuntimeError, match=said):
        solver.run(state, corrupt)
    solver.run(state)
    assert assignment_proof.assignment(cost, solver.download(state)).ok


class Endless:
    """A mailbox that always has the same word."""

    def __init__(self, signal):
        self.payload = signal.stuck << 33 | signal.path_found << 32 | signal.matches
        self.waits = 0

    def wait(self):
        self.waits += 1
        return self.payload

    def forget(self):
        pass


@variants
def test_a_run_that_never_ends_raises(variant):
    state = solver.upload(uniform(6, 1, cost_range=60), variant=variant)
    state.mailbox = Endless(solver.Signal(0, True, False))
    with pytest.raises(GivenUpError, match="no perfect matching after 7 searches"):
        solver.run(state)
    assert state.mailbox.waits == 7
    state.mailbox = Endless(solver.Signal(0, False, False))
    for bound in ("dual_update", "dual_update_stage_2"):  # duals that move for ever would overflow
        if bound in state.launches:
            state.launches[bound] = Silent(state.launches[bound])
    with pytest.raises(GivenUpError, match="no augmenting path after 7 dual updates") as told:
        solver.run(state)
    assert told.value.reached == {"matched": 0, "dual_updates": 7}
    assert state.mailbox.waits == 7


@variants
def test_a_limit_of_time_is_kept_and_the_next_run_is_right(variant, monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(deadline.time, "perf_counter", lambda: float(next(ticks)))
    cost = uniform(12, 1, cost_range=120)
    state = solver.upload(cost, variant=variant, seconds=2)
    with pytest.raises(GivenUpError, match=r"gave up after 3\.0 s and \d+ of 12 rows") as told:
        solver.run(state)
    assert told.value.reached["matched"] > 0
    assert "dual_updates" in told.value.reached
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)
    state.seconds = None
    solver.run(state)
    assert assignment_proof.assignment(cost, solver.download(state)).ok


class Silent:
    """A bound launch that is not made."""

    def __init__(self, bound):
        self.reset, self.name, self.count = bound.reset, bound.name, 0

    def __call__(self):
        pass


# ------------------------------------------------------------------------------- counters


@variants
def test_counters_count(variant):
    cost = uniform(24, 3, cost_range=240)
    state = solver.upload(cost, variant=variant)
    launched = []
    state.launches = {name: Recorder(bound, launched) for name, bound in state.launches.items()}
    solver.run(state)
    counters = solver.download(state).counters
    assert counters["kernel_launches"] == len(launched)
    assert counters["forward_passes"] == launched.count("forward_pass")
    assert counters["augmentations"] == launched.count("augmentation")
    assert counters["dual_updates"] == launched.count("minimum") > 3
    passes = counters["dual_updates"] + counters["augmentations"] + 1
    assert counters["forward_passes"] == passes
    assert counters["bfs_levels"] >= passes - 1
    assert all(type(value) is int for value in counters.values())
    if variant == "classical":
        assert launched.count("compression_scatter") == counters["dual_updates"] + 1


@variants
@pytest.mark.parametrize("seed", range(8))
def test_assignments_by_dual_updates_add_up(seed, variant):
    cost = uniform(26, seed, cost_range=(5, 26, 260, 2)[seed % 4])
    state = solver.upload(cost, variant=variant)
    solver.run(state)
    counters = solver.download(state).counters
    bands = {name: value for name, value in counters.items() if name.startswith("assignments_")}
    assert list(bands)[:2] == ["assignments_1_5", "assignments_6_10"]
    assert len(bands) == 11
    assert min(bands.values()) >= 0
    assert counters["initial_assignments"] + sum(bands.values()) == 26
    at = [*state.matches_at_update, 26]
    assert bands["assignments_1_5"] == at[min(5, len(at) - 1)] - at[0]
    assert state.matches_at_update == sorted(state.matches_at_update)


@variants
def test_bands_of_many_updates(variant):
    """Updates numbered from 1: band 6-10 is what is assigned from the 6th to before the 11th."""
    state = solver.upload(uniform(3, 1, cost_range=30), variant=variant)
    solver.run(state)
    state.matches_at_update[:] = list(range(60))
    state.n = 100
    counters = solver._counters(state)
    assert counters["initial_assignments"] == 0
    for begin in range(1, 50, 5):
        assert counters[f"assignments_{begin}_{begin + 4}"] == 5
    assert counters["assignments_51_up"] == 50


@variants
@pytest.mark.parametrize("label", [2, 10, 100])
def test_initial_assignments_are_a_maximum_matching(label, variant):
    """[DN16 Table 2]: what is found among the zeros of the initial reduction."""
    for seed in range(3):
        cost = uniform(24, seed, cost_range=label)
        t = reference.tableau(cost)
        reference.initial_reduction(t)
        zero = csr_array(t.C - t.D_r[:, None] - t.D_c == 0)
        most = (maximum_bipartite_matching(zero, perm_type="column") >= 0).sum()
        counters = solve(cost, variant=variant).counters
        assert counters["initial_assignments"] == most
        assert (counters["dual_updates"] == 0) == (most == 24)


@variants
@pytest.mark.parametrize("dtype", solver.DTYPES)
@pytest.mark.parametrize("n", [1, 2, 33])
def test_state_bytes_are_those_of_the_arrays(n, dtype, variant):
    cost = uniform(n, 1, cost_range=90)
    for width in (4, 11):
        geometry = dataclasses.replace(Geometry.for_device(n, variant), stage_width=width)
        state = solver.upload(cost, dtype=dtype, variant=variant, geometry=geometry)
        sizes = {name: array.nbytes for name, array in state.arrays.items()}
        assert sizes.pop("cost") == n * n * np.dtype(dtype).itemsize
        assert state.state_bytes == sum(sizes.values())
    solver.run(state)
    counters = solver.download(state).counters
    assert counters["state_bytes"] == state.state_bytes
    assert counters["cost_bytes"] == state.arrays["cost"].nbytes


# ------------------------------------------------------------------------------- in device memory


@variants
@pytest.mark.parametrize("n", [1, 16, 33])
def test_costs_in_device_memory(n, variant):
    """Drawn there: used where they are, not changed, and the same answer as from the host."""
    costs = on_device.draw_uniform(n, 2 * n, 5)
    before = costs.array.copy()
    state = solver.upload(costs, variant=variant)
    assert np.shares_memory(state.arrays["cost"], costs.array)
    for _ in range(2):
        solver.run(state)
        answer = solver.download(state)
        assert assignment_proof.assignment(costs_on_device.strips(costs), answer, rows=n).ok
    host = uniform(n, 5, cost_range=2 * n)
    assert np.array_equal(before, host)
    assert np.array_equal(costs.array, before)
    there = solve(host, variant=variant)
    assert answer.cost == there.cost
    for counter in ("dual_updates", "initial_assignments", "state_bytes", "cost_bytes"):
        assert answer.counters[counter] == there.counters[counter]


@variants
def test_adopted_costs(variant):
    cost = uniform(20, 7, cost_range=90) + 11  # not shifted
    costs = costs_on_device.adopt(cost)
    for dtype in (None, "int32", np.int32, np.dtype("int32")):
        answer = solve(costs, dtype=dtype, variant=variant)
        assert answer.cost == cost[linear_sum_assignment(cost)].sum()
        assert assignment_proof.assignment(cost, answer).ok
    for dtype in ("float64", np.float64, "int64", float):
        with pytest.raises(ValueError, match="minimized, as int32"):
            solve(costs, dtype=dtype, variant=variant)
    with pytest.raises(ValueError, match="minimized, as int32"):
        solve(costs, maximize=True, variant=variant)


@variants
def test_adopted_costs_at_the_edge_of_int32(variant):
    """Here the largest cost counts, not the range."""
    cost = np.random.default_rng(2).integers(0, 2, (8, 8), dtype=np.int32) * LARGEST
    cost[0, 0], cost[3] = LARGEST, LARGEST
    state = solver.upload(costs_on_device.adopt(cost), variant=variant)
    solver.run(state, differences_fit(state))
    assert assignment_proof.assignment(cost, solver.download(state)).ok
    cost[0, 0] += 1
    with pytest.raises(ValueError, match=f"at most {LARGEST}"):
        solver.upload(costs_on_device.adopt(cost), variant=variant)


def test_no_costs_in_device_memory():
    assert solve(on_device.draw_uniform(0, 5, 1)).cost == 0


def test_device_memory_that_the_matrix_fills(monkeypatch):
    """A matrix that is there already needs no second place."""
    costs = on_device.draw_uniform(30, 100, 1)
    need = launches.state_bytes((30, 30), 4, "tree", 4)
    monkeypatch.setattr(device, "free_bytes", lambda: need)
    assert solver.upload(costs, variant="tree").n == 30
    with pytest.raises(ValueError, match="n <= "):
        solver.upload(uniform(30, 1, cost_range=100), variant="tree")


# ------------------------------------------------------------------------------- bound launches


@variants
@pytest.mark.parametrize("dtype", solver.DTYPES)
@pytest.mark.parametrize("resident", [False, True])
def test_bound_arguments_are_what_the_kernels_are_compiled_for(variant, dtype, resident):
    """On a GPU a launch is compiled for its arguments' types: they are the listed signatures."""
    from papers.common.gpu import kernels_scan
    from papers.datenagi2016.kernels import classical as kernels_classical
    from papers.datenagi2016.kernels import tree as kernels_tree

    own = kernels_tree if variant == "tree" else kernels_classical
    signatures = {
        kernel.py_func.__name__: (kernel, signature)
        for module in (shared, kernels_scan, own)
        for kernel, signature in module.SIGNATURES.items()
    }
    if resident and dtype != "int32":
        return
    cost = on_device.draw_uniform(9, 90, 1) if resident else uniform(9, 1, cost_range=90)
    state = solver.upload(cost, dtype=dtype, variant=variant)
    for bound in state.launches.values():
        kernel, signature = signatures[bound.name]
        typed = tuple(map(kernel.typeof_pyval, bound.arguments))
        assert typed == argument_types(signature, dtype), bound.name


def test_other_launches_of_a_process_do_not_disturb_a_state():
    """A state stays in the executor that it was bound in."""
    cost = uniform(12, 1, cost_range=50)
    with device.executing(Executor(seed=1)) as first:
        state = solver.upload(cost)
    solver.run(state)
    assert first.count["launches"] == solver.download(state).counters["kernel_launches"]
