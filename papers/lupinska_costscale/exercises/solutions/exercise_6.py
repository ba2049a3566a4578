"""Solution 6.

If another assignment costs less, the two differ in cycles of residual arcs, one of which has a
negative cost; as a whole number it is -1 at most. Along a cycle prices cancel, so that its cost is
the sum of its reduced costs. It has at most 2 n arcs, n forward and n backward, so the sum is at
least -2 n epsilon. Below 1 / (2 n), then, there is no such cycle. The n of the paper's 1/n is the
number of nodes |V|, rows and columns together: with 1 over the number of rows two rows may be
assigned wrongly, a cycle of four arcs of -1/4 each. Hence the code multiplies costs by |V| + 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any


def epsilon_of(
    cost: list[list[int]],
    column_of_row: list[int],
    price_of_row: list[Fraction],
    price_of_column: list[Fraction],
) -> Fraction:
    """Return the least epsilon for which the assignment is epsilon-optimal."""
    reduced = []
    for x, line in enumerate(cost):
        for y, c in enumerate(line):
            forward = c + price_of_row[x] - price_of_column[y]
            reduced.append(-forward if column_of_row[x] == y else forward)
    return max(Fraction(0), -min(reduced))


def proves(
    cost: list[list[int]],
    column_of_row: list[int],
    price_of_row: list[Fraction],
    price_of_column: list[Fraction],
) -> bool:
    """Whether these prices prove that the assignment is optimal: for n x n costs."""
    epsilon = epsilon_of(cost, column_of_row, price_of_row, price_of_column)
    return 2 * len(cost) * epsilon < 1


def below_one_over_the_rows(
    cost: list[list[int]],
    column_of_row: list[int],
    price_of_row: list[Fraction],
    price_of_column: list[Fraction],
) -> bool:
    """Take n for the number of rows."""
    return len(cost) * epsilon_of(cost, column_of_row, price_of_row, price_of_column) < 1


def at_most_one_over_the_nodes(
    cost: list[list[int]],
    column_of_row: list[int],
    price_of_row: list[Fraction],
    price_of_column: list[Fraction],
) -> bool:
    """Accept the bound itself, where a cycle may cost -1."""
    return 2 * len(cost) * epsilon_of(cost, column_of_row, price_of_row, price_of_column) <= 1


def without_epsilon(
    cost: list[list[int]],
    column_of_row: list[int],
    price_of_row: list[Fraction],
    price_of_column: list[Fraction],
) -> bool:
    """Ask for prices that no scaling ends with."""
    return epsilon_of(cost, column_of_row, price_of_row, price_of_column) == 0


WRONG: dict[str, list[Any]] = {
    "proves": [below_one_over_the_rows, at_most_one_over_the_nodes, without_epsilon]
}
