"""Minimum cuts of images: energies over two labels a pixel, as grid networks.

Kolmogorov and Zabih's construction ("What energy functions can be minimized via graph cuts?",
PAMI 2004). An energy is a sum of costs ``D[p](x[p])`` of pixels and ``V(x[p], x[q])`` of
neighbours, with labels 0 (source's side of the cut) and 1 (sink's side). It is a cut's capacity,
up to a constant, if ``V(0, 0) + V(1, 1) <= V(0, 1) + V(1, 0)`` for every pair.

All photos are files of scikit-image's package, so that no network is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from papers.common.problems.network import FOUR, Grid, grid

PORTRAITS = ("camera", "astronaut", "coffee", "chelsea")
"""Names in `skimage.data` that can be segmented; the first is grey."""

SEED_COST = 10_000
"""The cost of the other label at a pixel of a seed: more than all its other arcs together."""

CONTRAST = 50
"""Capacity between two neighbours of equal colour."""

_BOX = (0.25, 0.59, 0.39, 0.51)  # top, bottom, left, right of the object's seed, as fractions
_FRAME = 6 / 512  # width of the background's seed
_TRUNCATION = 20  # largest difference of two pixels that counts
_SCALE = 2  # cost of a unit of difference
_POTTS = 5  # cost of two neighbours with different labels
_EVEN = 8  # difference of grey values below which it is twice that
_PAIRS: tuple[tuple[str, Any, Any], ...] = (
    ("right", np.s_[:, :-1], np.s_[:, 1:]),
    ("down", np.s_[:-1], np.s_[1:]),
)
"""Pairs of neighbours, by direction: the first ones, the second ones."""

_FULL_WIDTH = 741  # of the stereo pair


# ------------------------------------------------------------------------------- segmentation


def portrait(name: str, side: int) -> np.ndarray:
    """Return a photo's central square, scaled to `side` pixels a side.

    Returns
    -------
    uint8[side, side] or uint8[side, side, 3]

    Raises
    ------
    ValueError
        For a name that is not in `PORTRAITS`.
    """
    if name not in PORTRAITS:
        raise ValueError(f"photo {name!r} is not one of {', '.join(PORTRAITS)}")
    import skimage.data

    full = getattr(skimage.data, name)()
    edge = min(full.shape[:2])
    top, left = (full.shape[0] - edge) // 2, (full.shape[1] - edge) // 2
    return _scaled(full[top : top + edge, left : left + edge], (side, side))


def _scaled(photo: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    from skimage.transform import resize

    if photo.shape[:2] == shape:
        return photo
    smooth = shape[0] < photo.shape[0]
    drawn = resize(photo, shape, anti_aliasing=smooth, preserve_range=True)
    return np.clip(np.rint(drawn), 0, 255).astype(np.uint8)


def seeds(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixels that are said to be object, and those said to be background.

    Returns
    -------
    bool[side, side], bool[side, side]
        A box near the middle; the frame.
    """
    box, frame = np.zeros((side, side), bool), np.ones((side, side), bool)
    top, bottom, left, right = (round(part * side) for part in _BOX)
    box[top : max(bottom, top + 1), left : max(right, left + 1)] = True
    width = max(1, round(_FRAME * side))
    frame[width : side - width, width : side - width] = False
    return box & ~frame, frame


def segmentation(side: int, name: str = "camera") -> Grid:
    """Cut a photo into object and background: 4 neighbours, symmetric arcs.

    The cost of a label is ``-10 log p`` of the pixel's colour, by the histogram of that label's
    seed; of two neighbours with different labels it is `CONTRAST` times
    ``exp(-d**2 / mean(d**2))`` for the distance ``d`` of their colours. All are rounded.

    Parameters
    ----------
    side : int
        Pixels a side, at least 4.
    name : str
        One of `PORTRAITS`.

    Returns
    -------
    Grid
        The source's side is the object.

    Raises
    ------
    ValueError
        For an unknown name or a side below 4.
    """
    if side < 4:
        raise ValueError(f"a photo of {side} pixels a side has no room for two seeds")
    photo = portrait(name, side).reshape(side, side, -1)
    box, frame = seeds(side)
    bins = _bins(photo)
    as_object, as_background = (_surprise(bins, seed) for seed in (box, frame))
    as_background[box] = SEED_COST
    as_object[frame] = SEED_COST
    across, down = (_squares(photo, axis) for axis in (1, 0))
    whole = np.concatenate([across.ravel(), down.ravel()])
    mean = float(whole.mean()) or 1.0
    arcs = {name: np.zeros((side, side), np.int64) for name in FOUR}
    weight = np.rint(CONTRAST * np.exp(-across / mean)).astype(np.int64)
    arcs["right"][:, :-1] = arcs["left"][:, 1:] = weight
    weight = np.rint(CONTRAST * np.exp(-down / mean)).astype(np.int64)
    arcs["down"][:-1] = arcs["up"][1:] = weight
    return grid(as_background, as_object, arcs)


def _bins(photo: np.ndarray) -> np.ndarray:
    """Number each colour's histogram bin: 32 of grey, 8 x 8 x 8 of colour."""
    if photo.shape[2] == 1:
        return photo[..., 0].astype(np.int64) // 8
    return photo.astype(np.int64) // 32 @ np.array([64, 8, 1])


def _surprise(bins: np.ndarray, seed: np.ndarray) -> np.ndarray:
    """``-10 log p`` of each pixel's bin among a seed's pixels, every bin counted once more."""
    count = 32 if bins.max() < 32 else 512
    histogram = np.bincount(bins[seed], minlength=count) + 1.0
    return np.rint(-10 * np.log(histogram / histogram.sum())).astype(np.int64)[bins]


def _squares(photo: np.ndarray, axis: int) -> np.ndarray:
    """Return the squared distance of each pixel's colour to the next one's along an axis."""
    return (np.diff(photo.astype(np.float64), axis=axis) ** 2).sum(axis=2)


# ------------------------------------------------------------------------------- expansion moves


def stereo_pair(height: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the left and the right photo of `skimage.data.stereo_motorcycle`, scaled.

    Returns
    -------
    uint8[height, width, 3], uint8[height, width, 3]
    """
    import skimage.data

    left, right, _ = skimage.data.stereo_motorcycle()
    shape = (height, max(1, round(height * left.shape[1] / left.shape[0])))
    return _scaled(left, shape), _scaled(right, shape)


def stereo_shifts(width: int) -> np.ndarray:
    """Return the labels of a stereo matching: shifts to the left by up to 58 of 741 pixels.

    Returns
    -------
    int64[30, 2]
        Rows and columns from the left photo to the right one.
    """
    amount = np.rint(np.arange(0, 60, 2) * width / _FULL_WIDTH).astype(np.int64)
    return np.column_stack([np.zeros_like(amount), -amount])


def flow_shifts(width: int) -> np.ndarray:
    """Return the labels of an optical flow: up to one row, and columns as in stereo, coarser.

    Returns
    -------
    int64[45, 2]
    """
    columns = -np.rint(np.arange(0, 60, 4) * width / _FULL_WIDTH).astype(np.int64)
    return np.array([(row, column) for row in (-1, 0, 1) for column in columns])


def differences(first: np.ndarray, second: np.ndarray, shift: Sequence[int]) -> np.ndarray:
    """Return the cost of a shift at each pixel: truncated mean absolute difference, scaled.

    Parameters
    ----------
    first, second : uint8[height, width, channels]
    shift : (int, int)
        Rows and columns; a pixel from outside of `second` costs the most.

    Returns
    -------
    int64[height, width]
    """
    height, width = first.shape[:2]
    cost = np.full((height, width), _TRUNCATION * _SCALE, np.int64)
    down, right = int(shift[0]), int(shift[1])
    if abs(down) >= height or abs(right) >= width:
        return cost
    rows = slice(max(0, -down), height - max(0, down))
    columns = slice(max(0, -right), width - max(0, right))
    there = second[
        rows.start + down : rows.stop + down, columns.start + right : columns.stop + right
    ]
    apart = np.abs(first[rows, columns].astype(np.int64) - there).sum(axis=2)
    cost[rows, columns] = np.minimum(apart // first.shape[2], _TRUNCATION) * _SCALE
    return cost


def cheapest(first: np.ndarray, second: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Return each pixel's cheapest shift when it has no neighbours, the first of equal ones.

    Returns
    -------
    int64[height, width]
        Rows of `shifts`.
    """
    best = differences(first, second, shifts[0])
    labels = np.zeros(best.shape, np.int64)
    for label, shift in enumerate(shifts[1:], start=1):
        cost = differences(first, second, shift)
        labels[cost < best] = label
        np.minimum(best, cost, out=best)
    return labels


def expansion_move(
    first: np.ndarray, second: np.ndarray, shifts: np.ndarray, labels: np.ndarray, alpha: int
) -> tuple[Grid, int]:
    """Make a cut of one move of Boykov, Veksler and Zabih's alpha-expansion, for a Potts energy.

    Every pixel keeps its label (source's side) or takes `alpha` (sink's side).

    Parameters
    ----------
    first, second : uint8[height, width, 3]
    shifts : int64[labels, 2]
    labels : int64[height, width]
        Rows of `shifts`: the labelling before the move.
    alpha : int
        Row of `shifts`.

    Returns
    -------
    Grid
        One directed arc for each pair, right or down; one terminal capacity a pixel.
    constant : int
        The energy after the move is a cut's capacity plus this.
    """
    keep = np.zeros(labels.shape, np.int64)
    for label in np.unique(labels):
        here = labels == label
        keep[here] = differences(first, second, shifts[label])[here]
    take = differences(first, second, shifts[alpha])
    gain, constant = take - keep, int(keep.sum())
    arcs = {name: np.zeros(labels.shape, np.int64) for name in FOUR}
    for name, p, q in _PAIRS:
        weight = potts_weights(first, name)
        both_keep = weight * (labels[p] != labels[q])
        q_takes, p_takes = weight * (labels[p] != alpha), weight * (labels[q] != alpha)
        gain[p] += p_takes - both_keep
        gain[q] -= p_takes
        arcs[name][p] = q_takes + p_takes - both_keep
        constant += int(both_keep.sum())
    constant += int(np.minimum(gain, 0).sum())
    return grid(np.maximum(gain, 0), np.maximum(-gain, 0), arcs), constant


def potts_weights(photo: np.ndarray, direction: str) -> np.ndarray:
    """Return the cost of different labels of each pair, right or down: double where it is even.

    Returns
    -------
    int64[height, width - 1] or int64[height - 1, width]
    """
    grey = photo.astype(np.int64).mean(axis=2)
    apart = np.abs(np.diff(grey, axis=1 if direction == "right" else 0))
    return np.where(apart < _EVEN, 2 * _POTTS, _POTTS)


def labelling_energy(
    first: np.ndarray, second: np.ndarray, shifts: np.ndarray, labels: np.ndarray
) -> int:
    """Return the energy of a labelling: its differences, and its pairs of different labels."""
    energy = 0
    for label in np.unique(labels):
        energy += int(differences(first, second, shifts[label])[labels == label].sum())
    for name, p, q in _PAIRS:
        energy += int((potts_weights(first, name) * (labels[p] != labels[q])).sum())
    return energy
