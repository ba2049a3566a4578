"""The algorithm in plain NumPy: right on every kind, and its schedule does what it is for."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from nightly import first
from synthesis.assignment.small import (
    KINDS,
    assert_optimal,
    draw,
    has_assignment,
    nearly_sorted,
)

from papers.synthesis.assignment import reference
from papers.synthesis.assignment.settings import Settings

BARE = Settings(start_rounds=0, scale_above=1000)
SCALED = Settings(start_rounds=1, scale_above=0, most_rounds=5, left_free=200, sorting=0)


def assert_solved(cost, maximize, settings=None):
    if not has_assignment(cost, maximize):
        with pytest.raises(ValueError, match="infeasible"):
            reference.solve(cost, maximize, settings=settings)
        return None
    answer = reference.solve(cost, maximize, settings=settings)
    assert_optimal(cost, answer, maximize)
    return answer


def assert_all_solved(kind, seeds, settings):
    for seed in range(seeds):
        assert_solved(*draw(kind, seed), settings)


@pytest.mark.parametrize("part", first(1, range(8)))
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_solved_and_proved(kind, part):
    for seed in range(24 * part, 24 * part + 24):
        assert_solved(*draw(kind, seed))


@pytest.mark.parametrize("settings", [BARE, SCALED], ids=["phases alone", "scales"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_is_right(kind, settings):
    assert_all_solved(kind, 6, settings)


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0), (1, 1), (1, 30), (30, 1), (40, 37)])
def test_shapes(shape):
    cost = np.random.default_rng(1).integers(0, 50, shape)
    assert_optimal(cost, reference.solve(cost))


def test_structured_costs_are_scaled_and_uniform_ones_are_not():
    """The rule of 8 per cent; scaling takes an eighth of the phases of a product, or fewer."""
    g = np.random.default_rng(3)
    assert not reference.solve(KINDS["uniform"](g, 100, 100)).counters["scales"]
    cost = KINDS["product"](g, 60, 60)
    unsorted = replace(Settings.for_shape(60, 60, cost.dtype), sorting=0)
    scaled = reference.solve(cost, settings=unsorted).counters
    assert scaled["scales"] > 3
    assert 8 * scaled["phases"] <= reference.solve(cost, settings=BARE).counters["phases"]


SORTED = {
    "product": lambda g: np.outer(g.permutation(40) + 1, g.permutation(40) + 1),
    "line": lambda g: np.abs(g.integers(0, 300, (40, 1)) - g.integers(0, 300, (1, 40))),
    "squares": lambda g: (g.integers(0, 300, (40, 1)) - g.integers(0, 300, (1, 40))) ** 2,
}
"""Makers of matrices whose lines become a Monge array, minimized or maximized."""

AT_ONCE = Settings(start_rounds=0, scale_above=0)
"""Lines are sorted whatever a start would do."""


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("kind", SORTED)
def test_lines_that_become_a_monge_array_are_sorted(kind, maximize):
    for seed in range(12):
        cost = SORTED[kind](np.random.default_rng(seed))
        counts = assert_solved(cost, maximize, AT_ONCE).counters
        assert (counts["sorts"], counts["sorted"]) == (1, 1)
        assert (counts["scales"], counts["phases"]) == (0, 0)


def test_one_pair_that_its_duals_forbid_is_enough_not_to_sort():
    """Far from the diagonal: all inequalities along it hold."""
    answer = assert_solved(nearly_sorted(None, 40, 40), False)
    assert (answer.counters["sorts"], answer.counters["sorted"]) == (1, 0)
    assert answer.counters["scales"] > 3
    right = assert_solved(KINDS["product"](None, 40, 40), False)
    assert right.counters["sorted"] == 1


def test_lines_that_are_alike_at_both_ends_may_be_sorted_in_vain():
    """Of this Monge array with shuffled lines some orders are not found; the answers are right."""
    groups = np.abs(np.arange(40)[:, None] // 5 - np.arange(40) // 5)
    said = set()
    for seed in range(12):
        g = np.random.default_rng(seed)
        cost = groups[g.permutation(40)][:, g.permutation(40)]
        said.add(assert_solved(cost, False, AT_ONCE).counters["sorted"])
    assert said == {0, 1}


def test_floats_and_integers_whose_sums_would_not_fit_are_not_sorted():
    """Sums of reduced costs are shifted for the latter, whose duals add up as many ranges."""
    lines = np.arange(1, 41)
    cost = np.outer(lines, lines) * 2**41
    answer = assert_solved(cost, False)
    assert answer.counters["sorts"] == 0
    assert assert_solved(cost // 2**11, False).counters["sorted"] == 1
    assert assert_solved(cost * 2.0**-41, False).counters["sorts"] == 0


def test_a_late_stop_needs_fewer_phases_than_free_rows():
    cost = np.random.default_rng(4).integers(0, 1000, (100, 100))
    counts = reference.solve(cost, settings=BARE).counters
    assert counts["phases"] < 20


@pytest.mark.parametrize("shape", [(60, 60), (55, 60)], ids=["square", "rectangle"])
def test_trees_that_stay_save_levels(shape, monkeypatch):
    """Fewer levels for the same optimum than searches that grow all trees anew."""
    phase, matrices = reference.phase, [
        np.random.default_rng(seed).integers(0, 60, shape) for seed in range(12)
    ]  # fmt: skip
    kept = [reference.solve(cost, settings=BARE) for cost in matrices]

    def anew(state, delta):
        state.stays[:] = False
        phase(state, delta)

    monkeypatch.setattr(reference, "phase", anew)
    grown = [reference.solve(cost, settings=BARE) for cost in matrices]
    assert [answer.cost for answer in kept] == [answer.cost for answer in grown]
    levels = [sum(a.counters["iterations"] for a in of) for of in (kept, grown)]
    assert levels[0] < 0.9 * levels[1]


def test_a_tree_that_stays_holds_the_columns_of_rows_that_are_still_free():
    """Columns that stay are matched, tight with the row before them, and lead to a free row."""
    cost = np.random.default_rng(3).integers(0, 40, (40, 40))
    state = reference.State(cost, BARE)
    reference.reduce_lines(state)
    seen = 0
    while state.free().size:
        reference.phase(state, 0)
        columns = np.flatnonzero(state.stays)
        before = state.before[columns]
        assert (state.row[columns] >= 0).all()
        assert (cost[before, columns] == state.u[before] + state.v[columns]).all()
        starts = {reference.path_to(state, state.before, int(j))[-1][0] for j in columns}
        assert starts <= set(state.free())
        seen += columns.size
    assert seen > 20


def test_rounds_do_not_stall_at_the_first_one():
    """All rows but one are free after the first round, and the rounds go on."""
    cost = np.outer(np.arange(1, 31), np.arange(1, 31))
    unsorted = replace(Settings.for_shape(30, 30, cost.dtype), sorting=0)
    assert reference.solve(cost, settings=unsorted).counters["rounds"] > 2 * Settings().start_rounds


# ------------------------------------------------------------------------------- planted faults

FAULTS = {
    "an update that is too small": (
        "phase", "state.v[near] -= reach - distance[near]",
        "state.v[near] -= (reach - distance[near]) // 2", "uniform",
    ),
    "a search that ends at the nearest column but updates to the farthest": (
        "search", "distance[free].max() if state.square else distance[free].min()",
        "distance[free].min()", "uniform",
    ),
    "rows that keep their column at any slack": (
        "rescale", "keep = tight <= least[rows] + eps", "keep = tight == tight", "product",
    ),
    "free columns that rise too far": (
        "rescale", "rest + eps", "rest + eps + eps + 9", "low rank",
    ),
    "bids above the second nearest": (
        "bid", "- first + eps", "- first + eps + 5", "uniform",
    ),
    "a rectangle's search to the farthest column": (
        "phase", "distance[free].max() if state.square else distance[free].min()",
        "distance[free].max()", "narrow",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(fault, monkeypatch):
    name, right, wrong, kind = FAULTS[fault]
    text = inspect.getsource(getattr(reference, name))
    assert right in text
    spoiled = dict(vars(reference))
    exec(text.replace(right, wrong), spoiled)
    monkeypatch.setattr(reference, name, spoiled[name])
    settings = {"rescale": SCALED, "bid": None}.get(name, BARE)
    with pytest.raises(AssertionError):  # a proof that fails, or a path without end
        assert_all_solved(kind, 60, settings)
