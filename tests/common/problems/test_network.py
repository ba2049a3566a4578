"""Networks and grids: which arcs are paired, and which input is refused."""

import numpy as np
import pytest

from papers.common.problems.network import (
    FOUR,
    STEP,
    ArcList,
    NetworkError,
    flow_on_arcs,
    grid,
    image_of,
    inner,
    network,
)


def small_grid(height=3, width=4, directions=FOUR, seed=0):
    rng = np.random.default_rng(seed)
    arcs = {
        name: np.where(inner((height, width), name), rng.integers(0, 9, (height, width)), 0)
        for name in directions
    }
    source, sink = rng.integers(0, 9, (2, height, width))
    return grid(source, sink, arcs)


def test_arcs_are_paired_and_parallel_ones_added():
    net = network([0, 0, 1, 1, 2], [1, 1, 2, 1, 0], [3, 4, 5, 9, 2], 3, 0, 2)
    assert net.arcs == 6
    found = dict(zip(zip(net.tail, net.head, strict=True), net.capacity, strict=True))
    assert found == {(0, 1): 7, (1, 0): 0, (1, 2): 5, (2, 1): 0, (2, 0): 2, (0, 2): 0}
    np.testing.assert_array_equal(net.mate[net.mate], np.arange(6))
    np.testing.assert_array_equal(net.head[net.mate], net.tail)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (([0, 0], [1, 1], [2, -1], 2, 0, 1), "capacity is negative at place 1: -1"),
        (([], [], [], 0, 0, 0), "the network has no nodes"),
        (([0], [1], [0.5], 2, 0, 1), "whole number"),
        (([0], [2], [1], 2, 0, 1), "head is no node"),
        (([0], [1], [1], 2, 0, 0), "one node"),
        (([0], [1], [1], 2, 0, 2), "outside"),
        (([0], [1], [2**62], 2, 0, 1), "2\\*\\*62"),
        (([0], [1], [1, 2], 2, 0, 1), "capacities"),
    ],
)
def test_what_is_no_network(arguments, reason):
    with pytest.raises(NetworkError, match=reason):
        network(*arguments)


def test_what_is_no_grid():
    arcs = {name: np.zeros((2, 2), int) for name in FOUR}
    leaving = {**arcs, "right": np.ones((2, 2), int)}
    zero = np.zeros((2, 2), int)
    for source, these, reason in (
        (zero, leaving, "leaves the image"),
        (zero, {"right": zero}, "directions"),
        (np.zeros(4, int), arcs, "height and width"),
        (np.zeros((3, 2), int), arcs, "shape"),
        (zero - np.eye(2, dtype=int)[::-1], arcs, "source is negative at row 0, column 1: -1"),
    ):
        with pytest.raises(NetworkError, match=reason):
            grid(source, zero, these)


@pytest.mark.parametrize("directions", [FOUR, tuple(STEP)])
def test_a_grid_and_its_network_are_the_same(directions):
    image = small_grid(directions=directions)
    net = image.network()
    assert net.nodes == image.nodes
    found = dict(zip(zip(net.tail, net.head, strict=True), net.capacity, strict=True))
    for name in directions:
        down, right = STEP[name]
        for y, x in np.argwhere(image.arcs[name]):
            assert found[y * 4 + x, (y + down) * 4 + x + right] == image.arcs[name][y, x]
    whole = sum(int(a.sum()) for a in (image.source, image.sink, *image.arcs.values()))
    assert int(net.capacity.sum()) == whole


def test_arcs_are_kept_on_request():
    tail, head, capacity = [0, 0, 1, 1], [1, 1, 1, 2], [3, 4, 8, 5]
    assert network(tail, head, capacity, 3, 0, 2).given is None
    given = network(tail, head, capacity, 3, 0, 2, keep=True).given
    assert [column.tolist() for column in given] == [tail, head, capacity]


@pytest.mark.parametrize("seed", range(10))
def test_flow_on_arcs_adds_up_to_the_flow_of_each_pair(seed):
    """Of every pair one direction carries the net flow, filled from the first arc on."""
    draw = np.random.default_rng(seed)
    tail, head = draw.integers(0, 5, (2, 30))
    arcs = ArcList(tail, head, draw.integers(0, 7, 30))
    net = network(*arcs, 5, 0, 4)
    pairs = np.minimum(np.arange(net.arcs), net.mate)
    left = draw.integers(0, 1 + (net.capacity + net.capacity[net.mate])[pairs])[pairs]
    forward = np.arange(net.arcs) < net.mate
    residual = np.where(forward, left, net.capacity + net.capacity[net.mate] - left)
    flow = flow_on_arcs(net, residual, arcs)
    assert ((flow >= 0) & (flow <= arcs.capacity)).all()
    sent = net.capacity - residual
    for a in range(net.arcs):
        own = (tail == net.tail[a]) & (head == net.head[a])
        assert flow[own].sum() == max(0, sent[a])
        before = np.cumsum(arcs.capacity[own]) - arcs.capacity[own]
        assert (flow[own] == np.clip(sent[a] - before, 0, arcs.capacity[own])).all()
    assert not flow[tail == head].any()


def test_too_many_to_number():
    with pytest.raises(NetworkError, match="32 bits"):
        network([0], [1], [1], 2**31, 0, 1)


def test_the_form_of_an_instance():
    image, net = small_grid(), network([0], [1], [1], 2, 0, 1)
    assert image_of(image) is image
    assert image_of(net) is None
    assert net.network() is net
    with pytest.raises(NetworkError, match="not of a ndarray"):
        image_of(np.zeros((2, 2)))
