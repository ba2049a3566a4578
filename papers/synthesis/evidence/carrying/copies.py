"""Times of host arrays on their way to the device, and of calls with it: ``copies.csv``.

``python -m papers.synthesis.evidence.carrying.copies OUT.csv [REPEATS]`` measures anew, on a GPU:
copies of integers as `papers.common.gpu.copying` decides, by the driver's one call, and by its
threads; and calls on costs in host memory, a matrix of uniform integers below 10n or a stack.

Medians in microseconds, warm and cold, as in `papers.synthesis.evidence.programs.host_paths`. The
rows are of the code that measures, which the column ``code`` names. The file has two codes on one
machine: two turns of the one before, where threads carried all that is over a MiB (its calls in the
second turn alone), and one turn of the one now, which was stopped behind n = 1024.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from papers.common.gpu import copying, device, environment
from papers.common.instances.drawing import draw
from papers.common.instances.labels import label_range
from papers.common.model import Instance
from papers.synthesis.calls.assignment import linear_sum_assignment
from papers.synthesis.evidence.programs.host_paths import LABEL, medians
from papers.synthesis.evidence.programs.table import asked, write

MEBIBYTES = (1.5, 2.25, 4, 6, 8, 10, 12, 16, 32, 64)
DIRECT = {"as decided": None, "one call": 1 << 40, "threads": 0}
"""Ways of a copy, and bytes of an array up to which one call carries it; None leaves them."""

ORDERS = (640, 1024, 1448, 2048, 4096)
BATCHES = ((10_000, 30), (1000, 32), (1000, 64), (128, 256))


def copies() -> Iterator[tuple[str, str, float, Callable[[], Any]]]:
    """Yield what is carried, the way, its MiB and the call."""
    for size in MEBIBYTES:
        source = np.arange(int(size * (1 << 20)) // 4, dtype=np.int32)
        target = device.empty(source.size, source.dtype)
        for way, most in DIRECT.items():

            def carry(source: Any = source, target: Any = target, most: Any = most) -> None:
                if most is None:
                    copying.overwrite_by_chunks(target, source)
                else:
                    with patch.object(copying, "DIRECT_BYTES", most):
                        copying.overwrite_by_chunks(target, source)

            yield "a copy", way, size, carry
            assert np.array_equal(device.to_host(target), source)


def calls() -> Iterator[tuple[str, str, float, Callable[[], Any]]]:
    """Yield what is solved, the way, its MiB and the call."""
    for n in ORDERS:
        matrix: Any = draw(Instance("uniform", n, LABEL, seed=1))
        call = partial(linear_sum_assignment, matrix, solver="synthesis:dense")
        yield f"n = {n}", "as decided", matrix.nbytes / (1 << 20), call
    for problems, n in BATCHES:
        stack = np.random.default_rng(n).integers(0, label_range(n, LABEL), (problems, n, n))
        stack = stack.astype(np.int32)
        call = partial(linear_sum_assignment, stack, solver="synthesis:batch")
        yield f"{problems} x {n}", "as decided", stack.nbytes / (1 << 20), call


def rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row a way."""
    code, card = environment.commit()[:12], device.describe().name
    for kind in (copies, calls):
        for carried, way, size, call in kind():
            yield {"code": code, "card": card, "carried": carried, "way": way,
                   "MiB": round(size, 2), "calls": repeats, **medians(call, repeats)}  # fmt: skip


def main(path: str, repeats: str = "15") -> None:
    """Write the table."""
    device.select("gpu")
    write(rows(int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
