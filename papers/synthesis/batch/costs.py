"""The caller's matrices in working form: flat, to be minimized, no more rows than columns.

Matrices of one type and of sides of one class (`WIDTHS`) are a group, and a group is a launch.
Integers are moved so that the least is 0, unless they are small as they are; floats never. One
shift serves a whole stack.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.problems.assignment import INTEGER_LIMIT, as_matrix
from papers.synthesis.assignment.costs import (
    INFEASIBLE,
    SHARE_OF_OPTIMUM,
    SHARE_OF_RANGE,
    moved,
)

WIDTHS = (32, 64, 128, 256, 512, 1024)
"""The longest sides that a kernel is made for; the last one is the longest of all."""

NARROW = 2**29
"""Integers that differ by less are solved in 32 bits: see `reference`; distances reach four
ranges."""

WIDEST = 2**60
"""Integers differ by less than this."""


@dataclass(frozen=True)
class Stack:
    """Some matrices of one shape in working form.

    Attributes
    ----------
    matrices : T[k, n, m]
        C-contiguous, ``n <= m``, T one of int32, int64, float64; of the host, or of the device.
    turned : bool
        Whether the solver's rows are the caller's columns.
    shift : int or float
        ``matrices = costs - shift``, or ``shift - costs`` when maximizing.
    loose : T[k]
        The largest slack of an assigned pair that needs no repair: 0 for integers.
    spread : int
        Integers: no two entries differ by more; 0 for floats.
    resident : bool
        Whether the matrices are in device memory.
    """

    matrices: Any
    turned: bool
    shift: Any
    loose: np.ndarray
    spread: int = 0
    resident: bool = False

    @property
    def group(self) -> tuple[str, int]:
        """The type, and the class of the longer side."""
        m = self.matrices.shape[2]
        return self.matrices.dtype.name, next(width for width in WIDTHS if m <= width)


def stack_of(costs: np.ndarray, maximize: bool) -> Stack:
    """Check matrices of one shape and bring them into working form.

    Parameters
    ----------
    costs : ndarray[k, n, m]
        Integers, booleans or floats; ``inf`` (``-inf`` when maximizing) forbids a pair.
    maximize : bool

    Raises
    ------
    ValueError
        For other types, NaN, an infinity of the wrong sign, sides above 1024, integers beyond
        2**60 in size or that differ by 2**60, floats whose sums overflow, and a line of the shorter
        side without an allowed pair (what is infeasible otherwise, a run finds).
    """
    k, n, m = costs.shape
    if max(n, m) > WIDTHS[-1]:
        raise ValueError(f"matrices of {n} x {m}: a batch has sides of at most {WIDTHS[-1]}")
    flat = as_matrix(costs.reshape(k * n, m))
    spread = 0
    if flat.dtype.kind == "f":
        work, shift = _floats(flat.astype(np.float64, copy=False), maximize, max(n, m)), 0.0
    else:
        work, shift, spread = _integers(flat, maximize)
    stack = work.reshape(k, n, m)
    turned = n > m
    matrices = np.ascontiguousarray(stack.transpose(0, 2, 1) if turned else stack)
    if matrices.dtype.kind != "f" or not matrices.size:
        return Stack(matrices, turned, shift, np.zeros(k, matrices.dtype), spread)
    least = matrices.min(axis=2)
    if np.isposinf(least).any():
        raise ValueError(INFEASIBLE)
    return Stack(matrices, turned, shift, _loose(matrices, least))


def _loose(matrices: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return slacks that neither the proof nor the costs notice; see `assignment.costs`.

    Parameters
    ----------
    matrices : float64[k, n, m]
    least : float64[k, n]
        The least entry of each row: finite.
    """
    high = matrices.max(axis=(1, 2))
    if np.isposinf(high).any():
        high = np.where(np.isfinite(matrices), matrices, -np.inf).max(axis=(1, 2))
    low = least.min(axis=1)
    sizes = least if (low >= 0).all() else np.abs(matrices).min(axis=2)
    return loose_of(low, high, sizes)


def loose_of(low: np.ndarray, high: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return these slacks from the extremes of finite costs.

    Parameters
    ----------
    low, high : float64[k]
        Of each matrix.
    sizes : float64[k, n]
        The least size of a cost in each row.
    """
    return np.minimum(SHARE_OF_RANGE * (high - low), SHARE_OF_OPTIMUM * sizes.mean(axis=1))


def working_integers(
    dtype: np.dtype, low: int, high: int, maximize: bool
) -> tuple[np.dtype, int, int]:
    """Return the working type of integers with these extremes, their shift and their spread.

    The shift is 0 where they are small enough as they are.

    Raises
    ------
    ValueError
        If they, or their range, would overflow.
    """
    if max(-low, high) > INTEGER_LIMIT:
        raise ValueError(f"integer costs from {low} to {high} overflow: proofs hold up to 2**60")
    if high - low >= WIDEST:
        raise ValueError(f"integer costs with a range (max - min) of {high - low} would overflow")
    spread = high - low
    kind = np.dtype(np.int32 if spread < NARROW else np.int64)
    if dtype == kind and not maximize and max(-low, high) < NARROW // 2:
        return kind, 0, spread
    return kind, high if maximize else low, spread


def _integers(array: np.ndarray, maximize: bool) -> tuple[np.ndarray, int, int]:
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    kind, shift, spread = working_integers(array.dtype, low, high, maximize)
    if array.dtype == kind and not shift and not maximize:
        return array, 0, spread  # no copy
    return moved(array, shift, kind, maximize), shift, spread


def _floats(array: np.ndarray, maximize: bool, side: int) -> np.ndarray:
    low, high = (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
    if math.isnan(low):
        raise ValueError("matrix contains invalid numeric entries: NaN")
    if (high if maximize else -low) == math.inf:
        raise ValueError("matrix contains invalid numeric entries: an infinity of the wrong sign")
    size = max(-low, high)
    if size == math.inf:
        size = float(np.abs(array[np.isfinite(array)]).max(initial=0.0))
    check_sums(size, side)
    return -array if maximize else array


def check_sums(size: float, side: int) -> None:
    """Refuse costs up to a size whose sums overflow.

    Raises
    ------
    ValueError
    """
    if not math.isfinite((4.0 * side + 8.0) * size):
        raise ValueError(f"costs up to {size} in size overflow float64 when they are added")


def stacks_of(costs: Any, maximize: bool) -> list[Stack]:
    """Bring a stack or any matrices into working form: one entry for a stack, else one each.

    Parameters
    ----------
    costs : array_like[k, n, m], or sequence of array_like[n_i, m_i]
    maximize : bool

    Raises
    ------
    ValueError
        As `stack_of`, and for what is neither.
    """
    if isinstance(costs, Sequence) and not isinstance(costs, str):
        return [stack_of(as_matrix(one)[None], maximize) for one in costs]
    array = np.asanyarray(costs)
    if array.ndim != 3:
        raise ValueError(f"expected a stack of matrices (3-D array), got a {array.ndim}-D array")
    return [stack_of(array, maximize)]
