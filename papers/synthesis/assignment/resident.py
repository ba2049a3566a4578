"""Costs that are on the device already: checked there, and brought into working form there.

The counterpart of `papers.synthesis.assignment.costs.prepare`. A matrix that the kernel can read as
it lies (int32, or float64, to be minimized, row after row, no more rows than columns) is not copied
at all; any other one is moved once, from device memory to device memory. Less is moved than on the
host: the kernel works on any integers whose range fits, so that int32 costs need no shift, and no
pass that looks for their extremes.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind
from papers.common.problems.costs_on_device import grid_stride
from papers.synthesis.assignment import pool
from papers.synthesis.assignment.costs import (
    ANY_INT32,
    FLOAT64,
    INFEASIBLE,
    INT32,
    check_float_type,
    check_floats,
    integer_type,
    loose_slack,
)
from papers.synthesis.assignment.kernels import costs as k
from papers.synthesis.assignment.kernels import costs_floats as f

SOURCES = ("int32", "int64", "float32", "float64")
"""Types of costs in device memory; of others a copy on the host is solved."""

SOURCE_TYPES = frozenset(map(np.dtype, SOURCES))
"""NumPy's types of the other order of bytes are not equal to these."""

AS_THEY_ARE = 2**51
"""Integers of 64 bits below this in size need no shift: sums with duals stay far from overflow."""


@dataclass(eq=False)
class DeviceMatrix:
    """A matrix in device memory (in the executor: a NumPy array) that a run may read.

    Nobody changes its fields; it is not frozen, since that takes longer to make.

    Attributes
    ----------
    array : device T[rows, columns] or T[rows * columns]
        Without gaps.
    shape : tuple of int
        ``(rows, columns)``, as the caller has them.
    by_columns : bool
        Whether neighbours in memory are of one column (Fortran's order).
    stream : int
        Handle of the stream that writes the entries: all work on them is enqueued there.
    """

    array: Any
    shape: tuple[int, int]
    by_columns: bool
    stream: int = device.DEFAULT_STREAM

    @functools.cached_property
    def flat(self) -> Any:
        """All entries in the order of their addresses: device T[rows * columns]."""
        if len(self.array.shape) == 1:
            return self.array
        return device.part(self.array, 0, self.shape[0] * self.shape[1], self.array.dtype)

    @property
    def dtype(self) -> np.dtype:
        """The caller's type."""
        kind: np.dtype = self.array.dtype
        return kind

    @property
    def turned(self) -> bool:
        """Whether the solver's rows are the caller's columns."""
        return self.shape[0] > self.shape[1]

    @property
    def working_shape(self) -> tuple[int, int]:
        """``(n, m)`` with ``n <= m``."""
        return (min(self.shape), max(self.shape))

    @property
    def across(self) -> bool:
        """Whether the solver's rows are not contiguous."""
        return self.turned != self.by_columns and min(self.shape) > 1


def takes(array: Any) -> bool:
    """Whether `adopt` takes an array of the device: its type, and no gaps between its entries."""
    flags = array.flags
    return (
        len(array.shape) == 2
        and array.dtype in SOURCE_TYPES
        and bool(flags["C_CONTIGUOUS"] or flags["F_CONTIGUOUS"])
    )


def adopt(array: Any, stream: int = device.DEFAULT_STREAM) -> DeviceMatrix:
    """Take a matrix in device memory without a copy.

    Parameters
    ----------
    array : device array[rows, columns]
        Of Numba's, in C's or in Fortran's order, of one of `SOURCES`. It is kept alive, and must
        not change before the answer is downloaded. In the executor: a NumPy array.
    stream : int
        Handle of the stream that writes it, as in ``__cuda_array_interface__``.

    Returns
    -------
    DeviceMatrix

    Raises
    ------
    ValueError
        If `takes` says no.
    """
    given = adopted(array, stream)
    if given is None:
        kind = f"a {len(array.shape)}-D array of {array.dtype}"
        raise ValueError(f"expected a contiguous matrix of {', '.join(SOURCES)}, not {kind}")
    return given


def adopted(array: Any, stream: int = device.DEFAULT_STREAM) -> DeviceMatrix | None:
    """`adopt` an array; None where `takes` says no."""
    if not takes(array):
        return None
    rows, columns = map(int, array.shape)
    if not rows or not columns:
        return DeviceMatrix(np.empty(0, array.dtype), (rows, columns), False, stream)
    by_columns = not array.flags["C_CONTIGUOUS"]
    return DeviceMatrix(array, (rows, columns), by_columns, stream)


# ------------------------------------------------------------------------------- the plan


@dataclass(frozen=True)
class Plan:
    """The way from the caller's matrix to the working one: ``sign * source + shift``.

    Attributes
    ----------
    work : dtype
        The working type.
    sign, shift : int or float
    spread : int
        Integers: no two entries differ by more.
    moves : bool
        Whether there is anything to move; else the kernel reads the caller's memory.
    """

    work: np.dtype
    sign: Any
    shift: Any
    spread: int
    moves: bool

    @property
    def cost_shift(self) -> Any:
        """`papers.synthesis.assignment.costs.Costs.shift`."""
        return -self.shift if self.sign > 0 else self.shift


def plan(given: DeviceMatrix, maximize: bool, dtype: Any = None) -> Plan:
    """Check integers, and say what has to be moved; floats are checked where they are then.

    Raises
    ------
    ValueError
        As `papers.synthesis.assignment.costs.prepare`, for integers; for a working type that does
        not hold these costs.
    """
    if given.dtype.kind == "f":
        check_float_type(dtype)
        return _plan(given.dtype, maximize, given.across)
    if given.dtype == INT32:
        if dtype is not None and np.dtype(dtype) != INT32:
            raise ValueError(f"int32 costs in device memory are solved as int32, not {dtype}")
        return _plan(given.dtype, maximize, given.across)
    sign = -1 if maximize else 1
    low, high = extremes(given.flat, given.stream)
    work = integer_type(low, high, dtype)
    alike = work == given.dtype and not maximize and max(-low, high) < AS_THEY_ARE
    shift = 0 if alike else high if maximize else -low
    return Plan(work, sign, shift, high - low, not alike or given.across)


@functools.cache
def _plan(kind: np.dtype, maximize: bool, across: bool) -> Plan:
    """The plan for floats and for int32, which no cost can change."""
    sign = -1 if maximize else 1
    if kind == INT32:
        # -1 - c holds for every c of 32 bits, where -c does not.
        return Plan(INT32, sign, -1 if maximize else 0, ANY_INT32, maximize or across)
    moves = maximize or across or kind != FLOAT64
    return Plan(FLOAT64, float(sign), 0.0, 0, moves)


def mover(given: DeviceMatrix, plan: Plan, target: Any) -> Launch:
    """Bind the launch that moves the costs; `move_again` serves the next matrix of that kind."""
    n, m = given.working_shape
    kernel = (
        k.move_alike if given.dtype == plan.work
        else k.move_narrower if plan.work == np.int32 else f.move_wider
    )  # fmt: skip
    return bind(
        kernel, *grid_stride(n * m), np.int32(n), np.int32(m), np.int32(given.across),
        *_terms(plan), given.flat, target,
    )  # fmt: skip


def move_again(launch: Launch, given: DeviceMatrix, plan: Plan) -> None:
    """Bind a launch of `mover` to another matrix of the same shape, order and type."""
    for place, term in zip((3, 4), _terms(plan), strict=True):
        if term != launch.arguments[place]:
            launch.replace(place, term)
    launch.replace(5, given.flat)


def _terms(plan: Plan) -> tuple[Any, Any]:
    kind = np.float64 if plan.work.kind == "f" else np.int64
    return kind(plan.sign), kind(plan.shift)


# ------------------------------------------------------------------------------- looking


class Look(pool.Pooled):
    """A bound launch that looks at costs, its words on the device and pinned ones on the host."""

    def __init__(
        self, key: Any, kernel: Any, grid: tuple[int, int], kind: Any, size: int,
        scalars: tuple[Any, ...], costs: Any,
    ) -> None:  # fmt: skip
        self.key, self.place = key, len(scalars)
        self.words = device.empty(size, kind)
        self.host = device.staging(size, kind)
        self.nbytes = self.words.nbytes
        self.launch = bind(kernel, *grid, *scalars, costs, self.words)

    def at(self, costs: Any, stream: int) -> np.ndarray:
        """Look at costs of the size that the launch is bound for; a view that the next look ends.

        The host has waited for the stream on return.

        Raises
        ------
        TypeError
            For costs of another type.
        """
        if self.launch.arguments[self.place] is not costs:
            self.launch.replace(self.place, costs)
        self.launch.stream = stream
        self.launch()
        device.copy_words(self.host, self.words, 0, self.host.size, down=True, stream=stream)
        self.launch.release(self.place)
        return self.host


def extremes(flat: Any, stream: int = device.DEFAULT_STREAM) -> tuple[int, int]:
    """Return the smallest and the largest of int32[total] or int64[total]; of none 0 and 0.

    They are in device memory.
    """
    total = int(flat.shape[0])
    if not total:
        return 0, 0
    grid = grid_stride(total)
    key = ("extremes", total, np.dtype(flat.dtype).name, *pool.machine())
    kernel = k.bound if flat.dtype == np.int64 else k.bound_narrow
    with pool.borrowed(
        key, lambda: Look(key, kernel, grid, np.int64, 2 * grid[0], (np.int64(total),), flat)
    ) as look:
        found = look.at(flat, stream)
        return int(found[::2].min()), int(found[1::2].max())


def lines_of(
    shape: tuple[int, int], flat: Any, stream: int = device.DEFAULT_STREAM
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Check working costs of float64 in device memory, and return what bounds each row.

    Parameters
    ----------
    shape : tuple of int
        ``(n, m)``.
    flat : device float64[n * m]
    stream : int
        Handle of the stream that writes them.

    Returns
    -------
    sizes, lows, highs : float64[n]
        The least size, the lowest and the highest of each row's finite costs.

    Raises
    ------
    ValueError
        For NaN, an infinity of the wrong sign, and a row without finite costs.
    """
    n, m = shape
    block = grid_stride(m)[1]
    key = ("judged", n, m, *pool.machine())
    scalars = (np.int32(n), np.int32(m), np.float64(np.inf))
    with pool.borrowed(
        key, lambda: Look(key, f.judge, (min(n, 4096), block), np.float64, 4 * n, scalars, flat)
    ) as look:
        found = look.at(flat, stream).reshape(4, n).copy()
    sizes, lows, highs, faults = (found[line] for line in (f.LEAST, f.LOW, f.HIGH, f.FAULT))
    check_floats(bool((faults == f.NOT_A_NUMBER).any()), bool((faults == f.INFINITE).any()))
    if np.isinf(sizes).any():
        raise ValueError(INFEASIBLE)
    return sizes, lows, highs


def judged(
    shape: tuple[int, int], flat: Any, maximize: bool, stream: int = device.DEFAULT_STREAM
) -> float:
    """Check working costs of float64 in device memory, and return the slack that is let be.

    Parameters
    ----------
    shape, flat, stream
        See `lines_of`.
    maximize : bool
        Whether they are the negated costs.

    Returns
    -------
    float
        As `papers.synthesis.assignment.costs.loose_slack`.

    Raises
    ------
    ValueError
        As `papers.synthesis.assignment.costs.prepare`, for floats.
    """
    sizes, lows, highs = lines_of(shape, flat, stream)
    low, high = float(lows.min()), float(highs.max())
    if maximize:
        low, high = -high, -low
    return loose_slack(low, high, sizes, shape[1])
