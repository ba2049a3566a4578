"""One core's greedy pass and searches over the caller's own arrays, beside SciPy's matching."""

import dataclasses
import inspect

import numpy as np
import pytest
from scipy.sparse import block_diag, coo_array, csr_array, eye_array
from scipy.sparse.csgraph import maximum_bipartite_matching as scipys

from papers.common.deadline import Deadline
from papers.common.instances.drawing import draw
from papers.common.model import GivenUpError, Instance
from papers.common.problems.graph import bipartite
from papers.deveci_matching.beyond import solver as beyond
from papers.deveci_matching.beyond.lines import Lines
from papers.synthesis.calls import matching
from papers.synthesis.calls.choice import solver_of
from papers.synthesis.calls.lines import direct, scattered, searches, small
from papers.synthesis.calls.matching import maximum_bipartite_matching

WITHOUT_END = 2**62


def drawn(seed):
    """A random matrix of up to 40 lines, often with lines that stay free."""
    g = np.random.default_rng(seed)
    shape = g.integers(1, 40, 2)
    return csr_array((g.random(shape) < g.choice([0.02, 0.05, 0.1, 0.2])).astype(np.int8))


def blocks():
    """Fifty blocks in which the greedy pass takes the only partner of the second line."""
    return csr_array(np.kron(np.eye(50, dtype=np.int8), np.array([[1, 1], [1, 0]], np.int8)))


def size_of(matrix):
    return int(np.count_nonzero(scipys(matrix) >= 0))


def assert_matching(matrix, looked):
    """The matching's two sides are inverse to each other, and its pairs are edges."""
    there = np.flatnonzero(looked.match >= 0)
    assert np.array_equal(looked.across_match[looked.match[there]], there)
    assert np.count_nonzero(looked.across_match >= 0) == there.size
    assert (matrix.toarray()[there, looked.match[there]] != 0).all()
    return there.size


def wrong_sizes(enlarge, seeds, deep):
    """How many matrices are not matched as far as they can be."""
    wrong = 0
    for seed in seeds:
        matrix = drawn(seed)
        looked = direct.look(matrix)
        arrays = looked.indptr, looked.indices, looked.match, looked.across_match
        left, _ = enlarge(*arrays, WITHOUT_END, deep)
        assert left == 0
        wrong += assert_matching(matrix, looked) != size_of(matrix)
    return wrong


WAYS = {"search": searches.ALWAYS, "search_broadly": 0, "both": 1}


@pytest.mark.parametrize("deep", WAYS.values(), ids=WAYS)
def test_searches_end_at_a_maximum_matching(deep):
    assert wrong_sizes(direct.enlarge, range(1500), deep) == 0


@pytest.mark.parametrize("way", ["search", "search_broadly"])
def test_closing_what_others_have_marked_is_seen(way):
    """The planted fault: a search in vain closes all it has marked, whatever it passed by."""
    text, right = inspect.getsource(getattr(searches, way).py_func), "(mark == CLOSED)"
    assert text.count(right) == 1
    scope = dict(vars(searches), **{way: None})
    exec(text[text.index("def ") :].replace(right, "True"), scope)
    text = inspect.getsource(direct.enlarge.py_func)
    exec(text[text.index("def ") :], scope)
    assert wrong_sizes(scope["enlarge"], range(300), WAYS[way]) > 0


def test_a_search_breadth_first_finds_the_nearest_free_partner():
    """Line 0 is free; by its first partner a free one is 50 steps away, by its second one two."""
    far, near = 50, 2
    edges, matched = [(0, 0), (0, far + 1)], {}
    for first, partner, steps in ((1, 0, far), (far + 1, far + 1, near)):
        for step in range(steps):
            matched[first + step] = partner + step
            edges += [(first + step, partner + step), (first + step, partner + step + 1)]
    rows, columns = np.array(edges).T
    matrix = csr_array((np.ones(rows.size, np.int8), (rows, columns)))
    looks = {}
    for deep in (0, searches.ALWAYS):
        match, across = (np.full(size, -1, np.int32) for size in matrix.shape)
        for line, other in matched.items():
            match[line], across[other] = other, line
        arrays = matrix.indptr, matrix.indices, match, across
        _, looks[deep] = searches.enlarge(*arrays, WITHOUT_END, deep)
        assert (match >= 0).all()
    assert looks[0] <= 10
    assert looks[searches.ALWAYS] > 2 * far


def test_where_searches_go_breadth_first(monkeypatch):
    """From few free lines all of them, in small graphs later ones, in others none."""
    ways = []
    monkeypatch.setattr(direct, "enlarge", lambda *given: (ways.append(given[-1]), (0, 0))[1])
    one = block_diag((csr_array(np.array([[1, 1], [1, 0]])), eye_array(direct.FEW)))
    for matrix, missing in ((blocks(), 50), (one.tocsr(), 1)):
        for most in (direct.SMALL, matrix.nnz):
            monkeypatch.setattr(direct, "SMALL", most)
            looked = direct.look(matrix)
            looked.enlarge()
            assert looked.missing == missing
    assert ways == [direct.DEEP, searches.ALWAYS, 0, 0]


@pytest.mark.parametrize("deep", WAYS.values(), ids=WAYS)
def test_what_is_closed_is_never_searched_again(deep):
    """Looks on a star of free lines: all of them see the same partner, the first closes it."""
    lines = 1000
    matrix = csr_array(np.ones((lines, 1), np.int8))
    looked = direct.look(matrix)
    arrays = looked.indptr, looked.indices, looked.match, looked.across_match
    left, looks = direct.enlarge(*arrays, WITHOUT_END, deep)
    assert left == 0
    assert looks <= 2 * lines


@pytest.mark.parametrize("deep", WAYS.values(), ids=WAYS)
def test_a_bound_on_the_looks_leaves_a_matching(deep):
    for seed in range(200):
        matrix = drawn(seed)
        looked = direct.look(matrix)
        before = assert_matching(matrix, looked)
        arrays = looked.indptr, looked.indices, looked.match, looked.across_match
        left, looks = direct.enlarge(*arrays, 0, deep)
        found = assert_matching(matrix, looked)
        assert before <= found <= size_of(matrix)
        assert looks <= 3 * matrix.nnz + 1
        if left == 0:
            assert found == size_of(matrix)


def test_a_call_with_a_limit_of_time_searches_briefly(monkeypatch):
    """The searches take their share of the time from the solver."""
    given = []
    monkeypatch.setattr(direct.Looked, "enlarge", lambda self, briefly: given.append(briefly))
    solved = direct.Looked.solved

    def noted(self, solver, deadline):
        given.append(deadline.left("a look"))
        return solved(self, solver, deadline)

    monkeypatch.setattr(direct.Looked, "solved", noted)
    monkeypatch.setattr(small, "SMALL", 0)
    graph = blocks()
    maximum_bipartite_matching(graph, device="cpu", seconds=60.0)
    maximum_bipartite_matching(graph, device="cpu")
    assert given[0] is True
    assert 50 < given[1] < 60
    assert given[2:] == [False, None]
    monkeypatch.undo()
    monkeypatch.setattr(direct, "BRIEF", 0)
    looked = direct.look(graph)
    assert looked.missing
    assert not looked.enlarge(briefly=True)


@pytest.mark.parametrize("name", [matching.ON_GPU, "deveci_matching:hk"])
def test_searches_are_as_long_where_a_gpu_waits(name, monkeypatch):
    """All the looks that `LOOKS` allows; the planted limit stops them."""
    limits, enlarge = [], direct.enlarge
    monkeypatch.setattr(
        direct, "enlarge", lambda *given: limits.append(given[-2]) or enlarge(*given)
    )
    monkeypatch.setattr(matching, "NEARLY", 1.0)
    assert matching._enlarged(direct.look(blocks()), name, False)
    assert limits == [direct.LOOKS * blocks().nnz]
    monkeypatch.setattr(direct, "LOOKS", 0)
    assert not matching._enlarged(direct.look(blocks()), name, False)


def furthest_free_partner(looked):
    """The last level at which a search from all free lines together meets a free partner."""
    line, seen, level, last = np.flatnonzero(looked.match < 0), set(), 0, 0
    while len(line):
        ends = [looked.indices[looked.indptr[k] : looked.indptr[k + 1]] for k in line]
        there = np.array(sorted(set(np.concatenate(ends).tolist()) - seen), int)
        free = looked.across_match[there] < 0
        last = level if free.any() else last
        seen.update(there.tolist())
        line, level = looked.across_match[there[~free]], level + 1
    return last


@pytest.mark.parametrize(("family", "label"), [("delaunay", "n12"), ("rgg", "n_2_12_s0")])
def test_lines_that_stopped_searches_leave_are_further_from_free_partners(family, label):
    """Why a GPU, which takes a level a step, gets no graph in the midst of the searches."""
    looked = direct.look(draw(Instance(family, 2**12, label)).matrix().tocsr())
    arrays = looked.indptr, looked.indices, looked.match, looked.across_match
    near = furthest_free_partner(looked)
    _, looks = direct.enlarge(*arrays[:2], *(side.copy() for side in arrays[2:]), WITHOUT_END)
    left, _ = direct.enlarge(*arrays, looks // 2)
    assert left
    assert furthest_free_partner(looked) >= 3 * near > 0


def test_missing_is_no_less_than_what_is_missing():
    for seed in range(200):
        matrix = drawn(seed)
        looked = direct.look(matrix)
        assert looked.missing >= size_of(matrix) - assert_matching(matrix, looked) >= 0


@pytest.mark.parametrize(
    ("name", "seeds"), [("deveci_matching:hk", 20), ("deveci_matching:beyond", 4)]
)
@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (0, 4), (4, 0)])
def test_the_way_by_a_solver_gives_both_sides(form, shape, name, seeds):
    for seed in range(seeds):
        g = np.random.default_rng(seed)
        matrix = csr_array((g.random(shape) < 0.4).astype(np.int8)).asformat(form)
        looked = direct.look(matrix)
        match, across_match = looked.solved(solver_of(name), Deadline(None))
        rows, columns = (match, across_match) if form == "csr" else (across_match, match)
        assert (rows.size, columns.size) == shape
        there = np.flatnonzero(rows >= 0)
        assert np.array_equal(columns[rows[there]], there)
        assert there.size == size_of(matrix.tocsr())


def test_turned_is_the_transposed_matrix():
    for seed in range(50):
        matrix = drawn(seed)
        indptr, indices = direct.turned(matrix.indptr, matrix.indices, matrix.shape[1])
        other = matrix.tocsc()
        assert np.array_equal(indptr, other.indptr)
        assert np.array_equal(indices, other.indices)


def test_the_device_turns_what_one_core_has_looked_at(monkeypatch):
    """The solver gets the lines with the matching that is there, and nothing turned around."""
    monkeypatch.setattr(direct, "turned", lambda *given: pytest.fail("turned on one core"))
    given = []
    upload = beyond.upload

    def noted(graph, initial, **limits):
        given.append((graph, initial))
        return upload(graph, initial, **limits)

    looked = direct.look(blocks())
    before = int(np.count_nonzero(looked.match >= 0))
    solver = dataclasses.replace(solver_of("deveci_matching:beyond"), upload=noted)
    found, _ = looked.solved(solver, Deadline(None))
    (graph, start), *rest = given
    assert isinstance(graph, Lines)
    assert not rest
    assert np.count_nonzero(start.row_match >= 0) == before == 50
    assert np.count_nonzero(found >= 0) == 100


# ------------------------------------------------------------------------------- at once


@pytest.fixture
def _all_at_once(monkeypatch):
    """Every graph is sent to the device at once, and no core looks at it."""
    monkeypatch.setattr(scattered, "at_once", lambda lines: True)
    monkeypatch.setattr(direct, "look", lambda lines: pytest.fail("looked at before"))


@pytest.mark.usefixtures("_all_at_once")
@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("shape", [(9, 9), (4, 11), (11, 4), (0, 4), (4, 0)])
def test_a_graph_is_matched_without_a_look(form, shape, monkeypatch, capsys):
    """It is searched from the shorter side, and one side of the answer comes back."""
    sizes = []
    upload = beyond.upload

    def noted(graph, *given, **limits):
        sizes.append((graph.columns, graph.rows))
        return upload(graph, *given, **limits)

    monkeypatch.setattr(
        matching, "solver_of",
        lambda name: dataclasses.replace(solver_of(name), upload=noted),
    )  # fmt: skip
    for seed in range(4):
        g = np.random.default_rng(seed)
        matrix = csr_array((g.random(shape) < 0.3).astype(np.int8)).asformat(form)
        for perm_type in ("row", "column"):
            found = maximum_bipartite_matching(
                matrix, perm_type, solver=matching.ON_GPU, explain=True
            )
            expected = scipys(matrix.tocsr(), perm_type)
            assert found.dtype == expected.dtype
            assert found.shape == expected.shape
            there = np.flatnonzero(found >= 0)
            assert len(set(found[there].tolist())) == there.size
            assert there.size == np.count_nonzero(expected >= 0)
            dense = matrix.toarray() if perm_type == "row" else matrix.toarray().T
            assert dense[found[there], there].all()
            assert matching.AT_ONCE in capsys.readouterr().out
    assert set(sizes) == {(min(shape), max(shape))}


@pytest.mark.usefixtures("_all_at_once")
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_neither_form_is_turned_around_on_the_host(form, monkeypatch):
    matrix = csr_array((np.random.default_rng(3).random((30, 20)) < 0.1).astype(np.int8))
    expected, given = size_of(matrix), matrix.asformat(form)
    for way in ("tocsr", "tocsc", "tocoo", "transpose", "asformat"):
        monkeypatch.setattr(type(given), way, lambda *none, **named: pytest.fail("turned"))
    monkeypatch.setattr(Lines, "checked", lambda lines: pytest.fail("turned"))
    found = maximum_bipartite_matching(given, solver=matching.ON_GPU)
    assert np.count_nonzero(found >= 0) == expected


@pytest.mark.usefixtures("_all_at_once")
def test_a_graph_that_is_sent_at_once_is_given_up_in_time(monkeypatch):
    graph = csr_array((np.random.default_rng(0).random((60, 60)) < 0.06).astype(np.int8))
    monkeypatch.setattr(beyond, "SHARE", 1)
    with pytest.raises(GivenUpError):
        maximum_bipartite_matching(graph, seconds=1e-9, solver=matching.ON_GPU)
    found = maximum_bipartite_matching(graph, seconds=600, solver=matching.ON_GPU)
    assert np.count_nonzero(found >= 0) == size_of(graph)


@pytest.mark.usefixtures("_all_at_once")
def test_only_the_gpus_solver_gets_a_graph_at_once(monkeypatch):
    monkeypatch.setattr(direct, "look", lambda lines: None)
    monkeypatch.setattr(direct, "at_once", lambda *given: pytest.fail("sent at once"))
    assert maximum_bipartite_matching(csr_array(np.eye(3)), solver="deveci_matching:hk").size == 3


@pytest.mark.usefixtures("_all_at_once")
@pytest.mark.parametrize(
    ("name", "place", "value"), [("indices", 0, -1), ("indices", 2, 3), ("indptr", 1, 7)]
)
def test_a_broken_graph_that_is_sent_at_once_is_refused_as_any(name, place, value):
    matrix = broken(set_at(name, place, value))
    with pytest.raises(ValueError, match=r"outside|decreases") as told:
        maximum_bipartite_matching(matrix, solver=matching.ON_GPU)
    with pytest.raises(ValueError, match=r"outside|decreases") as usual:
        bipartite(matrix)
    assert str(told.value) == str(usual.value)


def broken(change):
    matrix = csr_array(np.ones((3, 3), np.int8))
    change(matrix)
    return matrix


def set_at(name, place, value):
    def change(matrix):
        getattr(matrix, name)[place] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_at("indices", 0, -1), set_at("indices", 2, 3), set_at("indptr", 0, 1),
        set_at("indptr", 1, 5), set_at("indptr", 3, 12), set_at("indices", 1, 0),
        set_at("indices", 0, 2),
    ],
    ids=["negative", "outside", "begin", "falls", "end", "twice", "order"],
)  # fmt: skip
def test_other_arrays_are_left_to_the_general_way(change):
    assert direct.look(broken(change)) is None


def test_indices_of_64_bits_are_narrowed_where_they_fit():
    matrix = csr_array(np.eye(4, dtype=np.int8))
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    assert direct.look(matrix).match.tolist() == [0, 1, 2, 3]
    matrix.indices[0] = 2**32
    assert direct.look(matrix) is None
    with pytest.raises(ValueError, match="outside"):
        maximum_bipartite_matching(matrix, solver="deveci_matching:hk")


def test_other_formats_are_left_to_the_general_way():
    assert direct.look(coo_array(np.eye(3))) is None


@pytest.mark.parametrize("needed", [False, True])
def test_explain_says_whether_the_solver_was_needed(needed, capsys, monkeypatch):
    if needed:
        monkeypatch.setattr(direct.Looked, "enlarge", lambda self, briefly: False)
    assert direct.look(blocks()).missing == 50
    found = maximum_bipartite_matching(blocks(), device="cpu", explain=True)
    assert np.count_nonzero(found >= 0) == 100
    lines = capsys.readouterr().out.splitlines()
    assert "deveci_matching:hk" in lines[0]
    assert len(lines) == (1 if needed else 2)


def test_a_solver_that_is_named_runs(monkeypatch):
    ran = []
    monkeypatch.setattr(direct.Looked, "enlarge", lambda *given: pytest.fail("searched before"))
    solved = direct.Looked.solved
    monkeypatch.setattr(direct.Looked, "solved", lambda *given: ran.append(1) or solved(*given))
    maximum_bipartite_matching(csr_array(np.eye(3)), solver="deveci_matching:hk")
    assert ran == [1]
    maximum_bipartite_matching(csr_array(np.eye(100)), device="cpu")
    assert ran == [1]
