"""The way from the authors' release to ours: single changes, and the same answers with each."""

import dataclasses

import numpy as np
import pytest

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.common.problems import assignment_proof
from papers.lopes2019 import solve, solver
from papers.lopes2019.configuration import (
    CHANGES,
    CONFIGURATIONS,
    PAPER,
    TUNED,
    Configuration,
    find,
)

NAMES = list(CONFIGURATIONS)


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def test_every_configuration_differs_from_the_one_before_in_one_field():
    before, *others = (dataclasses.asdict(one) for one in CONFIGURATIONS.values())
    for one in others:
        assert sum(one[name] != before[name] for name in one) == 1
        before = one
    assert before == dataclasses.asdict(TUNED)
    assert list(CHANGES) == NAMES


def test_bad_configurations_are_refused_before_anything_is_launched():
    for wrong, message in (
        ({"barriers": 2}, "neither 3 nor 1"),
        ({"stop_at_path": True}, "one barrier"),
        ({"checks": 11}, "1 to 10"),
        ({"lines_a_bin": 0}, "out of range"),
        ({"flags": "pinned"}, "not one of"),
        ({"barriers": 3}, "spare_checks"),
        ({"step_2_by_bin": True}, "mapped flags"),
        ({"one_counter": True, "flags": "copied"}, "an_entry_a_thread"),
    ):
        with pytest.raises(ValueError, match=message):
            Configuration(**wrong)
    with pytest.raises(ValueError, match="configuration='print' is not one of released, paper"):
        solve(np.zeros((3, 3)), configuration="print")
    assert find(PAPER) is PAPER


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_proved_whatever_the_configuration(name):
    """Square, rectangular, maximized, floats; the same dual updates as ours on squares."""
    for seed, (n, m) in enumerate(((1, 1), (9, 9), (12, 12), (5, 11), (11, 5))):
        cost = uniform(12, seed, cost_range=(3, 12, 120)[seed % 3])[:n, :m]
        cost = cost / 7 if seed == 3 else cost
        maximize = bool(seed % 2)
        answer = solve(cost, maximize, configuration=name)
        assert assignment_proof.assignment(cost, answer, maximize).ok
        ours = solve(cost, maximize)
        assert answer.counters["zeros_initial"] == ours.counters["zeros_initial"]
        if n == m:
            same = "iterations_step_6"
            assert answer.counters[same] == ours.counters[same]


@pytest.mark.parametrize("name", ["paper", "all_paths", "one_word"])
def test_whole_runs_under_interleavings(name):
    cost = uniform(8, 3, cost_range=8)
    counts = set()
    for seed in range(25):
        with device.executing(Executor(seed=seed, switch=0.2)):
            state = solver.upload(cost, configuration=name)
            solver.run(state)
            answer = solver.download(state)
        assert assignment_proof.assignment(cost, answer).ok
        counts.add((answer.counters["iterations_step_3"], answer.counters["iterations_step_4"]))
    assert len(counts) > 1, "the interleavings did not differ: the test would prove nothing"


@pytest.mark.parametrize("step_4", ["A", "B", "C"])
def test_alternatives_run_in_the_paper_s_configuration(step_4):
    cost = uniform(10, 5, cost_range=20)
    answer = solve(cost, step_4=step_4, configuration="paper")
    assert assignment_proof.assignment(cost, answer).ok


def paths_of_one_sweep(configuration):
    """Row 0's star leads on to a second path: a block that stops leaves it to the next search.

    Columns 0 and 1 are starred at rows 0 and 1; columns 2 and 3 are free. Column 2 has a zero in
    the free row 2, a path of length one, and one in row 0, behind which column 0 has a zero in the
    free row 3: a second path, one sweep later.
    """
    cost = np.ones((4, 4), np.int64)
    cost[0, 0] = cost[1, 1] = 0  # the caller's rows are the paper's columns
    cost[2, 2] = cost[2, 0] = cost[3, 0] = 0
    cost[0, 3] = 0
    state = solver.upload(cost, configuration=configuration, lines_a_bin=4)
    solver.step_1(state, lambda step: None)
    state.arrays["row_of_star_at_column"][:] = [0, 1, -1, -1]
    state.arrays["column_of_star_at_row"][:] = [0, 1, -1, -1]
    solver.step_3(state, lambda step: None)
    assert solver.begin_search(state, lambda step: None).path_found
    return set(np.flatnonzero(state.arrays["column_of_prime_at_row"] >= 0).tolist())


def test_a_block_stops_at_its_first_path_or_goes_on():
    stopped = paths_of_one_sweep("queued")
    went_on = paths_of_one_sweep("all_paths")
    assert stopped < went_on
    assert went_on - stopped == {3}, "the path behind row 0"


def accesses(configuration, lines=2, threads=8):
    """Return the accesses of a launch of step 4 that finds every column covered: a look a check."""
    executor = Executor()
    with device.executing(executor):
        shapes = dataclasses.replace(
            solver.Geometry.for_device(4), lines_a_bin=lines, step_4_threads=threads
        )
        state = solver.upload(np.zeros((4, 4)), geometry=shapes, configuration=configuration)
        solver.step_1(state, lambda step: None)
        state.arrays["covered_column"][:] = 1
        before = executor.count["accesses"]
        state.launches["step_4"]()
    return executor.count["accesses"] - before


@pytest.mark.parametrize(
    ("lines", "threads", "checks"),
    [(2, 8, 10), (2, 4, 10), (2, 2, 1), (4, 16, 1)],
    ids=["one zero a thread", "two zeros a thread", "four zeros a thread", "a block alone"],
)
def test_a_zero_is_checked_ten_times_where_that_takes_no_longer(lines, threads, checks):
    """Sixteen zeros; one check reads one cover."""
    once = dataclasses.replace(TUNED, checks=1)
    more = accesses("tuned", lines, threads) - accesses(once, lines, threads)
    assert more == 16 * (checks - 1)


@pytest.mark.parametrize("kind", ["managed", "copied"])
def test_words_that_host_and_kernels_share(kind):
    from papers.common.gpu.words import CopiedWords, ManagedWords

    words = (ManagedWords if kind == "managed" else CopiedWords)(5)
    assert words.read(0, 5) == [0] * 5
    words.write(1, 7, 8)
    assert words.read(0, 4) == [0, 7, 8, 0]
    words.device_words[2] = 9
    assert words.read(2) == [9]


@pytest.mark.parametrize(("name", "times"), [("paper", 10), ("all_paths", 10), ("tuned", 1)])
def test_a_free_row_is_primed_at_each_check_as_released_or_once(name, times):
    """A zero of a free row stays uncovered; ours is done with it at once."""
    cost = np.array([[0, 1], [1, 0]])
    primed = []
    with device.executing(Executor(on_access=lambda *event: primed.append(event))):
        state = solver.upload(cost, configuration=name)
        solver.step_1(state, lambda step: None)
        solver.step_3(state, lambda step: None)
        primed.clear()
        assert solver.begin_search(state, lambda step: None).path_found
    stores = [event for event in primed if event[1] == "marks.prime" and event[3] >= 0]
    assert len(stores) == 2 * times
