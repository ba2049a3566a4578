"""Runs every kernel of [DN16] on one GPU once, small, for NVIDIA's compute-sanitizer.

::

    compute-sanitizer --tool memcheck python -m papers.datenagi2016.sanitized
    compute-sanitizer --tool synccheck python -m papers.datenagi2016.sanitized
    compute-sanitizer --tool racecheck python -m papers.datenagi2016.sanitized
    compute-sanitizer --tool initcheck python -m papers.datenagi2016.sanitized

Every answer is proved. The logs are kept in `papers/datenagi2016/results/sanitizer/`.
"""

from __future__ import annotations

import itertools

import numpy as np

from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.common.problems import assignment_proof
from papers.datenagi2016 import arrival, solver
from papers.datenagi2016.configuration import BOTH, steps_of


def main() -> None:
    """Solve small problems in every configuration of both variants, every type and shape."""
    device.select("gpu")
    arrival.LEAST_BYTES = 1  # small matrices arrive in chunks, too
    square, done = uniform(70, 1, cost_range=70), 0
    for variant in BOTH:
        for name in steps_of(variant):
            done += _proved(square, variant=variant, configuration=name)
    for variant, dtype, maximize in itertools.product(BOTH, solver.DTYPES, (False, True)):
        cost = uniform(33, 2, cost_range=90)
        matrix = cost.astype(float) if dtype == "float64" else cost
        for name in ("paper", "tuned"):
            done += _proved(matrix, maximize, dtype=dtype, variant=variant, configuration=name)
    for variant, (n, m) in itertools.product(BOTH, ((20, 45), (45, 20))):
        done += _proved(uniform(45, 3, cost_range=60)[:n, :m], variant=variant)
    print(f"{done} runs, every answer proved")


def _proved(cost: np.ndarray, maximize: bool = False, **options: object) -> int:
    answer = solver.solve(cost, maximize, **options)  # type: ignore[arg-type]
    proof = assignment_proof.assignment(cost, answer, maximize)
    if not proof.ok:
        raise RuntimeError(f"{options}: {proof.reason}")
    return 1


if __name__ == "__main__":
    main()
