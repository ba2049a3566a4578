"""The way from print to ours: single changes, the same answers with each, and what each changes."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from nightly import first

from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.common.problems import assignment_proof
from papers.datenagi2016 import (
    launches,
    levels,
    printed_launches,
    reference,
    solve,
    solver,
)
from papers.datenagi2016.configuration import (
    BOTH,
    CHANGES,
    CONCERNS,
    CONFIGURATIONS,
    PAPER,
    TUNED,
    Configuration,
    find,
    steps_of,
)
from papers.datenagi2016.kernels.printed import IN, OUT
from papers.datenagi2016.launches import Geometry

SMALL = Geometry(
    line_threads=9, row_threads=32, column_threads=8, rows_a_block=5, search_threads=64,
    search_blocks=3, reduction_threads=8, scan_threads=32, stage_width=2,
)  # fmt: skip
WAYS = [(variant, name) for variant in BOTH for name in steps_of(variant)]
OF_ONE = [(CONCERNS[name][0], name) for name in CONFIGURATIONS if CONCERNS[name] != BOTH]
BY_LEVEL = [way for way in WAYS if not CONFIGURATIONS[way[1]].one_pass]


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def sequential(variant, cost):
    listing = {
        "classical": reference.classical_hungarian, "tree": reference.alternating_tree_hungarian,
    }  # fmt: skip
    return listing[variant](cost)


# ------------------------------------------------------------------------------- the dictionary


def test_every_configuration_differs_from_the_one_before_in_one_field():
    for before, after in pairwise(map(dataclasses.asdict, CONFIGURATIONS.values())):
        assert sum(before[name] != after[name] for name in before) == 1
    assert list(CONFIGURATIONS.values())[-1] == TUNED
    assert list(CHANGES) == list(CONCERNS) == list(CONFIGURATIONS)


def test_bad_configurations_are_refused_before_anything_is_launched():
    for wrong, message in (
        ({"flags": "pinned"}, "not one of"),
        ({"one_pass": False}, "mapped flags"),
        ({"racing": True}, "without racing"),
        ({"one_pass": False, "flags": "copied"}, "thread_a_column"),
    ):
        with pytest.raises(ValueError, match=message):
            Configuration(**wrong)
    with pytest.raises(ValueError, match="configuration='print' is not one of paper, queued"):
        solve(np.zeros((3, 3)), configuration="print")
    assert find(PAPER) is PAPER


@pytest.mark.parametrize(("variant", "name"), OF_ONE)
def test_what_does_not_concern_a_variant_changes_none_of_its_launches(variant, name):
    before = dict(zip(list(CONFIGURATIONS)[1:], CONFIGURATIONS, strict=False))
    other = "tree" if variant == "classical" else "classical"
    made = [
        solver.upload(np.eye(5, dtype=int), variant=other, configuration=one)
        for one in (before[name], name)
    ]
    first_names, second_names = ([*state.launches] for state in made)
    assert first_names == second_names


# ------------------------------------------------------------------------------- answers


@pytest.mark.parametrize(("variant", "name"), WAYS)
def test_answers_are_proved_whatever_the_configuration(variant, name):
    """Square, rectangular, maximized, floats; the same dual updates and duals as the listing's."""
    for seed, (n, m) in enumerate(((1, 1), (9, 9), (11, 11), (5, 10), (10, 5))):
        cost = uniform(12, seed, cost_range=(3, 12, 120)[seed % 3])[:n, :m]
        cost = cost / 7 if seed == 3 else cost
        maximize = bool(seed % 2)
        state = solver.upload(cost, maximize, None, variant, SMALL, configuration=name)
        solver.run(state)
        answer = solver.download(state)
        assert assignment_proof.assignment(cost, answer, maximize).ok
        if n == m:
            t = sequential(variant, state.problem.matrix)
            assert answer.counters["dual_updates"] == len(t.updates)
            assert np.array_equal(state.arrays["row_dual"], t.D_r)
            assert np.array_equal(state.arrays["column_dual"], t.D_c)


@pytest.mark.parametrize("variant", BOTH)
def test_a_state_may_be_run_again(variant):
    state = solver.upload(uniform(9, 1, cost_range=30), variant=variant, configuration="paper")
    found = []
    for _ in range(2):
        solver.run(state)
        found.append(solver.download(state).counters)
    assert found[0] == found[1]


@pytest.mark.parametrize("variant", BOTH)
def test_whole_runs_as_printed_under_interleavings(variant):
    passes = set()
    for seed in range(10):
        cost = uniform(8 + seed % 3, seed % 4, cost_range=(8, 40)[seed % 2])
        with device.executing(Executor(seed=seed, switch=0.2)):
            answer = solver.solve(cost, variant=variant, geometry=SMALL, configuration="paper")
        assert assignment_proof.assignment(cost, answer).ok, seed
        assert answer.counters["dual_updates"] == len(sequential(variant, cost).updates)
        passes.add((answer.counters["forward_passes"], answer.counters["bfs_levels"]))
    assert len(passes) > 2, "the interleavings did not differ: the test would prove nothing"


@pytest.mark.parametrize("variant", BOTH)
@pytest.mark.parametrize("seed", first(1, range(4)))
def test_print_s_plain_stores_are_right_on_a_weak_memory(variant, seed):
    """Stores arrive late and loads are old within a launch; a launch's end settles them."""
    cost, memory = uniform(9, seed, cost_range=9), WeakMemory(seed)
    with device.executing(Executor(seed, 0.2, memory=memory)):
        answer = solver.solve(cost, variant=variant, geometry=SMALL, configuration="paper")
    assert assignment_proof.assignment(cost, answer).ok
    assert (memory.stale > 0) == (variant == "classical"), "the tree as printed races nowhere"


# ------------------------------------------------------------------------------- what is printed


def searched(variant, zero, pairs, configuration="paper", executor=None):
    """A state after one forward pass on a graph of edges without slack."""
    cost = np.where(zero, 0, 9)
    with device.executing(executor or Executor()):
        state = solver.upload(cost, None, None, variant, SMALL, configuration=configuration)
        solver.initial_reduction(state.launches, lambda step: None)
        state.arrays["row_dual"][:] = state.arrays["column_dual"][:] = 0
        if variant == "classical":
            solver.matrix_compression(state.launches, lambda step: None)
        for i, j in pairs:
            state.arrays["row_assignment"][i], state.arrays["column_assignment"][j] = j, i
        state.check()
        return state, state.forward_pass()


def race(n=12):
    """Half the rows are free and see all columns of the other half, which lead on to free ones."""
    half = n // 2
    zero = np.zeros((n, n), bool)
    zero[:half, :half] = True
    zero[half:, half:] = True
    pairs = [(half + k, k) for k in range(half)]
    for i, j in pairs:
        zero[i, j] = True
    return zero, pairs


def test_racing_rows_gather_a_row_twice_and_the_contraction_keeps_one():
    """Algorithm 3's plain stores: F_out has room for it, F_in must not grow by it."""
    twice, original = 0, levels.Levels.forward_pass
    for seed in range(6):
        seen = []
        executor = Executor(seed=seed, switch=0.3)
        zero, pairs = race()
        with pytest.MonkeyPatch.context() as patch:

            def watched(self, seen=seen):
                go = self.launches["contraction_scatter"]

                def look(enqueue):
                    enqueue()
                    flags = self.host.words.device_words
                    a = go.arguments[0]
                    out = a.f_out[: flags[OUT]]
                    seen.append((out[out >= 0].tolist(), a.f_in[: flags[IN]].tolist()))

                go.on_enqueue = look
                return original(self)

            patch.setattr(levels.Levels, "forward_pass", watched)
            _, signal = searched("classical", zero, pairs, executor=executor)
        assert signal.path_found
        for out, kept in seen:
            assert len(set(kept)) == len(kept), "a row stands twice in F_in"
            assert set(kept) == set(out)
            twice += len(set(out)) < len(out)
    assert twice > 0, "no row was gathered twice: the test would prove nothing"


def test_an_exchange_gathers_each_row_once():
    zero, pairs = race()
    for seed in range(4):
        executor = Executor(seed=seed, switch=0.3)
        state, signal = searched("classical", zero, pairs, "claimed", executor)
        assert signal.path_found
        reverse = state.arrays["frontier_reverse"][: state.arrays["flags"][1]].tolist()
        assert len(set(reverse)) == len(reverse) == 6


def test_a_column_takes_the_first_row_of_the_frontier():
    """[DN16 Alg.4]: the frontier is in order, and only a smaller slack replaces a predecessor."""
    zero = np.ones((6, 6), bool)
    state, _ = searched("tree", zero, [])
    assert state.arrays["column_predecessor"].tolist() == [0] * 6


def test_the_matrix_is_compressed_over_many_chunks(monkeypatch):
    """Each chunk's addresses begin where the chunks before end, the last chunk's among them."""
    monkeypatch.setattr(printed_launches, "TILE", 8)
    monkeypatch.setattr(printed_launches, "CHUNKS", 7)
    cost = uniform(13, 4, cost_range=4)
    state = solver.upload(cost, variant="classical", geometry=SMALL, configuration="paper")
    state.forget()
    solver.initial_reduction(state.launches, lambda step: None)
    solver.matrix_compression(state.launches, lambda step: None)
    t = reference.tableau(state.problem.matrix)
    reference.initial_reduction(t)
    rows, columns = np.nonzero(t.C - t.D_r[:, None] - t.D_c == 0)
    pointers = state.arrays["pointers"]
    assert pointers.tolist() == [int((rows < i).sum()) for i in range(14)]
    assert state.arrays["adjacency"][: pointers[-1]].tolist() == columns.tolist()


def test_a_dual_update_that_helps_nothing_is_seen_once():
    """Only a pass right after the update may be stuck; a path or another row is progress."""

    class Host:
        def __init__(self):
            self.sizes, self.paths = [], []

        def frontier(self):
            return self.sizes.pop(0)

        def path(self):
            return self.paths.pop(0)

    passes = levels.Levels({}, Host(), 5)
    for updated, sizes, path, stuck in (
        (True, [1, 0], False, True), (False, [1, 0], False, False), (True, [1, 0], True, False),
        (True, [1, 2, 0], False, False),
    ):  # fmt: skip
        passes.updated = updated or passes.updated
        passes.host.sizes, passes.host.paths = list(sizes), [path]
        assert passes.forward_pass().stuck == stuck
    assert passes.levels == 5
    passes.host.sizes = [1] * 9
    with pytest.raises(RuntimeError, match="more than 6 levels"):
        passes.forward_pass()


@pytest.mark.parametrize(("variant", "name"), BY_LEVEL)
def test_the_host_copies_a_size_a_level_and_a_flag_a_pass(variant, name):
    cost = uniform(10, 3, cost_range=60)
    state = solver.upload(cost, variant=variant, geometry=SMALL, configuration=name)
    read = []
    words = state.host.words
    original = words.read
    words.read = lambda first, count=1: read.append(first) or original(first, count)
    solver.run(state)
    counters = solver.download(state).counters
    passes, found = counters["forward_passes"], counters["bfs_levels"]
    assert read.count(IN) == found + passes
    assert read.count(0) == counters["augmentations"] + 1, "match_count, once a check"
    assert read.count(1) == passes
    assert passes == counters["augmentations"] + counters["dual_updates"], "none in vain at the end"


def test_the_host_waits_for_every_kernel_only_as_printed(monkeypatch):
    waits = []
    monkeypatch.setattr(device, "synchronize", lambda: waits.append(1))
    for name in ("paper", "queued"):
        waits.clear()
        state = solver.upload(uniform(6, 1, cost_range=20), geometry=SMALL, configuration=name)
        solver.run(state)
        launched = solver.download(state).counters["kernel_launches"]
        assert len(waits) - 1 == (launched if name == "paper" else 0)  # one before the run


@pytest.mark.parametrize("m", [1, 31, 33, 64, 500, 512, 513, 1024, 20000, 70000])
def test_a_narrow_search_gives_a_column_one_thread(m):
    from papers.datenagi2016.kernels.tree import shares_of

    shapes = dataclasses.replace(SMALL, search_threads=512, search_blocks=264).narrow(m)
    warps, groups = shapes.search_threads // 32, -(-m // 32)

    class Grid:
        gridDim = type("Dim", (), {"x": shapes.search_blocks})

    body = shares_of.py_func
    plain = type(body)(body.__code__, {"cuda": Grid})
    assert plain(m, groups, warps) == 1
    assert shapes.search_blocks * warps <= groups


@pytest.mark.parametrize(("variant", "name"), WAYS)
def test_the_bytes_of_a_state_are_those_of_its_arrays(variant, name):
    state = solver.upload(uniform(13, 1, cost_range=9), variant=variant, configuration=name)
    arrays = {k: a for k, a in state.arrays.items() if k != "cost"}
    width = Geometry.for_device(13, variant).stage_width
    counted = launches.state_bytes((13, 13), 4, variant, width, CONFIGURATIONS[name])
    assert sum(a.nbytes for a in arrays.values()) == counted == state.state_bytes
