"""The identity of data: the same numbers give the same checksum, other numbers another one."""

import hashlib

import numpy as np
import pytest
from scipy.sparse import coo_array

from papers.common import instances
from papers.common.model import Instance
from papers.common.problems import identity
from papers.common.problems.graph import bipartite
from papers.common.problems.network import EIGHT, FOUR, grid, network

PATTERN = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 1, 1]])


def test_the_checksum_of_a_graph_is_that_of_its_pattern_by_rows():
    found = identity.of_data(bipartite(PATTERN))
    numbers = np.array([0, 2, 2, 5, 0, 2, 1, 2, 3], "<i8")
    assert found.sha256 == hashlib.sha256(numbers.tobytes()).hexdigest()
    assert (found.rows, found.columns, found.entries) == (3, 4, 5)
    assert list(found.row()) == ["rows", "columns", "entries", "sha256"]


def test_neither_values_nor_the_order_of_entries_nor_duplicates_matter():
    row, column = np.nonzero(PATTERN)
    back = np.arange(row.size)[::-1]
    twice = np.append(back, 0)
    other = coo_array((np.arange(6.0), (row[twice], column[twice])), shape=PATTERN.shape)
    assert identity.of_data(bipartite(other)) == identity.of_data(bipartite(PATTERN))


@pytest.mark.parametrize("change", [(0, 1), (1, 0), (2, 1)])
def test_one_entry_more_or_less_is_another_graph(change):
    other = PATTERN.copy()
    other[change] = 1 - other[change]
    assert identity.of_data(bipartite(other)).sha256 != identity.of_data(bipartite(PATTERN)).sha256
    assert identity.degrees(bipartite(other)) != identity.degrees(bipartite(PATTERN))


def test_numbers_of_vertices_matter_to_the_pattern_and_not_to_the_degrees():
    graph = bipartite(np.triu(np.ones((9, 9))))
    other = graph.permuted(3)
    assert identity.of_data(other).sha256 != identity.of_data(graph).sha256
    assert identity.degrees(other) == identity.degrees(graph)
    turned = bipartite(np.ones((2, 3)))
    assert identity.degrees(turned) != identity.degrees(bipartite(np.ones((3, 2))))


def test_a_large_array_is_summed_block_by_block(monkeypatch):
    whole = np.arange(1000)
    expected = hashlib.sha256(whole.astype("<i8").tobytes()).hexdigest()
    monkeypatch.setattr(identity, "_BLOCK", 7)
    assert identity.checksum([whole.astype(np.int16)[:600], whole[600:]]) == expected


def image(names):
    arrays = {name: np.zeros((2, 3), int) for name in names}
    arrays["right"][0, 0] = 4
    return grid(np.eye(2, 3, dtype=np.uint8), np.ones((2, 3), int), arrays)


def test_costs_grids_and_networks():
    costs = np.arange(6).reshape(2, 3)
    found = identity.of_data(costs)
    assert (found.rows, found.columns, found.entries) == (2, 3, 6)
    assert found == identity.of_data(costs.astype(np.uint8))
    assert found.sha256 != identity.of_data(costs.astype(float)).sha256
    found = identity.of_data(image(FOUR))
    assert (found.rows, found.columns, found.entries) == (2, 3, 1)
    assert found.sha256 != identity.of_data(image(EIGHT)).sha256
    arcs = network([0, 0, 1], [1, 1, 2], [3, 4, 6], 3, 0, 2)
    found = identity.of_data(arcs)
    assert (found.rows, found.columns, found.entries) == (3, 3, 2)
    assert found == identity.of_data(network([1, 0, 2], [2, 1, 2], [6, 7, 9], 3, 0, 2))
    assert found.sha256 != identity.of_data(network([1, 0], [2, 1], [6, 7], 3, 0, 1)).sha256
    assert found.sha256 != identity.of_data(network([1, 0], [2, 1], [7, 6], 3, 0, 2)).sha256
    with pytest.raises(TypeError, match="str is no data"):
        identity.of_data("graph")


def test_instances_of_files_and_photographs_have_an_identity_and_those_of_a_rule_none():
    costs = np.arange(4).reshape(2, 2)
    expected = identity.of_data(costs).row()
    assert instances.identify(Instance("colours", 4, "x"), costs) == expected
    graph = bipartite(PATTERN)
    assert instances.identify(Instance("matrix", 3, "m"), graph)["entries"] == 5
    assert instances.identify(Instance("uniform", 2, "n"), costs) == {}
    assert instances.identify(Instance("uniform", 2, "n")) == {}
