"""Rectangles: proved, and searched from the shorter side's lines alone, by both papers' solvers."""

import numpy as np
import pytest

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.common.model import GivenUpError
from papers.common.problems import assignment_proof
from papers.common.problems.assignment import prepare
from papers.kawtikwar_opts import PAPER as KAWTIKWAR
from papers.kawtikwar_opts.kernels import one_launch
from papers.lopes2019 import PAPER as LOPES
from papers.lopes2019 import rectangle

SOLVERS = {
    "gpu": LOPES.solvers()["gpu"],
    "cpu_o4": LOPES.solvers()["cpu_o4"],
    "opt1": KAWTIKWAR.solvers()["opt1"],
    "opt4": KAWTIKWAR.solvers()["opt4"],
}


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def solved(name, cost, maximize=False, **options):
    state = SOLVERS[name].upload(cost, maximize=maximize, **options)
    SOLVERS[name].run(state)
    answer = SOLVERS[name].download(state)
    verdict = assignment_proof.assignment(cost, answer, maximize)
    assert verdict.ok, verdict
    return answer, state


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("cost", [
    uniform(9, 1, cost_range=50)[:4], uniform(9, 1, cost_range=50)[:, :8] - 30,
    np.full((3, 7), 5), np.full((3, 7), -5.5), np.full((7, 3), 1e300),
], ids=["wide", "tall", "equal", "equal floats", "large floats"])  # fmt: skip
def test_every_row_has_the_extreme_once_in_the_padding_and_nothing_is_better(cost, maximize):
    problem = prepare(cost, maximize, reflect=False)
    layout = rectangle.lay_out(problem, maximize)
    lines = min(cost.shape)
    assert (layout.lines, layout.padding) == (lines, max(cost.shape) - lines)
    sign = -1 if maximize else 1
    real, padding = sign * layout.matrix[:lines], sign * layout.matrix[lines:]
    extreme = padding.min()
    assert real.min() >= extreme
    assert ((padding == extreme).sum(axis=0) == 1).all()
    assert (padding == extreme).any(axis=1).all()
    assert layout.matrix.dtype == problem.matrix.dtype
    body = real.T if layout.turned else real
    assert np.array_equal(body, sign * problem.matrix[: cost.shape[0], : cost.shape[1]])


def test_a_square_is_not_copied():
    problem = prepare(uniform(5, 1, cost_range=9))
    assert rectangle.lay_out(problem, False).matrix is problem.matrix
    assert rectangle.lay_out_lines(problem).matrix is problem.matrix


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("name", list(SOLVERS))
def test_more_lines_than_are_needed_are_no_work(name, maximize, turned):
    """Ten dear columns more: the same zeros and the same dual updates as without them."""
    few = uniform(8, 2, cost_range=200)[:5]
    dear = 0 if maximize else 200
    many = np.hstack([few, np.full((5, 10), dear)])
    few, many = (few.T, many.T) if turned else (few, many)
    counts = []
    for cost in (few, many):
        answer, _ = solved(name, cost, maximize)
        counts.append(answer.counters)
    assert counts[0]["iterations_step_6"] > 0
    for counter in ("zeros_initial", "iterations_step_6"):
        assert counts[0][counter] == counts[1][counter]
    assert counts[1]["matches_initial"] <= 5
    assert counts[1]["iterations_step_3"] <= 6 - counts[1]["matches_initial"]


@pytest.mark.parametrize("name", ["gpu", "opt1", "opt4"])
def test_no_search_enters_the_padding(name):
    """It has the stars of the start, no primes and no dual; its zeros are one a row."""
    cost = uniform(12, 3, cost_range=300)[:7]
    _, state = solved(name, cost)
    arrays = state.arrays
    assert (arrays["row_of_star_at_column"][7:] == 0).all()
    assert (arrays["column_dual"][7:] == 0).all()
    assert (arrays["column_of_prime_at_row"] < 7).all()
    slack = arrays["slack"].reshape(12, 12)
    assert (slack[7:] == 0).sum() <= 12
    stars = arrays["row_of_star_at_column"][:7]
    assert np.array_equal(arrays["column_of_star_at_row"][stars], np.arange(7))


@pytest.mark.parametrize("name", ["gpu", "opt1"])
def test_padding_without_stars_would_be_noticed(name):
    """Planted: the padding is searched as if it were costs."""
    cost = uniform(12, 3, cost_range=300)[:7]
    state = SOLVERS[name].upload(cost)
    state.launches.pop("star_padding")
    SOLVERS[name].run(state)
    assert not assignment_proof.assignment(cost, SOLVERS[name].download(state)).ok


@pytest.mark.parametrize("shape", [(2, 6), (5, 3)])
@pytest.mark.parametrize("lines", [2, 6])
def test_rectangles_under_interleavings(shape, lines):
    cost = uniform(6, 1, cost_range=20)[: shape[0], : shape[1]]
    for seed in range(2):
        with device.executing(Executor(seed=seed, switch=0.1)):
            solved("opt4", cost, lines_a_bin=lines, threads=32, blocks=3)
            solved("gpu", cost, lines_a_bin=lines)


@pytest.mark.parametrize("name", list(SOLVERS))
def test_a_rectangle_that_is_given_up_counts_the_caller_s_lines(name, monkeypatch):
    monkeypatch.setattr(one_launch, "SHARE", 1)
    cost = np.multiply.outer(np.arange(1, 6), np.arange(1, 8))
    state = SOLVERS[name].upload(cost, seconds=1e-9)
    with pytest.raises(GivenUpError) as told:
        SOLVERS[name].run(state)
    assert 0 <= told.value.reached["matched"] < 5
