"""Splits of matrices into strips, blocks of sources, and their errors."""

from itertools import pairwise

import numpy as np
import pytest

from papers.common.problems import blocks


@pytest.mark.parametrize("ranks", range(1, 9))
@pytest.mark.parametrize("n", [8, 9, 15, 16, 31])
def test_a_split_is_whole_and_even(n, ranks):
    bounds = blocks.split(n, ranks)
    assert bounds[0][0] == 0
    assert bounds[-1][1] == n
    assert all(a[1] == b[0] for a, b in pairwise(bounds))
    assert max(b - a for a, b in bounds) == -(-n // ranks)


def test_bad_splits_have_a_name():
    with pytest.raises(blocks.SplitError, match="smaller than the number of ranks"):
        blocks.split(3, 4)
    with pytest.raises(blocks.SplitError, match="0 ranks"):
        blocks.split(3, 0)
    whole = blocks.ArraySource(np.eye(8))
    assert blocks.read_block(whole, (0, 4), (0, 8)).shape == (4, 8)
    with pytest.raises(blocks.SplitError, match=r"are 4 x 8, their source gives shape \(3, 8\)"):
        blocks.read_block(whole, (5, 9), (0, 8))


class Squares:
    """A caller's own source: blocks and nothing else."""

    shape, dtype = (6, 6), np.dtype(np.int64)

    def __init__(self):
        self.asked = []

    def block(self, rows, columns):
        self.asked.append((rows, columns))
        return np.arange(*rows)[:, None] ** 2 + np.arange(*columns)[None, :]

    def fingerprint(self):
        return "squares"


def test_single_entries_are_asked_for_as_blocks():
    mine = Squares()
    assert isinstance(mine, blocks.Source)
    found = blocks.entries(mine, np.array([1, 5]), np.array([4, 0]))
    assert found.tolist() == [5, 25]
    assert mine.asked == [((1, 2), (4, 5)), ((5, 6), (0, 1))]
    assert blocks.entries(mine, np.zeros(0, int), np.zeros(0, int)).dtype == np.int64


def test_a_source_may_have_entries_of_its_own():
    whole = blocks.ArraySource(np.arange(36).reshape(6, 6))
    assert blocks.entries(whole, np.array([1, 5]), np.array([4, 0])).tolist() == [10, 30]
