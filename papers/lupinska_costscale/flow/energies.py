"""Energies of two labels a pixel as cuts of a grid.

An energy is a sum of costs ``D[p](x[p])`` of pixels and ``V[p, q](x[p], x[q])`` of neighbours, with
labels 0 (the source's side of a cut) and 1 (the sink's side). It is a cut's capacity, up to a
constant, if and only if every pair is regular: ``V(0, 0) + V(1, 1) <= V(0, 1) + V(1, 0)``. Source:
V. Kolmogorov, R. Zabih, "What energy functions can be minimized via graph cuts?", IEEE TPAMI 26,
2004, which [LU11 sec.1] names as the way from labels to maximum flow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.problems.network import (
    CAPACITY_LIMIT,
    EIGHT,
    FOUR,
    STEP,
    Grid,
    NetworkError,
    grid,
    inner,
)


@dataclass(frozen=True)
class Energy:
    """An energy, checked: all its pairs are regular.

    Attributes
    ----------
    costs : int64[2, height, width]
        By label.
    pairs : dict of str to int64[2, 2, height, width]
        By direction (``right``, ``down``, with 8 neighbours ``down_right`` and ``down_left``): the
        pixel's label, its neighbour's; 0 where the neighbour is outside.
    """

    costs: np.ndarray
    pairs: dict[str, np.ndarray]

    def of(self, labels: np.ndarray) -> int:
        """Return the energy of labels, int[height, width]."""
        total = int(np.where(labels, self.costs[1], self.costs[0]).sum())
        for name, table in self.pairs.items():
            there = _neighbours(labels, name)
            second = [np.where(there, row[1], row[0]) for row in table]
            total += int(np.where(labels, second[1], second[0]).sum())
        return total

    def cut(self) -> tuple[Grid, int]:
        """Return a grid and a constant: an energy is its labels' cut plus the constant.

        With ``A, B, C, D`` for ``V(0, 0), V(0, 1), V(1, 0), V(1, 1)`` it is ``A``, and ``C - A``
        where the first pixel has label 1, and ``D - C`` where the second one has, and the arc
        ``B + C - A - D`` where the first has 0 and the second 1.
        """
        gain = self.costs[1] - self.costs[0]
        constant = int(self.costs[0].sum())
        arcs = dict.fromkeys(FOUR if len(self.pairs) == 2 else EIGHT, np.zeros_like(gain))
        for name, ((a, b), (c, d)) in self.pairs.items():
            constant += int(a.sum())
            gain = gain + (c - a) + _neighbours(d - c, name, back=True)
            arcs[name] = b + c - a - d
        constant += int(np.minimum(gain, 0).sum())
        return grid(np.maximum(gain, 0), np.maximum(-gain, 0), arcs), constant


def _neighbours(values: np.ndarray, name: str, back: bool = False) -> np.ndarray:
    """Return at each pixel its neighbour's value or, `back`, that of the pixel it is neighbour of.

    What comes in over the edge is of no pair: there tables are 0.
    """
    down, right = STEP[name]
    sign = 1 if back else -1
    return np.roll(values, (sign * down, sign * right), axis=(0, 1))


def energy_of(costs: Any, pairs: Any, connectivity: int = 4) -> Energy:
    """Check the parts of an energy and broadcast them.

    They are those of `papers.lupinska_costscale.least_energy`.

    Raises
    ------
    NetworkError
    """
    if isinstance(connectivity, bool) or connectivity not in (4, 8):
        raise NetworkError(f"connectivity={connectivity!r} is neither 4 nor 8")
    names = (FOUR if connectivity == 4 else EIGHT)[::2]
    if len(costs) != 2:
        raise NetworkError(f"there are two labels, and costs of {len(costs)}")
    of_labels = [_whole(values, f"the cost of label {label}") for label, values in enumerate(costs)]
    tables = {name: _table(pairs, name, names) for name in names}
    shape = _common_shape([*of_labels, *(table[0, 0] for table in tables.values())])
    whole = np.stack([np.broadcast_to(values, shape) for values in of_labels])
    kept = {
        name: np.where(inner(shape, name), table.reshape(2, 2, *(table.shape[2:] or (1, 1))), 0)
        for name, table in tables.items()
    }
    size = sum(float(np.abs(values.astype(np.float64)).sum()) for values in (whole, *kept.values()))
    if 4 * size >= CAPACITY_LIMIT:
        raise NetworkError("the energies add up to 2**60 or more")
    for name, table in kept.items():
        _demand_regular(table, name)
    return Energy(whole, kept)


def _table(pairs: Any, name: str, names: tuple[str, ...]) -> np.ndarray:
    if isinstance(pairs, Mapping):
        if set(pairs) != set(names):
            raise NetworkError(f"pairs have the directions {', '.join(names)}, not {list(pairs)}")
        pairs = pairs[name]
    table = _whole(pairs, name)
    if table.shape[:2] != (2, 2) or table.ndim not in (2, 4):
        raise NetworkError(
            f"{name} has shape {table.shape}: a pair's table is 2 x 2, or 2 x 2 x height x width"
        )
    return table


def _whole(values: Any, name: str) -> np.ndarray:
    """Return whole numbers of either sign as int64."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise NetworkError(f"{name} is no array: its rows differ in length") from None
    rounded = (
        array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.floor(array)).all()
    )
    if array.dtype.kind not in "biu" and not rounded:
        raise NetworkError(f"{name} holds a value that is no whole number: scale and round it")
    if array.size and np.abs(array.astype(np.float64)).max() >= CAPACITY_LIMIT:
        raise NetworkError("the energies add up to 2**60 or more")
    return array.astype(np.int64)


def _common_shape(arrays: list[np.ndarray]) -> tuple[int, int]:
    shapes = [array.shape for array in arrays]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise NetworkError(f"shapes do not go together: {', '.join(map(str, shapes))}") from None
    if len(shape) != 2 or 0 in shape:
        raise NetworkError(f"an image has height and width, not shape {shape}")
    return shape[0], shape[1]


def _demand_regular(table: np.ndarray, name: str) -> None:
    equal, different = table[0, 0] + table[1, 1], table[0, 1] + table[1, 0]
    if (equal > different).any():
        y, x = np.argwhere(equal > different)[0]
        raise NetworkError(
            f"the pair {name} of row {y}, column {x} is not regular: V(0, 0) + V(1, 1) = "
            f"{equal[y, x]} is above V(0, 1) + V(1, 0) = {different[y, x]}, so no cut tells it"
        )
