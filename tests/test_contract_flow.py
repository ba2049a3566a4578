"""One suite for every flow solver: same cases, same assertions, by what each declares."""

import copy

import numpy as np
import pytest
from contract import (
    assert_a_limit_of_time_is_kept_or_refused,
    assert_steps_are_declared,
    solve,
    solvers,
    upload,
)
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from papers.common.problems import flow_proof, kinds
from papers.common.problems.network import EIGHT, FOUR, Network, NetworkError, grid, inner, network

SOLVERS = list(solvers("flow"))
every_solver = pytest.mark.parametrize(("solver", "options"), SOLVERS)


def a_grid(shape, seed, names=FOUR, top=12, share=0.4):
    """A grid whose terminals touch a share of the pixels."""
    draw = np.random.default_rng(seed)
    ends = [draw.integers(0, top, shape) * (draw.random(shape) < share) for _ in range(2)]
    return grid(*ends, {name: draw.integers(0, top, shape) * inner(shape, name) for name in names})


def flat(shape, source, sink, between):
    """A grid with the same capacity everywhere."""
    arcs = {name: between * inner(shape, name).astype(np.int64) for name in FOUR}
    return grid(np.full(shape, source), np.full(shape, sink), arcs)


def a_network(nodes, arcs, seed):
    draw = np.random.default_rng(seed)
    tail, head, capacity = (draw.integers(0, top, arcs) for top in (nodes, nodes, 30))
    return network(tail, head, capacity, nodes, 1, nodes - 2)


def times(instance, factor):
    """The same grid with capacities that many times as large."""
    arcs = {name: factor * array for name, array in instance.arcs.items()}
    return grid(factor * instance.source, factor * instance.sink, arcs)


def ladder(n):
    """A path with a way round every arc: long distances, and the bottleneck at the end."""
    tail = np.concatenate([np.arange(n - 1), np.arange(n - 2)])
    head = np.concatenate([np.arange(1, n), np.arange(2, n)])
    capacity = np.concatenate([np.arange(n - 1, 0, -1), np.full(n - 2, 2)])
    return network(tail, head, capacity, n, 0, n - 1)


WIDE = 2**40

CASES = {
    "one pixel": flat((1, 1), 3, 2, 0),
    "one row": a_grid((1, 9), 1),
    "one column": a_grid((9, 1), 2),
    "four neighbours": a_grid((5, 6), 3),
    "eight neighbours": a_grid((5, 6), 4, EIGHT),
    "block edge": a_grid((8, 8), 5),
    "all alike": flat((4, 5), 3, 3, 3),
    "far apart": grid(
        np.eye(1, 12, 0, dtype=int) * 9,
        np.eye(1, 12, 11, dtype=int) * 9,
        flat((1, 12), 0, 0, 4).arcs,
    ),
    "pixels apart": flat((3, 4), 5, 2, 0),
    "wide capacities": times(a_grid((4, 5), 6), WIDE),
    "no capacity": flat((3, 5), 0, 0, 0),
    "nothing from the source": flat((3, 5), 0, 3, 4),
    "nothing to the sink": flat((3, 5), 3, 0, 4),
    "a network": a_network(12, 60, 7),
    "a sparse network": a_network(24, 40, 8),
    "a ladder": ladder(14),
    "one arc": network([0], [1], [6], 2, 0, 1),
    "an arc from source to sink": network([0, 0, 1, 2], [3, 1, 3, 1], [5, 4, 2, 9], 4, 0, 3),
    "arcs there and back": network([0, 1, 1, 2], [1, 0, 2, 1], [5, 9, 3, 9], 3, 0, 2),
    "parallel arcs": network([0, 0, 1, 1], [1, 1, 2, 2], [2, 3, 1, 2], 3, 0, 2),
    "no arcs": network([], np.zeros(0, int), [], 3, 0, 2),
    "zero capacities": network([0, 1], [1, 2], [0, 4], 3, 0, 2),
    "disconnected": network([0, 2], [1, 3], [7, 7], 4, 0, 3),
    "a dead end": network([0, 1, 0], [1, 2, 3], [9, 9, 2], 4, 0, 3),
    "only towards the source": network([1, 2], [0, 1], [5, 5], 3, 0, 2),
}


def traits(instance):
    """The features of an instance that a solver may declare as a limit."""
    found = {"networks"} if isinstance(instance, Network) else set()
    return found | ({"wide capacities"} if instance is CASES["wide capacities"] else set())


def value_of(instance):
    """The value by SciPy, which has 32 bits."""
    wide = instance is CASES["wide capacities"]
    if not isinstance(instance, Network):
        instance = (times(a_grid((4, 5), 6), 1) if wide else instance).network()
    capacity = instance.capacity.astype(np.int32)
    graph = csr_array((capacity, instance.head, instance.first), (instance.nodes,) * 2)
    value = maximum_flow(graph, instance.source, instance.sink).flow_value
    return int(value) * (WIDE if wide else 1)


def assert_maximum(solver, instance, **options):
    """Of SciPy's value, and proved by a cut of that value."""
    answer = solve(solver, instance, **options)
    verdict = flow_proof.flow(instance, answer)
    assert verdict.ok, verdict
    assert answer.value == value_of(instance)
    assert all(int(count) == count >= 0 for count in answer.counters.values())


@every_solver
@pytest.mark.parametrize("case", CASES)
def test_maximum_and_proved(solver, options, case):
    instance = CASES[case]
    met = [solver.limits[each] for each in traits(instance) if each in solver.limits]
    if not met:
        assert_maximum(solver, instance, **options)
        return
    with pytest.raises(NetworkError, match="|".join(met)):
        upload(solver, instance, **options)


BEYOND = {"networks": CASES["one arc"], "wide capacities": CASES["wide capacities"]}
"""An example of each limit that a solver may declare."""


@every_solver
def test_declared_limits_are_refused_by_name(solver, options):
    for limit, words in solver.limits.items():
        if limit == "time limits":  # an option, not an instance
            continue
        with pytest.raises(NetworkError, match=words):
            upload(solver, BEYOND[limit], **options)


@every_solver
@pytest.mark.parametrize("wrong", [np.zeros((2, 2)), [[1, 2]], None, 5])
def test_bad_input_is_refused_before_anything_runs(solver, options, wrong):
    with pytest.raises(NetworkError, match=rf"not (of )?an? {type(wrong).__name__}"):
        upload(solver, wrong, **options)


def arrays_of(instance):
    if isinstance(instance, Network):
        return [instance.first, instance.head, instance.mate, instance.capacity]
    return [instance.source, instance.sink, *instance.arcs.values()]


@every_solver
@pytest.mark.parametrize("case", ["four neighbours", "eight neighbours", "a network"])
def test_input_is_not_changed_and_state_runs_again(solver, options, case):
    instance = CASES[case]
    if traits(instance) & set(solver.limits):
        return
    before = copy.deepcopy(arrays_of(instance))
    state = upload(solver, instance, **options)
    answers = []
    for _ in range(2):
        solver.run(state)
        answers.append(kinds.answer_of(solver, state))
        assert flow_proof.flow(instance, answers[-1]).ok
    assert answers[0].value == answers[1].value == value_of(instance)
    assert all(map(np.array_equal, arrays_of(instance), before))


@every_solver
def test_nothing_is_downloaded_before_a_run(solver, options):
    state = upload(solver, CASES["four neighbours"], **options)
    with pytest.raises(RuntimeError, match="nothing to download"):
        solver.download(state)


@every_solver
def test_trace_names_the_declared_steps(solver, options):
    instance = CASES["four neighbours"]
    seen = []
    state = upload(solver, instance, **options)
    solver.run(state, seen.append)
    assert_steps_are_declared(solver, seen)
    assert flow_proof.flow(instance, kinds.answer_of(solver, state)).ok


@every_solver
@pytest.mark.parametrize("seed", range(3))
def test_random_instances(solver, options, seed):
    shape = tuple(np.random.default_rng(seed).integers(1, 7, 2))
    assert_maximum(solver, a_grid(shape, seed, EIGHT if seed % 2 else FOUR), **options)
    if "networks" not in solver.limits:
        assert_maximum(solver, a_network(6 + 7 * seed, 20 + 40 * seed, seed), **options)


ENDS_FIRST = ("gpu_relabel", "push_relabel")
"""Solvers that may have ended a small instance before they look at the clock."""


@every_solver
def test_a_limit_of_time_is_kept_or_refused_by_name(solver, options):
    """A run that is over time gives up and says what it has reached; the next one is right."""
    instance = CASES["eight neighbours"]
    assert_a_limit_of_time_is_kept_or_refused(solver, instance, options, ENDS_FIRST)
    if "time limits" not in solver.limits:
        assert_maximum(solver, instance, seconds=600, **options)
