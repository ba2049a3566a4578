"""The pairs alone are those of the whole way, and one wait is all that they cost."""

import gc
import weakref

import numpy as np
import pytest
from nightly import first
from synthesis.assignment.small import KINDS, draw, has_assignment
from synthesis.enqueued import note

from papers.common.executor import scheduler
from papers.common.executor.scheduler import Executor
from papers.common.executor.variants import changed
from papers.common.gpu import device, signals
from papers.common.gpu.launch import Launch
from papers.common.model import GivenUpError
from papers.synthesis.assignment import pairs, pool, resident, solver
from papers.synthesis.assignment.kernels.costs import deliver
from papers.synthesis.assignment.launches import LOG, Workspace, limit_of
from papers.synthesis.calls import answers


@pytest.fixture(autouse=True)
def _executor(monkeypatch):
    device.select("cpu")
    monkeypatch.setattr(scheduler, "QUANTUM", 10**9)  # else a run's order depends on those before
    pool.clear()


def workspaces():
    """Workspaces that lie in the pool."""
    gc.collect()
    return [thing for thing in pool._idle if isinstance(thing, Workspace)]


@pytest.mark.parametrize("seed", first(2, range(12)))
@pytest.mark.parametrize("kind", KINDS)
def test_the_pairs_are_those_of_the_whole_way(kind, seed):
    cost, maximize = draw(kind, seed, most=8)
    givens = [cost]
    if cost.dtype.name in resident.SOURCES:
        givens += [resident.adopt(np.array(cost, order=order)) for order in "CF"]
    for given in givens:
        if not has_assignment(cost, maximize):
            with pytest.raises(ValueError, match="infeasible"):
                pairs.solve(given, answers.room_for, maximize)
            continue
        whole = solver.solve(given, maximize)
        for room_for in (None, answers.room_for):
            rows, columns, there = pairs.solve(given, room_for, maximize)
            assert there == (room_for is not None and cost.shape[0] <= cost.shape[1])
            assert rows.dtype == columns.dtype == np.int64
            assert np.array_equal(rows, whole.row_ind)
            assert np.array_equal(columns, whole.col_ind)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_no_pair_is_delivered_where_there_is_none(shape):
    for given in (np.zeros(shape), resident.adopt(np.zeros(shape))):
        rows, columns, _ = pairs.solve(given, answers.room_for)
        assert rows.size == columns.size == 0
        assert not np.shares_memory(rows, columns)


@pytest.mark.parametrize("stream", [device.DEFAULT_STREAM, 2, 77])
def test_a_run_and_its_delivery_are_all_that_is_enqueued(stream, monkeypatch):
    """No copy, no gathered costs, and no wait for a stream: the word is watched."""
    cost = np.random.default_rng(1).integers(0, 99, (5, 6), dtype=np.int32)
    for given in (resident.adopt(cost, stream), cost, cost[:, :5].copy()):
        on = stream if given is not cost and not isinstance(given, np.ndarray) else 0
        pairs.solve(given)
        with monkeypatch.context() as noted:
            seen = note(noted)
            for room_for in (None, answers.room_for):
                pairs.solve(given, room_for)
        assert seen == 2 * [("assign", on), ("deliver", on)]


@pytest.mark.parametrize(
    ("shape", "order"), [((6, 6), "C"), ((4, 7), "C"), ((7, 4), "F"), ((1, 5), "C")]
)
def test_costs_of_a_known_form_go_straight_to_a_run(shape, order, monkeypatch):
    """What their form decides is remembered, and their values decide all the rest."""
    draws = np.random.default_rng(5)
    for turn in range(4):
        cost = np.array(draws.integers(0, 99, shape, dtype=np.int32), order=order)
        given, wanted = resident.adopt(cost, turn % 2 * 77), solver.solve(cost.copy())
        seconds = 100.0 if turn == 2 else None
        with monkeypatch.context() as known:
            if turn:
                known.setattr(solver, "enqueued", lambda *given: pytest.fail("it was known"))
            room_for = answers.room_for if turn % 2 else None
            rows, columns, _ = pairs.solve(given, room_for, seconds=seconds)
        assert np.array_equal(rows, wanted.row_ind)
        assert np.array_equal(columns, wanted.col_ind)
        gone = weakref.ref(given)
        del given
        assert gone() is None  # nobody keeps the caller's memory
        (work,) = [one for one in workspaces() if not one.owns]
        assert {launch.arguments[LOG].limit for launch in work.solver()} == {limit_of(seconds)}


def test_costs_of_another_form_do_not():
    """An order of entries, a type or a sign that a run cannot read as it lies is moved before."""
    draws = np.random.default_rng(6)
    square = draws.integers(0, 99, (5, 5), dtype=np.int32)
    for _ in range(2):
        for cost, maximize in (
            (square, False), (np.asfortranarray(square.T.copy().T), False), (square, True),
            (square.astype(np.int64), False), (square.astype(np.float64), False),
            (square[:3], False), (np.ascontiguousarray(square[:, :3]), False),
        ):  # fmt: skip
            found = pairs.solve(resident.adopt(cost), None, maximize)
            wanted = solver.solve(np.array(cost), maximize)
            assert cost[found[0], found[1]].sum() == wanted.cost
    known = [name for name in pool.remembered if name[0] == "form"]
    assert sorted(name[1] for name in known) == [(3, 5), (5, 5)]
    pool.clear()
    assert not pool.remembered


def test_known_costs_find_another_workspace_while_theirs_is_taken():
    cost = np.random.default_rng(7).integers(0, 99, (5, 6), dtype=np.int32)
    pairs.solve(resident.adopt(cost))
    (work,) = workspaces()
    assert pool.find(work.key) is work
    found = pairs.solve(resident.adopt(cost))
    assert np.array_equal(found[1], solver.solve(cost.copy()).col_ind)
    pool.give(work)
    assert len(workspaces()) == 3  # of these two, and of costs of the host


def test_the_callers_matrix_may_change_when_the_pairs_are_there():
    """It was copied into memory of the solver's, and the next problem's stands there then."""
    draws = np.random.default_rng(2)
    for _ in range(3):
        cost = draws.integers(0, 99, (6, 6), dtype=np.int32)
        found = pairs.solve(cost)
        wanted = solver.solve(cost.copy())
        cost[:] = 0
        assert np.array_equal(found[1], wanted.col_ind)
    assert len(workspaces()) == 1


def test_a_run_without_an_answer_leaves_everything_for_the_next():
    blocked = np.full((6, 6), np.inf)
    blocked[:, 0] = blocked[0] = 1.0
    late = KINDS["product"](np.random.default_rng(3), 6, 6).astype(float)
    good = np.random.default_rng(3).random((6, 6))
    for cost, error, seconds in ((blocked, ValueError, None), (late, GivenUpError, 1e-9)) * 2:
        for room_for in (None, answers.room_for):
            with pytest.raises(error):
                pairs.solve(cost, room_for, seconds=seconds)
            assert len(workspaces()) == 1
            found = pairs.solve(good, room_for)
            assert np.array_equal(found[1], solver.solve(good).col_ind)
    shelves = [thing for thing in pool._idle if isinstance(thing, answers.Shelf)]
    assert len(shelves) == 1


@pytest.mark.parametrize("lost", ["assign", "deliver"])
def test_planted_a_launch_that_is_lost_is_an_error_and_its_memory_is_not_used_again(
    lost, monkeypatch
):
    cost = np.random.default_rng(4).integers(0, 99, (5, 5), dtype=np.int32)
    pairs.solve(cost)  # whose words stand there still
    monkeypatch.setattr(signals, "PATIENCE_S", 0.0)
    with monkeypatch.context() as planted:
        call = Launch.__call__
        planted.setattr(
            Launch, "__call__", lambda launch: (launch.name != lost and call(launch)) or None
        )
        with pytest.raises(RuntimeError, match="no signal"):
            pairs.solve(cost)
    kept = workspaces()
    assert len(kept) == (lost == "assign")  # its delivery has come: nothing is under way
    assert np.array_equal(pairs.solve(cost)[1], solver.solve(cost).col_ind)


def test_memory_whose_delivery_nobody_has_read_is_not_used_again(monkeypatch):
    """Ctrl-C while a run without an answer is asked how far it came."""
    cost = np.random.default_rng(4).integers(0, 99, (9, 9), dtype=np.int32)
    pairs.solve(cost)
    assert len(workspaces()) == 1

    def interrupted(state):
        raise KeyboardInterrupt

    with monkeypatch.context() as planted:
        planted.setattr(solver, "_reached", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pairs.solve(cost, seconds=1e-9)
    assert workspaces() == []
    assert np.array_equal(pairs.solve(cost)[1], solver.solve(cost).col_ind)


# ------------------------------------------------------------------------------- the kernel


def deliveries(kernel, seed):
    """Words of the target that were written when the host was told, of all that were to be."""
    column = np.random.default_rng(seed).permutation(70).astype(np.int32)
    target, signal = np.full(200, -7, np.int64), np.zeros(1, np.int64)
    told = []

    def note_word(kind, array, index, value):
        if array == "signal":
            told.append(target.copy())

    with device.executing(Executor(seed=seed, switch=0.2, on_access=note_word)) as executor:
        arguments = (np.int32(70), np.int64(3), np.int64(100), np.int64(9), column, target, signal)
        executor.launch(kernel, 1, 64, arguments, 0)
    wanted = np.full(200, -7)
    wanted[3:73], wanted[100:170] = np.arange(70), column
    assert np.array_equal(target, wanted)
    assert signal[0] == 9
    assert len(told) == 1
    return np.array_equal(told[0], wanted)


def test_the_host_is_told_when_all_is_written():
    assert all(deliveries(deliver, seed) for seed in range(20))


def test_planted_without_the_barrier_the_host_is_told_too_soon():
    hasty = changed(deliver, ("cuda.syncthreads()", "pass"))
    assert not all(deliveries(hasty, seed) for seed in range(20))
