"""Large matrices arrive in chunks and give the same answers; others go as before."""

import numpy as np
import pytest

from papers.common.gpu import copying, device
from papers.common.instances.matrices import uniform
from papers.common.problems import assignment_proof
from papers.common.problems.costs_on_device import ResidentCosts
from papers.datenagi2016 import arrival, solver
from papers.datenagi2016.configuration import CONFIGURATIONS, TUNED


@pytest.fixture(autouse=True)
def _everything_is_large(monkeypatch):
    device.select("cpu")
    monkeypatch.setattr(arrival, "LEAST_BYTES", 1)
    monkeypatch.setattr(copying, "DIRECT_BYTES", 0)
    monkeypatch.setattr(copying, "CHUNK_BYTES", 400)
    monkeypatch.setattr(copying, "_buffers", {})


@pytest.mark.parametrize("variant", ["classical", "tree"])
def test_the_answer_is_the_same_and_proved(variant):
    cost = uniform(30, 1, cost_range=90)
    answers = [
        solver.solve(cost, variant=variant, configuration=name) for name in ("one_word", "tuned")
    ]
    for answer in answers:
        assert assignment_proof.assignment(cost, answer).ok
    assert answers[0].cost == answers[1].cost
    assert answers[0].counters == answers[1].counters


def test_only_what_needs_no_work_on_the_host_goes_in_chunks():
    cost = uniform(9, 1, cost_range=9)
    assert arrival.is_taken(cost, False, None, TUNED)
    assert arrival.is_taken(cost, False, "int32", TUNED)
    for other, maximize, dtype in (
        (cost, True, None), (cost, False, "int64"), (cost.astype(np.int64), False, None),
        (cost / 2, False, None), (cost[:5], False, None), (cost[:, ::-1], False, None),
        (cost.tolist(), False, None), (np.ma.masked_equal(cost, 3), False, None),
    ):  # fmt: skip
        assert not arrival.is_taken(other, maximize, dtype, TUNED)
    assert not arrival.is_taken(cost, False, None, CONFIGURATIONS["paper"])


@pytest.mark.parametrize("worst", [-5, 2**30])
def test_costs_that_must_be_shifted_or_widened_go_back_to_the_host(worst):
    cost = uniform(8, 2, cost_range=50)
    assert isinstance(arrival.arrived(cost, solver.SLACK_FACTOR), ResidentCosts)
    cost[3, 4] = worst
    assert arrival.arrived(cost, solver.SLACK_FACTOR) is cost
    answer = solver.solve(cost)
    assert assignment_proof.assignment(cost, answer).ok


def test_small_matrices_are_not_worth_it(monkeypatch):
    monkeypatch.setattr(arrival, "LEAST_BYTES", 256 << 20)
    assert not arrival.is_taken(np.zeros((8191, 8191), np.int32), False, None, TUNED)
