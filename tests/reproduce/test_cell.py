"""Measuring one cell in this process: what is judged, repeated, warmed up."""

from dataclasses import replace

import numpy as np
import pytest
from toybox import toy

from papers.common import certify
from papers.common.model import Assignment, Cell, Solver
from papers.reproduce import cell as cells
from papers.reproduce.cell import Laboratory, measure, same_cost


@pytest.fixture
def counted(monkeypatch):
    """Count the certificates."""
    seen = []
    true = certify.assignment

    def count(*arguments, **keywords):
        seen.append(arguments[1])
        return true(*arguments, **keywords)

    monkeypatch.setattr(cells.certify, "assignment", count)
    return seen


def solver(run=toy.run, upload=toy.upload, device="cpu"):
    return Solver("x", "x", device, upload, run, toy.download, ("prepare", "search"))


def a_cell(*scopes, repeats=4, n=8):
    return Cell("toy:x", toy.instance(n), scopes or ("run",), (), repeats)


def go(subject, what, laboratory=None, budget_s=60.0):
    return measure(subject, what, laboratory or Laboratory(), budget_s, lambda stage: None)


def test_every_answer_of_every_scope_is_certified(counted):
    outcome = go(solver(), a_cell("run", "end_to_end", "steps"))
    assert outcome.status == "ok"
    assert len(counted) == 12


def test_large_answers_are_certified_once_a_scope(counted, monkeypatch):
    monkeypatch.setattr(cells, "CERTIFY_ALL_N", 7)
    assert go(solver(), a_cell("run", "end_to_end")).status == "ok"
    assert len(counted) == 2


@pytest.mark.parametrize("wrong_run", [2, 3, 5])
@pytest.mark.parametrize("limit", [7, 2048])
def test_one_wrong_repetition_is_found(monkeypatch, wrong_run, limit):
    """Large or small, first, middle or last: run 1 is the warm-up, 2 to 5 are timed."""
    monkeypatch.setattr(cells, "CERTIFY_ALL_N", limit)

    def run(state, trace=None):
        (toy.wrong if state.runs + 1 == wrong_run else toy.run)(state)

    outcome = go(solver(run), a_cell())
    assert outcome.status == "not-certified"
    assert outcome.reason.startswith("run: ")


def test_the_certifier_sees_the_drawn_matrix_not_the_solvers(monkeypatch):
    """A solver that changes its input solves another problem; the proof must notice."""

    def spoil(cost, **options):
        return toy.upload(cost + np.arange(64).reshape(8, 8) % 5)

    assert go(solver(upload=spoil), a_cell()).status == "not-certified"


def test_the_budget_stops_repetitions_but_never_the_first():
    outcome = go(solver(toy.slow), a_cell("run", repeats=50), budget_s=0.12)
    times = [v for v in outcome.values if v[2] == "time_ms"]
    assert 2 <= len(times) <= 4
    outcome = go(solver(toy.slow), a_cell("run", repeats=50), budget_s=0.0)
    assert len([v for v in outcome.values if v[2] == "time_ms"]) == 1


def test_a_solver_is_warmed_up_once_a_process():
    runs = []

    def run(state, trace=None):
        runs.append(1)
        toy.run(state)

    laboratory = Laboratory()
    go(solver(run), a_cell(repeats=2), laboratory)
    assert len(runs) == 3
    go(solver(run), a_cell(repeats=2, n=16), laboratory)
    assert len(runs) == 5


def test_scopes_do_not_share_a_state():
    states = []

    def upload(cost, **options):
        states.append(toy.upload(cost))
        return states[-1]

    go(solver(upload=upload), a_cell("run", "end_to_end", repeats=3))
    # One state for the warm-up and the runs, a new one for every end-to-end repetition.
    assert [state.runs for state in states] == [4, 1, 1, 1]


def test_an_instance_is_drawn_once_for_all_its_solvers(monkeypatch):
    drawn = []
    true = cells.generators.draw
    monkeypatch.setattr(cells.generators, "draw", lambda i: drawn.append(i) or true(i))
    laboratory = Laboratory()
    for n in (8, 8, 16, 8):
        go(solver(), a_cell(n=n), laboratory)
    assert [i.n for i in drawn] == [8, 16, 8]


def test_answers_without_a_proof_are_not_certified():
    def run(state, trace=None):
        toy.run(state)
        state.answer = replace(state.answer, row_duals=None, column_duals=None)

    outcome = go(solver(run), a_cell())
    assert (outcome.status, outcome.certificate) == ("not-certified", "none")


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (2**60, 2**60 + 1, False),
        (np.int64(5), 5, True),
        (1.0, 1.0 + 1e-12, True),
        (1.0, 1.0001, False),
    ],
)
def test_costs_are_equal_exactly_or_nearly(first, second, same):
    assert same_cost(first, second) is same


def test_no_answer_is_no_proof():
    none = Assignment(np.arange(8), np.arange(8), 0, None, None)

    def run(state, trace=None):
        state.answer = none

    assert go(solver(run), a_cell()).status == "not-certified"
