"""Solution 6.

Every thread that has a column at all asks for eight entries a turn, and beyond the last column for
the last one again; a turn covers eight columns a thread. Besides, each edge of the frontier to a
matched row asks for the level of that row's column. With 4 bytes an entry a level costs a megabyte
from 262,144 columns on, whatever is in it: a search of a thousand levels reads a gigabyte to find
its frontiers, which is what a queue spares.
"""

from __future__ import annotations

from typing import Any


def loads(columns: int, threads: int, edges_to_matched_rows: int) -> int:
    """Return the loads of elements of ``bfs_array`` in a launch of `gpubfs`."""
    turns = sum(-(-(columns - first) // (8 * threads)) for first in range(min(columns, threads)))
    return 8 * turns + edges_to_matched_rows


def a_load_a_column(columns: int, threads: int, edges_to_matched_rows: int) -> int:
    """Count as Algorithm 2 is printed."""
    return columns + edges_to_matched_rows


def of_the_frontier(columns: int, threads: int, edges_to_matched_rows: int) -> int:
    """Count as if there were a queue."""
    return edges_to_matched_rows


WRONG: dict[str, list[Any]] = {"loads": [a_load_a_column, of_the_frontier]}
