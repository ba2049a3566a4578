"""The table and the goals of deep searches, on made-up measurements."""

import pytest
from deveci_matching.evidence.made_up import BY_NAME, PAPER, compared, summary, table

from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Plan
from papers.deveci_matching.beyond import solver
from papers.deveci_matching.evidence import codes, deep
from papers.deveci_matching.evidence.codes import BEYOND, BY_LEVELS

CELLS = deep.cells(PAPER)


def counters(alone, barriers):
    def told(code, graph):
        few = {"levels_alone": alone, "grid_barriers": barriers, "bfs_launches": alone}
        levels = {"levels_alone": graph.n, "grid_barriers": 10, "bfs_launches": graph.n}
        return {BEYOND: few, BY_LEVELS: levels}.get(code, {})

    return told


def made(ms=1.0, cpu=2.0, alone=100, barriers=100, **more):
    return summary(
        CELLS, lambda code, graph: ms if code == BEYOND else cpu, counters(alone, barriers), **more
    )


def test_the_option_of_no_jumps_is_the_solvers():
    assert codes.code_of("deveci_matching:beyond", f"jump_after={solver.NEVER}")[0] == BY_LEVELS
    assert codes.code_of("deveci_matching:beyond", "jump_after=7")[0] == ""


def test_the_prediction_is_made_of_counts_alone():
    found = table("deep", made(alone=200, barriers=50))
    mine = found[found["code"] == BEYOND]
    assert len(mine) == 2 * len(deep.graphs(PAPER))  # two starts
    assert set(mine["predicted_ms"]) == {(3.0 * 50 + 5.0 * 200) / 1e3}
    assert set(mine["over_cpu"]) == {0.5}


@pytest.mark.parametrize(
    ("made_up", "what", "verdict"),
    [
        ({}, "one core", "holds"),
        ({"cpu": 0.5}, "one core", "fails"),
        ({}, "waits", "holds"),
        ({"alone": 10**7}, "waits", "fails"),
        ({}, "ms of", "holds"),
        ({"ms": 5.0, "cpu": 9.0}, "ms of", "fails"),
    ],
)
def test_goals_and_predictions_can_be_missed(made_up, what, verdict):
    found = {c.verdict for c in compared("deep", made(**made_up)) if what in c.quantity}
    assert found == {verdict}


def test_in_the_executor_counts_are_judged_and_times_are_not():
    found = compared("deep", made(card=EXECUTOR_NAME))
    assert {"waits" in c.quantity for c in found} == {True}


def test_its_graphs_are_small_without_a_gpu():
    assert max(graph.n for graph in deep.graphs(Plan("paper", gpu=False))) <= 128
    assert BY_NAME["deep"].cells is deep.cells
