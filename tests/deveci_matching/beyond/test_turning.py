"""A graph by lines is checked and turned around by one launch, in every order of the threads."""

import contextlib
from itertools import pairwise

import numpy as np
import pytest
from deveci_matching.beyond.test_solver import check, planted, random_graph
from scipy.sparse import coo_array, csr_array

from papers.common.executor.errors import ExecutorError
from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu import copying, device
from papers.common.gpu.device import Device
from papers.common.gpu.launch import Launch, bind
from papers.common.gpu.signatures import argument_types
from papers.common.model import GivenUpError
from papers.common.problems import matching_proof
from papers.common.problems.graph import GraphError, bipartite
from papers.deveci_matching import beyond
from papers.deveci_matching.beyond import memory, solver
from papers.deveci_matching.beyond.kernels import grafting, turning
from papers.deveci_matching.beyond.lines import Lines
from papers.deveci_matching.start import Known, start

POISON = np.frombuffer(device.POISON * 4, np.int32)[0]


def drawn(seed, most=40):
    """A random matrix with lines that are empty, and one that is long."""
    random = np.random.default_rng(seed)
    dense = random.random(random.integers(1, most, 2)) < random.choice([0.03, 0.1, 0.4])
    dense[random.integers(dense.shape[0])] |= random.random() < 0.5
    return csr_array(dense.astype(np.int8))


def turned(matrix, blocks=2, threads=32):
    """The arrays that the kernel fills, and the word that tells of a fault."""
    across, edges = matrix.shape[1], matrix.indices.size
    begins, line_of = device.empty(across + 1, np.int32), device.empty(edges, np.int32)
    filled, tally = device.empty(max(1, across), np.int32), device.empty(turning.TALLY, np.int32)
    numbers = map(np.int32, (matrix.shape[0], across, edges))
    given = turning.Given(*numbers, *(device.to_device(a) for a in (matrix.indptr, matrix.indices)))
    arguments = given, turning.Turned(begins, line_of), filled, tally
    bind(turning.turn, blocks, threads, *arguments)()
    return device.to_host(begins), device.to_host(line_of), int(device.to_host(tally)[0])


def parts(begins, line_of):
    return [sorted(line_of[a:b].tolist()) for a, b in pairwise(begins)]


def wrong(seeds, weak=False):
    """How many matrices are turned wrongly; the orders of edges that were seen."""
    count, orders = 0, set()
    for seed in seeds:
        matrix = drawn(seed % 10)
        if not matrix.nnz:
            continue
        memory = WeakMemory(seed) if weak else None
        with device.executing(Executor(seed, 0.3, memory=memory)):
            begins, line_of, fault = turned(matrix, blocks=1 + seed % 3)
        other = matrix.tocsc()
        right = np.array_equal(begins, other.indptr) and not fault
        count += not (right and parts(begins, line_of) == parts(other.indptr, other.indices))
        orders.add((seed % 10, tuple(line_of.tolist())))
    return count, len(orders)


@pytest.mark.parametrize("weak", [False, True])
def test_every_order_of_the_threads_turns_the_matrix_around(weak):
    count, orders = wrong(range(40), weak)
    assert count == 0
    assert orders > 15, "the interleavings did not differ: nothing would be proved"


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        (turning.check_and_count, "cuda.atomic.add(filled, other, 1)", "filled[other] += 1"),
        (
            turning.scatter, "place = cuda.atomic.add(filled, given.indices[at], 1)",
            "place = filled[given.indices[at]]; filled[given.indices[at]] += 1",
        ),
        (turning.line_with, "indptr[middle] <= edge", "indptr[middle] < edge"),
        (turning.sum_of, "range(first + cuda.threadIdx.x", "range(first + 1 + cuda.threadIdx.x"),
    ],
    ids=["a lost count", "a lost place", "the line before", "a lost sum"],
)  # fmt: skip
def test_planted_faults_are_found(function, old, new, monkeypatch):
    monkeypatch.setattr(function, "__executor__", planted(function, old, new), raising=False)
    found = 1
    with contextlib.suppress(IndexError, ExecutorError):  # a place outside is noticed at once
        found = wrong(range(20))[0]
    assert found > 0


def test_wide_parts_are_scanned_in_tiles():
    """More entries a block than its threads take at a time, and blocks without any."""
    random = np.random.default_rng(0)
    for across in (1, 2, 300, 517):
        matrix = csr_array((random.random((9, across)) < 0.3).astype(np.int8))
        for blocks in (1, 3):
            begins, line_of, _ = turned(matrix, blocks)
            other = matrix.tocsc()
            assert np.array_equal(begins, other.indptr)
            assert parts(begins, line_of) == parts(other.indptr, other.indices)


# ------------------------------------------------------------------------------- what is refused

FAULTS = [
    ("indices", 0, -1), ("indices", 4, 3), ("indices", 8, 2**31 - 1), ("indices", 3, -(2**31)),
    ("indptr", 1, 7), ("indptr", 2, 2), ("indptr", 1, -1), ("indptr", 2, 2**31 - 1),
]  # fmt: skip


def broken(name, place, value):
    matrix = csr_array(np.ones((3, 3), np.int8))
    getattr(matrix, name)[place] = value
    return matrix


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_after_a_fault_nothing_is_stored_by_an_index(fault):
    for seed in range(4):
        with device.executing(Executor(seed, 0.3)):
            begins, line_of, told = turned(broken(*fault))
        assert told == 1
        assert (begins == POISON).all()
        assert (line_of == POISON).all()


@pytest.mark.parametrize("by", ["rows", "columns"])
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_named_as_on_one_core_and_nothing_else_is_launched(fault, by, monkeypatch):
    launched, call = [], Launch.__call__
    monkeypatch.setattr(Launch, "__call__", lambda one: launched.append(one.name) or call(one))
    matrix = broken(*fault)
    lines = Lines(3, 3, matrix.indptr, matrix.indices, by)
    with pytest.raises(GraphError) as usual:
        bipartite((matrix.indptr, matrix.indices, (3, 3)), by=by)
    with pytest.raises(GraphError) as told:
        beyond.solve(lines, "device")
    assert str(told.value) == str(usual.value)
    assert launched == ["turn"]


def test_a_check_that_is_left_out_is_noticed(monkeypatch):
    """The planted fault: an index outside counts for the last place."""
    text = "cuda.atomic.max(tally, FAULT, 1)\n    for line"
    fault = planted(turning.check_and_count, text, "pass\n    for line")
    monkeypatch.setattr(turning.check_and_count, "__executor__", fault, raising=False)
    with (
        device.executing(Executor()),
        pytest.raises((IndexError, ExecutorError)),
    ):
        beyond.solve(Lines.of(broken("indices", 4, 3)), "device")


@pytest.mark.parametrize(
    "change",
    [
        lambda m: coo_array(m), lambda m: m.tolil(), lambda m: m.toarray(), lambda m: bipartite(m),
        lambda m: set_of(m, indptr=m.indptr[:-1]), lambda m: set_of(m, indptr=m.indptr + 1),
        lambda m: set_of(m, indices=m.indices[:4]), lambda m: set_of(m, indices=m.indices * 1.0),
        lambda m: set_of(m, indices=m.indices + np.int64(2**40)),
        lambda m: set_of(m, indptr=-m.indptr),
    ],
    ids=["coo", "lil", "dense", "graph", "short", "shifted", "few", "floats", "large", "negative"],
)  # fmt: skip
def test_other_forms_are_no_lines(change):
    assert Lines.of(change(csr_array(np.ones((3, 3), np.int8)))) is None


def set_of(matrix, **arrays):
    for name, array in arrays.items():
        setattr(matrix, name, array)
    return matrix


# ------------------------------------------------------------------------------- the solver


@pytest.mark.parametrize("by", ["rows", "columns"])
def test_lines_are_matched_as_the_graph_is(by, only_written):
    """From every start, also one that is known; under interleavings."""
    for seed in range(12):
        graph = random_graph(seed, 24)
        matrix = graph.matrix().asformat("csr" if by == "rows" else "csc")
        lines = Lines.of(matrix)
        assert lines.by == by
        pair = start(graph)
        for initial in ("device", "empty", Known(*pair), "cheap", None, pair):
            with device.executing(Executor(seed, 0.2)):
                answer = beyond.solve(lines, initial, threads=32, blocks=2)
            check(graph, answer)
            assert matching_proof.matching(graph, answer).ok


def test_neither_order_nor_copies_of_edges_matter():
    """The same lines shuffled, with every edge stored twice."""
    for seed in range(20):
        graph, random = random_graph(seed, 24), np.random.default_rng(seed)
        matrix = graph.matrix().tocsr()
        each = [
            random.permutation(np.repeat(matrix.indices[a:b], 2))
            for a, b in pairwise(matrix.indptr)
        ]
        lines = Lines(
            *graph.shape, 2 * matrix.indptr, np.concatenate(each).astype(np.int32), "rows"
        )
        for initial in ("device", "empty"):
            check(graph, beyond.solve(lines, initial, jump_after=1 + seed % 3))
        over = lines.transposed()
        assert (over.shape, over.by, over.across) == (graph.shape[::-1], "columns", graph.columns)
        check(bipartite(graph.matrix().T.tocsr()), beyond.solve(over, "device"))


def test_a_known_start_is_where_the_search_begins():
    """It is not checked: that is what it is for. A pair of arrays is."""
    graph = random_graph(4)
    lines, pair = Lines.of(graph.matrix().tocsr()), start(graph)
    state = solver.upload(lines, Known(*pair))
    assert state.initial_cardinality == np.count_nonzero(pair[0] >= 0)
    assert start(graph, Known(*pair))[0] is pair[0]
    other = np.full(graph.rows, -1), np.full(graph.columns, -1)
    other[0][0] = 0
    with pytest.raises(GraphError, match="inverse"):
        beyond.solve(lines, other)


def test_a_gpu_turns_csr_where_the_start_asks_for_no_edges(monkeypatch):
    graph = random_graph(3)
    csr = graph.matrix().tocsr()
    assert not isinstance(solver._prepared(csr, "device"), Lines)
    monkeypatch.setattr(device, "describe", lambda: Device("GPU", True, 1, 1, (9, 0)))
    pair = start(graph)
    for initial in ("device", "empty", Known(*pair)):
        assert isinstance(solver._prepared(csr, initial), Lines)
    for initial in (None, "cheap", "karp_sipser", pair):
        assert not isinstance(solver._prepared(csr, initial), Lines)
    assert solver._prepared(graph, "device") is graph
    with pytest.raises(GraphError, match="outside"):
        solver._prepared(broken("indices", 0, 9), None)


@pytest.mark.parametrize("of", ["rows", "columns"])
def test_one_side_alone_is_that_of_the_whole_answer(of):
    state = solver.upload(random_graph(5), "device")
    with pytest.raises(RuntimeError, match="nothing"):
        solver.partners(state, of)
    solver.run(state)
    answer = solver.download(state)
    whole = answer.row_match if of == "rows" else answer.column_match
    assert np.array_equal(solver.partners(state, of), whole)
    state.arrays["control"][solver.control.STATUS] = solver.control.TOO_MANY_LEVELS
    with pytest.raises(GivenUpError, match="more levels"):
        solver.partners(state, of)
    empty = solver.upload(np.zeros((3, 5)), "device")
    solver.run(empty)
    assert solver.partners(empty, of).tolist() == [-1] * (3 if of == "rows" else 5)


def test_bound_arguments_are_what_the_kernels_are_compiled_for(monkeypatch):
    bound = []
    monkeypatch.setattr(Launch, "__call__", lambda self: bound.append(self))
    lines = Lines.of(random_graph(7).matrix().tocsr())
    monkeypatch.setattr(device, "to_host", lambda array: np.zeros(1, np.int32))
    launch = solver.upload(lines, "device").launches["matching"]
    assert [one.name for one in bound] == ["turn"]
    for one, signatures in ((launch, grafting.SIGNATURES), (bound[0], turning.SIGNATURES)):
        typed = tuple(map(one.kernel.typeof_pyval, one.arguments))
        assert typed == argument_types(next(iter(signatures.values())))


def test_memory_is_counted_before_it_is_taken(monkeypatch):
    graph = random_graph(7)
    lines, taken = Lines.of(graph.matrix().tocsr()), []
    empty = device.empty

    def noted(*given):
        array = empty(*given)
        taken.append(array.nbytes)
        return array

    monkeypatch.setattr(device, "empty", noted)
    monkeypatch.setattr(device, "to_device", lambda array: pytest.fail("allocated beside"))
    for one in (lines, graph):
        taken.clear()
        solver.upload(one, Known(*start(graph)))
        assert taken == [solver.needed_bytes(one)]
    monkeypatch.setattr(device, "free_bytes", lambda: solver.needed_bytes(lines) - 1)
    with pytest.raises(GraphError, match="device memory"):
        solver.upload(lines, "device")


@pytest.mark.parametrize("by", [None, "rows", "columns"])
def test_the_arrays_of_a_run_share_one_allocation_and_no_byte(by):
    """They begin where single allocations would, and nobody but their owner has written them."""
    graph = random_graph(7)
    given = (
        graph
        if by is None
        else Lines.of(graph.matrix().asformat({"rows": "csr", "columns": "csc"}[by]))
    )
    arrays = memory.allocate(given, *start(graph))
    sizes = memory.sizes_of(given, (graph.rows, graph.columns))
    assert {name: array.size for name, array in arrays.items()} == sizes
    found = sorted((array.ctypes.data, array.nbytes) for array in arrays.values())
    first = found[0][0]
    assert all((at - first) % memory.ALIGNMENT == 0 for at, _ in found)
    assert all(at + size <= after for (at, size), (after, _) in pairwise(found))
    assert found[-1][0] + found[-1][1] <= first + memory.needed_bytes(given)
    written = {"cxadj", "cadj", "rxadj", "radj", "rstart", "cstart", "filled", "tally"}
    for name in set(arrays) - written:
        assert (arrays[name] == POISON).all()
    assert np.array_equal(arrays["cxadj"], graph.cxadj)
    assert np.array_equal(arrays["rxadj"], graph.by_rows[0])


@pytest.mark.parametrize("large", [False, True])
def test_arrays_go_to_the_device_whole_or_in_chunks(large, monkeypatch):
    monkeypatch.setattr(copying, "DIRECT_BYTES", 0 if large else 1 << 20)
    monkeypatch.setattr(copying, "CHUNK_BYTES", 40)
    monkeypatch.setattr(copying, "_buffers", {})
    graph = random_graph(6)
    check(graph, beyond.solve(Lines.of(graph.matrix().tocsr()), "device"))
