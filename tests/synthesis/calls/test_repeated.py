"""A call on costs of a known form takes the short way, and no other call does."""

import gc
import weakref

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment as scipys
from synthesis.calls.arrays import OnDevice

import papers
from papers.common.executor import scheduler
from papers.common.gpu import device
from papers.synthesis.assignment import pool
from papers.synthesis.assignment.launches import Workspace
from papers.synthesis.calls import assignment, one_matrix, repeated

DENSE = "synthesis:dense"


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch):
    device.select("cpu")
    monkeypatch.setattr(scheduler, "QUANTUM", 10**9)
    monkeypatch.setattr(repeated, "_ways", {})
    monkeypatch.setattr(repeated, "types", set())
    monkeypatch.setattr(one_matrix, "_choices", {})
    pool.clear()


def draw(seed, shape=(5, 7), dtype=np.int32, order="C"):
    return np.array(np.random.default_rng(seed).integers(-9, 9, shape), dtype, order=order)


def call(cost, solver=DENSE, **wishes):
    return papers.linear_sum_assignment(OnDevice(cost), solver=solver, **wishes)


def best(cost, maximize=False):
    rows, columns = scipys(cost, maximize)
    return cost[rows, columns].sum()


@pytest.fixture
def long_way(monkeypatch):
    """Whether each call so far has asked for a solver."""
    asked = []
    whole = assignment.solve

    def solve(*given):
        asked.append(True)
        return whole(*given)

    monkeypatch.setattr(assignment, "solve", solve)
    return asked


def test_the_second_call_takes_the_short_way_and_is_right(long_way):
    for seed in range(6):
        cost = draw(seed)
        rows, columns = map(np.asarray, call(cost))
        assert rows.tolist() == list(range(5))
        assert rows.dtype == columns.dtype == np.int64
        assert cost[rows, columns].sum() == best(cost)
        assert len(long_way) == 1


@pytest.mark.parametrize(
    "wishes",
    [{"maximize": True}, {"return_duals": True}, {"seconds": 60.0}, {"explain": True}],
    ids=str,
)
def test_other_wishes_take_the_long_way(long_way, wishes):
    cost = draw(1)
    call(cost)
    rows, columns, *duals = map(np.asarray, call(cost, **wishes))
    assert len(long_way) == 2
    assert len(duals) == 2 * ("return_duals" in wishes)
    assert cost[rows, columns].sum() == best(cost, "maximize" in wishes)


@pytest.mark.parametrize(
    ("shape", "dtype", "order"),
    [((7, 5), np.int32, "C"), ((5, 7), np.int32, "F"), ((5, 7), np.int64, "C"),
     ((5, 7), np.float64, "C"), ((5, 6), np.int32, "C")],
    ids=str,
)  # fmt: skip
def test_another_form_takes_the_long_way(long_way, shape, dtype, order):
    call(draw(1))
    for seed in (2, 3):
        cost = draw(seed, shape, dtype, order)
        rows, columns = map(np.asarray, call(cost))
        assert cost[rows, columns].sum() == best(cost)
    assert len(long_way) == 2 + (dtype != np.int32 or order == "F" or shape == (7, 5))


@pytest.mark.parametrize("shape", [(3, 5), (1, 6)], ids=str)
def test_a_matrix_and_its_transposed_one_share_memory_and_no_answer(long_way, shape):
    """Their working form is of one shape: what is known of each goes with the call."""
    both = draw(1, shape), draw(2, shape).T, draw(3, shape).reshape(shape[::-1])
    for cost in (*both, *both, *reversed(both)):
        rows, columns = map(np.asarray, call(cost))
        assert np.all(np.diff(rows) > 0)
        assert cost[rows, columns].sum() == best(cost)
    assert len(long_way) == (5 if shape[0] > 1 else 2)  # the tall one in C order is never known


class Tensor:
    """An array on either side, of one class, as PyTorch's and JAX's are."""

    def __init__(self, array, on_device):
        self.memory = array
        self.on_device = on_device

    def __getattr__(self, name):
        if name == "__cuda_array_interface__" and self.on_device:
            return OnDevice(self.memory).__cuda_array_interface__
        raise AttributeError(name)

    def __dlpack_device__(self):
        return 2 if self.on_device else 1, 0

    def __dlpack__(self, **options):
        return self.memory.__dlpack__()


def test_an_array_on_the_host_takes_the_long_way_though_its_class_is_known(long_way):
    for times, on_device in ((1, True), (1, True), (2, False), (2, True), (3, False)):
        cost = draw(len(long_way))
        rows, columns = papers.linear_sum_assignment(Tensor(cost, on_device), solver=DENSE)
        assert cost[np.asarray(rows), np.asarray(columns)].sum() == best(cost)
        assert len(long_way) == times


def test_an_array_that_cannot_be_read_gives_the_memory_back(monkeypatch):
    call(draw(1))
    call(draw(2))
    with monkeypatch.context() as planted:
        planted.setattr(Workspace, "read", lambda *given: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            call(draw(3))
    (work,) = (thing for thing in pool._idle if isinstance(thing, Workspace))
    assert work.delivery.state.workspace is None


def test_classes_are_not_kept_without_a_bound(monkeypatch):
    monkeypatch.setattr(repeated, "MOST_CHOICES", 3)
    for seed in range(8):
        cost = draw(seed)
        kind = type("Wrapped", (OnDevice,), {})
        papers.linear_sum_assignment(kind(cost), solver=DENSE)
    assert 0 < len(repeated.types) <= 3


def test_integers_of_64_bits_are_looked_at_each_time(long_way):
    """One that SciPy would round goes elsewhere than one that it would not."""
    for seed in range(3):
        call(draw(seed, dtype=np.int64), solver=None, device="cpu")
    assert len(long_way) == 3
    assert not repeated._ways


def test_no_memory_lies_idle(long_way):
    cost = draw(1)
    call(cost)
    pool.clear()
    rows, columns = map(np.asarray, call(cost))
    assert len(long_way) == 2
    assert cost[rows, columns].sum() == best(cost)
    call(cost)
    assert len(long_way) == 2


@pytest.mark.parametrize("wrong", [{"device": ["gpu"]}, {"solver": ["scipy"]}], ids=str)
def test_what_is_no_name_is_refused_as_before(wrong):
    with pytest.raises((ValueError, TypeError)) as first:
        call(draw(1), **wrong)
    call(draw(1))
    with pytest.raises(first.type) as second:
        call(draw(1), **wrong)
    assert str(second.value) == str(first.value)


def test_another_choice_function_is_asked(long_way, monkeypatch):
    call(draw(1))
    whole = one_matrix.choose
    for module in (one_matrix, repeated):
        monkeypatch.setattr(module, "choose", lambda *given: whole(*given))
    call(draw(1))
    assert len(long_way) == 2


def test_nothing_idle_is_held_by_a_circle():
    """Device memory goes when the pool lets go of it, not when Python collects circles."""
    call(draw(1))
    call(draw(2))
    (work,) = (thing for thing in pool._idle if isinstance(thing, Workspace))
    assert work.delivery.state is not None
    gone = weakref.ref(work)
    gc.disable()
    try:
        del work
        pool.clear()
        assert gone() is None
    finally:
        gc.enable()


def test_the_callers_costs_are_let_go():
    cost = draw(1)
    call(draw(2))
    gone = weakref.ref(cost)
    call(cost)
    gc.collect()
    del cost
    assert gone() is None


def test_planted_ways_by_shape_alone_are_noticed(long_way, monkeypatch):
    """Without the strides in its name, a matrix in Fortran's order would be read across."""
    name = repeated._name

    def short(placed, *wishes):
        shape, _, *others = name(placed, *wishes)
        return (shape, *others)

    monkeypatch.setattr(repeated, "_name", short)
    call(draw(1))
    wrong = 0
    for seed in range(8):
        cost = draw(seed, order="F")
        rows, columns = map(np.asarray, call(cost))
        wrong += cost[rows, columns].sum() != best(cost)
    assert wrong
