"""Duals of floats whose sizes are far apart: they prove the answer, or a named error says why."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment as scipys

from papers import linear_sum_assignment
from papers.common.model import Assignment, GivenUpError
from papers.common.problems import assignment_proof
from papers.synthesis.assignment import reference
from papers.synthesis.assignment.costs import UnfinishedError, UnresolvedError
from papers.synthesis.calls import assignment, repeated
from papers.synthesis.calls import one_matrix as calls
from papers.synthesis.calls.assignment_duals import are_small, duals_of
from papers.synthesis.one_core import solver as one_core
from papers.synthesis.trust.drawing import task_of

NAMED = ("lopes2019:cpu_sp", "synthesis:dense", "synthesis:batch", "lupinska_costscale:batch", None)


def proof_of(cost, answer, maximize=False):
    rows, columns, u, v = answer
    total = float(cost[rows, columns].sum())
    return assignment_proof.assignment(cost, Assignment(rows, columns, total, u, v, maximize))


@pytest.mark.parametrize("solver", NAMED)
@pytest.mark.parametrize(
    "cost", [[[1e17], [0.16]], [[1e17, 0.5], [0.4, 1e17]], [[0.5, 1e15, 3.0], [1e15, 0.25, 1e15]]]
)
def test_large_costs_in_the_place_of_forbidden_pairs(solver, cost):
    cost = np.array(cost)
    answer = linear_sum_assignment(cost, solver=solver, return_duals=True)
    proof = proof_of(cost, answer)
    assert proof.ok, proof.reason
    expected = scipys(cost)
    assert cost[answer[0], answer[1]].sum() == pytest.approx(cost[expected].sum(), rel=1e-12)


@pytest.mark.parametrize("solver", ["synthesis:batch", None])
@pytest.mark.parametrize("as_list", [False, True])
def test_batches_of_them(solver, as_list):
    g = np.random.default_rng(4)
    costs = np.where(g.random((5, 6, 6)) < 0.8, 1e16, g.random((5, 6, 6)))
    costs[:, np.arange(6), np.arange(6)] = g.random((5, 6))
    given = list(costs) if as_list else costs
    answers = linear_sum_assignment(given, solver=solver, return_duals=True)
    each = answers if as_list else zip(*answers, strict=True)
    for cost, answer in zip(costs, each, strict=True):
        proof = proof_of(cost, answer)
        assert proof.ok, proof.reason


def spoilt(right):
    """The planted fault: a solver's row duals are off by a unit, and all duals are large."""

    def by_solver(name, data, wishes):
        found = right(name, data, wishes)
        if found.row_duals is None:
            return found
        u, v = found.row_duals + 1e15 + 1, found.column_duals - 1e15
        return found._replace(row_duals=u, column_duals=v)

    return by_solver


def test_duals_that_prove_nothing_are_replaced(monkeypatch):
    cost = np.random.default_rng(2).random((150, 150))
    monkeypatch.setattr(calls, "by_solver", spoilt(calls.by_solver))
    answer = linear_sum_assignment(cost, device="cpu", return_duals=True)
    assert np.abs(answer[2]).max() < 2
    assert proof_of(cost, answer).ok


def test_duals_that_nobody_finds_are_an_error_by_name(monkeypatch):
    cost = np.random.default_rng(2).random((150, 150))
    monkeypatch.setattr(calls, "by_solver", spoilt(calls.by_solver))
    monkeypatch.setattr(calls, "duals_of", lambda *_: None)
    with pytest.raises(ValueError, match="without return_duals it can be had"):
        linear_sum_assignment(cost, solver="synthesis:one_core", return_duals=True)
    monkeypatch.setattr(calls, "by_solver", refusing)
    rows, columns = linear_sum_assignment(cost, device="cpu")
    assert cost[rows, columns].sum() == pytest.approx(cost[scipys(cost)].sum())


def powers():
    """Costs of twenty decades on which the dense schedule alone is wrong, as trust drew them."""
    return task_of(8020, 889, 512, True).data


@pytest.mark.parametrize("duals", [False, True])
def test_wrong_pairs_of_floats_far_apart_go_on_to_another_solver(duals, capsys):
    cost = powers()
    best = cost[scipys(cost)].sum()
    alone = reference.solve(cost)
    assert alone.cost > 1.2 * best
    assert not are_small(alone.row_duals, alone.column_duals)
    answer = linear_sum_assignment(cost, solver="synthesis:dense", return_duals=duals, explain=True)
    assert cost[answer[0], answer[1]].sum() == pytest.approx(best, rel=1e-12)
    assert "float64 does not resolve duals of these costs" in capsys.readouterr().out
    assert len(answer) == (4 if duals else 2)
    assert not duals or proof_of(cost, answer).ok


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("duals", [False, True])
@pytest.mark.parametrize("solver", ["synthesis:batch", None])
def test_wrong_pairs_of_a_batch_of_floats_go_on_to_another_solver(
    solver, duals, as_list, monkeypatch
):
    """The planted fault: two columns of the last matrix are exchanged, and its duals are large."""
    right, names = assignment.by_solver, []

    def by_solver(name, data, wishes):
        found = right(name, data, wishes)
        names.append(name)
        found.col_ind[-1][[0, 1]] = found.col_ind[-1][[1, 0]]
        found.row_duals[-1][:] += 1e15
        found.column_duals[-1][:] -= 1e15
        return found

    costs = np.random.default_rng(5).random((4, 6, 6))
    monkeypatch.setattr(assignment, "by_solver", by_solver)
    chosen = assignment.Choice("synthesis:batch", "planted")
    monkeypatch.setattr(assignment, "_choice_of_batch", lambda *_: chosen)
    given = list(costs) if as_list else costs
    answers = linear_sum_assignment(given, solver=solver, return_duals=duals)
    assert names == ["synthesis:batch"]
    each = answers if as_list else zip(*answers, strict=True)
    for cost, answer in zip(costs, each, strict=True):
        assert len(answer) == (4 if duals else 2)
        assert np.array_equal(answer[1], scipys(cost)[1])
        assert not duals or proof_of(cost, answer).ok


@pytest.mark.parametrize("duals", [False, True])
def test_wrong_pairs_of_one_matrix_by_a_batch_go_on_to_another_solver(duals, monkeypatch, capsys):
    """The same fault, for a matrix by itself."""
    right = calls.by_solver

    def by_solver(name, data, wishes):
        found = right(name, data, wishes)
        if name != "synthesis:batch":
            return found
        found.col_ind[[0, 1]] = found.col_ind[[1, 0]]
        u, v = found.row_duals + 1e15, found.column_duals - 1e15
        return found._replace(row_duals=u, column_duals=v)

    cost = np.random.default_rng(5).random((6, 6))
    monkeypatch.setattr(calls, "by_solver", by_solver)
    answer = linear_sum_assignment(cost, solver="synthesis:batch", return_duals=duals, explain=True)
    assert np.array_equal(answer[1], scipys(cost)[1])
    assert len(answer) == (4 if duals else 2)
    assert ("without return_duals" in capsys.readouterr().out) == duals


@pytest.mark.parametrize("solver", ["synthesis:dense", "synthesis:batch"])
def test_pairs_that_nothing_proves_are_scipys_or_with_a_limit_of_time_an_error(solver):
    """No duals in float64 prove these pairs, which are right; SciPy cannot be stopped."""
    cost = np.array([[1.0, -1e20], [3e20, 1.0]])
    assert linear_sum_assignment(cost, solver=solver)[1].tolist() == [0, 1]
    for limited in ({"seconds": 60.0}, {"return_duals": True}):
        with pytest.raises(ValueError, match="float64 does not resolve"):
            linear_sum_assignment(cost, solver=solver, **limited)


def test_a_limit_of_time_ends_the_proof_of_a_call():
    """A pass over the costs is the longest that nobody looks at the clock."""
    looks = iter([None, None])
    cost = np.outer(np.arange(1.0, 31), np.arange(1.0, 31))
    pairs = np.arange(30), np.arange(30)  # the worst assignment: a cycle of any pair is cheaper

    def look():
        if next(looks, "over") == "over":
            raise GivenUpError("gave up", 1.0)

    with pytest.raises(GivenUpError):
        duals_of(cost, *pairs, look=look)
    assert duals_of(cost, *pairs) is None


def refusing(name, data, wishes):
    """A solver whose bound was met."""
    raise UnresolvedError("float64 does not resolve these costs")


def unfinished(*given, **named):
    """One whose bound was met with integers."""
    raise UnfinishedError("the search has not ended within its bounds")


@pytest.mark.parametrize(
    ("ends", "error"), [(refusing, UnresolvedError), (unfinished, UnfinishedError)]
)
def test_a_batch_that_is_refused_is_solved_one_by_one(ends, error, monkeypatch, capsys):
    """What a bound on the work ends goes on by a slower way, unless the solver was named."""
    costs = np.random.default_rng(3).random((4, 7, 7))
    monkeypatch.setattr(assignment, "by_solver", ends)
    chosen = assignment.Choice("synthesis:batch", "planted")
    monkeypatch.setattr(assignment, "_choice_of_batch", lambda *_: chosen)
    _, columns = linear_sum_assignment(costs, explain=True)
    assert "papers: synthesis:batch refuses (" in capsys.readouterr().out
    answers = linear_sum_assignment(list(costs))
    for cost, line, (_, other) in zip(costs, columns, answers, strict=True):
        expected = scipys(cost)[1]
        assert line.tolist() == other.tolist() == expected.tolist()
    with pytest.raises(error):
        linear_sum_assignment(costs, solver="synthesis:batch")


@pytest.mark.parametrize("duals", [False, True])
def test_a_matrix_on_which_a_bound_was_met_goes_on_to_another_solver(duals, monkeypatch, capsys):
    """Integers meet none that is known; if one did, a call would end all the same, and say so."""
    cost = np.random.default_rng(4).integers(0, 99, (9, 12))
    chosen = calls.Choice(calls.DENSE, "planted")
    monkeypatch.setattr(calls, "_pairs_by_dense", unfinished)
    by_solver = calls.by_solver
    monkeypatch.setattr(
        calls, "by_solver",
        lambda name, *given: unfinished() if name == calls.DENSE else by_solver(name, *given),
    )  # fmt: skip
    with pytest.raises(UnfinishedError):
        linear_sum_assignment(cost, solver=calls.DENSE, return_duals=duals)
    monkeypatch.setattr(calls, "_choice", lambda *given: chosen)
    rows, columns, *_ = linear_sum_assignment(cost, return_duals=duals, explain=True)
    assert cost[rows, columns].sum() == cost[scipys(cost)].sum()
    assert "has not ended within its bounds" in capsys.readouterr().out


def test_integers_that_one_core_leaves_loose_go_on_to_scipy(monkeypatch):
    cost = np.random.default_rng(6).integers(0, 4000, (400, 400))
    asked = calls.Choice("synthesis:one_core", "planted")
    monkeypatch.setattr(one_core, "_end", lambda *given: False)
    with pytest.raises(UnfinishedError, match="still loose"):
        linear_sum_assignment(cost, solver="synthesis:one_core", return_duals=True)
    for ways in ("_choice", "choose"):  # the first choice, and the second one on the host
        monkeypatch.setattr(calls, ways, lambda *given, **named: asked)
    rows, columns, *_ = linear_sum_assignment(cost, return_duals=True)
    assert cost[rows, columns].sum() == cost[scipys(cost)].sum()
    first = calls.Choice(calls.DENSE, "planted")
    monkeypatch.setattr(calls, "_choice", lambda *given: first)
    by_solver = calls.by_solver
    monkeypatch.setattr(
        calls, "by_solver",
        lambda name, *given: unfinished() if name == calls.DENSE else by_solver(name, *given),
    )  # fmt: skip
    rows, columns, *_ = linear_sum_assignment(cost, return_duals=True)
    assert cost[rows, columns].sum() == cost[scipys(cost)].sum()


def test_a_known_form_on_which_a_bound_was_met_takes_the_usual_way(monkeypatch):
    placed = SimpleNamespace(place="device")
    monkeypatch.setattr(repeated, "_name", lambda *given: "a form")
    monkeypatch.setitem(repeated._ways, "a form", unfinished)
    assert repeated.answer(placed, "auto", None) is None
    with pytest.raises(UnfinishedError):
        repeated.answer(placed, "auto", calls.DENSE)


def test_an_overflow_of_duals_is_named():
    cost = np.array([[-1.05e308, 6.7e307], [-1.69e308, 9.65e307]])
    with pytest.raises(ValueError, match="overflow"):
        linear_sum_assignment(cost, return_duals=True)


def test_duals_are_small_beside_their_optimum_or_not():
    u = np.array([[1.0, 2.0], [1e9, 1.0], [0.0, 0.0]])
    v = np.array([[0.5, 0.0], [-1e9, 0.0], [0.0, 0.0]])
    assert are_small(u, v).tolist() == [True, False, False]
    assert not are_small(np.array([np.inf]), np.array([1.0]))
