"""Cuts of photographs by name: segmentations, and expansion moves of stereo and optical flow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from papers.common.instances.flows import image_energies
from papers.common.problems.network import Grid


def segmentation(n: int, seed: int = 1, *, name: str) -> Grid:
    """Cut a photograph, `n` pixels a side, into object and background; `seed` has no effect.

    Parameters
    ----------
    n : int
        Pixels a side.
    seed : int
        It has no effect.
    name : str
        One of `papers.common.instances.flows.image_energies.PORTRAITS`.
    """
    return image_energies.segmentation(n, name)


def stereo_move(n: int, seed: int = 1, *, alpha: int) -> Grid:
    """Make the first expansion move of a stereo matching a cut; `seed` has no effect.

    Before the move every pixel has the disparity that costs it the least by itself.

    Parameters
    ----------
    n : int
        Height of the two photographs, pixels.
    seed : int
        It has no effect.
    alpha : int
        The disparity that may expand, 0 .. 29.

    Raises
    ------
    ValueError
        If there is no such disparity.
    """
    return _move(n, image_energies.stereo_shifts, alpha)


def flow_move(n: int, seed: int = 1, *, alpha: int) -> Grid:
    """Make the first expansion move of an optical flow a cut; `seed` has no effect.

    Parameters
    ----------
    n : int
        Height of the two photographs, pixels.
    seed : int
        It has no effect.
    alpha : int
        The shift that may expand, 0 .. 44.

    Raises
    ------
    ValueError
        If there is no such shift.
    """
    return _move(n, image_energies.flow_shifts, alpha)


def _move(n: int, shifts_of: Callable[[int], np.ndarray], alpha: int) -> Grid:
    first, second = image_energies.stereo_pair(n)
    shifts = shifts_of(first.shape[1])
    if not 0 <= alpha < len(shifts):
        raise ValueError(f"label {alpha} is none of 0 .. {len(shifts) - 1}")
    labels = image_energies.cheapest(first, second, shifts)
    return image_energies.expansion_move(first, second, shifts, labels, alpha)[0]
