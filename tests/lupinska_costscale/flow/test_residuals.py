"""Terminals apart and back again; distances to the sink."""

import numpy as np

from papers.common.model import Instance
from papers.common.problems.network import FOUR, grid, inner, network
from papers.lupinska_costscale.flow.residuals import distances, join, split


def small_grid(height=3, width=4, directions=FOUR, seed=0):
    rng = np.random.default_rng(seed)
    arcs = {
        name: np.where(inner((height, width), name), rng.integers(0, 9, (height, width)), 0)
        for name in directions
    }
    source, sink = rng.integers(0, 9, (2, height, width))
    return grid(source, sink, arcs)


def test_join_undoes_split():
    image = small_grid()
    back = join(image, split(image))
    for name, array in {"source": image.source, "sink": image.sink, **image.arcs}.items():
        np.testing.assert_array_equal(back[name], array)
    net = image.network()
    np.testing.assert_array_equal(join(net, split(net)), net.capacity)


def test_a_network_is_parted_from_its_terminals_and_joined_again():
    """Random ones, with arcs into the source, out of the sink, and straight between the two."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        nodes = int(rng.integers(2, 9))
        ends = rng.integers(0, nodes, (2, int(rng.integers(0, 30))))
        net = network(*ends, rng.integers(0, 9, ends.shape[1]), nodes, 0, nodes - 1)
        parts = split(net)
        between = {(x, y): c for x, y, c in zip(net.tail, net.head, net.capacity, strict=True)}
        for x in range(nodes):
            proper = 0 < x < nodes - 1
            assert parts.source[x] == (between.get((0, x), 0) if proper else 0)
            assert parts.sink[x] == (between.get((x, nodes - 1), 0) if proper else 0)
        assert parts.direct == between.get((0, nodes - 1), 0)
        inside = (net.tail % (nodes - 1) != 0) & (net.head % (nodes - 1) != 0)
        assert np.array_equal(parts.between, np.where(inside, net.capacity, 0))
        whole = join(net, parts)
        free = (net.head != 0) & (net.tail != nodes - 1)  # what leads back gets what is left
        assert np.array_equal(whole[free], net.capacity[free])
        assert np.array_equal(whole + whole[net.mate], net.capacity + net.capacity[net.mate])


def test_distances_are_those_of_a_breadth_first_search():
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    from papers.common import instances

    image = instances.draw(Instance("random_grid", 6, "2", seed=3))
    for instance in (image, image.network()):
        parts = split(instance)
        height, levels = distances(parts.arcs, parts.between, parts.sink, 99)
        net = image.network()
        kept = net.capacity > 0
        back = (net.capacity[kept], (net.head[kept], net.tail[kept]))
        pattern = csr_array(back, shape=(net.nodes, net.nodes))
        expected = shortest_path(pattern, unweighted=True, indices=net.sink)[:36]
        np.testing.assert_array_equal(height[:36], np.where(np.isinf(expected), 99, expected))
        assert levels == expected[np.isfinite(expected)].max()
