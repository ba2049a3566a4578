"""The six steps of the report's appendix in plain NumPy: the oracle.

They are Munkres' steps, as in [L19 sec.2.1], with one more degree of freedom: `near_zero`
says which slacks are zeros. Only steps 2 and 4 look for zeros and are written anew here; the others
are those of `papers.lopes2019.reference`, in the report's words:

====================  ==========================================================================
[K21 app. step 1]     subtract the row minimum from each row, then likewise by column
[K21 app. step 2]     `step_2`, below
[K21 app. step 3]     cover each column with a starred zero; done if that is all
[K21 app. step 4]     `step_4`, below
[K21 app. step 5]     star the primes and un-star the stars of the series that step 4 found
[K21 app. step 6]     add the minimum to covered rows, subtract it from uncovered columns: what is
                      covered twice gains it, what is not covered loses it [K21 Listing 2]
====================  ==========================================================================

Read it beside the appendix; `solve` runs them in the order of [K21 Fig.7]. The versions of the
report differ in where the work is done, never in what is done, so one reference serves all six.
"""

from __future__ import annotations

import numpy as np

from papers.lopes2019.reference import Tableau, step_1, step_3, step_5, step_6


def near_zero(slack: np.ndarray, eps: float = 1) -> np.ndarray:
    """Mask of the slacks that count as zeros: ``|x| < eps`` [K21 Listing 1]."""
    return np.abs(slack) < eps


def step_2(t: Tableau, eps: float = 1) -> None:
    """Star each zero that has no starred zero in its column or row [K21 app. step 2]."""
    for row, column in np.argwhere(near_zero(t.slack, eps)):
        if t.column_of_star_at_row[row] < 0 and t.row_of_star_at_column[column] < 0:
            t.star(row, column)


def step_4(t: Tableau, eps: float = 1) -> int:
    """Prime uncovered zeros, cover their rows, uncover their stars' columns [K21 app. step 4].

    Returns
    -------
    int
        The row of a primed zero without a starred zero (go to step 5), or -1 (go to step 6).
    """
    t.count("step_4")
    zeros = near_zero(t.slack, eps)
    while True:
        uncovered = zeros & ~t.covered_row[:, None] & ~t.covered_column[None, :]
        if not uncovered.any():
            return -1
        row, column = np.argwhere(uncovered)[0]
        t.column_of_prime_at_row[row] = column
        starred = t.column_of_star_at_row[row]
        if starred < 0:
            return int(row)
        t.covered_row[row] = True
        t.covered_column[starred] = False


def solve(cost: np.ndarray, eps: float = 1) -> tuple[np.ndarray, Tableau]:
    """Solve a square assignment problem to the minimum [K21 Fig.7].

    Parameters
    ----------
    cost : ndarray[n, n]
        n >= 1, finite; integers are exact (in int64).
    eps : float
        Slacks below it count as zeros; 1 for integers.

    Returns
    -------
    column_of_row : int64[n]
        The optimal assignment.
    tableau : Tableau
        The final state: slacks, stars, counts of steps.
    """
    t = step_1(np.asarray(cost))
    step_2(t, eps)
    while not step_3(t):
        row = step_4(t, eps)
        while row < 0:
            step_6(t)
            row = step_4(t, eps)
        step_5(t, row)
    return t.column_of_star_at_row, t
