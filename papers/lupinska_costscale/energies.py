"""Labelling energies and the cuts that lower them: what the paper's graph cuts are for.

An energy is a sum of what each pixel's label costs and of a weight for each pair of neighbours with
different labels. An expansion move offers one label, alpha, to all pixels at once; the best answer
is a minimum cut [LU11 sec.1, its references 11 and 12], by Kolmogorov and Zabih's construction: for
neighbours p, q with costs A (both keep), B (q alone changes), C (p alone), D (both) the arc p -> q
has capacity B + C - A - D, and the rest are costs of single pixels.

Everything is in whole numbers, so an energy and a cut are equal or they are not.
"""

from __future__ import annotations

import numpy as np

from papers.common.network import FOUR, Grid, grid

NEXT = ("right", "down")
"""Each pair of neighbours once."""


def shifted(array: np.ndarray, direction: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the views of an array that pair each pixel with its neighbour at the right or below.

    Parameters
    ----------
    array : array[height, width]
    direction : {"right", "down"}
    """
    if direction == "right":
        return array[:, :-1], array[:, 1:]
    return array[:-1], array[1:]


def energy(data: np.ndarray, weights: dict[str, np.ndarray], labels: np.ndarray) -> int:
    """Return the energy of a labelling.

    Parameters
    ----------
    data : int64[labels, height, width]
        What each label costs at each pixel.
    weights : mapping of {"right", "down"} to int64
        Weight of each pair of neighbours, of the shape of `shifted`'s views.
    labels : int[height, width]
    """
    whole = int(np.take_along_axis(data, labels[None], axis=0).sum())
    for direction in NEXT:
        here, there = shifted(labels, direction)
        whole += int(weights[direction][here != there].sum())
    return whole


def expansion(
    data: np.ndarray, weights: dict[str, np.ndarray], labels: np.ndarray, alpha: int
) -> tuple[Grid, int]:
    """Return the cut that decides who changes to `alpha`, and what is added to its value.

    Parameters
    ----------
    data, weights, labels
        As for `energy`.
    alpha : int
        The label on offer. A pixel on the sink's side takes it.

    Returns
    -------
    Grid, int
        The least energy after the move is the cut's value plus the constant.
    """
    keep = np.take_along_axis(data, labels[None], axis=0)[0].astype(np.int64)
    change = data[alpha].astype(np.int64)
    arcs = {name: np.zeros(labels.shape, np.int64) for name in FOUR}
    constant = 0
    for direction in NEXT:
        here, there = shifted(labels, direction)
        weight = weights[direction]
        both, second, first = (
            weight * (here != there), weight * (here != alpha), weight * (there != alpha),
        )  # fmt: skip
        constant += int(both.sum())
        of_first, of_second = shifted(change, direction)
        of_first += first - both
        of_second -= first
        shifted(arcs[direction], direction)[0][:] = second + first - both
    least = np.minimum(keep, change)
    return grid(change - least, keep - least, arcs), constant + int(least.sum())


# ------------------------------------------------------------------------------- two frames


def displacements(
    first: np.ndarray, second: np.ndarray, steps: np.ndarray, most: int = 40
) -> np.ndarray:
    """Return the truncated grey difference of each displacement to the left at each pixel.

    Parameters
    ----------
    first, second : uint8[height, width]
    steps : int[labels]
        Displacements in pixels: a pixel of `first` at x is sought in `second` at x - step.
    most : int
        Where the differences are cut off, and the cost of looking outside the frame.

    Returns
    -------
    int64[labels, height, width]
    """
    found = np.full((len(steps), *first.shape), most, np.int64)
    here, there = first.astype(np.int64), second.astype(np.int64)
    for label, step in enumerate(steps):
        width = first.shape[1] - int(step)
        if width > 0:
            difference = np.abs(here[:, step:] - there[:, :width])
            found[label, :, step:] = np.minimum(difference, most)
    return found


def potts(frame: np.ndarray, weight: int, near: int = 8) -> dict[str, np.ndarray]:
    """Return weights of neighbours: doubled where their grey values differ by less than `near`."""
    made = {}
    for direction in NEXT:
        here, there = shifted(frame.astype(np.int64), direction)
        made[direction] = np.where(np.abs(here - there) < near, 2 * weight, weight)
    return made


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
        Largest displacement to the left, in patches; beyond it and to the right a pair costs most.
    most : int
        Largest cost: the paper's C.

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
