"""Optical flow as an assignment of the patches of one frame to those of another."""

from __future__ import annotations

import numpy as np


def patch_costs(
    first: np.ndarray, second: np.ndarray, side: int, step: int, reach: int, most: int = 100
) -> np.ndarray:
    """Return assignment problems between the patches of two frames, one a row of patches.

    Parameters
    ----------
    first, second : uint8[height, width]
    side, step : int
        Side of a patch, and the distance of their corners, in pixels.
    reach : int
        Largest displacement to the left, in patches; a pair beyond it or to the right costs `most`.
    most : int
        Largest cost, the paper's C.

    Returns
    -------
    int64[rows, n, n]
        Mean absolute grey difference, cut off at `most`, of patch i of `first` and j of `second`.
    """
    height, width = first.shape
    tops = range(0, height - side + 1, step)
    lefts = range(0, width - side + 1, step)
    windows = []
    for frame in (first, second):
        view = np.lib.stride_tricks.sliding_window_view(frame.astype(np.int64), (side, side))
        windows.append(view[::step, ::step].reshape(len(tops), len(lefts), side * side))
    place = np.arange(len(lefts))
    shift = place[:, None] - place[None, :]
    outside = (shift < 0) | (shift > reach)
    made = np.empty((len(tops), len(lefts), len(lefts)), np.int64)
    for row, (here, there) in enumerate(zip(*windows, strict=True)):
        difference = np.abs(here[:, None] - there[None, :]).sum(axis=2) // side**2
        made[row] = np.where(outside, most, np.minimum(difference, most))
    return made
