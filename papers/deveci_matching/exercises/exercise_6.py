"""Exercise 6, a prediction: loads of levels.

It teaches what a level costs without a queue, however small its frontier is.

Read `kernels.bfs.gpubfs` and `columns_at`. Predict how often a launch loads an element of
``bfs_array``, from the number of columns, the threads of the grid, and the number of edges from the
level's columns to matched rows. At how many columns does a level of one column cost a megabyte?
"""

from __future__ import annotations


def loads(columns: int, threads: int, edges_to_matched_rows: int) -> int:
    """Return the loads of elements of ``bfs_array`` in a launch of `gpubfs`."""
    raise NotImplementedError
