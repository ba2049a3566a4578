"""Photographs as instances: the photos that ship with scikit-image, and costs between them."""

from __future__ import annotations

import numpy as np

PHOTOS = ("astronaut", "coffee", "chelsea", "rocket")
"""Names in `skimage.data` whose files are part of the package, so that no network is needed."""


def photo(name: str, side: int) -> np.ndarray:
    """Return a photograph, cropped to its central square and scaled down.

    Parameters
    ----------
    name : str
        One of `PHOTOS`.
    side : int
        Pixels a side.

    Returns
    -------
    uint8[side, side, 3]
        RGB.

    Raises
    ------
    ValueError
        For a name that is not in `PHOTOS`.
    """
    if name not in PHOTOS:
        raise ValueError(f"photo {name!r} is not one of {', '.join(PHOTOS)}")
    import skimage.data
    from skimage.transform import resize

    full = getattr(skimage.data, name)()[..., :3]
    edge = min(full.shape[:2])
    top, left = (full.shape[0] - edge) // 2, (full.shape[1] - edge) // 2
    square = full[top : top + edge, left : left + edge]
    scaled = resize(square, (side, side), anti_aliasing=True, preserve_range=True)
    return np.clip(np.rint(scaled), 0, 255).astype(np.uint8)


def colour_distances(
    n: int, seed: int = 1, *, source: str = "coffee", target: str = "astronaut"
) -> np.ndarray:
    """Compute the squared RGB distances between the pixels of two photographs of the same size.

    Assigning each place of `target` a pixel of `source` at the smallest total distance rearranges
    one photograph into the other.

    Parameters
    ----------
    n : int
        Pixels: a square number.
    seed : int
        Not used: the photographs are fixed.
    source, target : str
        Names in `PHOTOS`.

    Returns
    -------
    int32[n, n]
        ``cost[i, j] = |target pixel i - source pixel j|**2``, at most 3 * 255**2.

    Raises
    ------
    ValueError
        If `n` is not a square number, or for an unknown photograph.
    """
    side = round(max(n, 0) ** 0.5)
    if side * side != n:
        raise ValueError(f"n={n} pixels do not make a square photo")
    if n == 0:
        return np.zeros((0, 0), np.int32)
    there = photo(target, side).reshape(n, 3).astype(np.int32)
    here = photo(source, side).reshape(n, 3).astype(np.int32)
    squares = (there**2).sum(axis=1)[:, None] + (here**2).sum(axis=1)[None, :]
    return (squares - 2 * there @ here.T).astype(np.int32)
