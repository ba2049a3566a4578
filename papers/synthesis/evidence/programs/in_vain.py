"""Runs of the dense solver that sorting does not end, with and without it: ``sorted_in_vain.csv``.

``python -m papers.synthesis.evidence.programs.in_vain OUT.csv [REPEATS]`` measures anew, on a GPU,
runs with the sorting and without, by turns, on costs in device memory, which all are scaled then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.environment import commit
from papers.common.instances.structured import structured
from papers.synthesis.assignment import solver as dense
from papers.synthesis.assignment.settings import Settings
from papers.synthesis.evidence.programs.sortable import noisy
from papers.synthesis.evidence.programs.table import asked, write

ORDERS = (256, 512, 1000, 2000, 4000, 8000)

MOST_NOISY = 2000
"""The largest order of noisy products: larger ones have runs of tenths of a second."""


KINDS: dict[str, Callable[[int], np.ndarray]] = {
    "lowrank": lambda n: structured(n, name="lowrank"),
    "euclid": lambda n: structured(n, name="euclid"),
    "noisy": lambda n: noisy(np.random.default_rng(n), n).astype(np.int32),
}
"""The costs by their names: the first two are those of the families, see `structured`."""


def rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row a matrix: median milliseconds of runs with the sorting and without.

    Raises
    ------
    RuntimeError
        If they differ in the cost, or lines were sorted.
    """
    machine = {"gpu": device.describe().name, "code": commit()[:12]}
    for name, drawn in KINDS.items():
        for n in ORDERS:
            if name == "noisy" and n > MOST_NOISY:
                continue
            cost = drawn(n)
            ways = {}
            for sorting in (1, 0):
                settings = replace(Settings.for_shape(n, n, cost.dtype), sorting=sorting)
                ways[sorting] = dense.upload(cost, settings=settings)
            taken: dict[int, list[float]] = {1: [], 0: []}
            for _ in range(repeats + 1):
                for sorting, state in ways.items():
                    begin = time.perf_counter()
                    dense.run(state)
                    taken[sorting].append(time.perf_counter() - begin)
            answers = [dense.download(state) for state in ways.values()]
            if answers[0].cost != answers[1].cost or answers[0].counters["sorted"]:
                raise RuntimeError(f"{name}, n = {n}: {answers}")
            yield machine | {
                "costs": name, "n": n, "repeats": repeats,
                "sorts": answers[0].counters["sorts"],
                "run_ms": _median_ms(taken[1]), "unsorted_run_ms": _median_ms(taken[0]),
            }  # fmt: skip


def _median_ms(taken: list[float]) -> float:
    """The first is left out: it compiles."""
    return round(1e3 * float(np.median(taken[1:])), 4)


def main(path: str, repeats: str = "7") -> None:
    """Write the table."""
    write(rows(int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
