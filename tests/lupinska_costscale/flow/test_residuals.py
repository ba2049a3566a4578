"""Terminals apart and back again; distances to the sink."""

import numpy as np

from papers.common.model import Instance
from papers.common.problems.network import FOUR, grid, inner
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
