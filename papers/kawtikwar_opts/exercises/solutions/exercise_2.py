"""Solution 2.

Two kernels load what changes, and then everything. Opt 1 as we have it loads everything, and then
everything once more for the test, so it makes more loads than two kernels did; the second one hits
the cache, and what is saved is a pass over memory. Only Opt 3 loads every entry once. Opt 4 adds a
barrier, and no load.
"""

from __future__ import annotations

from typing import Any


def loads(version: str, n: int, covered_rows: int, covered_columns: int) -> int:
    """Return the loads of slacks of a dual update in a version, "baseline" or "opt0" to "opt4"."""
    open_rows, open_columns = n - covered_rows, n - covered_columns
    changing = open_rows * open_columns + covered_rows * covered_columns
    if version in ("baseline", "opt0"):
        return changing + n * n
    return 2 * n * n if version in ("opt1", "opt2") else n * n


def as_if_opt_1_saved_loads(version: str, n: int, covered_rows: int, covered_columns: int) -> int:
    """Take the second load for a hit in a register, as Opt 3 has it."""
    return min(loads(version, n, covered_rows, covered_columns), n * n)


WRONG: dict[str, list[Any]] = {"loads": [as_if_opt_1_saved_loads]}
