"""Blocks are the bits of the whole; splits and their errors."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from papers.common.gpu import device
from papers.common.instances import generators, parts
from papers.common.model import Instance
from papers.common.problems import costs_on_device

FAMILIES = {
    "uniform": "10n", "uniform_double": "10n", "adversarial": "n", "constant": "n",
    "geometric": "1000", "planted": "500",
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [1, 5, 18])
def test_a_block_has_the_bits_of_the_whole(family, n):
    instance = Instance(family, n, FAMILIES[family], seed=6)
    whole, source = generators.draw(instance), parts.as_source(instance)
    assert source.shape == whole.shape
    for rows in ((0, n), (n // 3, n), (0, 0)):
        for columns in ((0, n), (n // 2, n)):
            block = source.block(rows, columns)
            assert block.dtype == whole.dtype == source.dtype
            assert np.array_equal(block, whole[slice(*rows), slice(*columns)])
    some = np.arange(n), np.arange(n)[::-1].copy()
    found = parts.entries(source, *some)
    assert found.dtype == whole.dtype
    assert np.array_equal(found, whole[some])
    with pytest.raises(ValueError, match="not lines"):
        source.block((0, n + 1), (0, n))


def test_drawn_in_device_memory_it_has_the_same_bits():
    device.select("cpu")
    source = parts.as_source(Instance("uniform_parts", 19, "10n", seed=8))
    key, wide = source.counters
    array, low, high = costs_on_device.draw_uniform_block(6, 7, key + 4 * 19 + 3, 19, wide)
    block = source.block((4, 10), (3, 10))
    assert np.array_equal(array.reshape(6, 7), block)
    assert (low, high) == (block.min(), block.max())
    assert costs_on_device.draw_uniform_block(6, 0, key, 19, wide)[1:] == (0, 0)


def test_a_file_is_read_by_part(tmp_path):
    cost = np.arange(36).reshape(6, 6)
    np.save(tmp_path / "c.npy", cost)
    source = parts.as_source(tmp_path / "c.npy")
    assert isinstance(source.array, np.memmap)
    assert np.array_equal(source.block((2, 4), (1, 6)), cost[2:4, 1:6])
    assert source.fingerprint() == parts.as_source(cost).fingerprint()
    assert source.fingerprint() != parts.as_source(cost + 1).fingerprint()


def test_what_no_array_holds_is_refused_by_name():
    for cost, text in (
        (np.ma.masked_equal(np.eye(3), 0), "masked costs"),
        (csr_array(np.eye(3)), "sparse costs"),
        (np.zeros(3), "1-D array"),
        (np.full((2, 2), "a"), "integers or floats"),
    ):
        with pytest.raises(ValueError, match=text):
            parts.as_source(cost)
    assert parts.as_source([[True, False]]).dtype == np.int8


def test_families_that_depend_on_what_comes_before_are_refused():
    with pytest.raises(ValueError, match="by part"):
        parts.as_source(Instance("lopes_cpp", 5, "n"))


@pytest.mark.parametrize("ranks", range(1, 9))
@pytest.mark.parametrize("n", [8, 9, 15, 16, 31])
def test_a_split_is_whole_and_even(n, ranks):
    bounds = parts.split(n, ranks)
    assert bounds[0][0] == 0
    assert bounds[-1][1] == n
    assert all(a[1] == b[0] for a, b in pairwise(bounds))
    assert max(b - a for a, b in bounds) == -(-n // ranks)


def test_bad_splits_have_a_name():
    with pytest.raises(parts.SplitError, match="smaller than the number of ranks"):
        parts.split(3, 4)
    with pytest.raises(parts.SplitError, match="0 ranks"):
        parts.split(3, 0)
    whole = parts.as_source(np.eye(8))
    assert parts.read_block(whole, (0, 4), (0, 8)).shape == (4, 8)
    with pytest.raises(parts.SplitError, match=r"are 4 x 8, their source gives shape \(3, 8\)"):
        parts.read_block(whole, (5, 9), (0, 8))
