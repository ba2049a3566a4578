"""Exercise 4, with a pencil: a row that stays -2.

It teaches that a lost end must be made free again, or later searches pass it over.

Suppose FIXMATCHING frees only rows that believe in a lost column, and leaves -2 standing, as its
text in the paper can be read (`reference` lists it among the three things that the listings leave
open): ``column == END or`` is missing in `kernels.fix_matching.fix_matching`. Find a graph of two
rows and two columns on which APFB, from an empty start and in natural order, then ends with fewer
pairs than there could be. Rows go down.
"""

from __future__ import annotations

GRAPH: list[list[int]] | None = None
