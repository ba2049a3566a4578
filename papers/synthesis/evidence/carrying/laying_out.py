"""Images laid out by NumPy's passes and by compiled loops, and their load: ``laying_out.csv``.

``python -m papers.synthesis.evidence.carrying.laying_out OUT.csv [REPEATS]`` measures anew on one
core; it needs no GPU. Medians in milliseconds of `papers.synthesis.calls.cuts.layout.lay_out` on
images with four neighbours. The rows ``load`` are of processes that have imported Numba and find
the loops in its cache: the import of the loops, and the first pixel that they lay out.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np

from papers.common import cores
from papers.common.gpu import environment
from papers.common.problems.network import FOUR
from papers.synthesis.calls.cuts import layout
from papers.synthesis.evidence.programs.first_call import printed
from papers.synthesis.evidence.programs.table import asked, write

SHAPES = ((300, 300), (1000, 1000), (1600, 1750))
"""Height and width; the capacities of the last one are about `layout.BY_ARRAYS`."""

TYPES = ("int32", "int64")
WAYS = {"arrays": 1 << 62, "loops": 0}
"""The values of `layout.BY_ARRAYS` that make all images go by each way."""

LOAD = """
import time
import numba
import numpy as np
from papers.synthesis.calls.cuts import layout
layout.BY_ARRAYS = 0
one = np.ones((1, 1), np.{dtype})
lines = {{name: np.zeros((1, 1), np.int32) for name in ("source", "sink", "right")}}
begin = time.perf_counter()
layout.lay_out(layout.Image(one, one, {{"right": one}}), lines, lambda band: None)
print(1e3 * (time.perf_counter() - begin))
"""


def rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row a way, type and shape, and one a type for the load."""
    here = {"code": environment.commit()[:12], "processor": environment.cpu_model()}
    for dtype in TYPES:
        printed(LOAD.format(dtype=dtype))  # compiles, where nobody has
        taken = [float(printed(LOAD.format(dtype=dtype))) for _ in range(repeats)]
        yield {**here, "what": "load", "dtype": dtype, "capacities": 0, "ms": _median(taken)}
        for height, width in SHAPES:
            for way, bound in WAYS.items():
                image, lines = _drawn(height, width, dtype)
                with (
                    patch.object(layout, "BY_ARRAYS", bound),
                    patch.object(cores, "threads", lambda wanted: 1),
                ):
                    taken = [_timed(image, lines) for _ in range(1 + repeats)][1:]
                capacities = height * width * (2 + len(FOUR))
                yield {**here, "what": way, "dtype": dtype, "capacities": capacities,
                       "ms": _median(taken)}  # fmt: skip


def _drawn(height: int, width: int, dtype: str) -> tuple[layout.Image, dict[str, np.ndarray]]:
    names = ("source", "sink", *FOUR)
    values = np.random.default_rng(1).integers(0, 100, (len(names), height, width), dtype)
    image = layout.Image(values[0], values[1], dict(zip(FOUR, values[2:], strict=True)))
    return image, {name: np.zeros((height, width), np.int32) for name in names}


def _timed(image: layout.Image, lines: dict[str, np.ndarray]) -> float:
    begin = time.perf_counter()
    layout.lay_out(image, lines, lambda band: None)
    return 1e3 * (time.perf_counter() - begin)


def _median(taken: list[float]) -> float:
    return round(statistics.median(taken), 3)


def main(path: str, repeats: str = "15") -> None:
    """Write the table."""
    write(rows(int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
