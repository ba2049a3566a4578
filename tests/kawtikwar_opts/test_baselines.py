"""The linear program: right, proved, and HiGHS's own answer wherever HiGHS can give one."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from papers.common.instances.matrices import uniform, uniform_double
from papers.common.model import GivenUpError
from papers.common.problems import assignment_proof
from papers.kawtikwar_opts import PAPER
from papers.kawtikwar_opts.baselines import solvers


def solved(cost, **options):
    state = solvers.upload(cost, **options)
    solvers.run(state)
    answer = solvers.proof(state, solvers.download(state))
    verdict = assignment_proof.assignment(np.asarray(cost), answer, options.get("maximize", False))
    assert verdict.ok, verdict
    return answer


@pytest.mark.parametrize("n", [1, 2, 17, 64])
@pytest.mark.parametrize("label", [1, 10])
def test_integers_are_proved_exactly(n, label):
    cost = uniform(n, 1, cost_range=label * n)
    answer = solved(cost)
    assert answer.cost == cost[linear_sum_assignment(cost)].sum()
    assert answer.row_duals.dtype.kind == "i"
    assert answer.counters["repaired_rows"] == 0


@pytest.mark.parametrize("n", [8, 128])
def test_doubles_of_the_report_need_no_repair(n):
    answer = solved(uniform_double(n, 1, cost_range=1000.0 * n))
    assert answer.counters["repaired_rows"] == 0
    assert answer.counters["simplex_iterations"] > 0


draw = np.random.default_rng(3)
CASES = {
    "ties": np.ones((7, 7), int),
    "zeros": np.zeros((5, 5)),
    "wide": uniform(9, 2, cost_range=40)[:4],
    "tall": uniform(9, 2, cost_range=40)[:, :5],
    "negative": uniform(9, 3, cost_range=60) - 30,
    "beyond float64": draw.integers(-(2**58), 2**58, (7, 7)),
    "offset": draw.integers(0, 9, (7, 7)) + 10**17,
    "big-M": np.where(draw.random((9, 9)) < 0.4, 1e9, draw.random((9, 9))) + 0.25,
    "tiny": draw.random((6, 6)) * 1e-200,
    "forbidden": np.where(np.eye(8) + draw.random((8, 8)) > 0.5, draw.random((8, 8)), np.inf),
}


@pytest.mark.parametrize("case", list(CASES))
def test_shapes_ties_and_magnitudes(case):
    answer = solved(CASES[case])
    assert len(answer.row_ind) == min(CASES[case].shape)
    if case not in ("forbidden", "big-M"):  # whose range a sign turns into an offset
        solved(CASES[case], maximize=True)


def test_wrong_duals_of_highs_are_repaired():
    cost = uniform(20, 4, cost_range=200)
    state = solvers.upload(cost)
    solvers.run(state)
    state.start[:] += draw.normal(size=20) * 50
    state.chosen[:] = np.roll(state.chosen, 1)
    answer = solvers.proof(state, solvers.download(state))
    assert assignment_proof.assignment(cost, answer).ok
    assert answer.counters["repaired_rows"] > 0


def test_a_repair_beyond_the_limit_of_time_gives_up():
    cost = uniform(20, 4, cost_range=200)
    state = solvers.upload(cost, seconds=1e6)
    solvers.run(state)
    state.chosen[:] = np.roll(state.chosen, 1)
    state.seconds = 1e-9
    with pytest.raises(GivenUpError, match="gave up after") as told:
        solvers.proof(state, solvers.download(state))
    assert told.value.reached["matched"] < 20
    state.seconds = None
    answer = solvers.proof(state, solvers.download(state))
    assert assignment_proof.assignment(cost, answer).ok


def test_nothing_to_download_before_a_run():
    with pytest.raises(RuntimeError, match="no run has ended"):
        solvers.download(solvers.upload([[1, 2], [3, 4]]))


def test_empty_and_the_card():
    assert solved(np.zeros((0, 3))).cost == 0
    one = PAPER.solvers()["cpu_lp"]
    assert (one.device, one.steps) == ("cpu", ())


def test_highs_own_answer_is_downloaded_without_repairs(monkeypatch):
    """Its user pays for no duals: without them the answer is right, and proved by nothing."""
    cost = uniform(12, 6, cost_range=120)
    state = solvers.upload(cost)
    solvers.run(state)
    monkeypatch.setattr(solvers.shortest_path, "allocate", lambda _: pytest.fail("a repair"))
    answer = solvers.download(state)
    assert answer.cost == cost[linear_sum_assignment(cost)].sum()
    assert not assignment_proof.assignment(cost, answer).ok
    with pytest.raises(pytest.fail.Exception, match="a repair"):
        solvers.proof(state, answer)


def test_rows_that_highs_leaves_without_a_column_get_those_left_over():
    assert solvers._each_once(np.array([2, -1, 2, 0], np.int32)).tolist() == [2, 1, 3, 0]
