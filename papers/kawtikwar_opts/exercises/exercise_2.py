"""Exercise 2, a prediction: loads of slacks in a dual update.

It teaches what Opt 1 and Opt 3 save and what they do not, before any profiler is asked.

Our kernels (`kernels/baseline.py`, `opt0.py`, ..., `opt4.py`) update an n x n matrix of which some
rows and columns are covered, and list its zeros anew; the minimum is known already. Predict how
often an element of ``slack`` is loaded. The table of the page has one column of your answer:
n = 4, one row and two columns.
"""

from __future__ import annotations


def loads(version: str, n: int, covered_rows: int, covered_columns: int) -> int:
    """Return the loads of slacks of a dual update in a version, "baseline" or "opt0" to "opt4"."""
    raise NotImplementedError
