"""Exercise 5, harder: a phase that gains one path.

It teaches why Hopcroft and Karp's bound on the phases, a square root, does not hold for APsB.

Hopcroft and Karp augment a greatest set of disjoint shortest paths in a phase. Find graphs with n
rows and n columns whose rows can all be matched by paths of one edge, so that Hopcroft and Karp
need a single phase from an empty start, and on which APsB (GPUBFS, natural order of the threads)
gains one pair a phase: n phases, and a last search.
"""

from __future__ import annotations


def graph(n: int) -> list[list[int]]:
    """Return the matrix of such a graph, n x n, rows going down."""
    raise NotImplementedError
