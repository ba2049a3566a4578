"""Rectangles: the shorter side's lines are searched, and no padding line ever is.

The kernels work on a square. Of a rectangle of costs each line of the shorter side gets a partner:
these are the lines to search from, the paper's columns. Padding with zeros would make the other
columns of the square lines like any other, with a zero in every row, swept in every search.

Here the padding columns count as starred from the start (`kernels.search.star_padding`). So they
are covered in every search; no row's star stands in them, so nothing uncovers them; no zero of
theirs is primed, and no dual update reads them. Munkres' algorithm runs on the other columns alone,
and ends when these are starred.

**Proof.** A row without a star is never covered, so that its dual stays where step 1 has put it;
and no dual of a row ever rises. If step 1 gives all rows the same dual K, then at the end the rows'
duals less K are at most 0, and 0 for every row without a partner: with the columns' duals plus K
they prove the optimum of the rectangle. For that all rows need the same extreme D in step 1: each
row has one entry D in one of the padding columns, and the rest of the padding is worse. Its zeros
are those n entries, which no search follows.

The CPU code takes rectangles as they are, with one more line of D in every row. This line is
searched, finds a free row at once, and makes the rows' duals equal in the same way.

In the words of the caller's matrix a searched line is a row if there are fewer rows than columns;
otherwise it is a column, and the costs are turned when they are laid out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.model import Assignment
from papers.common.problems.assignment import Problem, finish


@dataclass(frozen=True)
class Layout:
    """Costs as the solvers take them.

    Attributes
    ----------
    matrix : T[n, n] or T[lines + 1, n]
        C-contiguous, a line to search from (the paper's column) after the other, then the padding;
        n is the longer side.
    lines : int
        Lines to search from: n where the costs are square.
    turned : bool
        Whether these are the caller's columns.
    """

    matrix: np.ndarray
    lines: int
    turned: bool

    @property
    def padding(self) -> int:
        """Lines that are not the caller's."""
        return len(self.matrix) - self.lines

    @property
    def zeros(self) -> int:
        """Zeros in the padding after step 1."""
        return self.matrix.shape[1] if self.padding else 0


def lay_out(problem: Problem, maximize: bool) -> Layout:
    """Lay the costs out for the kernels: a square.

    Parameters
    ----------
    problem : Problem
        The value that `papers.common.problems.assignment.prepare` returned.
    maximize : bool
        Whether the kernels maximize (step 1 takes row maxima).

    Returns
    -------
    Layout
        Of a square the matrix as it is.
    """
    n = problem.size
    layout, extreme, worse = _room_for(problem, n, maximize)
    if layout.padding:
        padding, row = layout.matrix[layout.lines :], np.arange(n)
        padding[:] = worse
        padding[row % len(padding), row] = extreme
    return layout


def lay_out_lines(problem: Problem) -> Layout:
    """Lay the costs out for a CPU code that minimizes: the lines to search from, and one more."""
    lines = min(problem.cost.shape)
    layout, extreme, _ = _room_for(problem, lines + 1, maximize=False)
    if layout.padding:
        layout.matrix[lines] = extreme
    return layout


def _room_for(problem: Problem, height: int, maximize: bool) -> tuple[Layout, Any, Any]:
    """Return the lines to search from, above room for the padding, and the padding's two values."""
    rows, columns = problem.cost.shape
    n = problem.size
    if rows == columns or n == 0:
        return Layout(problem.matrix, n, False), None, None
    turned = rows > columns
    block = problem.matrix[:rows, :columns]
    block = block.T if turned else block
    matrix = np.empty((height, n), problem.matrix.dtype)
    matrix[: len(block)] = block
    return Layout(matrix, len(block), turned), *_padding_values(block, maximize)


def _padding_values(block: np.ndarray, maximize: bool) -> tuple[Any, Any]:
    """Return D, no worse than any cost, and a worse value; both fit the working type.

    D is 0 where it can be: then step 1 takes nothing from the costs, and rounds no float.
    """
    low, high, zero = block.min(), block.max(), block.dtype.type(0)
    extreme, worse = (max(zero, high), low) if maximize else (min(zero, low), high)
    if extreme == worse:  # equal costs: one more than the least holds in every type
        more = extreme + block.dtype.type(max(1, abs(extreme)))
        return (more, worse) if maximize else (extreme, more)
    return extreme, worse


def finish_layout(
    problem: Problem,
    layout: Layout,
    star: np.ndarray,
    line_duals: np.ndarray,
    other_duals: np.ndarray,
    counters: Mapping[str, int],
) -> Assignment:
    """Bring stars and duals of the kernels back into the caller's terms.

    Parameters
    ----------
    problem, layout
        As they were uploaded.
    star : int32[lines + padding]
        The row of the star in each of the paper's columns.
    line_duals : int64[lines + padding] or float64[lines + padding]
        Duals of the paper's columns; those of the padding are not read.
    other_duals : int64[n] or float64[n]
        Duals of the paper's rows.
    counters : mapping of str to int
        Passed through.

    Returns
    -------
    Assignment

    Raises
    ------
    ValueError
        From `papers.common.problems.assignment.finish`.
    """
    if not layout.padding:
        return finish(problem, star, line_duals, other_duals, counters)
    lines = layout.lines
    u = line_duals.copy()
    u[lines:] = -other_duals.max()  # K: `finish` adds it to the lines and takes it from the others
    if not layout.turned:
        return finish(problem, star, u, other_duals, counters)
    column_of_row = np.full(len(other_duals), lines, np.int64)  # lines: no partner
    column_of_row[star[:lines]] = np.arange(lines)
    return finish(problem, column_of_row, other_duals, u, counters)
