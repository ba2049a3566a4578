"""What `settle` makes of preflows, and what it refuses."""

import numpy as np
import pytest

from papers.common.problems import flow_proof
from papers.common.problems.network import (
    FOUR,
    STEP,
    FlowError,
    Grid,
    NetworkError,
    grid,
    inner,
    network,
)
from papers.lupinska_costscale.flow.residuals import split
from papers.lupinska_costscale.flow.settle import settle


def small_grid(height=3, width=4, directions=FOUR, seed=0):
    rng = np.random.default_rng(seed)
    arcs = {
        name: np.where(inner((height, width), name), rng.integers(0, 9, (height, width)), 0)
        for name in directions
    }
    source, sink = rng.integers(0, 9, (2, height, width))
    return grid(source, sink, arcs)


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
