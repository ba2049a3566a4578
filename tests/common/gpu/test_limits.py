"""Limits of types and grids."""

import numpy as np
import pytest

from papers.common.gpu import limits


@pytest.mark.parametrize("kind", ["uint8", "int32", "int64", "float32", "float64"])
def test_extremes_are_scalars_of_their_type(kind):
    dtype = np.dtype(kind)
    top, bottom = limits.largest(dtype), limits.smallest(dtype)
    assert top.dtype == bottom.dtype == dtype
    values = np.array([top, 0, bottom], dtype)
    assert values.max() == top
    assert values.min() == bottom
    if dtype.kind == "f":
        assert np.isposinf(top)
        assert np.isneginf(bottom)
    else:
        assert (int(bottom), int(top)) == (np.iinfo(dtype).min, np.iinfo(dtype).max)


@pytest.mark.parametrize(("items", "blocks"), [(0, 1), (1, 1), (32, 1), (33, 2), (64, 2)])
def test_a_grid_has_a_thread_for_every_item(items, blocks):
    assert limits.blocks_for(items, 32) == blocks
    assert limits.grid_for(items, 32) == (blocks, 32)
