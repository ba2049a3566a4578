"""The device memory of a run: one allocation, cut into the arrays of the table in `beyond.kernels`.

Two dozen allocations take longer than everything else of an upload but the copies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.copying import overwrite_by_chunks
from papers.common.problems.graph import Graph
from papers.deveci_matching.beyond.kernels import control
from papers.deveci_matching.beyond.lines import Lines

ALIGNMENT = 256
"""Bytes at whose multiples arrays begin, as those of single allocations do."""

WORD = np.dtype(np.int32).itemsize


def sizes_of(graph: Graph | Lines, starts: tuple[int, int]) -> dict[str, int]:
    """Return the entries of every array, all of them int32.

    Parameters
    ----------
    graph : Graph or Lines
    starts : (int, int)
        Entries of the start's two arrays.
    """
    rows, columns = graph.rows, graph.columns
    sizes = {"cxadj": columns + 1, "cadj": graph.edges, "rxadj": rows + 1, "radj": graph.edges}
    sizes |= dict(zip(("rstart", "cstart"), starts, strict=True))
    sizes |= {"rmatch": rows, "cmatch": columns, "parent": rows}
    sizes |= dict.fromkeys(("root", "end_of_root", "level_of"), columns)
    sizes |= {"queue": 2 * columns, "ends": columns, "renewable": rows}
    sizes |= {"hops": 2 * rows, "control": control.CONTROL}
    return sizes | (graph.scratch() if isinstance(graph, Lines) else {})


def _room(size: int) -> int:
    """Return the bytes from the beginning of an array to that of the next one."""
    return -(-size * WORD // ALIGNMENT) * ALIGNMENT


def needed_bytes(graph: Graph | Lines) -> int:
    """Return the bytes of device memory that `allocate` takes, with a start of the host."""
    return sum(map(_room, sizes_of(graph, (graph.rows, graph.columns)).values()))


def allocate(graph: Graph | Lines, rmatch: np.ndarray, cmatch: np.ndarray) -> dict[str, Any]:
    """Allocate the device memory of a run, and copy graph and start into it.

    Returns
    -------
    dict of str to device array
        Named as in the tables of `beyond.kernels` and, for lines, of `beyond.kernels.turning`. The
        memory is freed with the last of them.

    Raises
    ------
    GraphError
        For lines that the device finds broken.
    """
    sizes = sizes_of(graph, (rmatch.size, cmatch.size))
    memory = device.empty(sum(map(_room, sizes.values())), np.uint8)
    arrays, begin = {}, 0
    for name, size in sizes.items():
        arrays[name] = device.part(memory, begin, size, np.int32)
        begin += _room(size)
    if isinstance(graph, Lines):
        graph.fill(arrays)
    else:
        rxadj, radj = graph.by_rows
        both = {"cxadj": graph.cxadj, "cadj": graph.cadj, "rxadj": rxadj, "radj": radj}
        for name, array in both.items():
            overwrite_by_chunks(arrays[name], array)
    overwrite_by_chunks(arrays["rstart"], rmatch)
    overwrite_by_chunks(arrays["cstart"], cmatch)
    return arrays
