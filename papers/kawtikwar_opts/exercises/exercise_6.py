"""Exercise 6, harder, a kernel: the minimum of step 6 without the covered columns.

It teaches what a covered line may spare: bytes, which rule a dual update at n = 4096.

`kernels.one_launch` loads all slacks to find the least uncovered one. Write a kernel that loads
only those that are uncovered. ``slack[column * n + row]`` is an entry, ``minimum[0]`` holds a
number that no slack exceeds, and any launch shape must do. `bytes_read` predicts the bytes of
slacks it reads: what is left at n = 4096 with doubles if half of the columns are covered, and no
row?
"""

from __future__ import annotations

from numba import cuda


@cuda.jit
def least_uncovered(n, slack, covered_row, covered_column, minimum):
    """Put the least uncovered slack into ``minimum[0]``."""
    raise NotImplementedError


def bytes_read(n: int, covered_rows: int, covered_columns: int, bytes_of_a_slack: int) -> int:
    """Return the bytes of slacks that `least_uncovered` reads."""
    raise NotImplementedError
