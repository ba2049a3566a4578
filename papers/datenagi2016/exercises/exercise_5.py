"""Exercise 5, a prediction: loads of costs around a dual update.

It teaches why the tree variant pays where there are many dual updates.

In the classical variant a dual update finds theta in the matrix (`dual_update_stage_1`), moves the
duals, and has the edges compressed anew (`compression_predicate`). Predict how many costs these two
kernels load, for n below 97, where no row has more than `width` edges. Then think: how many loads
of costs does the tree variant's dual update make, and what are the classical one's bytes at n =
20000 if a tenth of the rows and nine tenths of the columns are uncovered?
"""

from __future__ import annotations


def loads(n: int, uncovered_rows: int, uncovered_columns: int) -> int:
    """Return the loads of costs of a classical dual update and the compression behind it."""
    raise NotImplementedError
