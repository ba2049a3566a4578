"""Somebody's function as a solver: its call is timed, its result is proved, its faults are told."""

from dataclasses import replace

import numpy as np
import pytest

from papers.common.model import Cell, Instance
from papers.common.problems import kinds, scipys
from papers.common.problems.network import EIGHT, FOUR
from papers.common.problems.scipys import AnswerError
from papers.reproduce.bench import functions, yours
from papers.reproduce.bench.yours import ChangedInputError
from papers.reproduce.measure import protocol
from papers.reproduce.measure.laboratory import Laboratory
from papers.reproduce.plan.pace import PACE
from papers.reproduce.registry import UsageError

COSTS = Instance("uniform", 12, "n", seed=3)
GRAPH = Instance("uniform_graph", 40, "d3", seed=2)
GRID = Instance("random_grid", 5, "20", seed=2)
NETWORK = Instance("random_network", 12, "20", seed=2)


def measured(problem, function, instance):
    name = f"{problem}/toybox.functions:{function}"
    cell = Cell(f"yours:{name}", instance, ("end_to_end",))
    return protocol.measure(
        yours.solver(name), cell, Laboratory(), replace(PACE["smoke"], long_s=60.0), lambda _: None
    )


@pytest.mark.parametrize(
    ("problem", "function", "instance"),
    [
        ("assignment", "right", COSTS),
        ("assignment", "unsorted", COSTS),
        ("assignment", "right", Instance("uniform_double", 12, "n")),
        ("matching", "matches", GRAPH),
        ("flow", "flows", GRID),
        ("flow", "flows", NETWORK),
    ],
)
def test_a_right_answer_is_timed_and_proved(problem, function, instance):
    found = measured(problem, function, instance)
    assert found.status == "ok", found.reason
    assert [v[:3] for v in found.values if v[2] == "time_ms"] == [
        ("end_to_end", repeat, "time_ms") for repeat in (0, 1)
    ]


PLANTED = [
    ("assignment", "wrong", COSTS, "is assigned but not tight"),
    ("assignment", "twice", COSTS, "a column is assigned twice"),
    ("matching", "matches_too_few", GRAPH, "not maximum"),
    ("flow", "flows_nothing", GRID, "not proved maximum: the flow is 0, the cut"),
    ("flow", "flows_nothing", NETWORK, "not proved maximum: the flow is 0, the cut"),
    ("flow", "flows_too_much", GRID, "out of its bounds"),
    ("flow", "flows_too_much", NETWORK, "are said to be left"),
]


@pytest.mark.parametrize(("problem", "function", "instance", "why"), PLANTED)
def test_a_wrong_answer_is_not_proved(problem, function, instance, why):
    found = measured(problem, function, instance)
    assert (found.status, why in found.reason) == ("not-certified", True), found.reason


RUBBISH = [
    ("assignment", "rubbish", COSTS, AnswerError, r"ndarray of shape \(3, 3\), not \(row_ind"),
    ("assignment", "too_few", COSTS, AnswerError, "11 rows and 11 columns for a matrix of 12 x 12"),
    ("assignment", "outside", COSTS, AnswerError, r"col_ind names a line outside 0 \.\. 11"),
    ("assignment", "floats", COSTS, AnswerError, "col_ind has shape .* type float64"),
    ("assignment", "raises", COSTS, ValueError, "planted"),
    ("assignment", "changes", COSTS, ChangedInputError, "has changed its arguments"),
    ("matching", "rubbish", GRAPH, AnswerError, r"shape \(3, 3\)"),
    ("flow", "flows_a_number", GRID, AnswerError, "returned int, not an object with flow_value"),
]


@pytest.mark.parametrize(("problem", "function", "instance", "error", "why"), RUBBISH)
def test_what_is_no_answer_is_an_error_that_says_so(problem, function, instance, error, why):
    with pytest.raises(error, match=why):
        measured(problem, function, instance)


def test_the_other_result_of_scipys_matching_is_refused_or_not_proved():
    """Rows and columns of one number: only the edges tell the two results apart."""
    found = measured("matching", "matches_transposed", GRAPH)
    assert (found.status, "no neighbour" in found.reason) == ("not-certified", True)


def test_our_own_duals_are_proved_before_anybody_is_blamed(monkeypatch):
    """Planted: duals of ours that are one too large; a right function is not called wrong."""
    from papers.synthesis.calls import assignment

    true = assignment.linear_sum_assignment

    def off(costs, **options):
        rows, columns, u, v = true(costs, **options)
        return rows, columns, u + 1, v

    monkeypatch.setattr(assignment, "linear_sum_assignment", off)
    with pytest.raises(RuntimeError, match="this package's own optimum is not proved"):
        measured("assignment", "right", COSTS)


@pytest.mark.parametrize("names", [FOUR, EIGHT])
def test_a_flow_on_a_grids_network_is_the_flow_on_the_grid(names):
    """Each arc is its own: capacities that all differ find an array that is laid down wrongly."""
    from scipy.sparse.csgraph import maximum_flow

    from papers.common.problems.network import grid, inner

    random = np.random.default_rng(5)
    shape = (3, 4)
    arcs = {name: random.integers(1, 9, shape) * inner(shape, name) for name in names}
    data = grid(random.integers(0, 30, shape), random.integers(0, 30, shape), arcs)
    answer = scipys.answer("flow", data, maximum_flow(*scipys.arguments("flow", data)))
    proof = kinds.prove(kinds.FLOW, data, answer)
    assert proof.ok, proof.reason


def test_a_flow_where_there_is_no_arc_is_named():
    from scipy.sparse import csr_array
    from toybox.functions import Flow

    from papers.common.problems.network import network

    net = network([0, 1], [1, 2], [3, 2], 3, 0, 2)
    flow = csr_array(np.array([[0, 0, 2], [0, 0, 0], [-2, 0, 0]]))
    with pytest.raises(AnswerError, match="from node 0 to node 2, between which there is no arc"):
        scipys.answer("flow", net, Flow(2, flow))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("toybox.functions:rigth", "did you mean 'right'?"),
        ("toybox.functions:np", "has no function 'np'"),
        ("toybox.nothing:solve", "cannot be imported: ModuleNotFoundError"),
        ("solver.py:solve", "did you mean 'solver:solve'?"),
        ("solve", "is no MODULE:FUNCTION"),
        ("a/b:solve", "is no MODULE:FUNCTION"),
    ],
)
def test_functions_that_cannot_be_had_are_named(name, message):
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        functions.load(name)


def test_compiled_functions_have_the_hash_of_their_module():
    from scipy.sparse.csgraph import maximum_flow

    assert len(functions.digest(maximum_flow)) == 64
    assert len(functions.digest(functions.load("toybox.functions:right"))) == 64
