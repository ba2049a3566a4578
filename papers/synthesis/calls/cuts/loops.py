"""The compiled loops of `papers.synthesis.calls.cuts.layout`: one pass over each band of rows."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def lay_ends(source, sink, first, stop, to_source, to_sink):
    """Lay out a band of rows of both terminals.

    Parameters
    ----------
    source, sink : int[height, width]
    first, stop : int
        The rows.
    to_source, to_sink : int32[rows, columns]
        At least so many; nothing is written beside the image.

    Returns
    -------
    seen, tied : int64
        The bits in use and the pixels with an arc, as `papers.synthesis.calls.cuts.layout.Seen`.
    """
    seen, tied = np.int64(0), np.int64(0)
    for y in range(first, stop):
        for x in range(source.shape[1]):
            out, into = np.int64(source[y, x]), np.int64(sink[y, x])
            seen |= out | into
            tied += (out | into) != 0
            to_source[y, x] = out
            to_sink[y, x] = into
    return seen, tied


@njit(cache=True, nogil=True)
def lay_arcs(given, first, stop, down, right, target):
    """Lay out a band of rows of one direction; as `lay_ends`.

    Parameters
    ----------
    down, right : int
        The direction's step. Arcs that leave the image are looked at, and have no capacity.

    Returns
    -------
    seen : int64
    """
    height, width = given.shape
    seen = np.int64(0)
    for y in range(first, stop):
        for x in range(width):
            value = given[y, x]
            seen |= value
            target[y, x] = value
        if right > 0:
            target[y, width - 1] = 0
        elif right < 0:
            target[y, 0] = 0
        if not 0 <= y + down < height:
            target[y, :width] = 0
    return seen
