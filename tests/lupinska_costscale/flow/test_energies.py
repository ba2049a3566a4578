"""`least_energy` is the least of all labellings where pairs are regular; others are refused."""

from itertools import product

import numpy as np
import pytest

from papers.common.gpu import device
from papers.common.instances.flows import image_energies
from papers.common.problems.network import EIGHT, FOUR, STEP, FlowError, NetworkError
from papers.lupinska_costscale import least_energy
from papers.lupinska_costscale.flow import calls, energies

SHAPE = (2, 3)


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def regular(seed, connectivity, shape=SHAPE):
    """Costs and tables of either sign; no table is symmetric or 0 between equal labels."""
    draw = np.random.default_rng(seed)
    costs = draw.integers(-9, 9, (2, *shape))
    pairs = {}
    for name in (FOUR if connectivity == 4 else EIGHT)[::2]:
        table = draw.integers(-6, 6, (2, 2, *shape))
        lacking = table[0, 0] + table[1, 1] - table[0, 1] - table[1, 0]
        table[0, 1] += np.maximum(lacking, 0) * draw.integers(0, 2, shape)
        table[1, 0] += np.maximum(table[0, 0] + table[1, 1] - table[0, 1] - table[1, 0], 0)
        pairs[name] = table
    return costs, pairs


def spelt_out(costs, pairs, labels):
    """The energy, pixel by pixel."""
    height, width = labels.shape
    total = 0
    for y, x in product(range(height), range(width)):
        total += costs[labels[y, x]][y, x]
        for name, table in pairs.items():
            v, u = y + STEP[name][0], x + STEP[name][1]
            if 0 <= v < height and 0 <= u < width:
                total += table[labels[y, x], labels[v, u], y, x]
    return total


def every_labelling():
    return [np.reshape(bits, SHAPE) for bits in product((0, 1), repeat=SHAPE[0] * SHAPE[1])]


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("solver", ["push_relabel", "gpu_relabel"])
def test_no_labelling_has_less_energy(connectivity, solver):
    for seed in range(12 if solver == "push_relabel" else 3):
        costs, pairs = regular(seed, connectivity)
        found = least_energy(costs, pairs, connectivity, solver=solver)
        least = min(spelt_out(costs, pairs, labels) for labels in every_labelling())
        assert found.value == spelt_out(costs, pairs, found.labels) == least
        assert found.proof.ok
        assert found.solved.solver == solver


def test_each_labelling_s_energy_is_its_cut_and_the_constant():
    costs, pairs = regular(3, 8)
    whole = energies.energy_of(costs, pairs, 8)
    graph, constant = whole.cut()
    for labels in every_labelling():
        cut = graph.source[labels == 1].sum() + graph.sink[labels == 0].sum()
        for name, capacity in graph.arcs.items():
            down, right = STEP[name]
            there = np.roll(labels, (-down, -right), (0, 1))
            cut += capacity[(labels == 0) & (there == 1)].sum()
        assert whole.of(labels) == spelt_out(costs, pairs, labels) == cut + constant


def test_a_move_of_an_expansion_is_such_an_energy():
    """The instances' own construction, for the Potts energy, written without this one."""
    draw = np.random.default_rng(1)
    first, second = draw.integers(0, 256, (2, 5, 7, 3)).astype(np.uint8)
    shifts, alpha = np.array([(0, 0), (0, -1), (1, 0)]), 1
    labels = draw.integers(0, 3, (5, 7))
    cost = np.stack([image_energies.differences(first, second, shift) for shift in shifts])
    keep = np.take_along_axis(cost, labels[None], axis=0)[0]
    pairs = {}
    for name in ("right", "down"):
        apart = image_energies.potts_weights(first, name)
        weight = np.pad(apart, [(0, 5 - apart.shape[0]), (0, 7 - apart.shape[1])])
        down, right = STEP[name]
        other = np.roll(labels, (-down, -right), (0, 1))
        differ = (labels != other, labels != alpha, other != alpha, labels != labels)
        a, b, c, d = (weight * one for one in differ)
        pairs[name] = np.array([[a, b], [c, d]])
    graph, constant = energies.energy_of((keep, cost[alpha]), pairs).cut()
    theirs, told = image_energies.expansion_move(first, second, shifts, labels, alpha)
    assert constant == told
    assert np.array_equal(graph.source, theirs.source)
    assert np.array_equal(graph.sink, theirs.sink)
    assert all(np.array_equal(graph.arcs[name], theirs.arcs[name]) for name in FOUR)


def test_one_table_and_scalars_are_for_the_whole_image():
    bright = np.array([[9, 8, 1], [7, 2, 0]])
    found = least_energy((9 - bright, bright), [[0, 2], [2, 0]])
    each = np.broadcast_to(np.reshape([[0, 2], [2, 0]], (2, 2, 1, 1)), (2, 2, 2, 3))
    same = least_energy((9 - bright, bright), each)
    assert found.value == same.value == 12
    assert found.labels.tolist() == [[0, 0, 1], [0, 1, 1]]
    assert least_energy((0, np.ones((2, 2))), [[0, 1], [1, 0]]).labels.tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"pairs": [[1, 0], [0, 0]]},
            r"the pair right of row 0, column 0 is not regular: .* = 1 is",
        ),
        ({"pairs": {"right": [[0, 1], [1, 0]]}}, "directions right, down, not"),
        ({"pairs": [0, 1]}, r"a pair's table is 2 x 2"),
        ({"pairs": [[0, 0.5], [1, 0]]}, "right holds a value that is no whole number"),
        ({"costs": (1, 2, 3)}, "there are two labels, and costs of 3"),
        ({"costs": (1, 2)}, "an image has height and width"),
        ({"costs": (np.ones((2, 3)), np.ones((3, 2)))}, "shapes do not go together"),
        ({"costs": ([[1, 2], [3]], 1)}, "the cost of label 0 is no array"),
        ({"costs": (np.full((1, 2), 2**59), 0)}, "add up to"),
        ({"costs": (np.full((1, 2), 2**63, np.uint64), 0)}, "add up to"),
        ({"connectivity": 6}, "neither 4 nor 8"),
    ],
)
def test_what_no_cut_tells_is_refused_with_a_reason(given, message):
    usual = {"costs": (np.ones((1, 2), int), np.zeros((1, 2), int)), "pairs": [[0, 1], [1, 0]]}
    with pytest.raises(NetworkError, match=message):
        least_energy(**{**usual, **given})


def test_a_table_at_the_edge_is_of_no_pair():
    pairs = {name: np.zeros((2, 2, 1, 2), int) for name in ("right", "down")}
    pairs["right"][0, 0, 0, 1] = pairs["down"][0, 0] = 7
    assert least_energy((np.zeros((1, 2), int), 1), pairs).value == 0


def test_a_cut_that_is_not_the_labels_energy_is_found(monkeypatch):
    honest = energies.Energy.cut
    monkeypatch.setattr(energies.Energy, "cut", lambda self: (honest(self)[0], 5))
    with pytest.raises(FlowError, match="the labels' energy is"):
        calls.least_energy(*regular(1, 4), 4, calls.Wishes(_paper()))


def _paper():
    from papers.lupinska_costscale import PAPER

    return PAPER
