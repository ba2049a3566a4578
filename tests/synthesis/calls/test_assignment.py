"""`papers.linear_sum_assignment` beside SciPy's: equal values, errors of equal type, proofs."""

import doctest
import importlib
import itertools
import subprocess
import sys
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from nightly import first
from scipy.optimize import linear_sum_assignment as scipys
from scipy.sparse import csr_array
from synthesis.calls.arrays import ByDlpack, LikeTorch, LikeTorchOnDevice, OnDevice
from synthesis.enqueued import note

import papers
from papers.common.model import Assignment, GivenUpError
from papers.common.problems import assignment_proof
from papers.common.problems.assignment import total_cost
from papers.synthesis.calls import assignment, choice
from papers.synthesis.calls import one_matrix as calls
from papers.synthesis.calls.assignment import linear_sum_assignment
from papers.synthesis.calls.dlpack import AGREED_STREAM
from papers.synthesis.calls.places import Placed, place
from papers.synthesis.one_core import many

DTYPES = ("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16", "float32",
          "float64", "bool")  # fmt: skip


def drawn(seed):
    """A small matrix of any type and shape, whether to maximize, and sometimes a spoilt entry."""
    g = np.random.default_rng(seed)
    n, m = g.integers(0, 8, 2) if seed % 4 else np.repeat(g.integers(1, 9), 2)
    dtype = np.dtype(DTYPES[seed % len(DTYPES)])
    low = 0 if dtype.kind in "ub" else -5
    cost = g.integers(low, g.choice([2, 6, 100]), (n, m)).astype(dtype)
    if dtype.kind == "f" and cost.size:
        cost = (cost * g.choice([1, 0.37])).astype(dtype)
        if g.random() < 0.6:
            cost[g.random((n, m)) < 0.4] = g.choice([np.inf, np.inf, -np.inf])
        if g.random() < 0.15:
            cost.flat[g.integers(cost.size)] = np.nan
    if g.random() < 0.3:
        cost = cost.T
    return cost, bool(g.random() < 0.5)


def outcome(call, *args, **options):
    """The answer, or the type of the error."""
    try:
        return call(*args, **options)
    except Exception as error:
        return type(error)


def assert_like_scipys(cost, maximize, answer, expected):
    """The same error, or pairs of the same value, in SciPy's shapes and types."""
    if isinstance(expected, type):
        assert answer is expected
        return
    assert type(answer) is tuple
    for mine, other in zip(answer[:2], expected, strict=True):
        assert mine.dtype == other.dtype
        assert mine.shape == other.shape
    assert (np.diff(answer[0]) > 0).all()
    assert len(set(answer[1].tolist())) == len(answer[1])
    values = [total_cost(np.asarray(cost)[pairs]) for pairs in (answer[:2], expected)]
    assert values[0] == pytest.approx(values[1], rel=1e-9, abs=1e-9)


def assert_proved(cost, maximize, answer):
    cost = np.asarray(cost)
    given = cost.astype(np.int8) if cost.dtype == bool else cost
    whole = Assignment(
        *answer[:2], total_cost(given[answer[0], answer[1]]), *answer[2:], maximize=maximize
    )
    proof = assignment_proof.assignment(given, whole, maximize)
    assert proof.ok, proof
    assert answer[2].shape == cost.shape[:1]
    assert answer[3].shape == cost.shape[1:]
    assert {part.dtype.kind for part in answer[2:]} == {"f" if cost.dtype.kind == "f" else "i"}


@pytest.mark.parametrize("duals", [False, True])
@pytest.mark.parametrize("seeds", first(1, [range(250), range(250, 5000)]), ids=str)
def test_random_input_is_answered_as_scipy_answers_it(seeds, duals):
    errors = 0
    for seed in seeds:
        cost, maximize = drawn(seed)
        answer = outcome(linear_sum_assignment, cost, maximize, return_duals=duals)
        expected = outcome(scipys, cost, maximize)
        assert_like_scipys(cost, maximize, answer, expected)
        errors += isinstance(expected, type)
        if duals and not isinstance(expected, type):
            assert_proved(cost, maximize, answer)
    assert 0.05 < errors / len(seeds) < 0.5


def test_the_comparison_finds_planted_faults(monkeypatch):
    """Planted: the last two rows change columns; a dual is off by one."""
    cost = np.random.default_rng(3).integers(0, 50, (6, 6))
    rows, columns, u, v = linear_sum_assignment(cost, return_duals=True)
    swapped = columns.copy()
    swapped[-2:] = columns[:-3:-1]
    with pytest.raises(AssertionError):
        assert_like_scipys(cost, False, (rows, swapped), scipys(cost))
    u[0] += 1
    with pytest.raises(AssertionError):
        assert_proved(cost, False, (rows, columns, u, v))
    assert calls.duals_of(cost, rows, swapped) is None
    monkeypatch.setattr(calls, "scipys", lambda *args: (rows, swapped))  # SciPy errs
    assert np.array_equal(linear_sum_assignment(cost, return_duals=True)[1], columns)


@pytest.mark.parametrize("spoil", [None, np.nan, -np.inf, np.inf, "infeasible", 1e308])
@pytest.mark.parametrize("maximize", [False, True])
def test_large_matrices_are_answered_as_scipy_answers_them(spoil, maximize, capsys):
    """From n = 256 on a compiled code runs; what it refuses goes to SciPy, which judges it."""
    cost = np.random.default_rng(5).integers(0, 999, (256, 256)).astype(np.float64)
    if spoil == "infeasible":
        cost[:, 7] = -np.inf if maximize else np.inf
    elif spoil is not None:
        cost[3, 4] = spoil
    expected = outcome(scipys, cost, maximize)
    answer = outcome(linear_sum_assignment, cost, maximize, return_duals=True, explain=True)
    assert_like_scipys(cost, maximize, answer, expected)
    if not isinstance(expected, type) and spoil != 1e308:
        assert_proved(cost, maximize, answer)
    said = capsys.readouterr().out
    assert "synthesis:one_core, because: an auction" in said
    refused = isinstance(expected, type) or spoil == 1e308
    assert ("so instead: scipy, because: its answers and its errors" in said) == refused


@pytest.mark.parametrize(
    ("cost", "maximize", "place"),
    [
        ([[1, 2], [3, np.nan]], False, "numeric entries: NaN at row 1, column 1"),
        ([[1, 2], [-np.inf, 3]], False, "numeric entries: -inf at row 1, column 0"),
        ([[1, np.inf], [2, 3]], True, "numeric entries: inf at row 0, column 1"),
        ([[1, 2, 3], [np.inf] * 3], False, "infeasible: at most 1 of 2 pairs can be assigned"),
        ([[1, -np.inf], [2, -np.inf], [3, -np.inf]], True, "infeasible: at most 1 of 2 pairs"),
        ([[1, np.inf, np.inf]] * 2, False, "infeasible: at most 1 of 2 pairs can be assigned"),
    ],
)
def test_an_error_of_scipys_has_its_place(cost, maximize, place):
    for costs in (cost, np.array(cost)):
        with pytest.raises(ValueError, match=place):
            linear_sum_assignment(costs, maximize)


@pytest.mark.parametrize(
    "cost",
    [
        5, [1, 2], [], [[]], [[1, 2], [3]], "costs", [["a"]], [[None]], [[1j]], np.zeros((0, 3)),
        np.zeros((1, 1), np.longdouble), np.zeros((1, 1), "m8[s]"), csr_array(np.eye(2)),
        np.ma.masked_less([[1, 2], [2, 1]], 2), np.zeros((2, 2, 2, 2)), [np.zeros(2), np.ones(2)],
        [[np.inf]], [[1, np.inf], [1, np.inf]],
    ],
    ids=lambda cost: f"{type(cost).__name__} {np.shape(cost) if type(cost) is not list else cost}",
)  # fmt: skip
def test_odd_input_has_scipys_answer_or_the_type_of_its_error(cost):
    expected = outcome(scipys, cost)
    answer = outcome(linear_sum_assignment, cost)
    if isinstance(expected, type):
        assert answer is expected
    else:
        assert all(map(np.array_equal, answer, expected))


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
@pytest.mark.parametrize("maximize", [False, True])
def test_integers_that_scipy_rounds_are_exact(shape, maximize):
    g = np.random.default_rng(9)
    cost = 2**59 + g.integers(0, 3, shape)
    rows, columns, u, v = linear_sum_assignment(cost, maximize, return_duals=True)
    assert_proved(cost, maximize, (rows, columns, u, v))
    lines = cost if shape[0] <= shape[1] else cost.T
    sums = [sum(int(lines[i, j]) for i, j in enumerate(each))
            for each in itertools.permutations(range(lines.shape[1]), lines.shape[0])]  # fmt: skip
    assert total_cost(cost[rows, columns]) == (max if maximize else min)(sums)


def test_what_kernels_refuse_is_solved_exactly_all_the_same(monkeypatch, capsys):
    """A range that fills 62 bits: no kernel of [DN16]'s holds it, the CPU's code does."""
    cost = np.array([[2**60, -(2**60)], [2**60 - 1, 3]])
    first = calls.Choice("datenagi2016:tree", "planted")
    right = calls.choose
    monkeypatch.setattr(calls, "choose", lambda *args: first if args[1] == "auto" else right(*args))
    answer = linear_sum_assignment(cost, return_duals=True, explain=True)
    assert_proved(cost, False, answer)
    assert "refuses" in capsys.readouterr().out


def test_integers_that_nothing_holds_are_refused_and_not_rounded():
    for cost in ([[2**62, 0], [0, 1]], np.array([[2**64 - 1, 0], [0, 1]], np.uint64)):
        with pytest.raises(ValueError, match="overflow"):
            linear_sum_assignment(np.asarray(cost))


# ------------------------------------------------------------------------------- batches


@pytest.mark.parametrize(
    "shape", [(5, 4, 4), (3, 2, 6), (3, 6, 2), (0, 2, 3), (2, 0, 3), (1, 1, 1)]
)
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_a_batch_has_a_line_for_every_matrix(shape, dtype):
    costs = np.random.default_rng(1).integers(0, 30, shape).astype(dtype)
    b, n, m = shape
    answer = linear_sum_assignment(costs, return_duals=True)
    assert [part.shape for part in answer] == [(b, min(n, m))] * 2 + [(b, n), (b, m)]
    for k, cost in enumerate(costs):
        one = tuple(part[k] for part in answer)
        assert_like_scipys(cost, False, one, scipys(cost))
        assert_proved(cost, False, one)
    assert len(linear_sum_assignment(costs)) == 2


def test_a_list_of_matrices_has_an_answer_each():
    g = np.random.default_rng(2)
    costs = [g.integers(0, 9, shape) for shape in ((3, 3), (2, 5), (4, 1), (0, 2))]
    for given in (costs, tuple(costs), [cost.tolist() for cost in costs[:3]]):
        answers = linear_sum_assignment(given, maximize=True)
        assert len(answers) == len(given)
        for cost, answer in zip(given, answers, strict=True):
            assert_like_scipys(cost, True, answer, scipys(np.asarray(cost), True))
    with pytest.raises(ValueError, match="2-D"):
        linear_sum_assignment([np.eye(2), np.ones(3)])


def test_one_bad_matrix_of_a_batch_is_an_error():
    costs = np.zeros((3, 2, 2))
    costs[1, 0, 0] = np.nan
    with pytest.raises(ValueError, match="invalid"):
        linear_sum_assignment(costs)
    with pytest.raises(ValueError, match="invalid"):
        linear_sum_assignment(list(costs))


# ------------------------------------------------------------------------------- places


OTHERS = (OnDevice, ByDlpack, lambda a: a.view(LikeTorch))


@pytest.mark.parametrize("make", OTHERS)
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (2, 3, 3)])
def test_arrays_of_other_libraries_are_answered(make, shape):
    costs = np.random.default_rng(4).integers(0, 50, shape)
    expected = linear_sum_assignment(costs, return_duals=True)
    answer = linear_sum_assignment(make(costs), return_duals=True)
    assert all(map(np.array_equal, answer, expected))
    again = linear_sum_assignment([make(costs)] if costs.ndim == 2 else make(costs))
    assert np.array_equal(again[0][1] if costs.ndim == 2 else again[1], expected[1])


def test_costs_on_a_device_are_solved_where_they_are(monkeypatch):
    """[DN16]'s tree works on the caller's memory; what it refuses is copied to the host."""
    seen = []
    upload = calls.solver_of("datenagi2016:tree").upload

    def watched(data, **options):
        seen.append(data)
        return upload(data, **options)

    costs = np.random.default_rng(4).integers(0, 50, (5, 5), dtype=np.int32)
    name = "datenagi2016:tree"
    solver = calls.solver_of(name)
    monkeypatch.setattr(calls, "solver_of", lambda name: type("S", (), {
        **{key: staticmethod(getattr(solver, key)) for key in ("run", "download")},
        "upload": staticmethod(watched), "proof": None}))  # fmt: skip
    answer = linear_sum_assignment(OnDevice(costs), return_duals=True, solver=name)
    assert_proved(costs, False, answer)
    assert np.shares_memory(seen[0].array, costs)
    monkeypatch.setattr(calls, "choose", lambda *args: calls.Choice(name, "planted"))
    for refused in (costs - 20, costs.astype(float), costs[:, :4]):
        answer = linear_sum_assignment(OnDevice(refused))
        assert_like_scipys(refused, False, answer, scipys(refused))
    assert len(seen) == 1


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_dense_takes_any_costs_of_a_device(dtype, maximize, monkeypatch):
    """Nothing is copied to the host but other types, and views with gaps."""
    costs = np.random.default_rng(5).integers(-50, 50, (5, 6)).astype(dtype)
    with monkeypatch.context() as guarded:
        guarded.setattr(Placed, "on_host", lambda self: pytest.fail("copied to the host"))
        for matrix in (costs, costs.T, costs[:, :5].copy()):
            for make in (OnDevice, ByDlpack):
                answer = linear_sum_assignment(
                    make(matrix), maximize, return_duals=True, solver="synthesis:dense"
                )
                assert_proved(matrix, maximize, answer)
    for matrix in (costs[:, ::2], costs.astype("float16"), costs.astype("int8")):
        answer = linear_sum_assignment(
            OnDevice(matrix), maximize, return_duals=True, solver="synthesis:dense"
        )
        assert_proved(matrix, maximize, answer)


@pytest.mark.parametrize("stream", [1, 2, 77])
def test_a_call_s_work_is_on_the_stream_that_the_array_names(stream, monkeypatch):
    """The host waits for nothing before the launch: not for the stream, not for the device."""
    costs = np.random.default_rng(5).integers(-50, 50, (5, 6)).astype(np.int32)
    for matrix in (costs, costs.T, costs[:, :5].copy()):
        with monkeypatch.context() as noted:
            seen = note(noted)
            answer = linear_sum_assignment(
                OnDevice(matrix, stream), return_duals=True, solver="synthesis:dense"
            )
        assert_proved(matrix, False, answer)
        assert {on for _, on in seen} == {stream}
        names = [name for name, _ in seen]
        assert not {"copy", "wait"} & set(names[: names.index("assign")])
        assert names[-1] == "copy"  # which the host waits for, as the memory's next user need not


def test_arrays_of_dlpack_are_solved_on_the_stream_that_was_agreed(monkeypatch):
    costs = np.random.default_rng(5).integers(-50, 50, (5, 6)).astype(np.int32)
    seen = note(monkeypatch)
    for make in (ByDlpack, LikeTorchOnDevice):
        assert_proved(costs, False, linear_sum_assignment(
            make(costs), return_duals=True, solver="synthesis:dense"))  # fmt: skip
    assert {on for _, on in seen} == {AGREED_STREAM}


def test_all_but_the_dense_solver_wait_for_the_stream(monkeypatch):
    """A limit of time counts from the call, and that of a run from its launch."""
    costs = np.random.default_rng(5).integers(0, 50, (5, 5)).astype(np.int32)
    for options in (
        {"solver": "datenagi2016:tree"}, {"solver": "lopes2019:cpu_o4"}, {"device": "cpu"},
        {"solver": "synthesis:dense", "seconds": 60},
    ):  # fmt: skip
        with monkeypatch.context() as noted:
            seen = note(noted)
            linear_sum_assignment(OnDevice(costs, 77), **options)
        assert seen[:1] == [("wait", 77)]


def test_an_array_on_stream_0_is_refused():
    with pytest.raises(ValueError, match="must not name stream 0"):
        linear_sum_assignment(OnDevice(np.eye(3), 0))


def test_the_range_of_a_device_s_costs_is_found_there(monkeypatch):
    costs = np.random.default_rng(6).integers(-(2**55), 2**55, (5, 6))
    placed = place(OnDevice(costs))
    with monkeypatch.context() as guarded:
        guarded.setattr(Placed, "on_host", lambda self: pytest.fail("copied to the host"))
        assert calls._extremes(placed) == (costs.min(), costs.max())
    assert calls._extremes(place(OnDevice(costs[:, ::2]))) == (
        costs[:, ::2].min(), costs[:, ::2].max()
    )  # fmt: skip


@pytest.mark.parametrize(
    "solver", ["kawtikwar_opts:opt4", "datenagi2016:tree", "synthesis:dense", "lopes2019:cpu_o4"]
)
def test_a_solver_can_be_named(solver, capsys):
    """The kernels run in the executor here; a wrong input stays the solver's own error."""
    costs = np.random.default_rng(6).integers(0, 99, (6, 6))
    for maximize in (False, True):
        answer = linear_sum_assignment(
            costs, maximize, return_duals=True, solver=solver, explain=True
        )
        assert_like_scipys(costs, maximize, answer, scipys(costs, maximize))
        assert_proved(costs, maximize, answer)
    assert f"6 x 6 int64 on the host: {solver}, because: the caller" in capsys.readouterr().out
    with pytest.raises(ValueError):
        linear_sum_assignment([[np.nan]], solver=solver)


def test_a_batch_in_one_launch_is_that_of_the_loop():
    costs = np.random.default_rng(7).integers(0, 50, (3, 4, 5))
    answer = linear_sum_assignment(costs, return_duals=True, solver=assignment.OTHER_BATCH)
    for k, cost in enumerate(costs):
        assert_proved(cost, False, tuple(part[k] for part in answer))


# ------------------------------------------------------------------------------- limits, notices


def test_a_limit_of_time_is_kept_or_refused():
    cost = np.random.default_rng(8).random((300, 300))
    for given in (cost, cost[:, :299], [cost, cost]):
        with pytest.raises(GivenUpError) as raised:
            linear_sum_assignment(given, seconds=1e-6)
        assert raised.value.after_ms > 0
    for given in (cost[:9, :9], cost[:9, :7]):
        limited = linear_sum_assignment(given, seconds=60)
        assert_like_scipys(given, False, limited, scipys(given))
    for wrong in (0, -1, "1", float("nan")):
        with pytest.raises(ValueError, match="seconds"):
            linear_sum_assignment(cost, seconds=wrong)
    with pytest.raises(ValueError, match="cannot be stopped"):
        linear_sum_assignment(cost, seconds=9, solver="scipy")


@pytest.mark.parametrize("stacked", [False, True])
def test_a_call_that_gives_up_says_how_many_matrices_it_has_solved(monkeypatch, stacked):
    """By a clock that goes on by a second whenever it is read: 0 at the beginning, then 1, 2, 3.

    The costs of the stack are too large for the loop that takes all matrices, which asks once.
    """
    clock = SimpleNamespace(perf_counter=itertools.count().__next__)
    monkeypatch.setattr(calls, "time", clock)
    costs = np.full((5, 2, 2), many.LARGEST + 1)
    seconds = 4 if stacked else 3
    monkeypatch.setattr(calls, "by_solver", lambda name, data, wishes: (
        wishes.left(), calls.Solved(np.arange(2), np.arange(2)))[1])  # fmt: skip
    with pytest.raises(GivenUpError) as raised:
        linear_sum_assignment(costs if stacked else list(costs), seconds=seconds)
    assert raised.value.reached == {"matrices": 2}
    assert raised.value.after_ms == 1000 * seconds


def test_who_has_selected_the_cpu_is_told_nothing():
    """The suite has: see ``conftest.py``."""
    choice._say_so_once.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linear_sum_assignment(np.eye(3))


def test_choices_are_explained_once_a_call(capsys):
    linear_sum_assignment([np.eye(3)] * 5 + [np.ones((2, 3))], explain=True)
    first, *said = capsys.readouterr().out.splitlines()
    assert first == "papers: 6 matrices, each by itself; a choice is printed once:"
    assert len(said) == 2
    assert all("scipy, because: " in line for line in said)
    linear_sum_assignment(np.ones((4, 2, 3)), explain=True)
    first, *said = capsys.readouterr().out.splitlines()
    assert first == "papers: 4 matrices, each by itself; a choice is printed once:"
    assert len(said) == 1
    linear_sum_assignment(np.eye(3))
    assert capsys.readouterr().out == ""


SILENT = """
import sys, warnings
import papers
assert not {"numpy", "numba", "scipy"} & set(sys.modules), "import papers is heavy"
assert {"linear_sum_assignment", "grid_cut", "PAPERS"} <= set(dir(papers))
try:
    papers.no_such_call
except AttributeError as error:
    assert "no_such_call" in str(error)
from papers.common.gpu import device
device.gpu_present = lambda: False
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    papers.linear_sum_assignment([[1, 2], [3, 1]], device="cpu")
    assert not said, "the CPU was asked for"
    for _ in range(3):
        papers.linear_sum_assignment([[1, 2], [3, 1]], return_duals=True)
assert [one.category for one in said] == [papers.NoGpuWarning], said
assert said[0].filename == "<string>", said[0].filename
assert "numba" not in sys.modules, "a small call loads Numba"
"""


def test_importing_is_light_and_a_missing_gpu_is_said_once():
    done = subprocess.run([sys.executable, "-c", SILENT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_call_is_exported_and_its_example_runs():
    for name in papers.CALLS:
        assert getattr(papers, name).__doc__
    for module in set(papers.CALLS.values()) - {"choice"}:
        done = doctest.testmod(importlib.import_module(f"papers.synthesis.calls.{module}"))
        assert done.attempted > 1
        assert not done.failed


def test_a_batch_of_the_device_stays_there(monkeypatch):
    from papers.synthesis.batch import resident

    stack = np.random.default_rng(8).integers(0, 99, (3, 4, 5))
    usual = papers.linear_sum_assignment(stack)
    looked = []
    monkeypatch.setattr(Placed, "on_host", lambda placed: pytest.fail("it was copied to the host"))
    look = resident.stack_on_device
    monkeypatch.setattr(
        "papers.synthesis.batch.solver.stack_on_device",
        lambda *given: looked.append(given) or look(*given),
    )
    found = papers.linear_sum_assignment(OnDevice(stack), solver="synthesis:batch")
    assert len(looked) == 1
    np.testing.assert_array_equal(np.asarray(found[1]), usual[1])


def test_sparse_costs_are_refused_by_name():
    with pytest.raises(ValueError, match="sparse costs are not taken: make them dense"):
        papers.linear_sum_assignment(csr_array(np.eye(3)))


def test_a_choice_is_remembered_with_the_looks_that_saw_nothing(monkeypatch):
    monkeypatch.setattr(calls, "_choices", {})
    wishes = calls.Wishes(False, False, None, "cpu", None, False)
    small, rounded = np.ones((5, 5), np.int64), np.full((5, 5), 2**55)
    narrow = place(np.ones((5, 5), np.int32))
    first = calls._choice(narrow, wishes)
    assert calls._choice(narrow, wishes) is first
    assert calls._choice(place(small), wishes).solver == "scipy"
    assert calls._choice(place(rounded), wishes).solver == "lopes2019:cpu_sp"
    assert calls._choice(place(small), wishes).solver == "scipy"
    with monkeypatch.context() as patch:
        patch.setattr(calls, "choose", lambda *_: pytest.fail("chosen anew"))
        key = next(key for key in calls._choices if key[:2] == ((5, 5), np.dtype(np.int64)))
        calls._choices[*key[:-1], calls.choose] = calls._choices[key]
        assert calls._choice(place(small), wishes).solver == "scipy"
        with pytest.raises(pytest.fail.Exception, match="chosen anew"):
            calls._choice(place(rounded), wishes)
    for other in ({"maximize": True}, {"seconds": 1.0}, {"solver": "synthesis:dense"}):
        wished = replace(wishes, **other)
        question = calls.question_of(narrow, wished.maximize, wished.seconds is not None)
        assert calls._choice(narrow, wished) == calls.choose(question, "cpu", wished.solver)


def test_planted_a_memory_of_choices_by_value_is_noticed(monkeypatch):
    """Without the list of looks the choice for small integers would serve large ones."""
    whole = calls.question_of
    monkeypatch.setattr(calls, "question_of", lambda *args: whole(*args[:3]))
    monkeypatch.setattr(calls, "_choices", {})
    wishes = calls.Wishes(False, False, None, "cpu", None, False)
    small, rounded = np.ones((5, 5), np.int64), np.full((5, 5), 2**55)
    assert calls._choice(place(small), wishes).solver == "scipy"
    assert calls._choice(place(rounded), wishes).solver == "scipy"


def test_few_choices_are_remembered(monkeypatch):
    monkeypatch.setattr(calls, "_choices", {})
    monkeypatch.setattr(calls, "MOST_CHOICES", 3)
    wishes = calls.Wishes(False, False, None, "cpu", None, False)
    for n in range(1, 9):
        calls._choice(place(np.eye(n)), wishes)
        assert len(calls._choices) <= 3


def test_the_pairs_stay_on_the_device_and_the_costs_are_not_looked_at(monkeypatch):
    """A launch and its delivery, whatever the side; the answer is that with duals."""
    costs = np.random.default_rng(6).integers(-50, 50, (5, 6)).astype(np.int32)
    for given, on in ((OnDevice(costs), 0), (OnDevice(costs, 77), 77), (costs, 0)):
        wanted = linear_sum_assignment(given, return_duals=True, solver="synthesis:dense")
        linear_sum_assignment(given, solver="synthesis:dense")
        with monkeypatch.context() as noted:
            seen = note(noted)
            found = linear_sum_assignment(given, solver="synthesis:dense")
        assert seen == [("assign", on), ("deliver", on)]
        assert_proved(costs, False, wanted)
        assert all(map(np.array_equal, found, wanted[:2]))


@pytest.mark.parametrize("kind", ["Int64", object])
def test_a_data_frame_of_another_type_is_one_of_numbers(kind):
    """Not SciPy's float64, which rounds: one pair of these is a unit dearer than the other."""
    large = pd.DataFrame([[2**55 + 1, 2**55], [2**55, 2**55 + 2]]).astype(kind)
    rows, columns, u, v = linear_sum_assignment(large, return_duals=True)
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])
    assert u.sum() + v.sum() == 2**56
    with pytest.raises(ValueError, match="no solver 'nope:x'"):
        linear_sum_assignment(large, solver="nope:x")
    with pytest.raises(ValueError, match=r"2\*\*60"):
        linear_sum_assignment(pd.DataFrame([[2**61, 0], [0, 2**61]]).astype(kind))


def test_a_data_frame_that_holds_no_numbers_is_refused_as_scipy_does():
    for frame in (pd.DataFrame([["a", 1], [2, 3]]), pd.DataFrame([[pd.NA, 1], [2, 3]])):
        with pytest.raises((TypeError, ValueError)):
            scipys(frame)
        with pytest.raises((TypeError, ValueError)):
            linear_sum_assignment(frame)


def test_an_error_of_a_list_that_cannot_be_made_anew_is_told_as_its_kind(monkeypatch):
    def refuse(matrix):
        raise UnicodeDecodeError("utf-8", b"", 0, 1, "a reason")

    monkeypatch.setattr(assignment, "refuse_sparse", refuse)
    with pytest.raises(ValueError, match=r"matrix 0: .*a reason"):
        linear_sum_assignment([np.eye(3).tolist()])


@pytest.mark.parametrize(
    ("matrix", "error", "reason"),
    [
        (csr_array(np.eye(3)), ValueError, "matrix 1: sparse costs"),
        (np.eye(3) * 1j, TypeError, "matrix 1: Cannot cast"),
    ],
)
def test_an_error_of_a_list_names_its_matrix_whatever_it_is(matrix, error, reason):
    with pytest.raises(error, match=reason):
        linear_sum_assignment([np.eye(3), matrix])


def test_what_is_no_name_and_no_time_is_named():
    for solver in (["scipy"], 5):
        with pytest.raises(ValueError, match="is no name"):
            linear_sum_assignment(np.eye(3), solver=solver)
    with pytest.raises(ValueError, match="more digits than a float"):
        linear_sum_assignment(np.eye(3), seconds=10**400)
