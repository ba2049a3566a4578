"""The gain of `synthesis:one_core` by sorting, where lines can be sorted: ``one_core_sorted.csv``.

``python -m papers.synthesis.evidence.programs.sorted_lines OUT.csv [REPEATS]`` measures anew,
beside SciPy: whole calls, from the caller's matrix to the answer, medians.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from papers.common.gpu.environment import cpu_model
from papers.common.problems import assignment_proof
from papers.synthesis.evidence.programs.one_core import median
from papers.synthesis.evidence.programs.table import asked, write
from papers.synthesis.one_core import solver as one_core

ORDERS = (128, 300, 1000, 2000)

SEEDS = (1, 2, 3)


def products(g: np.random.Generator, n: int) -> np.ndarray:
    """Products of whole numbers up to 1000."""
    return np.outer(g.integers(1, 1001, n), g.integers(1, 1001, n))


def squares(g: np.random.Generator, n: int) -> np.ndarray:
    """Squared distances of points on a line of 10,000 places."""
    return (g.integers(0, 10_000, n)[:, None] - g.integers(0, 10_000, n)) ** 2


def distances(g: np.random.Generator, n: int) -> np.ndarray:
    """Distances of real points on a line."""
    return np.abs(g.random(n)[:, None] - g.random(n))


def rounded(g: np.random.Generator, n: int) -> np.ndarray:
    """Distances of real points on a line, in thousandths of it."""
    return (1000 * distances(g, n)).astype(np.int64)


KINDS: tuple[Callable[[np.random.Generator, int], np.ndarray], ...] = (
    products, squares, distances, rounded,
)  # fmt: skip


def rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row a matrix: milliseconds, and whether one core has begun by sorting.

    Raises
    ------
    RuntimeError
        If an answer is not proved.
    """
    for kind in KINDS:
        for n in ORDERS:
            for seed in SEEDS:
                cost = kind(np.random.default_rng([seed, n]), n)
                answer = one_core.solve(cost)
                proof = assignment_proof.assignment(cost, answer, False)
                if not proof.ok:
                    raise RuntimeError(f"{kind.__name__}, n = {n}: {proof.reason}")
                times = {
                    f"{name.partition(':')[2] or name}_ms": median(name, cost, repeats)
                    for name in ("synthesis:one_core", "scipy")
                }
                key = {"cpu": cpu_model(), "costs": kind.__name__, "n": n, "seed": seed}
                yield key | times | {"sorted": answer.counters["sorted"]}


def main(path: str, repeats: str = "3") -> None:
    """Write the table."""
    write(rows(int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
