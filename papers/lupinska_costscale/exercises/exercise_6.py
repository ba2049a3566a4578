"""Exercise 6, harder, a proof turned into a function: which prices prove an assignment.

It teaches how small epsilon has to be, and what the n of "below 1/n" counts.

Costs are whole numbers, to be minimized; prices need not be. An arc from row x to column y is
residual if they are not assigned to one another, and then costs c; if they are, the arc from y to x
is residual, and costs -c. The reduced cost of an arc from v to w is its cost plus p(v) less p(w).
If no residual arc has one below -epsilon, for which epsilon must the assignment be optimal? Write a
function that accepts prices which prove an assignment, and no others.
"""

from __future__ import annotations

from fractions import Fraction


def proves(
    cost: list[list[int]],
    column_of_row: list[int],
    price_of_row: list[Fraction],
    price_of_column: list[Fraction],
) -> bool:
    """Whether these prices prove that the assignment is optimal: for n x n costs."""
    raise NotImplementedError
