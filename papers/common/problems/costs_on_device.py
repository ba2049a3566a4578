"""Costs that are in device memory already, and never need to be on the host.

An int32 matrix of n = 70000 is 19.6 GB: a card holds it, and drawing or checking it there takes
milliseconds, while the way over the bus takes seconds and the host may not have the room. A solver
that takes a `ResidentCosts` in `upload` calls `prepare_resident` and `finish_resident` where it
calls `papers.common.problems.assignment.prepare` and `finish` for a matrix of the host's.

Without a GPU the kernels run in the executor, and NumPy arrays stand in for device memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import bind
from papers.common.model import Assignment
from papers.common.problems import kernels_costs as k
from papers.common.problems.assignment import total_cost


@dataclass(frozen=True, eq=False)
class ResidentCosts:
    """A square cost matrix in device memory, checked.

    Attributes
    ----------
    array : device int32[n, n]
        C-contiguous, entries >= 0. Nobody may write to it: what is known of it would go wrong.
    low, high : int
        Its smallest and its largest entry, exactly; both 0 for n = 0.
    """

    array: Any
    low: int
    high: int

    @property
    def shape(self) -> tuple[int, int]:
        """``(n, n)``."""
        n, m = self.array.shape
        return int(n), int(m)

    @property
    def dtype(self) -> np.dtype:
        """int32."""
        return np.dtype(np.int32)


@dataclass(frozen=True, eq=False)
class ResidentProblem:
    """The counterpart of `papers.common.problems.assignment.Problem` for costs in device memory.

    The costs are the working matrix: nothing is moved, mirrored, padded or forbidden.

    Attributes
    ----------
    costs : ResidentCosts
        As given; the memory is shared.
    shift : int
        0.
    maximize, forbidden : bool
        False.
    """

    costs: ResidentCosts
    shift: int = 0
    maximize: bool = False
    forbidden: bool = False

    @property
    def size(self) -> int:
        """Order ``n`` of the matrix."""
        return self.costs.shape[0]

    @property
    def dtype(self) -> np.dtype:
        """The working type, int32."""
        return self.costs.dtype


# ------------------------------------------------------------------------------- where from


def adopt(array: Any) -> ResidentCosts:
    """Take a cost matrix that is in device memory, without a copy, and check it there.

    Parameters
    ----------
    array : device int32[n, n]
        Anything with ``__cuda_array_interface__``: an array of Numba, CuPy, PyTorch ... It is kept
        alive, and must not change as long as the result is used. In the executor: a NumPy array.

    Returns
    -------
    ResidentCosts

    Raises
    ------
    TypeError
        If `array` is not in device memory (in the executor: no NumPy array).
    ValueError
        If it is not a square matrix, not int32, not C-contiguous, or has negative entries.
    """
    found = _in_device_memory(array)
    if len(found.shape) != 2:
        raise ValueError(
            f"expected a cost matrix (2-D array) in device memory, got a {len(found.shape)}-D array"
        )
    if found.shape[0] != found.shape[1]:
        raise ValueError(f"costs in device memory must be square, not {_by(found.shape)}")
    if found.dtype != np.int32:
        raise ValueError(f"costs in device memory must be int32, not {found.dtype}")
    if not found.flags["C_CONTIGUOUS"]:
        raise ValueError("costs in device memory must be C-contiguous: row after row, without gaps")
    low, high = bounds(found)
    if low < 0:
        raise ValueError(f"costs in device memory must be >= 0, the smallest is {low}")
    return ResidentCosts(found, low, high)


# ------------------------------------------------------------------------------- for solvers


def prepare_resident(costs: ResidentCosts, factor: int = 2) -> ResidentProblem:
    """Check that a solver can work on these costs in int32.

    Parameters
    ----------
    costs : ResidentCosts
        To be minimized, as they are: the shift of `papers.common.problems.assignment.prepare` would
        need a second matrix, so here the largest cost counts, not the range.
    factor : int
        The multiple of the largest cost that the solver's slacks and duals may reach; 2 for the
        Hungarian method (see `papers.common.problems.assignment`).

    Returns
    -------
    ResidentProblem

    Raises
    ------
    ValueError
        If `factor` times the largest cost exceeds int32; says which costs would do.
    """
    most = int(np.iinfo(np.int32).max) // factor
    if costs.high > most:
        raise ValueError(
            f"costs up to {costs.high} in device memory would overflow the working type int32: "
            f"it holds costs from 0 to at most {most}"
        )
    return ResidentProblem(costs)


def finish_resident(
    problem: ResidentProblem,
    column_of_row: np.ndarray,
    row_duals: np.ndarray | None = None,
    column_duals: np.ndarray | None = None,
    counters: Mapping[str, int] | None = None,
) -> Assignment:
    """Make an answer of a perfect matching: its costs are collected on the device.

    Parameters
    ----------
    problem : ResidentProblem
        The value that `prepare_resident` returned.
    column_of_row : int[n]
        The column matched to each row; on the host, as the duals.
    row_duals, column_duals : int[n], optional
        ``u[i] + v[j] <= cost[i, j]``, equal on matched pairs.
    counters : mapping, optional
        Passed through.

    Returns
    -------
    Assignment
        With int64 duals and the exact sum of the n entries.

    Raises
    ------
    ValueError
        If `column_of_row` is not n columns of the matrix.
    """
    n = problem.size
    columns = np.asarray(column_of_row, dtype=np.int64)
    if columns.shape != (n,) or (n and not 0 <= columns.min() <= columns.max() < n):
        raise ValueError(f"expected a column of 0 .. {n - 1} for each of {n} rows")
    chosen = _gather(problem.costs.array, columns)
    u, v = (
        None if duals is None else np.asarray(duals).astype(np.int64)
        for duals in (row_duals, column_duals)
    )
    rows = np.arange(n, dtype=np.int64)
    return Assignment(rows, columns, total_cost(chosen), u, v, counters=dict(counters or {}))


def strips(costs: ResidentCosts) -> Callable[[int, int], np.ndarray]:
    """Return a function that copies rows back to the host.

    Returns
    -------
    callable(start, stop) -> int32[stop - start, n]
        Rows `start` to `stop` (excluded), as `papers.common.problems.assignment_proof.assignment`
        takes them; it raises ValueError for rows outside of the matrix.
    """
    n = costs.shape[0]

    def rows(start: int, stop: int) -> np.ndarray:
        if not 0 <= start <= stop <= n:
            raise ValueError(f"rows {start} to {stop} are not rows of an n = {n} matrix")
        if start == stop:
            return np.empty((0, n), dtype=np.int32)
        return device.to_host(costs.array[start:stop])

    return rows


# ------------------------------------------------------------------------------- on the device


def _in_device_memory(array: Any) -> Any:
    """The array as the kernels take it."""
    if not device.describe().is_gpu:
        if isinstance(array, np.ndarray):
            return array
        kind = type(array).__name__
        raise TypeError(f"without a GPU, a NumPy array stands in for device memory, not {kind}")
    from numba import cuda

    if not cuda.is_cuda_array(array):
        raise TypeError(
            f"costs must be in device memory (an array with __cuda_array_interface__), not "
            f"{type(array).__name__}"
        )
    view = cuda.as_cuda_array(array)  # waits for the stream that the array was written in
    view.stream = 0  # from here on all work is on the default stream, and copies are awaited
    return view


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def grid_stride(items: int) -> tuple[int, int]:
    """Return grid and block of a grid-stride kernel: at most `items` threads, or a full device."""
    machine = device.describe()
    block = k.BLOCK if machine.is_gpu else 16
    most = 8 * machine.multiprocessors if machine.is_gpu else 4
    return min(most, -(-items // block)), block


def bounds(array: Any) -> tuple[int, int]:
    """Return the smallest and the largest entry of device int32[rows, columns]; of none 0 and 0."""
    total = int(array.shape[0]) * int(array.shape[1])
    if total == 0:
        return 0, 0
    bounds = device.to_device(np.array([k.LARGEST, k.SMALLEST], np.int32))
    bind(k.bound_costs, *grid_stride(total), np.int64(total), array.reshape(total), bounds)()
    low, high = device.to_host(bounds)
    return int(low), int(high)


def _gather(array: Any, columns: np.ndarray) -> np.ndarray:
    """The entries at ``(i, columns[i])``, on the host: int32[n]."""
    n = len(columns)
    if n == 0:
        return np.zeros(0, np.int32)
    chosen = device.empty(n, np.int32)
    block = grid_stride(n)[1]
    costs, column_of_row = array.reshape(n * n), device.to_device(columns.astype(np.int32))
    bind(k.gather_chosen, -(-n // block), block, np.int64(n), costs, column_of_row, chosen)()
    return device.to_host(chosen)


def release_freed_memory() -> None:
    """Free at once what Numba would free later: a matrix that fills the card needs the room."""
    if device.describe().is_gpu:
        from numba import cuda

        cuda.current_context().deallocations.clear()
