"""Times of small calls on a GPU and of batches, for the host's share: ``host_paths.csv``.

``python -m papers.synthesis.evidence.programs.host_paths OUT.csv [REPEATS]`` measures anew, on a
GPU: whole calls of `papers.linear_sum_assignment` on one matrix, in host memory and in device
memory of each library that is installed, beside the dense solver's run alone; whole calls on
batches in host memory, and the batched solver's way from host to host, which has the duals, too.

Medians in microseconds, *warm*, one call after the other, and *cold*, as the clocks of this project
measure: Python's collector has gone through all memory before each call. The rows are of the code
that measures, which the column ``code`` names. The file has two turns of two codes on one machine.
"""

from __future__ import annotations

import gc
import importlib.util
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from papers.common.gpu import device, environment
from papers.common.instances.drawing import draw
from papers.common.instances.labels import label_range
from papers.common.model import Instance
from papers.synthesis.assignment import solver as dense
from papers.synthesis.assignment.resident import adopt
from papers.synthesis.batch import solver as batch
from papers.synthesis.calls.assignment import linear_sum_assignment
from papers.synthesis.evidence.programs.table import asked, write

ORDERS = (64, 256)
BATCHES = ((10_000, 30), (1000, 32), (1000, 64), (128, 256))
LABEL = "10n"
WARM = 5
SHARE = 8
"""Batches are repeated a share of the times."""


def on_device(matrix: np.ndarray) -> dict[str, Any]:
    """Return the matrix in the device memory of each library that is there."""
    found = {"Numba": device.to_device(matrix)}
    if importlib.util.find_spec("cupy"):
        import cupy

        found["CuPy"] = cupy.asarray(matrix)
    if importlib.util.find_spec("torch"):
        import torch

        found["PyTorch"] = torch.as_tensor(matrix, device="cuda")
    return found


def medians(call: Callable[[], Any], repeats: int) -> dict[str, float]:
    """Return the microseconds of a call, warm and cold."""
    found = {}
    for way in ("warm", "cold"):
        taken = []
        for _ in range(WARM + repeats):
            if way == "cold":
                gc.collect()
                device.synchronize()
            begin = time.perf_counter()
            call()
            taken.append(1e6 * (time.perf_counter() - begin))
        found[f"{way}_us"] = round(float(np.median(taken[WARM:])), 1)
    return found


def rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row a way of the costs."""
    code, card = environment.commit()[:12], device.describe().name
    for n in ORDERS:
        matrix: Any = draw(Instance("uniform", n, LABEL, seed=1))
        state = dense.upload(adopt(device.to_device(matrix)))
        ways = {"its run alone": lambda state=state: dense.run(state)}
        for place, costs in {"NumPy": matrix, **on_device(matrix)}.items():
            ways[place] = lambda costs=costs: linear_sum_assignment(costs, solver="synthesis:dense")
        for way, call in ways.items():
            yield {"code": code, "card": card, "problems": 1, "n": n, "costs": way,
                   **medians(call, repeats)}  # fmt: skip
    for problems, n in BATCHES:
        stack = np.random.default_rng(n).integers(0, label_range(n, LABEL), (problems, n, n))
        stack = stack.astype(np.int32)
        for way, call in {
            "a call": lambda stack=stack: linear_sum_assignment(stack, solver="synthesis:batch"),
            "from host to host, with duals": lambda stack=stack: batch.solve(stack)[0],
        }.items():
            yield {"code": code, "card": card, "problems": problems, "n": n, "costs": way,
                   **medians(call, max(1, repeats // SHARE))}  # fmt: skip


def main(path: str, repeats: str = "200") -> None:
    """Write the table."""
    device.select("gpu")
    write(rows(int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
