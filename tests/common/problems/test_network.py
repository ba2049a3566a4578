"""Networks and grids: what is paired, what is refused, and what `settle` makes of preflows."""

import numpy as np
import pytest

from papers.common.model import Instance
from papers.common.problems import flow_proof, residuals
from papers.common.problems.network import FOUR, STEP, Grid, NetworkError, grid, inner, network
from papers.common.problems.residuals import FlowError, join, settle, split


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
        (([0], [1], [-1], 2, 0, 1), "negative"),
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
        (zero - 1, arcs, "negative"),
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


def test_join_undoes_split():
    image = small_grid()
    back = join(image, split(image))
    for name, array in {"source": image.source, "sink": image.sink, **image.arcs}.items():
        np.testing.assert_array_equal(back[name], array)
    net = image.network()
    np.testing.assert_array_equal(join(net, split(net)), net.capacity)


# ------------------------------------------------------------------------------- settle


def saturated(instance):
    """Saturate what leaves the source: the first preflow."""
    if isinstance(instance, Grid):
        return {"source": 0 * instance.source, "sink": instance.sink.copy(), **instance.arcs}
    left = instance.capacity.copy()
    for a in range(instance.first[instance.source], instance.first[instance.source + 1]):
        left[instance.mate[a]] += left[a]
        left[a] = 0
    return left


def wander(net, left, rng, steps=200):
    """Push excess about at random, never to the sink or the source; cycles included."""
    for _ in range(steps):
        excess = np.zeros(net.nodes, np.int64)
        np.add.at(excess, net.tail, left - net.capacity)
        excess[[net.source, net.sink]] = 0
        free = (left > 0) & (excess[net.tail] > 0)
        free &= (net.head != net.source) & (net.head != net.sink)
        if not free.any():
            return
        a = rng.choice(np.flatnonzero(free))
        amount = int(min(left[a], excess[net.tail[a]]))
        left[a] -= amount
        left[net.mate[a]] += amount


@pytest.mark.parametrize("seed", range(20))
def test_stranded_excess_goes_back_by_any_way(seed):
    """Without a way to the sink the maximum flow is 0, however the excess has wandered."""
    rng = np.random.default_rng(seed)
    image = small_grid(4, 5, tuple(STEP) if seed % 2 else FOUR, seed)
    image = Grid(image.source, 0 * image.sink, image.arcs)
    net = image.network()
    left = saturated(net)
    wander(net, left, rng)
    answer = settle(net, left, {"pushes": 3})
    assert (answer.value, answer.counters) == (0, {"pushes": 3})
    assert flow_proof.flow(net, answer).ok
    assert answer.source_side[:-1].all()


def test_a_cycle_of_flow_is_cancelled():
    """The source feeds 1; 1, 2 and 3 send each other two units around; one is stranded at 2."""
    net = network([0, 1, 2, 3, 3], [1, 2, 3, 1, 4], [3, 5, 2, 2, 0], 5, 0, 4)
    left = net.capacity.copy()
    for tail, head, amount in ((0, 1, 1), (1, 2, 3), (2, 3, 2), (3, 1, 2)):
        a = np.flatnonzero((net.tail == tail) & (net.head == head))[0]
        left[a] -= amount
        left[net.mate[a]] += amount
    answer = settle(net, left)
    np.testing.assert_array_equal(answer.residual, net.capacity)


def test_settle_refuses_what_is_no_maximum_preflow():
    net = network([0, 1], [1, 2], [4, 3], 3, 0, 2)
    with pytest.raises(FlowError, match="not maximum"):
        settle(net, saturated(net))
    left = net.capacity.copy()
    left[net.tail == 1] = [0, 0]
    with pytest.raises(FlowError, match="no preflow"):
        settle(net, left)
    with pytest.raises(NetworkError, match="shape"):
        settle(net, left[:-1])
    with pytest.raises(NetworkError, match="called"):
        settle(small_grid(), {})
    with pytest.raises(NetworkError, match="not of a ndarray"):
        split(np.zeros(3))


def test_distances_are_those_of_a_breadth_first_search():
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    from papers.common import instances

    image = instances.draw(Instance("random_grid", 6, "2", seed=3))
    for instance in (image, image.network()):
        parts = split(instance)
        height, levels = residuals.distances(parts.arcs, parts.between, parts.sink, 99)
        net = image.network()
        kept = net.capacity > 0
        back = (net.capacity[kept], (net.head[kept], net.tail[kept]))
        pattern = csr_array(back, shape=(net.nodes, net.nodes))
        expected = shortest_path(pattern, unweighted=True, indices=net.sink)[:36]
        np.testing.assert_array_equal(height[:36], np.where(np.isinf(expected), 99, expected))
        assert levels == expected[np.isfinite(expected)].max()
