"""Exercise 5, harder, a proof turned into a function: the covers of a search that ran dry.

It teaches why the number of dual updates is the same under every interleaving, though paths,
primes and restarts are not.

When step 4 runs dry without a path, step 6 shifts the duals by the least slack that its covers
leave uncovered. Prove that these covers depend on the zeros alone: not on the order of the threads,
and not even on which of the greatest sets of stars there is. Then write them as a function of the
zeros. Hint: which rows and columns can a free column reach, and what would a second set of stars
with another answer mean for the path between them?
"""

from __future__ import annotations

import numpy as np


def dry_covers(zeros: np.ndarray) -> tuple[list[bool], list[bool]]:
    """Return which rows and which columns are covered when step 4 has run dry.

    Parameters
    ----------
    zeros : ndarray[n, n] of bool
        Where the slack is zero, rows first.
    """
    raise NotImplementedError
