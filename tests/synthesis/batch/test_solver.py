"""Batches: the reference's answers and counts, every kind, stacks and lists, in the executor."""

import gc
import itertools
import re
import weakref

import numpy as np
import pytest
from nightly import first
from synthesis.assignment.small import KINDS, assert_optimal, draw, has_assignment

import papers
from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.gpu.signals import PAYLOAD_BITS
from papers.common.gpu.signatures import argument_types
from papers.common.model import GivenUpError
from papers.kawtikwar_opts.kernels.clock import globaltimer
from papers.synthesis.assignment import pool, sending
from papers.synthesis.assignment.costs import WIDEST
from papers.synthesis.assignment.kernels.arguments import TOTALS, Status
from papers.synthesis.batch import launches, reference, solver
from papers.synthesis.batch.costs import NARROW, WIDTHS, stack_of
from papers.synthesis.batch.kernels import (
    each,
    each_floats,
    each_integers,
    floats,
    solve,
    warp,
    wide,
)
from papers.synthesis.batch.resident import DeviceStack, takes
from papers.synthesis.solvers import SOLVERS


@pytest.fixture(params=["host", "sent", "device"])
def place(request, monkeypatch):
    """Where a stack is checked: on the host, or on the device, sent there or there already."""
    if request.param == "sent":
        monkeypatch.setattr(sending, "LEAST_BYTES", 0)
    return request.param


def put(costs, place):
    """A stack where it is to be; what the device does not take stays on the host."""
    return DeviceStack(costs) if place == "device" and takes(costs) else costs


def matrices(kind, seeds, most=9):
    """Matrices of a kind that have an assignment, with one `maximize` for all."""
    drawn = [draw(kind, seed, most) for seed in seeds]
    kept = [cost for cost, maximize in drawn if not maximize and has_assignment(cost, False)]
    return [np.asarray(cost) for cost in kept]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_solved_and_counted_as_by_the_reference(kind):
    for seed in range(6):
        cost, maximize = draw(kind, seed)
        if not has_assignment(cost, maximize):
            with pytest.raises(ValueError, match="infeasible"):
                solver.solve(cost, maximize)
            continue
        answer = solver.solve(cost, maximize)
        assert_optimal(cost, answer, maximize)
        stack = stack_of(np.asarray(cost)[None], maximize)
        told = reference.solve(stack.matrices[0], stack.loose[0])
        assert {name: answer.counters[name] for name in reference.COUNTS} == told.counts
        assert answer.counters["kernel_launches"] == 1


@pytest.mark.parametrize("kind", ["uniform", "floats", "narrow", "line"])
def test_a_list_of_any_sizes_is_one_launch(kind):
    costs = matrices(kind, range(0, 40, 2))
    answers = solver.solve(costs)
    assert len(answers) == len(costs) > 9
    assert answers.counters["kernel_launches"] == 1
    for cost, answer in zip(costs, answers, strict=True):
        assert_optimal(cost, answer)


@pytest.mark.parametrize("shape", [(3, 5, 5), (4, 3, 7), (2, 7, 3), (1, 1, 1), (2, 1, 6)])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_a_stack_is_one_launch_and_has_lines(shape, maximize, dtype, place):
    costs = np.random.default_rng(1).integers(-20, 20, shape).astype(dtype)
    answers = solver.solve(put(costs, place), maximize)
    k, n, m = shape
    assert answers.row_ind.shape == answers.col_ind.shape == (k, min(n, m))
    assert (answers.row_duals.shape, answers.column_duals.shape) == ((k, n), (k, m))
    assert answers.counters["kernel_launches"] == 1
    for cost, answer in zip(costs, answers, strict=True):
        assert_optimal(cost.astype(np.float64 if "float" in dtype else int), answer, maximize)


@pytest.mark.parametrize("kind", ["uniform", "wide", "floats", "forbidden", "twelve decades"])
def test_a_stack_on_the_device_has_the_host_s_answers_and_counts(kind, place):
    costs, maximize = draw(kind, 3, 6)
    stack = np.asarray(costs)[None].repeat(3, 0)
    stack = np.ascontiguousarray(stack if stack.shape[1] <= stack.shape[2] else stack.mT)
    told = solver.solve(stack.copy(), maximize)
    found = solver.solve(put(stack, place), maximize)
    assert found.counters == told.counters
    for name in ("row_ind", "col_ind", "row_duals", "column_duals"):
        assert np.array_equal(getattr(found, name), getattr(told, name)), name
    assert [one.cost for one in found] == [one.cost for one in told]


def test_wide_integers_of_32_bits_are_brought_into_form_by_the_host(place):
    stack = np.array([[[0, NARROW], [NARROW, 5]]], np.int32)
    state = solver.upload(put(stack, place))
    assert state.stacks[0].matrices.dtype == np.int64
    assert not state.stacks[0].resident
    assert state.sent is None


def test_the_memory_of_a_stack_that_was_sent_waits_for_its_run(monkeypatch):
    monkeypatch.setattr(sending, "LEAST_BYTES", 0)
    pool.clear()
    state = solver.upload(np.arange(8).reshape(2, 2, 2))
    assert state.sent.whole
    monkeypatch.setattr(type(state.groups[0]), "payload", lambda group: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        solver.run(state)
    assert not state.sent.whole  # an interrupted run may still read it
    del state
    gc.collect()
    assert not any(isinstance(thing, sending.Room) for thing in pool._idle)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((3, 4, 6), "int32"), ((3, 4, 6), "int64"), ((3, 5, 5), "float64"), ((2, 3, 70), "float64"),
     ((2, 3, 130), "int32")],
)  # fmt: skip
def test_memory_and_launch_serve_the_next_stack_of_a_shape(shape, dtype, place):
    """Row by row by a warp and by a block, and by a block that takes all free rows."""
    pool.clear()
    g, groups = np.random.default_rng(3), []
    for turn in range(3):
        costs = (100 * g.random(shape)).astype(dtype)
        if dtype == "float64" and turn == 1:
            costs *= 1e9  # another bound on what pairs may leave
        state = solver.upload(put(costs, place), seconds=None if turn == 2 else 1000.0)
        groups.append(state.groups[0])
        solver.run(state)
        answers = solver.download(state)
        del state
        gc.collect()
        for cost, answer in zip(costs, answers, strict=True):
            assert_optimal(cost, answer)
        assert answers.counters["kernel_launches"] == 1
        launch = groups[-1].launches["assign"]
        held = [one for kept in launch.arguments if isinstance(kept, tuple) for one in kept]
        assert not any(np.shares_memory(one, costs) for one in held if isinstance(one, np.ndarray))
    assert groups[0] is groups[1] is groups[2]
    other = solver.upload(np.zeros((shape[0] + 1, *shape[1:]), dtype))
    assert other.groups[0] is not groups[0]


def test_a_group_is_nobody_else_s_while_its_state_lives_or_its_run_was_interrupted():
    pool.clear()
    costs = np.arange(18).reshape(2, 3, 3)
    first, second = solver.upload(costs), solver.upload(costs)
    assert first.groups[0] is not second.groups[0]
    launch = second.groups[0].launches["assign"]
    launch.on_enqueue = lambda enqueue: 1 / 0
    with pytest.raises(ZeroDivisionError):
        solver.run(second)
    del second
    gc.collect()
    assert not any(isinstance(thing, launches.Group) for thing in pool._idle)
    group = first.groups[0]
    del first
    gc.collect()
    assert any(thing is group for thing in pool._idle)


def test_answers_stay_when_their_memory_serves_another_stack(place):
    """Duals are brought into form when they are asked for, which may be later."""
    g = np.random.default_rng(4)
    first, second = (g.integers(0, 99, (3, 5, 5)).astype(np.int32) for _ in "ab")
    kept = solver.solve(put(first, place), maximize=True)
    solver.solve(put(second, place))
    for cost, answer in zip(first, kept, strict=True):
        assert_optimal(cost, answer, True)


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0), (2, 0, 4), (2, 4, 0)])
def test_nothing_to_assign(shape):
    answers = solver.solve(np.zeros(shape))
    assert len(answers) == shape[0]
    assert all(answer.row_ind.size == 0 and answer.cost == 0 for answer in answers)
    assert answers.row_duals.shape == shape[:2]
    assert answers.row_duals.dtype == answers.column_duals.dtype == np.float64


def test_answers_keep_no_costs_but_the_callers(place):
    costs = np.random.default_rng(5).integers(0, 99, (3, 4, 4))
    state = solver.upload(put(costs, place), maximize=True)
    solver.run(state)
    answers = solver.download(state)
    kept = [weakref.ref(stack) for stack in state.stacks]
    del state
    gc.collect()
    assert [one() for one in kept] == [None]
    assert answers.row_duals.shape == (3, 4)
    assert answers._parts == []


def test_types_and_classes_of_sizes_are_launches_of_their_own():
    g = np.random.default_rng(2)
    costs = [
        g.integers(0, 99, (4, 6)), g.random((5, 5)), g.integers(0, 2**40, (3, 3)),
        g.integers(0, 9, (33, 3)), np.zeros((0, 2)), g.random((6, 2)).astype(np.float32),
    ]  # fmt: skip
    state = solver.upload(costs)
    assert [group.numbers for group in state.groups] == [[0], [1, 5], [2], [3]]
    solver.run(state)
    for cost, answer in zip(costs, solver.download(state), strict=True):
        if cost.size:
            assert_optimal(cost, answer)


@pytest.mark.parametrize("m", [31, 33, 65, 129, 257])
def test_every_class_of_sizes(m):
    """Row by row up to 64 or 128, and where the range is wide; else a block takes all free rows."""
    g = np.random.default_rng(m)
    for cost in (g.integers(0, 3 * m, (5, m)), g.integers(0, 2, (m, 4)), g.random((4, m)),
                 g.integers(0, WIDEST + 9, (3, m))):  # fmt: skip
        state = solver.upload(cost)
        solver.run(state)
        assert_optimal(cost, solver.download(state))
        name = "int32" if cost.dtype.kind == "i" and np.ptp(cost) < NARROW else "other"
        by_rows = m <= {"int32": 128, "other": 64}[name] or np.ptp(cost) >= WIDEST
        assert state.groups[0].counted == (reference.COUNTS if by_rows else TOTALS)


def test_a_block_takes_problems_of_several_shapes():
    """The arrays of a group lie one behind the other; each block sees its own."""
    g = np.random.default_rng(8)
    costs = [g.normal(size=shape) for shape in ((2, 70), (70, 70), (90, 3), (1, 128))]
    state = solver.upload(costs, maximize=True)
    for _ in range(2):
        solver.run(state)
        answers = solver.download(state)
        assert answers.counters["kernel_launches"] == 1
        assert answers.counters["rounds"] > 0
        for cost, answer in zip(costs, answers, strict=True):
            assert_optimal(cost, answer, True)


def test_a_run_that_was_interrupted_is_forgotten_by_the_next():
    """The words of launches that nobody awaited are no answers to the next ones."""
    cost = np.random.default_rng(7).integers(0, 99, (2, 6, 6))
    state = solver.upload(cost)
    launch = state.groups[0].launches["assign"]

    def interrupts(enqueue):
        enqueue()
        raise KeyboardInterrupt

    launch.on_enqueue = interrupts
    with pytest.raises(KeyboardInterrupt):
        solver.run(state)
    launch.on_enqueue = None
    status = state.groups[0].arrays["status"]
    for _ in range(2):
        device.overwrite(status, np.full(2, -1, np.int32))
        solver.run(state)
        assert device.to_host(status).tolist() == [Status.SOLVED] * 2
        assert state.groups[0].mailbox._seen == state.groups[0].mailbox._word[0] >> PAYLOAD_BITS


@pytest.mark.parametrize(
    ("longest", "kind", "width", "made"),
    [(300, "int32", 512, 320), (320, "int64", 512, 320), (321, "int32", 512, 512),
     (300, "float64", 512, 512), (256, "float64", 256, 256), (200, "int32", 256, 256)],
)  # fmt: skip
def test_a_block_s_kernel_is_made_for_what_fits_shared_memory(longest, kind, width, made):
    assert launches.width_for(longest, kind, width) == made
    assert launches.threads_for(made).bit_count() == 1


@pytest.mark.parametrize("kind", ["int32", "int64", "float64"])
def test_what_a_block_keeps_in_shared_memory_fits(kind, monkeypatch):
    """A block has 48 KiB: the assembler counts what a kernel's text declares."""
    width = each.SHARED_WIDTH_FLOATS if kind == "float64" else each.SHARED_WIDTH
    module = each_floats if kind == "float64" else each_integers
    ptx = compiled(
        module.assign_each_with(width, 8), kind, monkeypatch, each.SIGNATURE, optimized=False
    )
    declared = re.findall(r"\.shared .*?\.b8 \w+\[(\d+)\]", ptx)
    assert 30_000 < sum(map(int, declared)) <= 48 * 1024


@pytest.mark.parametrize(("dtype", "width"), [(np.int64, 1), (np.float64, 8), (np.float32, 8)])
def test_a_block_s_searches_have_the_buckets_that_were_fastest(monkeypatch, dtype, width):
    seen, usual = [], launches.schedule_of
    monkeypatch.setattr(
        launches, "schedule_of", lambda chosen, *given: seen.append(chosen) or usual(chosen, *given)
    )
    solver.upload(np.ones((1, 130, 130), dtype))
    (chosen,) = seen
    assert (chosen.delta, chosen.delta_scaled) == (width, width)


def test_threads_cover_every_width():
    for width in WIDTHS:
        threads, columns = launches.shape_of(width)
        assert threads * columns == width
        assert threads % 32 == 0
        assert threads <= 32 * solve.MOST_WARPS


@pytest.mark.parametrize("shape", [(31, 31), (5, 33), (64, 64), (100, 100), (128, 128), (3, 128)])
def test_a_warp_has_the_references_duals_and_counts(shape):
    """Also where the costs of a problem are too many for shared memory, and stay where they are."""
    g, (n, m) = np.random.default_rng(sum(shape)), shape
    for most in (2, 10 * m):
        cost = g.integers(0, most, (2, n, m), dtype=np.int32)
        state = solver.upload(cost)
        (launch,) = (group.launches["assign"] for group in state.groups)
        width = next(width for width in WIDTHS if m <= width)
        assert launch.kernel is warp.assign_with(width, n * m < 12_000)
        solver.run(state)
        answers = solver.download(state)
        told = [reference.solve(one) for one in cost]
        for one, answer, right in zip(cost, answers, told, strict=True):
            assert_optimal(one, answer)
            np.testing.assert_array_equal(answer.row_duals, right.u)
            np.testing.assert_array_equal(answer.column_duals, right.v)
        for name in reference.COUNTS:
            assert answers.counters[name] == sum(one.counts[name] for one in told)


def test_shared_rows_are_even_and_fit_beside_the_lines():
    """A block has 48 KiB without asking for more."""
    assert warp.shared_bytes(3, 5) == 4 * 3 * 6
    assert warp.shared_bytes(100, 100) == 40_000
    assert warp.shared_bytes(128, 128) == 0
    assert warp.SHARED_BYTES + 4 * 4 * warp.WIDEST_SIDE <= 48 * 1024


def test_the_widest_range_of_32_bits():
    """Costs from 0 to almost 2**29, of all structures that push duals to their limits."""
    g, top = np.random.default_rng(3), NARROW - 1
    product = KINDS["product"](g, 9, 9)
    for cost in (
        top * g.integers(0, 2, (9, 9)), product * (top // 81), g.integers(0, top, (9, 9)),
        np.where(np.eye(9, k=1) > 0, 0, top), g.integers(0, 2, (4, 9)) * top,
    ):  # fmt: skip
        wider = np.append(cost, np.zeros((0, 9), cost.dtype), axis=0)
        wider[0, 0] = top
        state = solver.upload(wider)
        assert state.groups[0].arrays["cost"].dtype == np.int32
        solver.run(state)
        assert_optimal(wider, solver.download(state))
    assert stack_of(np.array([[[0, NARROW]]]), False).matrices.dtype == np.int64


def test_a_state_runs_again_and_counts_anew():
    cost = np.random.default_rng(5).integers(0, 99, (3, 8, 8))
    state = solver.upload(cost)
    told = []
    for _ in range(2):
        solver.run(state)
        answers = solver.download(state)
        for one, answer in zip(cost, answers, strict=True):
            assert_optimal(one, answer)
        told.append(answers.counters["bids"])
    assert told[1] == told[0] > 0


def test_one_infeasible_matrix_is_told_and_the_state_runs_again():
    cost = np.ones((3, 4, 4))
    cost[1, 2:, 1:] = np.inf  # two rows share a column
    state = solver.upload(cost)
    for _ in range(2):
        with pytest.raises(ValueError, match="infeasible"):
            solver.run(state)
    assert device.to_host(state.groups[0].arrays["status"]).tolist() == [
        Status.SOLVED, Status.INFEASIBLE, Status.SOLVED,
    ]  # fmt: skip
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)


def test_a_run_gives_up_and_its_state_runs_again(monkeypatch):
    """The clock counts how often it is looked at: by each block once, then every eighth path."""
    cost = 10 * np.stack([KINDS["product"](np.random.default_rng(1), 6, 6)] * 3)
    reached = []
    for looks in (1, 4, 9, 400):
        ticks = itertools.count(1)
        monkeypatch.setattr(globaltimer, "__executor__", ticks.__next__)
        with device.executing(Executor()):
            state = solver.upload(cost, seconds=1e-9 * looks)
            try:
                solver.run(state)
            except GivenUpError as told:
                reached.append(told.reached["solved"])
            else:
                for answer in solver.download(state):
                    assert_optimal(cost[0], answer)
    assert 0 < len(reached) < 4
    assert max(reached) < 3


BAD = {
    "a row of forbidden pairs": ([[[np.inf, np.inf], [1.0, 2.0]]], {}, "infeasible"),
    "NaN": ([[[1.0, np.nan]]], {}, "NaN"),
    "an infinity of the wrong sign": ([[[1.0, -np.inf]]], {}, "wrong sign"),
    "the same when maximizing": ([[[1.0, np.inf]]], {"maximize": True}, "wrong sign"),
    "a range of 2**60": ([[[-(2**59), 2**59]]], {}, "overflow"),
    "costs above 2**60": ([[[2**61, 2**61]]], {}, "2\\*\\*60"),
    "floats that overflow": ([[[1e308, -1e308]]], {}, "overflow"),
    "sides above 1024": (np.zeros((1, 2, 1025)), {}, "1024"),
    "four dimensions": (np.zeros((1, 2, 2, 2)), {}, "2-D"),
    "text": ([[["a"]]], {}, "integers or floats"),
    "no time": (np.zeros((1, 2, 2)), {"seconds": 0}, "seconds="),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name, place):
    costs, options, words = BAD[name]
    with pytest.raises(ValueError, match=words):
        solver.upload(put(np.asarray(costs), place), **options)


def test_the_call_takes_it_by_name(capsys):
    g = np.random.default_rng(6)
    stack = g.random((3, 4, 6))
    named = {"solver": "synthesis:batch", "explain": True}
    rows, columns = papers.linear_sum_assignment(stack, True, **named)
    assert "3 matrices of 4 x 6 float64 on the host: synthesis:batch" in capsys.readouterr().out
    usual = papers.linear_sum_assignment(stack, True)
    np.testing.assert_array_equal(columns, usual[1])
    several = [stack[0], g.integers(0, 9, (5, 2)), np.zeros((0, 3))]
    found = papers.linear_sum_assignment(several, return_duals=True, **named)
    assert [len(parts) for parts in found] == [4, 4, 4]
    for cost, (rows, columns, u, v) in zip(several, found, strict=True):
        assert rows.size == columns.size == min(cost.shape)
        assert (u.size, v.size) == cost.shape
    assert papers.linear_sum_assignment([[2, 1], [1, 2]], solver="synthesis:batch")[1].tolist() == [
        1, 0
    ]  # fmt: skip
    assert SOLVERS["batch"].limits == {}


# ------------------------------------------------------------------------------- compiled


@pytest.mark.parametrize("width", first(1, WIDTHS[::-1]))
@pytest.mark.parametrize("module", [wide, floats], ids=["wide", "floats"])
def test_what_a_thread_knows_of_its_columns_is_in_registers(module, width, monkeypatch):
    """Of every width: no local memory, no call, no float among integers."""
    kernel = module.assign_with(width, launches.shape_of(width)[1])
    (kind,) = module.ELEMENT_TYPES
    ptx = compiled(kernel, kind, monkeypatch)
    assert (".f64" in ptx) == (kind == "float64")


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("width", [32, 64, 128])
def test_a_warp_keeps_its_columns_in_registers_and_has_no_barrier_of_a_block(
    width, inside, monkeypatch
):
    ptx = compiled(warp.assign_with(width, inside), "int32", monkeypatch)
    assert ".f64" not in ptx
    assert "bar.sync" not in ptx
    assert "barrier.sync" not in ptx
    assert "div." not in ptx
    assert "rem." not in ptx
    assert ptx.count("redux.sync.min.s32") == 5  # a copy in a branch would wait for all lanes


def compiled(kernel, kind, monkeypatch, signature=solve.SIGNATURE, optimized=True):
    """A kernel's PTX; of the optimizer's without local memory and calls."""
    cuda = pytest.importorskip("numba.cuda")
    import numba.cuda.dispatcher as dispatcher

    class Card:
        compute_capability = (9, 0)

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: Card)
    types = argument_types(signature, kind)
    ptx, _ = cuda.compile(
        kernel.py_func, types, device=False, abi="numba", cc=(9, 0), opt=optimized
    )
    if optimized:
        assert ".local" not in ptx
        assert "call" not in ptx
    return ptx
