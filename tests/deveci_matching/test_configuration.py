"""The way from print to ours: single changes, and the same answers with each."""

import dataclasses
import functools

import numpy as np
import pytest
from deveci_matching.examples import GRAPHS, VARIANTS, check, path

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.gpu.words import CopiedWords
from papers.common.model import GivenUpError
from papers.common.problems.graph import bipartite
from papers.deveci_matching import beyond, configuration, solve, solver
from papers.deveci_matching.beyond import configuration as ideas
from papers.deveci_matching.configuration import PAPER, TUNED, Configuration, find
from papers.deveci_matching.kernels.notation import STUCK
from papers.deveci_matching.launches import Geometry


@pytest.mark.parametrize("module", [configuration, ideas])
def test_every_configuration_differs_from_the_one_before_in_one_field(module):
    before, *others = (dataclasses.asdict(one) for one in module.CONFIGURATIONS.values())
    for one in others:
        assert sum(one[name] != before[name] for name in one) == 1
        before = one
    assert before == dataclasses.asdict(module.TUNED)
    assert list(module.CHANGES) == list(module.CONFIGURATIONS)


def test_bad_configurations_are_refused_before_anything_is_launched():
    for wrong in ({"flags": "managed"}, {"loads": 4}, {"last_skipped": 2}):
        with pytest.raises(ValueError, match="is not one of"):
            Configuration(**wrong)
    with pytest.raises(ValueError, match="configuration='print' is not one of paper, last"):
        solve([[1]], configuration="print")
    with pytest.raises(ValueError, match="configuration='print' is not one of bare, spread"):
        beyond.solve([[1]], configuration="print")
    assert find(PAPER) is PAPER


def answer_of(graph, name, variant, executor=None):
    with device.executing(executor or Executor()):
        state = solver.upload(graph, initial="empty", configuration=name, **variant)
        solver.run(state)
        return state, solver.download(state)


def whole(graph, answer):
    """As `check`, but for the two launches that print makes more."""
    counters = dict(answer.counters)
    counters["kernel_launches"] -= 2
    check(graph, dataclasses.replace(answer, counters=counters))


@pytest.mark.parametrize("name", list(configuration.CONFIGURATIONS))
def test_all_variants_are_right_in_every_configuration(name):
    for kind in ("random", "wide", "sparse"):
        for variant in VARIANTS:
            state, answer = answer_of(GRAPHS[kind], name, variant)
            (whole if name == "paper" else check)(GRAPHS[kind], answer)
            _, ours = answer_of(GRAPHS[kind], "tuned", variant)
            for count in ("bfs_iterations", "bfs_launches"):
                assert answer.counters[count] == ours.counters[count]
            assert isinstance(state.words, CopiedWords) == (name != "tuned")


def test_the_host_reads_its_flags_under_interleavings():
    graph, counts = GRAPHS["random"], set()
    for seed in range(20):
        variant = VARIANTS[seed % len(VARIANTS)]
        _, answer = answer_of(graph, PAPER, variant, Executor(seed=seed, switch=0.2))
        whole(graph, answer)
        counts.add(answer.counters["bfs_launches"])
    assert len(counts) > 1, "the interleavings did not differ: the test would prove nothing"


def test_a_run_in_print_s_configuration_can_be_repeated_and_given_up():
    graph = path(7)
    state = solver.upload(graph, initial="empty", configuration="paper")
    for _ in range(2):
        solver.run(state)
        whole(graph, solver.download(state))
    state.launches["alternate"].on_enqueue = lambda enqueue: state.arrays["flags"].__setitem__(
        STUCK, 1
    )
    with pytest.raises(GivenUpError, match="a path has more than 8 columns"):
        solver.run(state)


@pytest.mark.parametrize("loads", [1, 8])
def test_a_thread_takes_all_of_its_columns(loads):
    """Fewer threads than columns: a grid of one thread, and of three."""
    graph, ways = GRAPHS["random"], dataclasses.replace(TUNED, loads=loads)
    for shape in (Geometry(1, 1), Geometry(3, 1)):
        state = solver.upload(graph, initial="empty", configuration=ways, geometry=shape)
        solver.run(state)
        check(graph, solver.download(state))


@functools.cache
def by_default(kind, initial):
    return beyond.solve(bipartite(GRAPHS[kind]), initial)


@pytest.mark.parametrize("name", list(ideas.CONFIGURATIONS))
@pytest.mark.parametrize("initial", ["cheap", "empty", "device"])
def test_beyond_is_right_whatever_is_on(name, initial, monkeypatch):
    from papers.deveci_matching.beyond.kernels import frontier

    monkeypatch.setattr(frontier, "HEAVY_DEGREE", 3)
    for seed, kind in enumerate(GRAPHS):
        graph = bipartite(GRAPHS[kind])
        with device.executing(Executor(seed=seed, switch=0.1)):
            answer = beyond.solve(graph, initial, configuration=name, jump_after=2)
        ours = by_default(kind, initial)
        assert answer.cardinality == ours.cardinality
        assert np.count_nonzero(answer.row_match >= 0) == answer.cardinality


def test_an_idea_that_is_off_leaves_no_trace():
    """Its counter stays zero, which is above zero where it is on."""
    graph = bipartite(path(60))
    counts = {"jumps": "jumps", "lone": "levels_alone", "cuts": "phases_cut",
              "pulls": "levels_pulled", "grafts": "phases_grafted"}  # fmt: skip
    for field, counter in counts.items():
        off = dataclasses.replace(ideas.TUNED, **{field: False})
        for one in (graph, *GRAPHS.values()):
            told = beyond.solve(one, "empty", configuration=off, jump_after=3).counters
            assert told.get(counter, 0) == 0, field
