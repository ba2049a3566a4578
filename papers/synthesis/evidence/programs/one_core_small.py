"""Calls by `synthesis:one_core` and by SciPy on small squares: ``one_core_small.csv``.

``python -m papers.synthesis.evidence.programs.one_core_small OUT.csv [REPEATS]`` measures anew:
whole calls, from the caller's matrix to the pairs, medians in microseconds; of lapx's `lapjv`, if
it is installed, its own call. From these the table of choices has the orders from which one core
gets a square. The rows are of the code that measures, which the column ``code`` names. The file has
two turns of two codes, one after the other on one core.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from papers.common.gpu import environment
from papers.common.instances.drawing import draw
from papers.common.instances.structured import PEERS_SEED
from papers.common.model import Instance
from papers.synthesis.calls.assignment import linear_sum_assignment
from papers.synthesis.evidence.programs.table import asked, write

INTEGERS, FLOATS = (32, 48, 64, 80, 96, 100, 112, 128), (64, 80, 96, 100, 112, 128, 144, 160)
"""Orders of the matrices."""

SEEDS = (1, 2, 3)

STRUCTURED = ("euclid", "clustered", "lowrank", "hidden", "two", "product")

KINDS = {
    "uniform": ("0.1n", "n", "10n"),
    "structured": STRUCTURED,
    "floats": ("normal", "lognormal", "ties", "two_values", "distances"),
}

INSTANCES = tuple(
    Instance(family, n, label, seed=PEERS_SEED - 1 + seed if family == "structured" else seed)
    for family, labels in KINDS.items()
    for n in (FLOATS if family == "floats" else INTEGERS)
    for label in labels
    for seed in SEEDS
)


def rows(instances: Sequence[Instance], repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row an instance: microseconds by code.

    Raises
    ------
    RuntimeError
        If the two answers have not one cost.
    """
    code = environment.commit()[:12]
    for each in instances:
        cost: Any = draw(each)
        if cost.dtype.kind == "i":
            cost = cost.astype(np.int64)  # as NumPy makes whole numbers
        found: dict[str, float] = {}
        taken: dict[str, float] = {}
        for name in ("scipy", "synthesis:one_core"):
            taken[name], pairs = median(linear_sum_assignment, repeats, cost, solver=name)
            found[name] = float(cost[pairs].sum())
        if not math.isclose(*found.values(), rel_tol=1e-9):
            raise RuntimeError(f"{each.key}: {found}")
        yield {
            "code": code, "family": each.family, "n": each.n, "costs": each.label,
            "seed": each.seed, "scipy_us": taken["scipy"],
            "one_core_us": taken["synthesis:one_core"], "lapjv_us": _lapjv(cost, repeats),
        }  # fmt: skip


def median(call: Callable[..., Any], repeats: int, *given: Any, **more: Any) -> tuple[float, Any]:
    """Return the microseconds of a call, and its last answer."""
    taken = []
    answer = call(*given, **more)  # the first compiles
    for _ in range(repeats):
        begin = time.perf_counter()
        answer = call(*given, **more)
        taken.append(1e6 * (time.perf_counter() - begin))
    return round(float(np.median(taken)), 1), answer


def _lapjv(cost: np.ndarray, repeats: int) -> float | str:
    """Return the microseconds of lapx's call; "" where it is not installed."""
    try:
        from lap import lapjv
    except ImportError:
        return ""
    return median(lapjv, repeats, cost)[0]


def main(path: str, repeats: str = "51") -> None:
    """Write the table."""
    write(rows(INSTANCES, int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
