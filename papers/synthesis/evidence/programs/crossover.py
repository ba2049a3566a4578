"""Calls by the dense solver, by one core and by SciPy on squares: ``crossover.csv``.

``python -m papers.synthesis.evidence.programs.crossover OUT.csv [REPEATS]`` measures anew, on a
GPU: whole calls of `papers.linear_sum_assignment` on a matrix in host memory and in device memory
of each library that is installed, medians in microseconds of calls one after the other. From these
the table of choices has the orders from which the GPU gets a square.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from papers.common.gpu import device
from papers.common.gpu.environment import commit
from papers.common.instances.drawing import draw
from papers.common.instances.structured import PEERS_SEED
from papers.common.model import Instance
from papers.synthesis.calls.assignment import linear_sum_assignment
from papers.synthesis.evidence.programs.host_paths import on_device
from papers.synthesis.evidence.programs.one_core_small import median
from papers.synthesis.evidence.programs.table import asked, write

ORDERS = (32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 512)

KINDS = (
    ("uniform", "0.1n", 1, "int32"), ("uniform", "n", 1, "int32"), ("uniform", "10n", 1, "int32"),
    ("structured", "euclid", PEERS_SEED, "int32"), ("uniform", "10n", 1, "int64"),
    ("structured", "euclid", PEERS_SEED, "int64"), ("floats", "normal", 1, "float64"),
    ("floats", "lognormal", 1, "float64"), ("floats", "distances", 1, "float64"),
)  # fmt: skip
"""Families, labels, seeds and types."""

SOLVERS = ("synthesis:dense", "synthesis:one_core", "scipy")


def rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row a matrix, place and solver."""
    code, card = commit()[:12], device.describe().name
    for family, label, seed, dtype in KINDS:
        for n in ORDERS:
            drawn: Any = draw(Instance(family, n, label, seed=seed))
            cost = drawn.astype(dtype)
            places = {"host": cost}
            places |= {name.lower(): there for name, there in on_device(cost).items()}
            for place, there in places.items():
                for solver in SOLVERS:
                    taken, _ = median(linear_sum_assignment, repeats, there, solver=solver)
                    told = {"family": family, "costs": label, "dtype": dtype, "n": n}
                    told |= {"place": place, "solver": solver, "us": taken}
                    yield {"code": code, "card": card, **told}


def main(path: str, repeats: str = "21") -> None:
    """Write the table."""
    device.select("gpu")
    write(rows(int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
