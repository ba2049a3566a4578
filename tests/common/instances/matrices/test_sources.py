"""The sources of instances, files and arrays."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from papers.common import instances
from papers.common.instances import matrices
from papers.common.instances.families import StorageError
from papers.common.instances.matrices import sources
from papers.common.model import Instance
from papers.common.problems import blocks

FAMILIES = {
    "uniform": "10n", "uniform_double": "10n", "adversarial": "n", "constant": "n",
    "geometric": "1000", "planted": "500",
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [1, 5, 18])
def test_a_block_has_the_bits_of_the_whole(family, n):
    instance = Instance(family, n, FAMILIES[family], seed=6)
    whole, source = instances.draw(instance), sources.as_source(instance)
    assert source.shape == whole.shape
    for rows in ((0, n), (n // 3, n), (0, 0)):
        for columns in ((0, n), (n // 2, n)):
            block = source.block(rows, columns)
            assert block.dtype == whole.dtype == source.dtype
            assert np.array_equal(block, whole[slice(*rows), slice(*columns)])
    some = np.arange(n), np.arange(n)[::-1].copy()
    found = blocks.entries(source, *some)
    assert found.dtype == whole.dtype
    assert np.array_equal(found, whole[some])
    with pytest.raises(ValueError, match="not lines"):
        source.block((0, n + 1), (0, n))


def test_a_file_is_read_by_block(tmp_path):
    cost = np.arange(36).reshape(6, 6)
    np.save(tmp_path / "c.npy", cost)
    source = sources.as_source(tmp_path / "c.npy")
    assert isinstance(source.array, np.memmap)
    assert np.array_equal(source.block((2, 4), (1, 6)), cost[2:4, 1:6])
    assert source.fingerprint() == sources.as_source(cost).fingerprint()
    assert source.fingerprint() != sources.as_source(cost + 1).fingerprint()


def test_what_no_array_holds_is_refused_by_name():
    for cost, text in (
        (np.ma.masked_equal(np.eye(3), 0), "masked costs"),
        (csr_array(np.eye(3)), "sparse costs"),
        (np.zeros(3), "1-D array"),
        (np.full((2, 2), "a"), "integers or floats"),
    ):
        with pytest.raises(ValueError, match=text):
            sources.as_source(cost)
    assert sources.as_source([[True, False]]).dtype == np.int8


def test_families_that_depend_on_what_comes_before_are_refused():
    with pytest.raises(ValueError, match="by block"):
        sources.as_source(Instance("lopes_cpp", 5, "n"))


def test_host_strips_are_drawn_by_the_formula():
    rows = instances.host_strips(Instance("uniform", 30, "n/2", seed=9, storage="device"))
    whole = matrices.uniform(30, 9, cost_range=15)
    for start, stop in [(0, 12), (12, 30), (3, 3), (29, 30), (0, 30)]:
        np.testing.assert_array_equal(rows(start, stop), whole[start:stop])
    with pytest.raises(StorageError, match="cannot be drawn by block; those can: uniform"):
        instances.host_strips(Instance("lopes_cpp", 30, "n"))


def test_host_strips_share_their_memory():
    rows = instances.host_strips(Instance("uniform", 30, "n"))
    first = rows(0, 20)
    assert np.shares_memory(first, rows(20, 30))
