"""Matrices whose lines can be sorted, on one core and on a GPU: ``sortable.csv``.

``python -m papers.synthesis.evidence.programs.sortable OUT.csv [REPEATS]`` measures anew, on a
machine with a GPU: whole calls of `linear_sum_assignment`, from the host's matrix to the pairs, and
runs of the dense solver on costs in device memory, with the sorting and without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.environment import commit, cpu_model
from papers.synthesis.assignment import solver as dense
from papers.synthesis.assignment.settings import Settings
from papers.synthesis.calls.assignment import linear_sum_assignment
from papers.synthesis.evidence.programs.one_core_small import median
from papers.synthesis.evidence.programs.table import asked, write

ORDERS = (256, 300, 512, 1000, 2000, 4000)

MOST_NOISY = 1000
"""The largest order of what is not sorted: it is there for the comparison alone."""

SEEDS = (1, 2)

SOLVERS = ("synthesis:dense", "synthesis:one_core")


def product(g: np.random.Generator, n: int) -> np.ndarray:
    """Products of the lines' numbers, whatever the seed."""
    return np.outer(np.arange(1, n + 1), np.arange(1, n + 1))


def shuffled(g: np.random.Generator, n: int) -> np.ndarray:
    """The same with both sides in random order."""
    return np.outer(g.permutation(n) + 1, g.permutation(n) + 1)


def products(g: np.random.Generator, n: int) -> np.ndarray:
    """Products of whole numbers below the order."""
    return np.outer(g.integers(1, n, n), g.integers(1, n, n))


def line(g: np.random.Generator, n: int) -> np.ndarray:
    """Distances of points on a line."""
    return np.abs(g.integers(0, 10 * n, (n, 1)) - g.integers(0, 10 * n, (1, n)))


def noisy(g: np.random.Generator, n: int) -> np.ndarray:
    """Products that are changed by 2 at most, which sorting does not solve."""
    return products(g, n) + g.integers(0, 3, (n, n))


KINDS: tuple[Callable[[np.random.Generator, int], np.ndarray], ...] = (
    product, shuffled, products, line, noisy,
)  # fmt: skip


def drawn(kind: Callable[[np.random.Generator, int], np.ndarray], n: int, seed: int) -> np.ndarray:
    """The int32 matrix of a row of the table."""
    return kind(np.random.default_rng(1000 * seed + n), n).astype(np.int32)


def run(cost: np.ndarray, sorting: int, repeats: int) -> tuple[float, int, int]:
    """Return the microseconds of a run, the cost, and whether lines were sorted."""
    settings = replace(Settings.for_shape(*cost.shape, cost.dtype), sorting=sorting)
    state = dense.upload(cost, settings=settings)
    taken, _ = median(dense.run, repeats, state)
    answer = dense.download(state)
    return taken, answer.cost, answer.counters["sorted"]


def rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row a matrix: median milliseconds of calls by solver, and of runs with and without.

    Raises
    ------
    RuntimeError
        If they differ in the cost.
    """
    machine = {"gpu": device.describe().name, "cpu": cpu_model(), "code": commit()}
    for kind in KINDS:
        for n in ORDERS:
            for seed in SEEDS if kind is not noisy or n <= MOST_NOISY else ():
                cost = drawn(kind, n, seed)
                times, found = {}, set()
                for name in SOLVERS:
                    taken, pairs = median(linear_sum_assignment, repeats, cost, solver=name)
                    times[name.partition(":")[2]] = taken
                    found.add(int(cost[pairs].sum(dtype=np.int64)))
                times["run"], total, by_sorting = run(cost, 1, repeats)
                times["unsorted_run"], other, _ = run(cost, 0, repeats)
                found |= {total, other}
                if len(found) > 1:
                    raise RuntimeError(f"{kind.__name__}, n = {n}: costs {sorted(found)}")
                key = {"costs": kind.__name__, "n": n, "seed": seed}
                in_ms = {f"{name}_ms": round(taken / 1e3, 4) for name, taken in times.items()}
                yield machine | key | in_ms | {"repeats": repeats, "sorted": by_sorting}


def main(path: str, repeats: str = "5") -> None:
    """Write the table."""
    write(rows(int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
