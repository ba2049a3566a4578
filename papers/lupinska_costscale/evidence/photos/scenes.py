"""Scenes for the demonstrations: strokes on photos, and a made pair whose truth is known.

scikit-image's photos come without masks and without optical flow. So one scene is made of three of
its images: the silhouette of a horse is filled with one photo and stands before another, both with
noise; the second frame moves the two by different displacements. Mask and displacements are then
known at every pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from papers.common.instances.flows import image_energies

NOISE = 4.0
"""Standard deviation of the noise of each frame."""

MOVES = ((2, -3), (-1, 4))
"""Rows and columns that the background and the horse move from the first frame to the second."""

Line = Sequence[tuple[float, float]]

STROKES: dict[str, tuple[Sequence[Line], Sequence[Line]]] = {
    "camera": (
        [[(0.20, 0.42), (0.35, 0.30), (0.90, 0.20)], [(0.45, 0.50), (0.37, 0.58)],
         [(0.30, 0.55), (0.32, 0.62)], [(0.62, 0.58), (0.97, 0.48)], [(0.64, 0.60), (0.97, 0.78)]],
        [[(0.05, 0.10), (0.05, 0.90)], [(0.20, 0.75), (0.35, 0.90)], [(0.60, 0.45), (0.90, 0.40)],
         [(0.70, 0.90), (0.95, 0.88)], [(0.30, 0.05), (0.20, 0.20)], [(0.95, 0.62), (0.80, 0.62)]],
    ),
    "astronaut": (
        [[(0.08, 0.45), (0.32, 0.45)], [(0.52, 0.30), (0.70, 0.15), (0.95, 0.08)],
         [(0.62, 0.58), (0.90, 0.35)], [(0.40, 0.27), (0.52, 0.45), (0.40, 0.58)],
         [(0.72, 0.72), (0.95, 0.85)], [(0.90, 0.60), (0.75, 0.90)]],
        [[(0.02, 0.05), (0.50, 0.05)], [(0.30, 0.15), (0.40, 0.19)], [(0.05, 0.30), (0.30, 0.25)],
         [(0.10, 0.65), (0.38, 0.65)], [(0.05, 0.81), (0.50, 0.81)], [(0.60, 0.82), (0.62, 0.96)],
         [(0.20, 0.95), (0.50, 0.95)]],
    ),
    "coffee": (
        [[(0.10, 0.45), (0.30, 0.22), (0.50, 0.33)], [(0.20, 0.75), (0.45, 0.72)],
         [(0.30, 0.50), (0.45, 0.50)], [(0.55, 0.45), (0.57, 0.60)], [(0.60, 0.35), (0.72, 0.28)]],
        [[(0.05, 0.05), (0.30, 0.05)], [(0.05, 0.90), (0.40, 0.97)], [(0.95, 0.10), (0.97, 0.90)],
         [(0.50, 0.10), (0.85, 0.35)], [(0.88, 0.60), (0.50, 0.88)], [(0.30, 0.77), (0.75, 0.65)]],
    ),
}  # fmt: skip
"""By photo, a user's strokes on the object and on the background: corners, as parts of a side."""


@dataclass(frozen=True)
class Made:
    """A made pair.

    Attributes
    ----------
    first, second : uint8[height, width, 3]
    mask : bool[height, width]
        The horse in the first frame.
    truth : int64[height, width, 2]
        Rows and columns that each pixel of the first frame moves.
    """

    first: np.ndarray
    second: np.ndarray
    mask: np.ndarray
    truth: np.ndarray


def made_pair(height: int, seed: int = 1) -> Made:
    """Return the horse before a photo, in two frames.

    Parameters
    ----------
    height : int
        Pixels; the width is 400 of 328.
    seed : int
        Of the noise.
    """
    import skimage.data
    from skimage.transform import resize

    shape = height, round(height * 400 / 328)
    horse = resize(skimage.data.horse().astype(float), shape, order=1) < 0.5
    side = max(shape)
    photos = [image_energies.portrait(name, side)[: shape[0], : shape[1]].astype(np.float64)
              for name in ("chelsea", "coffee")]  # fmt: skip
    draw = np.random.default_rng(seed)
    frames = []
    for step in (0, 1):
        behind, before = (np.roll(photo, np.multiply(move, step), axis=(0, 1))
                          for photo, move in zip(photos, MOVES, strict=True))  # fmt: skip
        shown = np.roll(horse, np.multiply(MOVES[1], step), axis=(0, 1))
        frame = np.where(shown[..., None], before, behind) + draw.normal(0, NOISE, behind.shape)
        frames.append(np.clip(np.rint(frame), 0, 255).astype(np.uint8))
    truth = np.where(horse[..., None], MOVES[1], MOVES[0]).astype(np.int64)
    return Made(frames[0], frames[1], horse, truth)


def strokes_in(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return strokes along the middle of an object of known mask, and of what is around it."""
    from skimage.morphology import skeletonize

    return skeletonize(mask), skeletonize(~mask)


def strokes_on(name: str, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the strokes on one of the photos, `side` pixels a side."""
    from skimage.draw import line

    made = []
    for lines in STROKES[name]:
        mask = np.zeros((side, side), bool)
        for corners in lines:
            points = np.rint(np.array(corners) * (side - 1)).astype(int)
            for (top, left), (bottom, right) in pairwise(points):
                rows, columns = line(top, left, bottom, right)
                for wide in range(-max(1, side // 128), max(1, side // 128) + 1):
                    mask[np.clip(rows + wide, 0, side - 1), columns] = True
        made.append(mask)
    return made[0], made[1] & ~made[0]


def shifts(reach: int) -> np.ndarray:
    """Return all displacements of up to `reach` rows and columns, int64[labels, 2]."""
    span = np.arange(-reach, reach + 1)
    return np.array([(row, column) for row in span for column in span], np.int64)


def end_point_error(found: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean distance of the found displacements from the true ones, in pixels."""
    return float(np.hypot(*np.moveaxis(found - truth, -1, 0)).mean())
