"""The calls on graphs as solvers: they answer, are proved, and note their choice."""

import numpy as np
import pytest

from papers.common import instances
from papers.common.model import Instance
from papers.common.problems import kinds
from papers.synthesis.calls import choice
from papers.synthesis.evidence.codes import SOLVERS
from papers.synthesis.evidence.graphs.rows import CHOSEN

MATCHINGS = [
    Instance("uniform_graph", 40, "d3"), Instance("path", 12, "deep"),
    Instance("triangle", 7, "deep", permuted=True), Instance("grid_graph", 9, "deep"),
]  # fmt: skip
CUTS = [
    Instance("oblong_grid", 4, "4x9"), Instance("channel_grid", 3, "3x8"),
    Instance("random_grid", 5, "9", (("directions", 8),)), Instance("random_network", 12, "30"),
]  # fmt: skip


def solved(name, instance):
    solver, data = SOLVERS[name], instances.draw(instance)
    state = solver.upload(data)
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)
    solver.run(state)
    answer = kinds.with_proof(solver, state, solver.download(state))
    return kinds.stated_by(data), data, answer


def chosen(answer):
    (found,) = [name for name in answer.counters if name.startswith(CHOSEN)]
    assert answer.counters[found] == 1
    return found.removeprefix(CHOSEN)


@pytest.mark.parametrize("instance", MATCHINGS, ids=lambda one: one.key)
def test_a_matching_of_the_call_is_proved(instance):
    problem, data, answer = solved("call_matching", instance)
    assert kinds.prove(problem, data, answer).ok
    rule = "scipy" if data.edges <= 64 else "deveci_matching:hk"
    assert chosen(answer) == rule


def test_a_matching_that_lacks_a_pair_is_not_proved():
    problem, data, answer = solved("call_matching", MATCHINGS[0])
    column = int(np.flatnonzero(answer.column_match >= 0)[0])
    answer.row_match[answer.column_match[column]] = -1
    answer.column_match[column] = -1
    smaller = type(answer)(answer.row_match, answer.column_match, answer.cardinality - 1)
    assert not kinds.prove(problem, data, smaller).ok


@pytest.mark.parametrize("instance", CUTS, ids=lambda one: one.key)
def test_a_cut_of_the_call_is_proved(instance):
    problem, data, answer = solved("call_cut", instance)
    assert kinds.prove(problem, data, answer).ok
    assert chosen(answer).startswith("lupinska_costscale:")


def test_a_cut_s_counts_are_noted_with_its_size():
    _, data, answer = solved("call_cut", CUTS[0])
    counts = answer.counters
    assert counts["pixels"] == data.source.size
    assert counts["neighbours"] == len(data.arcs)


def test_a_wrong_cut_is_not_proved():
    problem, data, answer = solved("call_cut", CUTS[0])
    answer.source_side[:] = ~answer.source_side
    assert not kinds.prove(problem, data, answer).ok


def test_the_choice_is_the_tables():
    names = {rule.solver for rule in choice.rules()}
    for name, instance in (("call_matching", MATCHINGS[0]), ("call_cut", CUTS[0])):
        assert chosen(solved(name, instance)[2]) in names
