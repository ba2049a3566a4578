"""A cut that starts from the residual capacities of an earlier one, of other capacities.

Whatever flow was found before, its residual capacities and the changes since make an equivalent
instance: every cut of it weighs as much less as that flow was worth. Capacities that this makes
negative are mended: a pair of arcs moves its deficit to the opposite arc and the two pixels'
terminals, and a pixel's two terminal arcs may change by the same amount, since every cut holds one
of them. Source: P. Kohli, P. Torr, ICCV 2005 (for a video's next frame); K. Alahari, P. Kohli,
P. Torr, CVPR 2008 (for the same label's next expansion).

This is the way on the host, where the solver tells residual capacities and takes others. The moves
of `gpu_relabel` are made on the device, where less has to be kept: see `calls.moves.kernels`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from papers.common.problems.network import STEP, Grid


def carried_over(new: Grid, old: Grid, residual: Mapping[str, np.ndarray]) -> Grid:
    """Return a grid with the minimum cuts of `new`, into which an old flow was put already.

    Parameters
    ----------
    new, old : Grid
        Of the same shape and directions.
    residual : mapping of str to int64[height, width]
        Residual capacities of a flow of `old`, as in `papers.common.model.Flow`, or of a grid that
        this function has made for `old`.

    Returns
    -------
    Grid
        Its cuts weigh what those of `new` weigh, less a constant.
    """
    source = residual["source"] + (new.source - old.source)
    sink = residual["sink"] + (new.sink - old.sink)
    arcs = {name: residual[name] + (new.arcs[name] - old.arcs[name]) for name in new.arcs}
    names = list(arcs)
    for forth, back in zip(names[::2], names[1::2], strict=True):
        here, there = ends(new.shape, forth)
        _mend(arcs[forth][here], arcs[back][there], source[here], source[there])
        _mend(arcs[back][there], arcs[forth][here], source[there], source[here])
    common = np.minimum(source, sink)
    return Grid(source - common, sink - common, arcs)


def _mend(mine: np.ndarray, opposite: np.ndarray, tail: np.ndarray, head: np.ndarray) -> None:
    """Move the deficits of some arcs to the opposite ones; all four are views, and are changed.

    With ``x = 1`` on the sink's side, ``-k (1 - x_p) x_q = k x_p - k x_q - k x_p (1 - x_q)``.
    """
    deficit = np.maximum(-mine, 0)
    mine += deficit
    opposite -= deficit
    tail += deficit
    head -= deficit


def ends(shape: tuple[int, int], name: str) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """Return the pixels that have an arc in a direction, and those it leads to, as slices."""
    pairs = [_along(size, step) for size, step in zip(shape, STEP[name], strict=True)]
    return (pairs[0][0], pairs[1][0]), (pairs[0][1], pairs[1][1])


def _along(size: int, step: int) -> tuple[slice, slice]:
    if step >= 0:
        return slice(0, max(0, size - step)), slice(step, size)
    return slice(-step, size), slice(0, max(0, size + step))
