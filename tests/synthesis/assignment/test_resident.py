"""Costs on the device: the answers of the host's, without a copy where none is needed."""

import gc
import weakref

import numpy as np
import pytest
from nightly import first
from synthesis.assignment.small import KINDS, assert_optimal, draw, has_assignment
from synthesis.enqueued import note

from papers.common.executor import scheduler
from papers.common.gpu import device
from papers.common.model import GivenUpError
from papers.common.problems import assignment_proof
from papers.common.problems.costs_on_device import adopt as adopt_square
from papers.synthesis.assignment import pool, resident, sending, solver
from papers.synthesis.assignment.settings import Settings

SETTINGS = Settings(threads=32, blocks=3, loads=2, tile=8)


@pytest.fixture(autouse=True)
def _executor(monkeypatch):
    device.select("cpu")
    monkeypatch.setattr(scheduler, "QUANTUM", 10**9)  # else a run's order depends on those before
    pool.clear()


@pytest.fixture
def stays(monkeypatch):
    """Costs of these sizes are not copied to the host."""

    def refuse(array):
        raise AssertionError(f"an array of {array.shape} was copied to the host")

    monkeypatch.setattr(device, "to_host", refuse)


def there(cost, order="C"):
    return resident.adopt(np.array(cost, order=order))


def widened(cost):
    """NumPy adds floats of 32 bits up in 32 bits."""
    return cost.astype(np.float64) if cost.dtype == np.float32 else cost


def typed(cost, dtype):
    """The costs in a type, if it holds them; infinities in floats alone."""
    if dtype == "int32" and np.abs(cost).max() >= 2**31:
        return cost // 2**30 if cost.dtype.kind != "f" else cost
    return cost.astype(dtype)


@pytest.mark.parametrize("seed", first(2, range(12)))
@pytest.mark.parametrize("dtype", resident.SOURCES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_solved_as_on_the_host(kind, dtype, seed, stays):
    cost, maximize = draw(kind, seed + 1, most=7)
    if cost.dtype.kind == "f" and dtype.startswith("int"):
        cost = np.rint(np.where(np.isfinite(cost), cost, 9) % 1000)
    cost = typed(cost, dtype)
    given = there(cost, "CF"[seed // 2 % 2])
    if not has_assignment(cost, maximize):
        with pytest.raises(ValueError, match="infeasible"):
            solver.solve(given, maximize, settings=SETTINGS)
        return
    answer = solver.solve(given, maximize, settings=SETTINGS)
    assert_optimal(widened(cost), answer, maximize)
    host = solver.solve(cost, maximize, settings=SETTINGS)
    assert answer.cost == host.cost
    assert type(answer.cost) is type(host.cost)
    assert answer.counters == host.counters
    assert np.array_equal(answer.col_ind, host.col_ind)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", resident.SOURCES)
@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (1, 6), (6, 1), (1, 1)])
def test_every_shape_order_and_sign(shape, dtype, order, maximize, stays):
    g = np.random.default_rng(3)
    cost = np.array(g.integers(-50, 50, shape), dtype=dtype, order=order)
    before = cost.copy()
    answer = solver.solve(resident.adopt(cost), maximize, settings=SETTINGS)
    assert_optimal(widened(cost), answer, maximize)
    assert np.array_equal(cost, before)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
@pytest.mark.parametrize("dtype", resident.SOURCES)
def test_nothing_to_assign(shape, dtype):
    answer = solver.solve(there(np.empty(shape, dtype)))
    assert answer.col_ind.size == 0
    assert (answer.row_duals.size, answer.column_duals.size) == shape


@pytest.mark.parametrize(
    ("shape", "order", "dtype", "maximize", "read_there"),
    [
        ((5, 5), "C", "int32", False, True),
        ((4, 6), "C", "int32", False, True),
        ((6, 4), "F", "float64", False, True),
        ((4, 6), "C", "int32", True, False),
        ((6, 4), "C", "int32", False, False),
        ((4, 6), "F", "float64", False, False),
        ((4, 6), "C", "float32", False, False),
        ((4, 6), "C", "int64", False, False),  # 32 bits hold them: half the memory to read
    ],
)
def test_the_callers_memory_is_read_where_it_will_do(shape, order, dtype, maximize, read_there):
    cost = np.array(np.random.default_rng(4).integers(1, 9, shape), dtype=dtype, order=order)
    state = solver.upload(resident.adopt(cost), maximize, settings=SETTINGS)
    assert np.shares_memory(state.arrays["cost"], cost) == read_there
    solver.run(state)
    assert_optimal(cost, solver.download(state), maximize)


def test_wide_integers_are_read_where_they_are():
    cost = np.random.default_rng(5).integers(-(2**40), 2**40, (5, 6))
    state = solver.upload(resident.adopt(cost), settings=SETTINGS)
    assert np.shares_memory(state.arrays["cost"], cost)
    solver.run(state)
    assert_optimal(cost, solver.download(state))


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize(
    "values",
    [
        np.int32([-(2**31), 2**31 - 1, 0]),
        np.int64([2**60 - 5, 2**60, 2**60 - 1]),
        np.int64([-(2**60), 5 - 2**60, 1 - 2**60]),
        np.int64([0, 2**31, 7]),
        np.int64([0, 2**52 - 1, 3]),
    ],
)
def test_the_ends_of_the_ranges(values, maximize):
    cost = np.random.default_rng(6).choice(values, (5, 6))
    cost[0, :3] = values
    answer = solver.solve(resident.adopt(cost), maximize, settings=SETTINGS)
    assert answer.cost == solver.solve(cost, maximize, settings=SETTINGS).cost
    proof = assignment_proof.assignment(cost, answer, maximize)  # SciPy rounds such numbers
    assert proof.ok, proof.reason


INF, NAN = np.inf, np.nan

BAD = {
    "NaN": ([[1.0, NAN], [2.0, 3.0]], {}, "NaN"),
    "NaN beside an infinity": ([[INF, NAN], [-INF, 3.0]], {}, "NaN"),
    "an infinity of the wrong sign": ([[1.0, -INF], [2.0, 3.0]], {}, "wrong sign"),
    "the same when maximizing": ([[1.0, INF], [2.0, 3.0]], {"maximize": True}, "wrong sign"),
    "a row without a pair": ([[INF, INF], [2.0, 3.0]], {}, "infeasible"),
    "a column without a pair": ([[INF, 1.0], [INF, 3.0], [INF, 3.0]], {}, "infeasible"),
    "no pair at all": ([[INF, INF]], {}, "infeasible"),
    "floats that overflow": ([[1e308, -1e308], [1e308, 1e308]], {}, "overflow"),
    "a range of 2**52": ([[0, 2**52]], {}, "overflow"),
    "costs above 2**60": ([[2**61, 2**61]], {}, "2\\*\\*60"),
    "a type too narrow": ([[0, 2**40]], {"dtype": "int32"}, "int32"),
    "floats as integers": ([[0.5]], {"dtype": "int32"}, "float64"),
    "an unknown type": ([[1]], {"dtype": "int16"}, "int16"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_the_words_of_the_host(name):
    cost, options, words = BAD[name]
    with pytest.raises(ValueError, match=words) as told:
        solver.upload(there(cost), **options)
    with pytest.raises(ValueError, match=words) as hosts:
        solver.upload(np.array(cost), **options)
    assert str(told.value) == str(hosts.value)


def test_int32_is_solved_as_int32():
    with pytest.raises(ValueError, match="solved as int32, not int64"):
        solver.upload(there(np.zeros((2, 2), np.int32)), dtype="int64")
    assert solver.solve(there(np.ones((2, 2), np.int32)), dtype="int32").cost == 2


@pytest.mark.parametrize(
    "array",
    [np.zeros((2, 2), np.int16), np.zeros((2, 2), np.uint64), np.zeros(4), np.zeros((1, 2, 2)),
     np.zeros((4, 4))[:, ::2], np.zeros((4, 4))[:, :2], np.zeros((2, 2), ">f8"),
     np.zeros((2, 2), np.float16)],
)  # fmt: skip
def test_other_arrays_are_not_adopted(array):
    assert not resident.takes(array)
    with pytest.raises(ValueError, match="contiguous matrix"):
        resident.adopt(array)


def test_a_matrix_drawn_on_the_device_is_taken():
    cost = np.random.default_rng(7).integers(0, 99, (6, 6), dtype=np.int32)
    assert_optimal(cost, solver.solve(adopt_square(cost), settings=SETTINGS))


def test_the_callers_memory_is_let_go():
    class Owned(np.ndarray):
        """An array that weak references may point to."""

    for dtype in resident.SOURCES:
        cost = np.random.default_rng(8).integers(1, 99, (5, 5)).astype(dtype).view(Owned)
        gone = weakref.ref(cost)
        for _ in range(2):
            solver.solve(resident.adopt(cost), settings=SETTINGS)
        del cost
        gc.collect()
        assert gone() is None, dtype


def test_one_memory_serves_many_matrices():
    """Shift, sign and orientation change from call to call; the launches stay."""
    g = np.random.default_rng(9)
    for dtype in ("float64", "int64", "float32", "int32") * 2:
        for order in "CF":
            low = int(g.integers(-99, 99))
            cost = np.array(g.integers(low, low + 99, (5, 6)), dtype=dtype, order=order)
            for maximize in (False, True):
                answer = solver.solve(resident.adopt(cost), maximize, settings=SETTINGS)
                assert_optimal(cost, answer, maximize)


@pytest.mark.parametrize("total", [1, 15, 16, 200])
def test_extremes(total):
    values = np.random.default_rng(total).integers(-(2**62), 2**62, total)
    assert resident.extremes(values) == (values.min(), values.max())
    assert resident.extremes(values[::-1].copy()) == (values.min(), values.max())


def test_planted_a_mover_that_forgets_the_shift_is_noticed(monkeypatch):
    whole = resident._terms
    monkeypatch.setattr(resident, "_terms", lambda plan: (whole(plan)[0], np.int64(0)))
    cost = np.random.default_rng(10).integers(2**55, 2**55 + 99, (5, 5))
    with pytest.raises(OverflowError, match="does not fit int32"):
        solver.solve(resident.adopt(cost), settings=SETTINGS)
    cost = np.random.default_rng(10).integers(2**50, 2**50 + 2**40, (5, 5))  # read as they are
    assert_optimal(cost, solver.solve(resident.adopt(cost), settings=SETTINGS))


# ------------------------------------------------------------------------------- streams


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", resident.SOURCES)
def test_all_work_on_costs_is_on_their_stream(dtype, order, maximize, monkeypatch):
    """Of used memory, too, whose last problem was on another stream."""
    for stream in (77, 2, 77, device.DEFAULT_STREAM):
        cost = np.random.default_rng(11).integers(0, 99, (5, 6)).astype(dtype, order=order)
        given = resident.adopt(cost, stream)
        with monkeypatch.context() as noted:
            seen = note(noted)
            assert_optimal(
                widened(cost), solver.solve(given, maximize, settings=SETTINGS), maximize
            )
        assert {name for name, _ in seen} >= {"assign", "gather", "copy"}
        assert {on for _, on in seen} == {stream}
        names = [name for name, _ in seen]
        assert "wait" not in names
        if dtype == "int32":  # else the range, or an infinity, has to be known first
            assert "copy" not in names[: names.index("assign")]
            assert ("move_alike" in names) == (maximize or order == "F")


def test_costs_of_the_host_are_on_the_default_stream_again(monkeypatch):
    cost = np.random.default_rng(12).integers(0, 99, (5, 6))
    solver.solve(resident.adopt(cost, 77), settings=SETTINGS)
    seen = note(monkeypatch)
    assert_optimal(cost, solver.solve(cost, settings=SETTINGS))
    assert {on for _, on in seen} == {device.DEFAULT_STREAM}


def test_a_run_without_an_answer_is_waited_for(monkeypatch):
    """No copy of an answer waits for the stream, and the next problem's may be another."""
    blocked = np.array([[5, 5, 9, 9], [5, 5, 9, 9], [5, 5, 9, 9], [5, 5, 5, 5.0]])
    blocked[blocked == 9] = np.inf
    late = KINDS["product"](np.random.default_rng(3), 6, 6)
    seen = note(monkeypatch)
    for cost, error, seconds in ((blocked, ValueError, None), (late, GivenUpError, 1e-9)):
        with pytest.raises(error):
            solver.solve(resident.adopt(cost, 77), settings=SETTINGS, seconds=seconds)
        assert seen[-2:] == [("assign", 77), ("wait", 77)]
        gc.collect()
        assert any(thing.key[0] == "assign" for thing in pool._idle)
        pool.clear()


@pytest.mark.parametrize(("moves", "runs"), [(True, False), (False, True)])
def test_memory_with_work_under_way_is_not_used_again(moves, runs):
    """Nobody has waited: costs may still be moved, or a kernel be in its last steps."""
    cost = np.random.default_rng(13).integers(0, 99, (5, 6), dtype=np.int32)
    given = resident.adopt(cost, 77)
    solver.solve(given, moves, settings=SETTINGS)
    assert any(thing.key[0] == "assign" for thing in pool._idle)
    state = solver.upload(given, moves, settings=SETTINGS)
    if runs:
        solver.run(state)
    assert not state.workspace.whole
    del state
    gc.collect()
    assert not any(thing.key[0] == "assign" for thing in pool._idle)
    assert_optimal(cost, solver.solve(given, moves, settings=SETTINGS), moves)
    assert any(thing.key[0] == "assign" for thing in pool._idle)


# ------------------------------------------------------------------------------- sent as they are


@pytest.fixture
def sent(monkeypatch):
    """The costs of the host that have gone to the device as they are, however few they are."""
    gone = []
    send = sending.send
    monkeypatch.setattr(sending, "LEAST_BYTES", 0)
    monkeypatch.setattr(sending, "send", lambda array: gone.append(array) or send(array))
    return gone


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", resident.SOURCES)
@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (1, 6), (1, 1)])
def test_costs_go_as_they_are(shape, dtype, order, maximize, sent):
    g = np.random.default_rng(4)
    cost = np.array(g.integers(-50, 50, shape), dtype=dtype, order=order)
    state = solver.upload(cost, maximize, settings=SETTINGS)
    solver.run(state)
    answer = solver.download(state)
    assert [array is cost for array in sent] == [True]
    assert state.costs.cost is cost  # the host has the assigned costs
    assert_optimal(widened(cost), answer, maximize)
    resident_answer = solver.solve(resident.adopt(cost), maximize, settings=SETTINGS)
    assert answer.counters == resident_answer.counters
    assert answer.cost == resident_answer.cost


@pytest.mark.parametrize(
    "cost",
    [
        np.arange(24).reshape(4, 6)[:, ::2],
        np.arange(12, dtype=np.int8).reshape(3, 4),
        np.arange(12, dtype=">i4").reshape(3, 4),
        [[1, 2], [3, 5]],
    ],
    ids=["gaps", "int8", "other bytes", "list"],
)
def test_what_kernels_cannot_read_is_brought_into_form_by_the_host(cost, sent, monkeypatch):
    assert_optimal(np.asarray(cost), solver.solve(cost, settings=SETTINGS))
    assert len(sent) == isinstance(cost, list)


def test_what_has_no_room_beside_its_working_form_is_brought_into_form_by_the_host(
    sent, monkeypatch
):
    cost = np.arange(12).reshape(3, 4) % 5
    monkeypatch.setattr(pool, "MOST_BYTES", 0)
    monkeypatch.setattr(device, "free_bytes", lambda: 2 * cost.nbytes - 1)
    assert_optimal(cost, solver.solve(cost, settings=SETTINGS))
    assert not sent
    monkeypatch.setattr(device, "free_bytes", lambda: 2 * cost.nbytes)
    assert_optimal(cost, solver.solve(cost, settings=SETTINGS))
    assert sent


@pytest.mark.parametrize("name", [name for name in BAD if not BAD[name][1].get("dtype")])
def test_bad_input_that_was_sent_is_refused_in_the_same_words(name, sent, monkeypatch):
    cost, options, words = BAD[name]
    with pytest.raises(ValueError, match=words) as told:
        solver.upload(np.array(cost), **options)
    assert sent
    monkeypatch.setattr(sending, "LEAST_BYTES", 10**9)
    with pytest.raises(ValueError, match=words) as hosts:
        solver.upload(np.array(cost), **options)
    assert str(told.value) == str(hosts.value)


def test_the_memory_of_what_was_sent_serves_the_next(sent):
    g = np.random.default_rng(5)
    costs = [g.integers(0, 99, (6, 6)) for _ in range(3)]
    first_state = solver.upload(costs[0], settings=SETTINGS)
    solver.run(first_state)
    assert_optimal(costs[0], solver.download(first_state))
    del first_state
    gc.collect()
    assert sum(isinstance(thing, sending.Room) for thing in pool._idle) == 1
    states = [solver.upload(cost, settings=SETTINGS) for cost in costs]
    for cost, state in zip(costs, states, strict=True):
        solver.run(state)
        assert_optimal(cost, solver.download(state))


def test_memory_that_a_lost_run_may_read_is_not_used_again(sent):
    cost = np.arange(16, dtype=np.int32).reshape(4, 4) % 7
    state = solver.upload(cost, settings=SETTINGS)
    state.workspace.whole = False  # as `run` leaves it when it is interrupted
    del state
    gc.collect()
    assert not any(isinstance(thing, sending.Room) for thing in pool._idle)
