"""Calls on many small matrices on one core, as a list and as a stack: ``one_core_lists.csv``.

``python -m papers.synthesis.evidence.programs.one_core_many OUT.csv [REPEATS]`` measures anew:
whole calls, and SciPy's in a loop, medians in milliseconds. The rows are of the code that measures,
which the column ``code`` names. The file has two turns of two codes, one after the other on one
core; ``one_core_many.csv``, of older codes, has most of these kinds of stacks and others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from papers.common.gpu import device, environment
from papers.synthesis.calls.assignment import linear_sum_assignment
from papers.synthesis.calls.one_matrix import scipys
from papers.synthesis.evidence.programs.one_core_small import median
from papers.synthesis.evidence.programs.table import asked, write

SHAPES = ((3, 3, 3), (100, 10, 10), (1000, 8, 8), (1000, 30, 30), (1000, 64, 64), (300, 100, 100),
          (500, 20, 30))  # fmt: skip
"""Matrices, rows and columns."""

KINDS: dict[str, Callable[[np.random.Generator, tuple[int, int, int]], np.ndarray]] = {
    "uniform integers": lambda draw, shape: draw.integers(0, 10 * shape[1], shape),
    "normal floats": lambda draw, shape: draw.normal(size=shape),
}


def rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row a kind of matrices.

    Raises
    ------
    RuntimeError
        If the optima of the three ways differ.
    """
    code = environment.commit()[:12]
    for kind, drawn in KINDS.items():
        for shape in SHAPES:
            stack = drawn(np.random.default_rng(5), shape)
            several = list(stack)
            taken, found = {}, {}
            for way, call in {
                "list": lambda each=several: linear_sum_assignment(each, device="cpu"),
                "stack": lambda each=stack: zip(
                    *linear_sum_assignment(each, device="cpu"), strict=True
                ),
                "scipy_loop": lambda each=several: [scipys(one, False) for one in each],
            }.items():
                microseconds, _ = median(call, repeats)
                taken[f"{way}_ms"] = round(microseconds / 1000, 4)
                pairs = zip(several, call(), strict=True)
                found[way] = sum(float(one[tuple(pair)].sum()) for one, pair in pairs)
            if not np.allclose(list(found.values()), found["list"], rtol=1e-12):
                raise RuntimeError(f"{kind} {shape}: {found}")
            problems, n, m = shape
            yield {"code": code, "costs": kind, "problems": problems, "n": n, "m": m, **taken}


def main(path: str, repeats: str = "15") -> None:
    """Write the table."""
    device.select("cpu")
    write(rows(int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
