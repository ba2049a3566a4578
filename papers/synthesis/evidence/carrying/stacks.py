"""Stacks by one launch and by one core's loop, from host and from device memory: ``stacks.csv``.

``python -m papers.synthesis.evidence.carrying.stacks OUT.csv [REPEATS]`` measures anew, on a GPU:
calls of `papers.linear_sum_assignment` on stacks of uniform integers below 10n and of normal
floats, by the two solvers that the table of choices takes for a stack, by turns. From these it has
the number of lines (the matrices' sides added up) from which the GPU gets one.

Medians in microseconds, *cold*: Python's collector has gone through all memory before each call.
Outside of the clock the assigned costs of both are compared. The file was stopped at floats of 32 a
side, and was taken before anything was compared.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from papers.common.gpu import device, environment
from papers.common.instances.labels import label_range
from papers.synthesis.calls.assignment import linear_sum_assignment
from papers.synthesis.evidence.programs.host_paths import LABEL
from papers.synthesis.evidence.programs.table import asked, write

SIDES = (8, 16, 32, 64, 96, 128)
LINES = (500, 1000, 2000, 4000, 8000, 16000)
TYPES = ("int32", "float64")
PLACES = ("host", "device")
SOLVERS = {"synthesis:batch": "batch_us", "synthesis:one_core": "one_core_us"}
WARM = 2


def stack(problems: int, n: int, dtype: str) -> np.ndarray:
    """Return matrices of a type."""
    draw = np.random.default_rng(n)
    if dtype == "float64":
        return draw.normal(size=(problems, n, n))
    return draw.integers(0, label_range(n, LABEL), (problems, n, n)).astype(dtype)


def rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row a place, type and number of lines."""
    code, card = environment.commit()[:12], device.describe().name
    for dtype in TYPES:
        for n in SIDES:
            for lines in LINES:
                host = stack(max(2, lines // n), n, dtype)
                for place in PLACES:
                    given = host if place == "host" else device.to_device(host)
                    row = {"code": code, "card": card, "place": place, "dtype": dtype,
                           "lines": lines, "problems": len(host), "n": n,
                           "calls": repeats}  # fmt: skip
                    yield row | medians(given, host, repeats)


def assigned(host: np.ndarray, columns: Any) -> np.ndarray:
    """Return the cost of each matrix' assignment."""
    found = np.asarray(columns if isinstance(columns, np.ndarray) else device.to_host(columns))
    return np.take_along_axis(host, found[:, :, None], axis=2).sum(axis=(1, 2))


def medians(given: Any, host: np.ndarray, repeats: int) -> dict[str, float]:
    """Return the microseconds of both solvers' calls on a stack, which is on the host, too.

    Raises
    ------
    AssertionError
        If their assignments' costs differ.
    """
    taken: dict[str, list[float]] = {name: [] for name in SOLVERS}
    costs = []
    for turn in range(WARM + repeats):
        for name in SOLVERS:
            gc.collect()
            device.synchronize()
            begin = time.perf_counter()
            _, columns = linear_sum_assignment(given, solver=name)
            if turn >= WARM:
                taken[name].append(1e6 * (time.perf_counter() - begin))
            else:
                costs.append(assigned(host, columns))
    assert all(np.allclose(costs[0], one, rtol=1e-9, atol=0) for one in costs)
    return {SOLVERS[name]: round(float(np.median(times)), 1) for name, times in taken.items()}


def main(path: str, repeats: str = "9") -> None:
    """Write the table."""
    device.select("gpu")
    write(rows(int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
