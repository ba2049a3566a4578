"""The split of the matrix among the ranks [DN16 sec.5] (1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.problems import blocks


@dataclass(frozen=True)
class Strip:
    """The part of the matrix that one rank has [DN16 sec.5] (1).

    Attributes
    ----------
    n : int
        Order of the whole.
    by_rows : bool
        Rows are split (classical) or columns (tree).
    ranks, rank : int
    """

    n: int
    by_rows: bool
    ranks: int
    rank: int

    @property
    def block(self) -> int:
        """Lines a rank, ``ceil(n / ranks)``; the last ranks may have fewer."""
        return blocks.block_size(self.n, self.ranks)

    @property
    def bounds(self) -> tuple[int, int]:
        """First line and the one behind the last; also the rows whose assignment it counts."""
        return blocks.split(self.n, self.ranks)[self.rank]

    @property
    def lines(self) -> int:
        """Number of its lines."""
        return self.bounds[1] - self.bounds[0]

    @property
    def rows(self) -> tuple[int, int]:
        """Its rows: all, if columns are split."""
        return self.bounds if self.by_rows else (0, self.n)

    @property
    def columns(self) -> tuple[int, int]:
        """Its columns: all, if rows are split."""
        return (0, self.n) if self.by_rows else self.bounds

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows[1] - self.rows[0], self.columns[1] - self.columns[0]


@dataclass(frozen=True)
class PartProblem:
    """A problem of which no rank has the whole.

    Attributes
    ----------
    source : Source
        The caller's matrix, by part.
    matrix : host or device array
        This rank's strip in working form.
    work : dtype
    shift : int or float
        As in `papers.common.problems.assignment.Problem`.
    maximize : bool
    """

    source: blocks.Source
    matrix: Any
    work: np.dtype
    shift: Any
    maximize: bool

    @property
    def size(self) -> int:
        """Order of the matrix."""
        return int(self.source.shape[0])
