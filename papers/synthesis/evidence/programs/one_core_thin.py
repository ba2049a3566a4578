"""Calls by `synthesis:one_core` and SciPy on rectangles with a short side: ``one_core_thin.csv``.

``python -m papers.synthesis.evidence.programs.one_core_thin OUT.csv [REPEATS]`` measures anew:
whole calls on int64 costs, from the caller's matrix to the pairs, medians in microseconds, with the
short side as rows and as columns. From these the table of choices has the number of costs from
which one core gets such a rectangle, and up to which.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from papers.common.gpu import environment
from papers.synthesis.calls.assignment import linear_sum_assignment
from papers.synthesis.evidence.programs.one_core_small import median
from papers.synthesis.evidence.programs.table import asked, write

SHORT, LONG = (3, 5, 10, 20, 40, 64, 90), (100, 300, 1000, 3000, 7000, 30000)
"""Sides of the rectangles."""

LEAST = 5000
"""Costs of the smallest ones."""


def drawn(kind: str, n: int, m: int) -> np.ndarray:
    """Return costs int64[n, m]: uniform below 10 m, distances in the plane, or products."""
    g = np.random.default_rng(n * m)
    if kind == "uniform":
        return g.integers(0, 10 * m, (n, m))
    if kind == "products":
        return np.multiply.outer(g.integers(1, 1000, n), g.integers(1, 1000, m))
    rows, columns = g.random((n, 1, 2)), g.random((1, m, 2))
    return np.rint(1e5 * np.hypot(*(rows - columns).transpose(2, 0, 1))).astype(np.int64)


def rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row a rectangle: microseconds by code.

    Raises
    ------
    RuntimeError
        If the two answers have not one cost.
    """
    code = environment.commit()[:12]
    sizes = [(n, m) for n in SHORT for m in LONG if n * m >= LEAST]
    for kind in ("uniform", "distances", "products"):
        for n, m in sizes:
            for turned in (False, True):
                cost = drawn(kind, n, m)
                if turned:
                    cost = np.ascontiguousarray(cost.T)
                taken, found = {}, set()
                for name in ("scipy", "synthesis:one_core"):
                    taken[name], pairs = median(linear_sum_assignment, repeats, cost, solver=name)
                    found.add(int(cost[pairs].sum()))
                if len(found) > 1:
                    raise RuntimeError(f"{kind} {cost.shape}: {found}")
                yield {
                    "code": code, "costs": kind, "rows": cost.shape[0], "columns": cost.shape[1],
                    "scipy_us": taken["scipy"], "one_core_us": taken["synthesis:one_core"],
                }  # fmt: skip


def main(path: str, repeats: str = "15") -> None:
    """Write the table."""
    write(rows(int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
