"""Finds whole numbers that become a Monge array once they are sorted, before anybody is chosen.

Where a GPU is at hand, sorting on one core is the faster way all the same, and a search there the
slower one (``evidence/sortable.csv``). So a call that has to choose asks for more than the sample
that `papers.synthesis.one_core.monge` takes. Numba is not loaded for it: the GPU, if it is chosen,
wakes while that happens (`papers.common.gpu.compiled.waking`).
"""

from __future__ import annotations

import numpy as np

SAMPLED = 8
"""Rows and columns of a sample, evenly spread."""

MOST_TURNS = 8
"""Times that both sides are sorted at most. Points of a line beyond all others are alike here, so
that the outermost ones are found step by step."""

SORTED_BELOW = 2**58
"""Duals of sorted lines add up a range of the costs for each row: that is less than this."""

EXACT = 2.0**51
"""Sums of two costs below this in size are exact in float64."""


def is_sortable(matrix: np.ndarray) -> bool:
    """Whether a square matrix of whole numbers becomes a Monge array once it is sorted.

    Most that do not are told by a sample of 64 entries, so that a call loses little time. The
    others' lines are sorted, and the inequalities along the diagonal are looked at, all of which
    have to hold: small changes of the costs violate some of them.

    Parameters
    ----------
    matrix : int[n, n]

    Returns
    -------
    bool
        False for orders below `SAMPLED`, for costs beyond `EXACT` or `SORTED_BELOW` in what is
        looked at, and where the sample's outermost inequality is an equation: sums of a row's and a
        column's number need no sorting.
    """
    n = matrix.shape[0]
    step = n // SAMPLED
    if not step:
        return False
    sample = matrix[: step * SAMPLED : step, : step * SAMPLED : step].astype(np.float64)
    rows, columns = in_order(sample)
    sample = sample[rows[:, None], columns]
    falls = sample[1:] - sample[:-1]
    if (falls[:, 1:] > falls[:, :-1]).any() or falls[:, 0].sum() == falls[:, -1].sum():
        return False
    rows, columns = in_order(matrix)
    before, after = slice(None, -1), slice(1, None)
    along, across, below, beyond = (
        matrix[rows[these], columns[those]].astype(np.float64)
        for these in (before, after)
        for those in (before, after)
    )
    # Products and convex functions of a difference are largest at a corner.
    corners = matrix[rows[[0, 0, -1, -1]], columns[[0, -1, 0, -1]]].astype(np.float64)
    looked_at = np.concatenate((along, beyond[-1:], corners))
    if np.abs(looked_at).max() >= EXACT or n * np.ptp(looked_at) >= SORTED_BELOW:
        return False
    return bool((along + beyond <= across + below).all())


def in_order(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows and the columns as `monge.sort_lines` orders them, until the outermost ones stay.

    Parameters
    ----------
    matrix : int[n, n] or float64[n, n]

    Returns
    -------
    rows, columns : int64[n]
    """
    ends = 0, -1
    for _ in range(MOST_TURNS):
        first, last = ends
        rows = np.argsort(matrix[:, first] - matrix[:, last].astype(np.float64))
        columns = np.argsort(matrix[rows[0]] - matrix[rows[-1]].astype(np.float64))
        ends = columns[0], columns[-1]
        if ends == (first, last):
            break
    return rows, columns
