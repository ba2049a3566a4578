"""The graph families: counts that are known from elsewhere, and what their definitions say."""

import hashlib

import numba
import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial.distance import pdist, squareform

from papers.common import instances
from papers.common.instances.graphs import deep, edge_lists, kron, plane, random_ends, stand_ins
from papers.common.instances.graphs.edge_lists import Draws, graph_of
from papers.common.model import Instance
from papers.common.problems.graph import GraphError, bipartite


def draw(family, n, label, seed=1, permuted=False):
    return instances.draw(Instance(family, n, label, seed=seed, permuted=permuted))


def cardinality(graph):
    found = maximum_bipartite_matching(graph.matrix().tocsr(), perm_type="column")
    return int((found >= 0).sum())


def is_symmetric(graph):
    rxadj, radj = graph.by_rows
    return np.array_equal(rxadj, graph.cxadj) and np.array_equal(radj, graph.cadj)


def distances(graph):
    """How far apart the numbers of neighbours are."""
    columns = np.repeat(np.arange(graph.columns), np.diff(graph.cxadj))
    return np.abs(columns - graph.cadj)


# ------------------------------------------------------------------------------- edge lists


@pytest.mark.parametrize(("rows", "columns", "count"), [(7, 4, 60), (500, 90, 3000), (3, 3, 0)])
def test_an_edge_list_becomes_the_same_graph_as_by_scipy(rows, columns, count):
    draws = Draws(5)
    row = (draws.fractions(count) * rows).astype(np.int64)
    column = (draws.fractions(count) ** 4 * columns).astype(np.int64)
    found = graph_of((row, column), rows, columns)
    expected = bipartite(coo_array((np.ones(count), (row, column)), shape=(rows, columns)))
    np.testing.assert_array_equal(found.cxadj, expected.cxadj)
    np.testing.assert_array_equal(found.cadj, expected.cadj)
    assert (found.cxadj.dtype, found.cadj.dtype) == (np.int32, np.int32)


def test_a_graph_does_not_depend_on_the_number_of_cores():
    drawn = {}
    many = numba.get_num_threads()
    for threads in {1, many}:
        numba.set_num_threads(threads)
        try:
            graph = stand_ins.stand_in(5000, 2, name="com-LiveJournal")
        finally:
            numba.set_num_threads(many)
        drawn[threads] = hashlib.sha256(graph.cadj.tobytes()).hexdigest()
    assert len(set(drawn.values())) == 1


@pytest.mark.parametrize("ends", [([0, 3], [0, 0]), ([0], [-1]), ([0], [2])])
def test_ends_outside_are_refused(ends):
    with pytest.raises(GraphError, match="outside"):
        graph_of(tuple(map(np.array, ends)), 3, 2)


def test_streams_are_independent_and_follow_from_the_seed():
    one, other = Draws(1), Draws(2)
    first, second, third = one.fractions(1000), one.fractions(1000), other.fractions(1000)
    for a, b in ((first, second), (first, third)):
        assert abs(np.corrcoef(a, b)[0, 1]) < 0.15
    np.testing.assert_array_equal(Draws(1).fractions(10), first[:10])
    assert 0 <= first.min() < 0.01
    assert 0.99 < first.max() < 1
    assert sorted(one.permutation(50)) == list(range(50))


# ------------------------------------------------------------------------------- both ends random


@pytest.mark.parametrize(
    ("family", "n", "label", "edges", "matched"),
    [
        ("uniform_graph", 2000, "d3", 5995, 1862),
        ("uniform_graph", 10000, "d3", 29993, 9301),
        ("skew_graph", 2000, "d8", 14625, 1851),
        ("skew_graph", 10000, "d8", 76490, 9216),
    ],
)
def test_the_graphs_that_other_codes_were_timed_on(family, n, label, edges, matched):
    graph = draw(family, n, label)
    assert (graph.edges, cardinality(graph)) == (edges, matched)
    assert graph.shape == (n, n)


def test_layers_lead_to_the_next_one_alone():
    """Ten layers of ten columns, and a last one of the five that are left."""
    graph = random_ends.layered_graph(105, 3, degree=2)
    column, row = np.repeat(np.arange(105), np.diff(graph.cxadj)) // 10, graph.cadj // 10
    further = row - column
    assert set(further) == {0, 1}
    assert graph.edges <= 105 * 2 + 100 * 2
    assert np.count_nonzero(further == 1) > 150
    assert np.count_nonzero(column == 10) > 0
    assert random_ends.layered_graph(105, 3, degree=0).edges == 0
    with pytest.raises(ValueError, match="degree=-1 is negative"):
        random_ends.layered_graph(105, 3, degree=-1)


# ------------------------------------------------------------------------------- of points


@pytest.mark.parametrize(("exponent", "published"), [(10, 6112), (12, 24528), (14, 98244)])
def test_delaunay_has_the_published_size_up_to_the_hull(exponent, published):
    graph = draw("delaunay", 1 << exponent, f"n{exponent}")
    assert graph.edges == pytest.approx(published, abs=24)
    assert is_symmetric(graph)
    assert not graph.matrix().diagonal().any()


def test_delaunay_is_numbered_as_the_real_one():
    """Quartiles of the real delaunay_n15: 2, 27 and 13186 of 32768; the mean is 0.195 n."""
    apart = distances(draw("delaunay", 1 << 15, "n15"))
    low, middle, high = np.percentile(apart, [25, 50, 75])
    assert low <= 3
    assert middle < 40
    assert high == pytest.approx(13186, rel=0.05)
    assert apart.mean() / (1 << 15) == pytest.approx(0.195, abs=0.01)


def test_rounds_are_nested_and_each_follows_the_curve():
    x, y = Draws(3).fractions(2 * 1000).reshape(2, 1000)
    order = plane.in_rounds(x, y)
    assert sorted(order) == list(range(1000))
    place = plane.hilbert_index(x, y)
    for start, stop in ((250, 1000), (62, 250), (15, 62), (3, 15), (0, 3)):
        assert sorted(order[start:stop]) == list(range(start, stop))
        assert (np.diff(place[order[start:stop]]) >= 0).all()


def test_the_hilbert_curve_goes_from_cell_to_neighbour():
    side = 16
    x, y = (np.indices((side, side)).reshape(2, -1) + 0.5) / side
    order = np.argsort(plane.hilbert_index(x, y))
    steps = np.abs(np.diff(x[order])) + np.abs(np.diff(y[order]))
    np.testing.assert_allclose(steps, 1 / side)


@pytest.mark.parametrize(("exponent", "published"), [(15, 320480), (16, 684254)])
def test_rgg_has_nearly_the_published_size(exponent, published):
    graph = draw("rgg", 1 << exponent, f"n_2_{exponent}_s0")
    assert graph.edges == pytest.approx(published, rel=0.01)


def test_rgg_is_numbered_as_the_real_one():
    """Quartiles of the real rgg_n_2_15_s0: 32, 66 and 103, at most 16552."""
    apart = distances(draw("rgg", 1 << 15, "n_2_15_s0"))
    np.testing.assert_allclose(np.percentile(apart, [25, 50, 75]), [32, 66, 103], rtol=0.05)
    assert apart.max() == pytest.approx(16552, rel=0.02)


@pytest.mark.parametrize("n", [2, 5, 64, 700])
def test_rgg_joins_the_points_that_are_near(n):
    graph = plane.rgg(n, 4)
    x, y = Draws(4).fractions(2 * n).reshape(2, n)
    order = np.lexsort([x, y >= 0.5])
    apart = squareform(pdist(np.column_stack([x[order], y[order]])))
    near = apart < 0.55 * np.sqrt(np.log(n) / n)
    np.fill_diagonal(near, False)
    np.testing.assert_array_equal(graph.matrix().toarray(), near)


def test_a_mesh_dual_is_a_mesh_dual():
    """hugetrace and hugebubbles have 2.9994 and 2.9992 neighbours a vertex."""
    graph = draw("mesh_dual", 20000, "hugetrace")
    degrees = np.diff(graph.cxadj)
    assert degrees.max() == 3
    assert degrees.mean() == pytest.approx(2.999, abs=0.012)
    assert is_symmetric(graph)
    assert np.median(distances(graph)) < 10


# ------------------------------------------------------------------------------- R-MAT


def test_kron_has_nearly_the_published_size():
    """kron_g500-logn16: 4912469 nonzeros, 327 loops; plain R-MAT falls about 1% short."""
    graph = draw("kron", 1 << 16, "logn16")
    assert graph.edges == pytest.approx(4912469, rel=0.015)
    assert graph.matrix().diagonal().sum() == pytest.approx(327, rel=0.2)
    assert is_symmetric(graph)


def test_kron_draws_its_quarters_as_often_as_it_should():
    row, column = kron._rmat(200_000, 6, np.uint64(7))
    for half in (1, 8, 32):
        quarter = 2 * (row // half % 2) + column // half % 2
        shares = np.bincount(quarter, minlength=4) / row.size
        np.testing.assert_allclose(shares, kron.QUARTERS, atol=0.006)


@pytest.mark.parametrize("n", [0, 3, 100])
def test_kron_has_a_power_of_two_rows(n):
    with pytest.raises(ValueError, match=f"not {n}"):
        kron.kron(n)


# ------------------------------------------------------------------------------- stand-ins

LAWS = [name for name, real in stand_ins.REAL.items() if real.kind in stand_ins._LAWS]


@pytest.mark.parametrize("name", LAWS)
def test_a_stand_in_has_the_shape_of_the_real_one(name):
    n = 30_000
    real = stand_ins.REAL[name]
    graph = draw("stand_in", n, name)
    assert graph.shape == (n, n)
    assert graph.edges / n == pytest.approx(real.mean_degree, rel=0.02)
    assert is_symmetric(graph) == real.symmetric


def matched_share(name, n=30_000):
    return cardinality(draw("stand_in", n, name)) / n


def test_a_circuit_has_a_perfect_matching_and_it_is_not_the_diagonal():
    graph = draw("stand_in", 30_000, "Hamrle3")
    assert cardinality(graph) == 30_000
    assert graph.matrix().diagonal().sum() < 20_000


def test_what_keeps_each_kind_from_a_perfect_matching():
    assert 0.95 < matched_share("roadNet-CA") < 1  # dead ends
    assert 0.95 < matched_share("italy_osm") < 1
    assert 0.4 < matched_share("wb-edu") < 0.8  # few finders of many pages
    assert 0.7 < matched_share("soc-LiveJournal1") < 0.97  # hubs
    assert matched_share("patents") == pytest.approx(1 - stand_ins._SILENT, abs=0.02)
    assert 0.85 < matched_share("coPapersDBLP") < 1


def test_osm_is_made_of_chains():
    """luxembourg_osm, a real one: 85% of two neighbours, numbered in a row."""
    graph = draw("stand_in", 30_000, "italy_osm")
    degrees = np.diff(graph.cxadj)
    assert np.mean(degrees == 2) > 0.8
    assert np.percentile(distances(graph), 75) == 1


def test_offers_are_at_most_ten():
    rxadj, _ = draw("stand_in", 20_000, "amazon0505").by_rows
    assert np.diff(rxadj).max() == 10


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17])
@pytest.mark.parametrize("name", [n for n, r in stand_ins.REAL.items() if r.kind != "kron"])
def test_the_smallest_stand_ins(name, n):
    assert draw("stand_in", n, name).shape == (n, n)


def test_an_unknown_stand_in():
    with pytest.raises(ValueError, match="there are roadNet-CA"):
        draw("stand_in", 10, "nobody")


# ------------------------------------------------------------------------------- deep ones


def test_deep_graphs_are_what_they_say():
    np.testing.assert_array_equal(
        deep.path(3).matrix().toarray(), [[0, 1, 1], [1, 1, 0], [1, 0, 0]]
    )
    np.testing.assert_array_equal(deep.triangle(3).matrix().toarray(), np.tri(3).T)
    squares = deep.grid(6).matrix().toarray()  # lines of two: 0-1, 2-3, 4-5
    assert [tuple(np.flatnonzero(row)) for row in squares] == [
        (1, 2), (0, 3), (0, 3, 4), (1, 2, 5), (2, 5), (3, 4)
    ]  # fmt: skip
    assert deep.path(1).edges == deep.triangle(1).edges == 1
    assert deep.grid(1).edges == 0


# ------------------------------------------------------------------------------- by name

CASES = [
    ("uniform_graph", 50, "d3"),
    ("skew_graph", 50, "d2.5"),
    ("layered_graph", 50, "d2"),
    ("delaunay", 64, "n6"),
    ("rgg", 64, "n_2_6_s0"),
    ("kron", 64, "logn6"),
    ("mesh_dual", 50, "a mesh"),
    ("stand_in", 50, "Hamrle3"),
]


@pytest.mark.parametrize(("family", "n", "label"), CASES)
def test_every_family_is_seeded_and_has_a_permuted_form(family, n, label):
    graph, again = draw(family, n, label, 3), draw(family, n, label, 3)
    np.testing.assert_array_equal(graph.cadj, again.cadj)
    assert not np.array_equal(graph.cadj, draw(family, n, label, 4).cadj)
    shuffled = draw(family, n, label, 3, permuted=True)
    np.testing.assert_array_equal(shuffled.cxadj, graph.permuted(3).cxadj)
    np.testing.assert_array_equal(shuffled.cadj, graph.permuted(3).cadj)
    assert shuffled.edges == graph.edges


@pytest.mark.parametrize(
    ("family", "n", "label"),
    [
        ("uniform_graph", 50, "3"),
        ("skew_graph", 50, "d-1"),
        ("delaunay", 65, "n6"),
        ("delaunay", 64, "n7"),
        ("rgg", 64, "n6"),
        ("kron", 64, "n6"),
    ],
)
def test_labels_that_do_not_fit(family, n, label):
    with pytest.raises(ValueError, match=r"label|name"):
        draw(family, n, label)


def test_the_degree_may_come_from_the_parameters():
    by_params = instances.draw(Instance("uniform_graph", 60, "x", (("degree", 4),), 2))
    np.testing.assert_array_equal(by_params.cadj, draw("uniform_graph", 60, "d4", 2).cadj)
    with pytest.raises(ValueError, match="negative"):
        random_ends.uniform_graph(5, degree=-1)


def test_long_and_short_lines_are_sorted():
    for size in (0, 1, 2, 31, 32, 33, 500):
        line = (Draws(size).fractions(size) * 100).astype(np.int32)
        expected = np.sort(line)
        edge_lists._sort(line)
        np.testing.assert_array_equal(line, expected)
