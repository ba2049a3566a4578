"""Runs every kernel of [L19] once, small, for NVIDIA's compute-sanitizer.

::

    compute-sanitizer --tool memcheck python -m papers.lopes2019.evidence.sanitized
    compute-sanitizer --tool synccheck python -m papers.lopes2019.evidence.sanitized
    compute-sanitizer --tool racecheck python -m papers.lopes2019.evidence.sanitized
    compute-sanitizer --tool initcheck python -m papers.lopes2019.evidence.sanitized

Every answer is proved. The logs are kept in `papers/lopes2019/results/sanitizer/`, names shortened
and reports of one pair counted together. Racecheck looks at shared memory alone. There alternative
A keeps its covers, which its threads read and write without a barrier by design [L19 app.B]: those
are its reports. The covers of the other kernels lie in global memory.
"""

from __future__ import annotations

import itertools

import numpy as np

from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.common.problems import assignment_proof
from papers.lopes2019 import solver
from papers.lopes2019.configuration import CONFIGURATIONS


def main() -> None:
    """Solve small problems in every configuration, with every search kernel, type and shape."""
    device.select("gpu")
    square = uniform(70, 1, cost_range=70)
    done = 0
    for name, lines in itertools.product(CONFIGURATIONS, (None, 24)):
        done += _proved(square, configuration=name, lines_a_bin=lines)
    for name, step_4 in itertools.product(("paper", "tuned"), "ABC"):
        done += _proved(square, configuration=name, step_4=step_4, lines_a_bin=24)
    for dtype, maximize in itertools.product(solver.DTYPES, (False, True)):
        cost = uniform(33, 2, cost_range=90)
        for name in ("paper", "tuned"):
            matrix = cost.astype(float) if dtype == "float64" else cost
            done += _proved(matrix, dtype=dtype, maximize=maximize, configuration=name)
    for shape in ((20, 45), (45, 20)):
        done += _proved(uniform(45, 3, cost_range=60)[: shape[0], : shape[1]])
    print(f"{done} runs, every answer proved")


def _proved(cost: np.ndarray, maximize: bool = False, **options: object) -> int:
    answer = solver.solve(cost, maximize, **options)  # type: ignore[arg-type]
    proof = assignment_proof.assignment(cost, answer, maximize)
    if not proof.ok:
        raise RuntimeError(f"{options}: {proof.reason}")
    return 1


if __name__ == "__main__":
    main()
