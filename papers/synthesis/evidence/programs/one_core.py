"""The times of `synthesis:one_core` beside other codes on one core: ``one_core.csv``.

``python -m papers.synthesis.evidence.programs.one_core OUT.csv [REPEATS]`` measures anew: whole
calls, from the caller's matrix to the answer, medians. lapx takes part where it is installed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from papers.common.gpu.environment import MissingPackageError
from papers.common.instances.drawing import draw
from papers.common.instances.structured import PEERS_SEED
from papers.common.model import Instance
from papers.common.problems import assignment_proof
from papers.synthesis.calls.choice import solver_of
from papers.synthesis.evidence.programs.table import asked, write
from papers.synthesis.one_core import solver as one_core

SOLVERS = ("synthesis:one_core", "lopes2019:cpu_sp", "scipy", "lapjv", "lapjvs")

INSTANCES = (
    *(Instance("structured", n, name, seed=PEERS_SEED)
      for name in ("euclid", "clustered", "lowrank", "hidden", "two") for n in (1000, 2000)),
    *(Instance("structured", n, "product", seed=PEERS_SEED) for n in (128, 300)),
    *(Instance("uniform", n, label) for n in (128, 256, 1000, 2000) for label in ("n", "10n")),
    *(Instance("structured", 128, name, seed=PEERS_SEED) for name in ("euclid", "clustered")),
    *(Instance("floats", n, "normal") for n in (128, 256)),
    *(Instance("floats", 1000, name) for name in ("normal", "lognormal", "distances")),
    *(Instance("rectangle", int(shape.partition("x")[0]), shape)
      for shape in ("100x1000", "100x5000", "200x2000", "2000x200", "1000x3000")),
)  # fmt: skip


def rows(instances: Sequence[Instance], repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row an instance: milliseconds by solver, and counts of `synthesis:one_core`.

    Raises
    ------
    RuntimeError
        If its answer is not proved.
    """
    for each in instances:
        cost: Any = draw(each)
        answer = one_core.solve(cost)
        proof = assignment_proof.assignment(cost, answer, False)
        if not proof.ok:
            raise RuntimeError(f"{each.key}: {proof.reason}")
        times = {f"{name.partition(':')[2] or name}_ms": median(name, cost, repeats)
                 for name in SOLVERS}  # fmt: skip
        yield {"family": each.family, "costs": each.label, "n": each.n, **times, **answer.counters}


def median(name: str, cost: np.ndarray, repeats: int) -> float | str:
    """Return the milliseconds of a whole call; "" for a package that is not installed."""
    from papers.synthesis.baselines.assignment import SOLVERS as PEERS

    solver = solver_of(name) if ":" in name else PEERS[name]
    taken = []
    for _ in range(repeats + 1):  # the first compiles
        begin = time.perf_counter()
        try:
            state = solver.upload(cost)
        except MissingPackageError:
            return ""
        solver.run(state)
        solver.download(state)
        taken.append(1e3 * (time.perf_counter() - begin))
    return round(float(np.median(taken[1:])), 3)


def main(path: str, repeats: str = "5") -> None:
    """Write the table."""
    write(rows(INSTANCES, int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
