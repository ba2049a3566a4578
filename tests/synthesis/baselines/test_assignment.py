"""Others' codes on a CPU: their answers are right and proved; what they would round is refused."""

import sys

import numpy as np
import pytest
from synthesis.assignment.small import KINDS, assert_optimal, draw, has_assignment

from papers.common.gpu.environment import MissingPackageError
from papers.common.problems import kinds
from papers.synthesis.baselines.assignment import SOLVERS


def solved(name, cost, maximize=False):
    solver = SOLVERS[name]
    state = solver.upload(cost, maximize)
    solver.run(state)
    return kinds.with_proof(solver, state, solver.download(state))


@pytest.mark.parametrize("name", SOLVERS)
def test_small_matrices_of_every_kind(name):
    if name != "scipy":
        pytest.importorskip("lap")
    for place, kind in enumerate(KINDS):
        cost, maximize = draw(kind, place)
        allowed = kind not in ("forbidden",) or name == "scipy"
        if kind == "wide" or not allowed or not has_assignment(cost, maximize):
            continue
        assert_optimal(cost, solved(name, cost, maximize), maximize)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (1, 1), (2, 7), (7, 2)])
def test_shapes(name, shape):
    if name != "scipy":
        pytest.importorskip("lap")
    answer = solved(name, np.arange(shape[0] * shape[1]).reshape(shape) % 5)
    assert answer.row_ind.size == min(shape)


@pytest.mark.parametrize("name", SOLVERS)
def test_what_would_be_rounded_or_is_no_number_is_refused(name):
    if name != "scipy":
        pytest.importorskip("lap")
        with pytest.raises(ValueError, match="finite"):
            SOLVERS[name].upload([[1.0, np.inf], [2.0, 3.0]])
    with pytest.raises(ValueError, match=r"2\*\*50"):
        SOLVERS[name].upload([[0, 2**51]])
    with pytest.raises(ValueError, match="NaN"):
        SOLVERS[name].upload([[0.0, np.nan]])


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "lap", None)
    with pytest.raises(MissingPackageError, match="EXTRAS=peers"):
        SOLVERS["lapjv"].upload([[1]])


def test_a_wrong_answer_gets_no_duals():
    """Planted: the code returns an assignment that is not optimal."""
    solver = SOLVERS["scipy"]
    state = solver.upload(np.array([[0, 9], [9, 0]]))
    solver.run(state)
    state.found = np.array([0, 1]), np.array([1, 0])
    assert kinds.with_proof(solver, state, solver.download(state)).row_duals is None
