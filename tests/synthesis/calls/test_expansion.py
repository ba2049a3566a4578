"""`papers.alpha_expansion`: moves are the best there are, and recycled flows cut alike."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from synthesis.calls.arrays import OnDevice

from papers.common.model import GivenUpError
from papers.common.problems.network import EIGHT, FOUR, FlowError, Grid, NetworkError, inner
from papers.synthesis.calls import expansion as calls
from papers.synthesis.calls.cuts import choosing
from papers.synthesis.calls.expansion import alpha_expansion, energy_of
from papers.synthesis.calls.flow import grid_cut
from papers.synthesis.calls.moves import recycling

PUSH = "lupinska_costscale:push_relabel"


def energy(seed, shape=(2, 3), labels=3, connectivity=8):
    """A random energy with a metric: distances of points on a line, cut off."""
    g = np.random.default_rng(seed)
    points = g.integers(0, 9, labels)
    metric = np.minimum(np.abs(points[:, None] - points), 5)
    arcs = {name: g.integers(0, 6, shape) for name in (FOUR if connectivity == 4 else EIGHT)[::2]}
    return g.integers(-20, 20, (*shape, labels)), arcs, metric


def spelt_out(unary, arcs, metric, labels):
    """The energy, pixel by pixel."""
    steps = {"right": (0, 1), "down": (1, 0), "down_right": (1, 1), "down_left": (1, -1)}
    height, width = labels.shape
    total = 0
    for y, x in product(range(height), range(width)):
        total += unary[y, x, labels[y, x]]
        for name, weight in arcs.items():
            v, u = y + steps[name][0], x + steps[name][1]
            if 0 <= v < height and 0 <= u < width:
                total += weight[y, x] * metric[labels[y, x], labels[v, u]]
    return total


@pytest.mark.parametrize("connectivity", [4, 8])
def test_a_move_is_the_best_expansion(connectivity):
    """Of all 2**6 sets of pixels that may take the label."""
    for seed in range(8):
        unary, arcs, metric = energy(seed, connectivity=connectivity)
        whole = energy_of(unary, arcs, metric, connectivity)
        labels = np.random.default_rng(seed).integers(0, 3, (2, 3))
        assert whole.of(labels) == spelt_out(unary, arcs, metric, labels)
        for alpha in range(3):
            move = whole.move(labels, alpha)
            keeps = grid_cut(move.source, move.sink, move.arcs, connectivity).mask
            best = min(
                spelt_out(unary, arcs, metric, np.where(np.reshape(takes, (2, 3)), alpha, labels))
                for takes in product((False, True), repeat=6)
            )
            assert spelt_out(unary, arcs, metric, np.where(keeps, labels, alpha)) == best


def test_the_rules_are_asked_about_a_move_that_ties_pixels_to_terminals(monkeypatch):
    """A move to the label that all pixels have ties none: it would look far from any terminal."""
    asked, choose = [], calls.choice_for
    monkeypatch.setattr(calls, "choice_for", lambda *two: asked.append(two[0]) or choose(*two))
    unary, arcs, metric = energy(1, (9, 9))
    alpha_expansion(unary, arcs, metric, connectivity=8, solver=PUSH)
    idle = energy_of(unary, arcs, metric, 8).move(np.zeros((9, 9), np.int64), 0)
    assert [choosing.is_seeded(grid) for grid in (*asked, idle)] == [False, True]


@pytest.mark.parametrize(
    "solver", ["lupinska_costscale:pymaxflow", PUSH, "lupinska_costscale:gpu_relabel"]
)
def test_no_expansion_of_the_answer_is_better(solver):
    unary, arcs, metric = energy(3, (3, 4), 4)
    found = alpha_expansion(unary, arcs, metric, connectivity=8, solver=solver)
    whole = energy_of(unary, arcs, metric, 8)
    assert found.energy == spelt_out(unary, arcs, metric, found.labels) == whole.of(found.labels)
    for alpha in range(4):
        move = whole.move(found.labels, alpha)
        keeps = grid_cut(move.source, move.sink, move.arcs, 8).mask
        assert whole.of(np.where(keeps, found.labels, alpha)) == found.energy
    assert found.solver == solver
    assert (found.recycled > 0) == (solver in calls.TELLS_A_FLOW)
    assert found.resident == (found.recycled if solver in calls.ON_DEVICE else 0)


def test_recycled_flows_save_pushes_and_change_nothing(monkeypatch):
    """The second sweep starts from the first one's residual capacities."""
    g = np.random.default_rng(2)
    truth = np.kron(g.integers(0, 4, (3, 3)), np.ones((5, 5), int))
    unary = 8 * np.abs(truth[:, :, None] - np.arange(4)) + g.integers(0, 20, (15, 15, 4))
    pushes = []
    right = calls.run

    def counted(*args):
        flow = right(*args)
        pushes[-1] += flow.counters["pushes"]
        return flow

    monkeypatch.setattr(calls, "run", counted)
    answers = []
    for telling in (calls.TELLS_A_FLOW, ()):
        monkeypatch.setattr(calls, "TELLS_A_FLOW", telling)
        pushes.append(0)
        answers.append(alpha_expansion(unary, 7, solver=PUSH))
    assert np.array_equal(answers[0].labels, answers[1].labels)
    assert answers[0].moves == answers[1].moves
    assert answers[0].recycled > answers[1].recycled == 0
    assert pushes[0] < pushes[1]


def random_grid(g, shape, names):
    arcs = {name: np.where(inner(shape, name), g.integers(0, 9, shape), 0) for name in names}
    return Grid(g.integers(0, 20, shape), g.integers(0, 20, shape), arcs)


def weight(grid, mask):
    """The weight of a cut."""
    total = grid.source[~mask].sum() + grid.sink[mask].sum()
    for name, capacity in grid.arcs.items():
        here, there = recycling.ends(grid.shape, name)
        total += capacity[here][mask[here] & ~mask[there]].sum()
    return int(total)


@pytest.mark.parametrize("names", [FOUR, EIGHT])
def test_a_grid_that_a_flow_was_put_into_has_the_same_cuts(names):
    """All cuts weigh less by one constant; nothing is negative, however capacities change."""
    from papers.synthesis.calls.choice import solver_of

    solver, shape = solver_of(PUSH), (2, 3)
    for seed in range(6):
        g = np.random.default_rng(seed)
        old, residual = random_grid(g, shape, names), None
        for _ in range(3):
            state = solver.upload(old if residual is None else carried)  # noqa: F821
            solver.run(state)
            residual = solver.download(state).residual
            new = random_grid(g, shape, names)
            carried = recycling.carried_over(new, old, residual)
            for array in (carried.source, carried.sink, *carried.arcs.values()):
                assert (array >= 0).all()
            masks = [np.reshape(mask, shape) for mask in product((False, True), repeat=6)]
            assert len({weight(new, mask) - weight(carried, mask) for mask in masks}) == 1
            old = new


def test_a_deficit_that_is_dropped_is_found(monkeypatch):
    """Planted: negative arcs are cut off at 0 instead of moved."""
    monkeypatch.setattr(recycling, "_mend", lambda mine, *others: np.maximum(mine, 0, out=mine))
    with pytest.raises(AssertionError):
        test_a_grid_that_a_flow_was_put_into_has_the_same_cuts(FOUR)


@pytest.mark.parametrize("solver", ["lupinska_costscale:pymaxflow", PUSH])
@pytest.mark.parametrize("fault", ["the cut is another", "the value is another"])
def test_a_move_that_is_not_the_best_is_found(solver, fault, monkeypatch):
    """Planted: its cut weighs more than its flow is worth, or the value is not the flow's."""
    right = calls.run

    def wrong(*args):
        flow = right(*args)
        if fault == "the value is another":
            return replace(flow, value=flow.value + 1)
        side = flow.source_side.copy()
        side[0, 0] = not side[0, 0]
        return replace(flow, source_side=side)

    unary, arcs, metric = energy(3, (3, 4), 4)
    monkeypatch.setattr(calls, "run", wrong)
    with pytest.raises(FlowError, match="not the best"):
        alpha_expansion(unary, arcs, metric, connectivity=8, solver=solver)


def test_limits_places_and_starts(capsys):
    unary, arcs, metric = energy(5, (4, 4), 3, 4)
    free = alpha_expansion(unary, arcs, metric, explain=True)
    assert "moves on 4 x 4 pixels: lupinska_costscale:" in capsys.readouterr().out
    one = alpha_expansion(unary, arcs, metric, sweeps=1)
    assert (one.sweeps, one.moves) == (1, 3)
    start = np.zeros((4, 4), int)
    again = alpha_expansion(unary, arcs, metric, labels=start)
    assert not start.any()
    assert max(free.energy, again.energy) <= min(one.energy, spelt_out(unary, arcs, metric, start))
    there = alpha_expansion(OnDevice(unary), arcs, metric, seconds=60)
    assert there.energy == spelt_out(unary, arcs, metric, there.labels)
    with pytest.raises(GivenUpError):
        alpha_expansion(unary, arcs, metric, seconds=1e-9)


WRONG = {
    "unary has": {"unary": np.zeros((2, 2), int)},
    "no whole number": {"unary": np.full((2, 2, 2), 0.5)},
    "neither 4 nor 8": {"connectivity": 6},
    "negative": {"arcs": -1},
    "has shape": {"arcs": np.ones(3, int)},
    "directions": {"arcs": {"right": 1}},
    "there are 2 labels": {"metric": np.zeros((3, 3), int)},
    "not symmetric": {"metric": [[0, 1], [2, 0]]},
    "labels are no": {"labels": np.full((2, 2), 2)},
    "no number of rounds": {"sweeps": 0},
    "2\\*\\*60": {"unary": np.full((2, 2, 2), 2**59)},
    "shorter": {"unary": np.zeros((1, 2, 3), int), "metric": [[0, 1, 9], [1, 0, 1], [9, 1, 0]]},
}


@pytest.mark.parametrize("message", WRONG)
def test_bad_input_is_named(message):
    given = {"unary": np.zeros((2, 2, 2), int), "arcs": 1, **WRONG[message]}
    with pytest.raises(NetworkError, match=message):
        alpha_expansion(**given)


@pytest.mark.parametrize(
    "unary",
    [np.array([[[2**63, 5]]], np.uint64), np.array([[[1e300, 5]]]), np.full((2, 2, 2), -(2**63)),
     np.array([[[2.0**64, 2.0**63]]])],
    ids=["uint64", "float", "int64", "both"],
)  # fmt: skip
def test_costs_that_wrap_are_named(unary):
    """Planted: they became other numbers, and the dearer label was taken."""
    with pytest.raises(NetworkError, match=r"unary .* 2\*\*62 or more"):
        alpha_expansion(unary, 1)
    with pytest.raises(NetworkError, match=r"metric .* 2\*\*62 or more"):
        alpha_expansion(np.zeros((2, 2, 2), int), 1, np.array([[0, 1e19], [1e19, 0]]))
