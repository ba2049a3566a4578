"""The sequential algorithm of [L19 sec.2.1], step by step, in plain NumPy: the oracle.

Read it beside the paper. A `Tableau` holds the data structures of [L19 sec.4.1]; each function is
one step and changes the tableau in place. `solve` runs them in the order of [L19 Fig.1]. The
paper's own contribution, the same steps by many threads at once, is in `reference_parallel`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Tableau:
    """The algorithm's state on an ``n x n`` cost matrix.

    Attributes
    ----------
    slack : ndarray[n, n]
        ``slack[row, column]``.
    covered_row, covered_column : bool[n]
    row_of_star_at_column, column_of_star_at_row, column_of_prime_at_row : int64[n]
        -1 where there is none.
    steps : dict of str to int
        How often steps 3 to 6 ran.
    """

    slack: np.ndarray
    covered_row: np.ndarray = field(init=False)
    covered_column: np.ndarray = field(init=False)
    row_of_star_at_column: np.ndarray = field(init=False)
    column_of_star_at_row: np.ndarray = field(init=False)
    column_of_prime_at_row: np.ndarray = field(init=False)
    steps: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.slack)
        self.covered_row = np.zeros(n, bool)
        self.covered_column = np.zeros(n, bool)
        self.row_of_star_at_column = np.full(n, -1)
        self.column_of_star_at_row = np.full(n, -1)
        self.column_of_prime_at_row = np.full(n, -1)

    def count(self, step: str) -> None:
        """Count a step that runs."""
        self.steps[step] = self.steps.get(step, 0) + 1

    def star(self, row: int, column: int) -> None:
        """Star a zero: both vectors, so that the graph can be walked either way."""
        self.column_of_star_at_row[row] = column
        self.row_of_star_at_column[column] = row


def step_1(cost: np.ndarray) -> Tableau:
    """Subtract the row minimum from each row, then the column minimum from each [L19 step 1]."""
    wide = cost.astype(np.float64 if cost.dtype.kind == "f" else np.int64)
    slack = wide - wide.min(axis=1, keepdims=True)
    return Tableau(slack - slack.min(axis=0, keepdims=True))


def step_2(t: Tableau) -> None:
    """Star each zero that has no starred zero in its row or column [L19 step 2]."""
    for row, column in np.argwhere(t.slack == 0):
        if t.column_of_star_at_row[row] < 0 and t.row_of_star_at_column[column] < 0:
            t.star(row, column)


def step_3(t: Tableau) -> bool:
    """Cover each column with a starred zero; True if that is all (finished) [L19 step 3]."""
    t.count("step_3")
    t.covered_row[:] = False
    t.column_of_prime_at_row[:] = -1
    t.covered_column[:] = t.row_of_star_at_column >= 0
    return bool(t.covered_column.all())


def step_4(t: Tableau) -> int:
    """Prime uncovered zeros until a path is found or none is left [L19 step 4].

    Returns
    -------
    int
        The row where the path begins (its primed zero has no star in its row), or -1.
    """
    t.count("step_4")
    while True:
        open_zeros = (t.slack == 0) & ~t.covered_row[:, None] & ~t.covered_column[None, :]
        if not open_zeros.any():
            return -1
        row, column = np.argwhere(open_zeros)[0]  # the first by rows; any of them would do
        t.column_of_prime_at_row[row] = column
        starred = t.column_of_star_at_row[row]
        if starred < 0:
            return int(row)
        t.covered_row[row] = True
        t.covered_column[starred] = False


def step_5(t: Tableau, row: int) -> None:
    """Augment along primes and stars, from the row that step 4 returned [L19 step 5].

    Z0 is the primed zero (row, column), Z1 the starred zero of that column, Z2 the primed zero of
    Z1's row. Starring Z0 before moving on un-stars Z1, since a column holds one star.
    """
    t.count("step_5")
    while True:
        column = t.column_of_prime_at_row[row]
        next_row = t.row_of_star_at_column[column]
        t.star(row, column)
        if next_row < 0:
            return
        row = next_row


def step_6(t: Tableau) -> None:
    """Shift the duals by the smallest uncovered slack [L19 step 6].

    It is subtracted where no line is covered and added where both are.
    """
    t.count("step_6")
    open_rows, open_columns = ~t.covered_row, ~t.covered_column
    minimum = t.slack[np.ix_(open_rows, open_columns)].min()
    t.slack[np.ix_(open_rows, open_columns)] -= minimum
    t.slack[np.ix_(t.covered_row, t.covered_column)] += minimum


def solve(cost: np.ndarray) -> tuple[np.ndarray, Tableau]:
    """Solve a square assignment problem to the minimum, as [L19 Fig.1].

    Parameters
    ----------
    cost : ndarray[n, n]
        n >= 1, finite; integers are exact (in int64).

    Returns
    -------
    column_of_row : int64[n]
        The optimal assignment.
    tableau : Tableau
        The final state: slacks, stars, counts of steps.
    """
    t = step_1(np.asarray(cost))
    step_2(t)
    while not step_3(t):
        row = step_4(t)
        while row < 0:
            step_6(t)
            row = step_4(t)
        step_5(t, row)
    return t.column_of_star_at_row, t
