"""A graph as its caller stores it, in compressed lines: the device checks it and turns it around.

`papers.common.problems.graph.bipartite` does the same on one core, which takes several times as
long as the search of a large graph on a GPU. Neither the order of indices within a line nor an edge
that is stored twice matters to the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numba import njit
from scipy.sparse import issparse

from papers.common.gpu import device
from papers.common.gpu.copying import overwrite_by_chunks
from papers.common.problems.graph import EDGE_LIMIT, GraphError, bipartite

BLOCKS_EACH = 2
"""Blocks of `turn` a multiprocessor: it waits for memory, and its registers are few."""


@dataclass(frozen=True, eq=False)
class Lines:
    """A graph in compressed lines; its indices and the inside of `indptr` are not checked yet.

    Attributes
    ----------
    rows, columns : int
    indptr : int32[lines + 1]
        It begins with 0 and ends with the number of edges.
    indices : int32[edges]
        In any order within a line.
    by : {"rows", "columns"}
        The lines: rows for CSR, columns for CSC.
    """

    rows: int
    columns: int
    indptr: np.ndarray
    indices: np.ndarray
    by: Literal["rows", "columns"]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns of the matrix."""
        return self.rows, self.columns

    @property
    def edges(self) -> int:
        """The number of edges."""
        return int(self.indices.size)

    @property
    def across(self) -> int:
        """The number of columns if lines are rows, else of rows."""
        return self.columns if self.by == "rows" else self.rows

    @classmethod
    def of(cls, matrix: Any) -> Lines | None:
        """Return SciPy's CSR or CSC matrix, or None where `bipartite` has to look at it.

        Parameters
        ----------
        matrix : object
            The arrays of a matrix are shared; those of 64 bits are narrowed.

        Returns
        -------
        Lines or None
            None for anything else, for arrays or sizes that 32 bits do not hold, and for ends of
            ``indptr`` that are wrong.
        """
        if not issparse(matrix) or matrix.format not in ("csr", "csc") or matrix.ndim != 2:
            return None
        rows, columns = matrix.shape
        rows, columns = int(rows), int(columns)
        by: Literal["rows", "columns"] = "rows" if matrix.format == "csr" else "columns"
        indptr, indices = narrow(matrix.indptr), narrow(matrix.indices)
        if indptr is None or indices is None or max(rows, columns) > EDGE_LIMIT:
            return None
        if indptr.size != (rows if by == "rows" else columns) + 1:
            return None
        edges = int(indptr[-1])
        if indptr[0] != 0 or not 0 <= edges <= indices.size:
            return None
        # SciPy allows room behind the last entry.
        return cls(rows, columns, indptr, indices[:edges], by)

    def transposed(self) -> Lines:
        """Return the transposed matrix; the arrays are shared."""
        by: Literal["rows", "columns"] = "columns" if self.by == "rows" else "rows"
        return Lines(self.columns, self.rows, self.indptr, self.indices, by)

    def checked(self) -> Any:
        """Return the `Graph` of these lines, made on one core.

        Raises
        ------
        GraphError
            For a broken graph; the message names the fault.
        """
        return bipartite((self.indptr, self.indices, self.shape), by=self.by)

    def scratch(self) -> dict[str, int]:
        """Return the entries of what `fill` needs beside the graph's own arrays, by name."""
        from papers.deveci_matching.beyond.kernels.turning import TALLY

        return {"filled": max(1, self.across), "tally": TALLY}

    def fill(self, arrays: dict[str, Any]) -> None:
        """Copy the graph to the device, check it there, and turn it around.

        Parameters
        ----------
        arrays : dict of str to device array
            ``cxadj``, ``cadj``, ``rxadj``, ``radj`` of the table in `beyond.kernels`, which are
            filled, and what `scratch` names. The order within a part of the turned direction is
            another one each time (`kernels.turning.turn`).

        Raises
        ------
        GraphError
            For a broken graph; the message names the fault.
        """
        rows, columns = (arrays["rxadj"], arrays["radj"]), (arrays["cxadj"], arrays["cadj"])
        there, turned = (rows, columns) if self.by == "rows" else (columns, rows)
        overwrite_by_chunks(there[0], self.indptr)
        overwrite_by_chunks(there[1], self.indices)
        if _is_broken(self, there, turned, (arrays["filled"], arrays["tally"])):
            self.checked()
            raise GraphError("the device found a fault in a graph's lines")  # a core finds it first


def narrow(part: Any) -> np.ndarray | None:
    """Return whole numbers as contiguous int32, None if they are others or larger."""
    if type(part) is not np.ndarray or part.ndim != 1:
        return None
    if part.dtype == np.int32:
        return np.ascontiguousarray(part)
    if part.dtype != np.int64:
        return None
    found, fit = _narrowed(np.ascontiguousarray(part))
    return found if fit else None


@njit(cache=True, nogil=True)
def _narrowed(part):
    """Return int64 numbers as int32, in one pass, and whether all of them fit."""
    found = np.empty(part.size, np.int32)
    strange = 0
    for k in range(part.size):
        found[k] = np.int32(part[k])
        strange |= np.int64(found[k]) ^ part[k]
    return found, strange == 0


def _is_broken(
    lines: Lines, there: tuple[Any, Any], turned: tuple[Any, Any], scratch: tuple[Any, Any]
) -> bool:
    """Launch `turn`, wait for it, and tell whether it has found a fault."""
    from papers.common.gpu.launch import bind, resident_blocks
    from papers.deveci_matching.beyond.kernels.turning import (
        FAULT,
        MOST_BLOCKS,
        Given,
        Turned,
        turn,
    )

    machine = device.describe()
    threads = 512 if machine.is_gpu else 32
    count, across, edges = map(np.int32, (lines.indptr.size - 1, lines.across, lines.edges))
    arguments = Given(count, across, edges, *there), Turned(*turned), *scratch
    wanted = BLOCKS_EACH * machine.multiprocessors if machine.is_gpu else 3
    blocks = min(wanted, MOST_BLOCKS, resident_blocks(turn, arguments, threads))
    bind(turn, blocks, threads, *arguments)()
    return bool(device.to_host(scratch[1])[FAULT])
