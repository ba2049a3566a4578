"""The costs' way to the device: a large matrix arrives in chunks, and is checked there.

[DN16] has no word on it but that its times hold "the time required for initialization of arrays".
At n = 20,000 the way takes longer than the search: a pass over 1.6 GB to find their range and a
copy through the driver's small buffer. Here threads fill pinned chunks while others travel
(`papers.common.gpu.copying`), and the range is found on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.common.gpu.copying import to_device_by_chunks
from papers.common.problems.costs_on_device import ResidentCosts, bounds
from papers.datenagi2016.configuration import Configuration

LEAST_BYTES = 256 << 20
"""Bytes from which the chunks are worth their threads and their pinned memory: n = 8192."""


def is_taken(cost: Any, maximize: bool, dtype: Any, configuration: Configuration) -> bool:
    """Return whether a matrix goes in chunks: square int32, minimized as it is, large enough."""
    if not configuration.staged or maximize or not isinstance(cost, np.ndarray):
        return False
    if dtype not in (None, "int32", np.int32, np.dtype(np.int32)) or cost.dtype != np.int32:
        return False
    square = cost.ndim == 2 and cost.shape[0] == cost.shape[1] and cost.flags.c_contiguous
    return square and not isinstance(cost, np.ma.MaskedArray) and cost.nbytes >= LEAST_BYTES


def arrived(cost: np.ndarray, factor: int) -> ResidentCosts | np.ndarray:
    """Bring a matrix to the device and check it there.

    Parameters
    ----------
    cost : int32[n, n]
        One that `is_taken`.
    factor : int
        See `papers.common.problems.costs_on_device.prepare_resident`.

    Returns
    -------
    ResidentCosts, or `cost`
        `cost` itself if its entries must be shifted or widened, which is the host's to do: negative
        ones, or so large that int32 would overflow.
    """
    there = to_device_by_chunks(cost)
    low, high = bounds(there)
    if low < 0 or high > int(np.iinfo(np.int32).max) // factor:
        return cost
    return ResidentCosts(there, low, high)
