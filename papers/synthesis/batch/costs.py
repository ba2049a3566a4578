"""The caller's matrices in working form: flat, to be minimized, no more rows than columns.

Matrices of one type and of sides of one class (`WIDTHS`) are a group, and a group is a launch.
Integers are moved so that the least is 0; floats are never moved. One shift serves a whole stack.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.problems.assignment import INTEGER_LIMIT, as_matrix
from papers.synthesis.assignment.costs import INFEASIBLE, SHARE_OF_OPTIMUM, SHARE_OF_RANGE

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
        C-contiguous, ``n <= m``, T one of int32, int64, float64.
    turned : bool
        Whether the solver's rows are the caller's columns.
    shift : int or float
        ``matrices = costs - shift``, or ``shift - costs`` when maximizing.
    loose : T[k]
        The largest slack of an assigned pair that needs no repair: 0 for integers.
    """

    matrices: np.ndarray
    turned: bool
    shift: Any
    loose: np.ndarray

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
    if flat.dtype.kind == "f":
        moved, shift = _floats(flat.astype(np.float64, copy=False), maximize, max(n, m)), 0.0
    else:
        moved, shift = _integers(flat, maximize)
    stack = moved.reshape(k, n, m)
    turned = n > m
    matrices = np.ascontiguousarray(stack.transpose(0, 2, 1) if turned else stack)
    if matrices.dtype.kind == "f" and matrices.size and np.isposinf(matrices.min(axis=2)).any():
        raise ValueError(INFEASIBLE)
    return Stack(matrices, turned, shift, _loose(matrices))


def _loose(matrices: np.ndarray) -> np.ndarray:
    """Return slacks that neither the proof nor the costs notice; see `assignment.costs`."""
    loose = np.zeros(len(matrices), matrices.dtype)
    if matrices.dtype.kind != "f" or not matrices.size:
        return loose
    finite = np.isfinite(matrices)
    sizes = np.where(finite, np.abs(matrices), np.inf).min(axis=2)
    good = np.isfinite(sizes).all(axis=1)
    high = np.where(finite, matrices, -np.inf).max(axis=(1, 2))
    low = np.where(finite, matrices, np.inf).min(axis=(1, 2))
    spread = high[good] - low[good]
    mean = sizes[good].mean(axis=1)
    loose[good] = np.minimum(SHARE_OF_RANGE * spread, SHARE_OF_OPTIMUM * mean)
    return loose


def _integers(array: np.ndarray, maximize: bool) -> tuple[np.ndarray, int]:
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    if max(-low, high) > INTEGER_LIMIT:
        raise ValueError(f"integer costs from {low} to {high} overflow: proofs hold up to 2**60")
    if high - low >= WIDEST:
        raise ValueError(f"integer costs with a range (max - min) of {high - low} would overflow")
    kind = np.int32 if high - low < NARROW else np.int64
    shift = high if maximize else low
    left, right = (shift, array) if maximize else (array, shift)
    moved = np.empty(array.shape, kind)
    return np.subtract(left, right, out=moved, dtype=np.int64, casting="unsafe"), shift


def _floats(array: np.ndarray, maximize: bool, side: int) -> np.ndarray:
    matrix = -array if maximize else array
    if np.isnan(array).any():
        raise ValueError("matrix contains invalid numeric entries: NaN")
    if np.isneginf(matrix).any():
        raise ValueError("matrix contains invalid numeric entries: an infinity of the wrong sign")
    finite = np.abs(array[np.isfinite(array)])
    high = float(finite.max(initial=0.0))
    if not math.isfinite((4.0 * side + 8.0) * high):
        raise ValueError(f"costs up to {high} in size overflow float64 when they are added")
    return matrix


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
    array = np.asarray(costs)
    if array.ndim != 3:
        raise ValueError(f"expected a stack of matrices (3-D array), got a {array.ndim}-D array")
    return [stack_of(array, maximize)]
