"""Memory that was used before gives the answers of fresh memory, and nobody shares it."""

import gc
import threading
from collections import Counter

import numpy as np
import pytest
from synthesis.assignment.small import KINDS, assert_optimal

from papers.common.executor import scheduler
from papers.common.executor.scheduler import Executor
from papers.common.gpu import copying, device
from papers.common.model import GivenUpError
from papers.synthesis.assignment import launches, pool, resident, solver
from papers.synthesis.assignment.settings import Settings

SETTINGS = Settings(threads=32, blocks=3, loads=2, tile=8)
SCALES = Settings(threads=64, blocks=3, loads=2, tile=32, scale_above=0, most_rounds=9)


@pytest.fixture(autouse=True)
def _empty(monkeypatch):
    device.select("cpu")
    monkeypatch.setattr(scheduler, "QUANTUM", 10**9)  # else a run's order depends on those before
    gc.collect()  # States of other tests give their memory back now, and not in the midst of one.
    pool.clear()
    yield
    pool.clear()


def matrices(kind, shape, count=3):
    g = np.random.default_rng([len(kind), *shape])
    return [KINDS[kind](g, *shape) for _ in range(count)]


def same(one, other):
    return (
        one.cost == other.cost
        and one.counters == other.counters
        and np.array_equal(one.col_ind, other.col_ind)
        and np.array_equal(one.row_duals, other.row_duals)
        and np.array_equal(one.column_duals, other.column_duals)
    )


@pytest.mark.parametrize("on", ["host", "device"])
@pytest.mark.parametrize("settings", [SETTINGS, SCALES])
@pytest.mark.parametrize("shape", [(7, 7), (4, 7)])
@pytest.mark.parametrize("kind", ["uniform", "product", "wide", "floats", "big M"])
def test_used_memory_answers_as_fresh_memory(kind, shape, settings, on):
    costs = matrices(kind, shape)
    placed = [resident.adopt(cost) if on == "device" else cost for cost in costs]
    fresh = []
    for cost in placed:
        pool.clear()
        fresh.append(solver.solve(cost, settings=settings))
    pool.clear()
    for _ in range(2):
        for cost, given, wanted in zip(costs, placed, fresh, strict=True):
            answer = solver.solve(given, settings=settings)
            assert same(answer, wanted)
            assert_optimal(cost, answer)


def forbid(monkeypatch):
    def made(*given, **named):
        raise AssertionError(f"made anew: {given}")

    for module, names in (
        (device, ("empty", "to_device", "mapped", "staging")),
        (launches, ("bind", "Mailbox")),
        (resident, ("bind",)),
    ):
        for name in names:
            monkeypatch.setattr(module, name, made)


@pytest.mark.parametrize("on", ["host", "device"])
@pytest.mark.parametrize("dtype", resident.SOURCES)
def test_the_second_call_makes_nothing(dtype, on, monkeypatch):
    for maximize in (False, True):
        cost = np.random.default_rng(1).integers(1, 99, (5, 6)).astype(dtype)
        solver.solve(resident.adopt(cost) if on == "device" else cost, maximize, settings=SETTINGS)
    forbid(monkeypatch)
    for maximize in (False, True):
        cost = np.random.default_rng(2).integers(5, 99, (5, 6)).astype(dtype)
        given = resident.adopt(cost) if on == "device" else cost
        answer = solver.solve(given, maximize, settings=SETTINGS, seconds=60)
        assert_optimal(cost, answer, maximize)


def test_the_guard_above_notices_a_first_call(monkeypatch):
    forbid(monkeypatch)
    with pytest.raises(AssertionError, match="made anew"):
        solver.solve([[1, 2], [3, 4]], settings=SETTINGS)


def test_states_that_live_share_nothing():
    costs = matrices("uniform", (6, 6))
    solver.solve(costs[0], settings=SETTINGS)
    states = [solver.upload(cost, settings=SETTINGS) for cost in costs]
    for one, other in zip(states, states[1:] + states[:1], strict=True):
        for name, array in one.arrays.items():
            assert not np.shares_memory(array, other.arrays[name]), name
    for state in states:
        solver.run(state)
    for cost, state in zip(costs, states, strict=True):
        assert_optimal(cost, solver.download(state))


def test_an_answer_is_no_view_of_the_pool():
    first, second = matrices("floats", (5, 7), 2)
    answer = solver.solve(first, settings=SETTINGS)
    solver.solve(second, settings=SETTINGS)
    assert_optimal(first, answer)


def test_after_ends_of_every_kind_the_memory_is_good():
    cost = KINDS["product"](np.random.default_rng(3), 6, 6).astype(float)
    wanted = solver.solve(cost, settings=SETTINGS)
    for _ in range(2):
        with pytest.raises(GivenUpError):
            solver.solve(cost, settings=SETTINGS, seconds=1e-9)
        gc.collect()
        assert same(solver.solve(cost, settings=SETTINGS), wanted)
        blocked = cost.copy()
        blocked[:4, :4] = np.inf
        blocked[:5, :3] = np.inf
        blocked[:4, 4:] = cost[:4, 4:]
        with pytest.raises(ValueError, match="infeasible"):
            solver.solve(blocked, settings=SETTINGS)
        gc.collect()
        assert same(solver.solve(cost, settings=SETTINGS), wanted)
    assert len(pool._idle) == 1


def test_memory_of_a_run_without_an_end_is_not_used_again(monkeypatch):
    cost = matrices("uniform", (5, 5))[0]
    state = solver.upload(cost, settings=SETTINGS)

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(state.mailbox, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solver.run(state)
    del state
    gc.collect()
    assert pool._idle == []


def test_a_run_that_was_interrupted_can_be_run_again(monkeypatch):
    """Its signal came when nobody listened: the next run counts from it."""
    cost = matrices("uniform", (5, 5))[0]
    state = solver.upload(cost, settings=SETTINGS)

    def interrupted():
        raise KeyboardInterrupt

    with monkeypatch.context() as planted:
        planted.setattr(state.mailbox, "wait", interrupted)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                solver.run(state)
    solver.run(state)
    assert_optimal(cost, solver.download(state))


def test_settings_shapes_types_and_executors_are_told_apart():
    cost = np.random.default_rng(4).integers(0, 99, (5, 6))
    for given, options in (
        (cost, {"settings": SETTINGS}), (cost, {"settings": SCALES}),
        (cost[:4], {"settings": SETTINGS}), (cost, {"settings": SETTINGS, "dtype": "int64"}),
        (cost.astype(float), {"settings": SETTINGS}),
    ):  # fmt: skip
        assert_optimal(given, solver.solve(given, **options))
    assert len(pool._idle) == 5
    with device.executing(Executor(1, 0.2)):
        solver.solve(cost, settings=SETTINGS)
    assert len(pool._idle) == 6


def test_a_hook_ends_with_its_state():
    cost = matrices("uniform", (5, 5))[0]
    state = solver.upload(cost, settings=SETTINGS)
    state.launches["assign"].on_enqueue = lambda enqueue: None
    del state
    gc.collect()
    assert_optimal(cost, solver.solve(cost, settings=SETTINGS))


class Thing(pool.Pooled):
    def __init__(self, key, nbytes=1):
        self.key, self.nbytes = key, nbytes


def test_the_pool_is_bounded(monkeypatch):
    for number in range(pool.MOST_THINGS + 3):
        pool.give(Thing(number))
    assert [thing.key for thing in pool._idle] == list(range(3, pool.MOST_THINGS + 3))
    monkeypatch.setattr(pool, "MOST_BYTES", 100)
    pool.give(Thing("large", 90))
    assert sum(thing.nbytes for thing in pool._idle) <= 100
    pool.give(Thing("too large", 101))
    assert "too large" not in {thing.key for thing in pool._idle}
    assert pool.clear() >= 90
    assert pool.clear() == 0


def counted():
    """Whether the pool's counts are those of what lies in it."""
    kinds = Counter(type(thing) for thing in pool._idle)
    return {kind: count for kind, count in pool._count.items() if count} == kinds and sum(
        thing.nbytes for thing in pool._idle
    ) == pool._bytes


class Returning(Thing):
    """A thing that gives another one back when it is compared, or when it is freed."""

    @property
    def key(self):
        pool.give(Thing("given meanwhile", 7))
        return "returning"

    @key.setter
    def key(self, key):
        pass

    def __del__(self):
        pool.give(Thing("given at the end", 11))


def test_what_is_given_back_meanwhile_is_counted_and_no_other_thing_is_taken():
    for key in "abc":
        pool.give(Thing(key, 5))
    pool.give(Returning("returning", 20))
    assert pool.find("b").key == "b"
    assert counted()
    for number in range(2 * pool.MOST_THINGS):
        pool.give(Thing(number, 3))
        assert counted()
    assert pool.clear() > 0
    assert [thing.key for thing in pool._idle] == ["given at the end"]
    assert counted()
    assert pool.clear() == 11
    assert counted()


def test_a_thing_that_was_put_out_meanwhile_is_not_taken(monkeypatch):
    """What a comparison sets free may give so much back that the thing compared has to go."""

    class Key:
        def __eq__(self, other):
            pool.give(Thing("large", 90))
            return True

        __hash__ = None

    monkeypatch.setattr(pool, "MOST_BYTES", 100)
    first = Thing(Key(), 60)
    pool.give(first)
    assert pool.find("wanted") is None
    assert first not in pool._idle
    assert counted()


def test_what_was_taken_is_not_given_to_another():
    pool.give(Thing("a"))
    first = pool.take("a", lambda: Thing("a"))
    second = pool.take("a", lambda: Thing("a"))
    assert first is not second
    pool.give(first)
    assert pool.take("a", lambda: pytest.fail("one lies idle")) is first


def test_idle_memory_is_freed_where_there_is_too_little():
    pool.give(Thing("idle"))

    def make():
        if pool._idle:
            raise MemoryError
        return Thing("new")

    assert pool.take("new", make).key == "new"
    with pytest.raises(MemoryError):
        pool.take("other", lambda: (_ for _ in ()).throw(MemoryError()))


def test_after_an_error_nothing_is_given_back():
    with pytest.raises(ZeroDivisionError), pool.borrowed("x", lambda: Thing("x")):
        raise ZeroDivisionError
    assert pool._idle == []
    with pool.borrowed("x", lambda: Thing("x")) as thing:
        pass
    assert pool._idle == [thing]


def test_threads_never_hold_one_thing_together():
    held, faults = set(), []

    def work():
        for _ in range(200):
            thing = pool.take("x", lambda: Thing("x"))
            if id(thing) in held:
                faults.append(thing)
            held.add(id(thing))
            held.discard(id(thing))
            pool.give(thing)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not faults


def test_costs_too_large_for_staging_go_in_chunks(monkeypatch):
    monkeypatch.setattr(launches, "STAGED_BYTES", 100)
    monkeypatch.setattr(copying, "DIRECT_BYTES", 100)
    monkeypatch.setattr(copying, "CHUNK_BYTES", 40)
    monkeypatch.setattr(copying, "_buffers", {})
    for cost in matrices("uniform", (7, 9)):
        state = solver.upload(cost, settings=SETTINGS)
        assert not state.workspace.staged
        solver.run(state)
        assert_optimal(cost, solver.download(state))
