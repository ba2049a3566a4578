"""The time that a look at duals of floats adds to a call for the pairs alone: ``judged.csv``.

``python -m papers.synthesis.evidence.carrying.judged OUT.csv [REPEATS]`` measures anew, on a GPU:
floats in device memory by ``synthesis:dense``, with the look and without it, by turns. The column
``sure`` says whether the look is all: of what is not sure the costs go to the host for a proof.

Medians in microseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import numpy as np

from papers.common.gpu import device, environment
from papers.common.instances.drawing import draw
from papers.common.model import Instance
from papers.synthesis.calls import one_matrix
from papers.synthesis.calls.assignment import linear_sum_assignment
from papers.synthesis.calls.assignment_duals import are_small
from papers.synthesis.evidence.programs.table import asked, write

ORDERS = (64, 256, 1000, 2000)
FAMILIES = ("normal", "lognormal", "distances", "uniform")
SEEDS = (1, 2, 3)
SOLVER = "synthesis:dense"


def costs(label: str, n: int, seed: int) -> np.ndarray:
    """Return a matrix of float64."""
    if label == "uniform":
        return np.random.default_rng(seed).random((n, n))
    return np.ascontiguousarray(draw(Instance("floats", n, label, seed=seed)))


there: Callable[[np.ndarray], Any] = device.to_device
"""Brings a matrix to the device, and shows it as a caller would."""


def _unjudged(solve: Callable[..., Any]) -> Callable[..., Any]:
    """Return the way to the pairs as it is without a judge."""
    return lambda data, room, maximize, left, is_sure: solve(data, room, maximize, left)


def rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row a matrix and way."""
    code, card = environment.commit()[:12], device.describe().name
    adopted, solve, *others = one_matrix._dense()
    ways = {"unjudged": (adopted, _unjudged(solve), *others), "judged": (adopted, solve, *others)}
    for n in ORDERS:
        for label in FAMILIES:
            for seed in SEEDS:
                cost = costs(label, n, seed)
                given = there(cost)
                *_, u, v = linear_sum_assignment(cost, return_duals=True, solver=SOLVER)
                taken: dict[str, list[float]] = {name: [] for name in ways}
                for turn in range(4 + repeats):
                    for name, way in ways.items():
                        with patch.object(one_matrix, "_dense", lambda way=way: way):
                            begin = time.perf_counter()
                            linear_sum_assignment(given, solver=SOLVER)
                            if turn >= 4:
                                taken[name].append(1e6 * (time.perf_counter() - begin))
                for name, times in taken.items():
                    yield {
                        "code": code, "card": card, "costs": label, "n": n, "seed": seed,
                        "way": name, "us": round(float(np.median(times)), 1),
                        "sure": bool(are_small(u, v)),
                    }  # fmt: skip


def main(path: str, repeats: str = "15") -> None:
    """Write the table."""
    device.select("gpu")
    write(rows(int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
