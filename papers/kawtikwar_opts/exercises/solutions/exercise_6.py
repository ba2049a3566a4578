"""Solution 6.

A block takes whole columns, so that a covered one costs it a load of its cover. Within a column
neighbouring threads read neighbouring slacks. Half of the columns covered leave 67,108,864 bytes of
134,217,728. Rows spare less on a card than in this count: a warp that leaves out single entries of
a column still fetches their sectors of 32 bytes, four doubles at a time.
"""

from __future__ import annotations

from typing import Any

from numba import cuda


@cuda.jit
def least_uncovered(n, slack, covered_row, covered_column, minimum):
    """Put the least uncovered slack into ``minimum[0]``."""
    for column in range(cuda.blockIdx.x, n, cuda.gridDim.x):
        if covered_column[column] == 0:
            for row in range(cuda.threadIdx.x, n, cuda.blockDim.x):
                if covered_row[row] == 0:
                    cuda.atomic.min(minimum, 0, slack[column * n + row])


def bytes_read(n: int, covered_rows: int, covered_columns: int, bytes_of_a_slack: int) -> int:
    """Return the bytes of slacks that `least_uncovered` reads."""
    return (n - covered_rows) * (n - covered_columns) * bytes_of_a_slack


@cuda.jit
def loads_all(n, slack, covered_row, covered_column, minimum):
    """Load a slack before asking whether it is covered."""
    for i in range(cuda.grid(1), n * n, cuda.gridsize(1)):
        value = slack[i]
        if covered_column[i // n] == 0 and covered_row[i % n] == 0:
            cuda.atomic.min(minimum, 0, value)


@cuda.jit
def loses_an_update(n, slack, covered_row, covered_column, minimum):
    """Compare and store in two steps, between which another thread may store."""
    for i in range(cuda.grid(1), n * n, cuda.gridsize(1)):
        if covered_column[i // n] == 0 and covered_row[i % n] == 0:
            value = slack[i]
            if value < minimum[0]:
                minimum[0] = value


def of_the_whole_matrix(n: int, rows: int, columns: int, bytes_of_a_slack: int) -> int:
    """Count as if nothing were left out."""
    return n * n * bytes_of_a_slack


WRONG: dict[str, list[Any]] = {
    "least_uncovered": [loads_all, loses_an_update],
    "bytes_read": [of_the_whole_matrix],
}
