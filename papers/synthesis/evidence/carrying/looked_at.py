"""Who looks at costs in host memory, the host or the device, and when: ``looked_at.csv``.

``python -m papers.synthesis.evidence.carrying.looked_at OUT.csv [REPEATS]`` measures anew, on a
GPU: uniform integers below 10n and normal floats, from host to host, looked at by the host, whose
passes bring them into working form, and sent as they are, by turns.

Medians in milliseconds, *cold*: Python's collector has gone through all memory before each call.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np

from papers.common.gpu import device, environment
from papers.common.instances.drawing import draw
from papers.common.model import Instance
from papers.synthesis.assignment import sending
from papers.synthesis.calls.assignment import linear_sum_assignment
from papers.synthesis.evidence.programs.host_paths import LABEL
from papers.synthesis.evidence.programs.table import asked, write

ORDERS = (64, 96, 128, 192, 256, 320, 400, 512, 640, 724, 1024, 1448, 2048)
TYPES = ("int32", "int64", "float64")
WAYS = {"host": 1 << 40, "sent": 0}
"""Bytes up to which the host looks at costs."""


def costs(n: int, dtype: str) -> Any:
    """Return a matrix of a type."""
    if dtype == "float64":
        return np.random.default_rng(n).normal(size=(n, n))
    return np.asarray(draw(Instance("uniform", n, LABEL, seed=1))).astype(dtype)


def rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row a size and type."""
    code, card = environment.commit()[:12], device.describe().name
    for dtype in TYPES:
        for n in ORDERS:
            matrix = costs(n, dtype)
            taken: dict[str, list[float]] = {way: [] for way in WAYS}
            for turn in range(2 + repeats):
                for way, least in WAYS.items():
                    with patch.object(sending, "LEAST_BYTES", least):
                        gc.collect()
                        device.synchronize()
                        begin = time.perf_counter()
                        linear_sum_assignment(matrix, solver="synthesis:dense")
                        if turn >= 2:
                            taken[way].append(1e3 * (time.perf_counter() - begin))
            row = {"code": code, "card": card, "dtype": dtype, "n": n, "calls": repeats}
            for way, times in taken.items():
                row[f"{way}_ms"] = round(float(np.median(times)), 3)
                row[f"{way}_least_ms"] = round(min(times), 3)
            yield row


def main(path: str, repeats: str = "15") -> None:
    """Write the table."""
    device.select("gpu")
    write(rows(int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
