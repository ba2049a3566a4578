"""Matrices drawn in device memory have the bits of the host's."""

import numpy as np
import pytest

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.instances import matrices
from papers.common.instances.matrices import on_device, streams
from papers.common.instances.matrices.formulas import Planted, Uniform


@pytest.fixture(autouse=True)
def _executor():
    with device.executing(Executor()):
        yield


RANGES = [1, 7, 1000, 70000, 2**31]


@pytest.mark.parametrize("cost_range", RANGES)
@pytest.mark.parametrize("seed", [0, 1, 2**40 + 3])
@pytest.mark.parametrize("n", [1, 2, 5, 16, 23])
def test_the_same_bits_as_on_the_host(n, cost_range, seed):
    costs = on_device.draw_uniform(n, cost_range, seed)
    wanted = matrices.uniform(n, seed, cost_range=cost_range)
    np.testing.assert_array_equal(device.to_host(costs.array), wanted)
    assert (costs.low, costs.high) == (wanted.min(), wanted.max())
    assert costs.shape == (n, n)
    assert costs.dtype == np.int32


def test_counters_that_pass_2_to_the_64(monkeypatch):
    """The key may be close below 2**64; entries further on wrap to small counters."""
    monkeypatch.setattr(streams, "stream_key", lambda *_: 2**64 - 20)
    drawn = on_device.draw_uniform(9, 1000, 1).array
    np.testing.assert_array_equal(drawn, matrices.uniform(9, 1, cost_range=1000))


@pytest.mark.parametrize("rows", [(4, 10), (0, 19), (18, 19), (3, 3)])
@pytest.mark.parametrize("columns", [(3, 10), (0, 19), (7, 7)])
def test_a_block_has_the_bits_of_the_host_s(rows, columns):
    formula = Uniform(19, 8, cost_range=190)
    array, low, high = on_device.draw_block(formula, rows, columns)
    block = formula.block(rows, columns)
    if not block.size:
        assert (len(array), low, high) == (1, 0, 0)
        return
    np.testing.assert_array_equal(device.to_host(array).reshape(block.shape), block)
    assert (low, high) == (block.min(), block.max())


def test_a_formula_without_counters_is_refused():
    with pytest.raises(ValueError, match="Planted has no counters"):
        on_device.draw(Planted(5))
    with pytest.raises(ValueError, match="Planted has no counters"):
        on_device.draw_block(Planted(5), (0, 5), (0, 2))


@pytest.mark.parametrize(("n", "cost_range"), [(-1, 5), (3, 0), (3, 2**31 + 1)])
def test_bad_draws_are_refused(n, cost_range):
    with pytest.raises(ValueError, match=r"order|cost_range"):
        on_device.draw_uniform(n, cost_range, 1)
