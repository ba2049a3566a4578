"""Runs every kernel of [K21] once, small, for NVIDIA's compute-sanitizer.

::

    compute-sanitizer --tool memcheck python -m papers.kawtikwar_opts.evidence.sanitized
    compute-sanitizer --tool synccheck python -m papers.kawtikwar_opts.evidence.sanitized
    compute-sanitizer --tool racecheck python -m papers.kawtikwar_opts.evidence.sanitized
    compute-sanitizer --tool initcheck python -m papers.kawtikwar_opts.evidence.sanitized

Every answer is proved. The logs are kept in `papers/kawtikwar_opts/results/sanitizer/`, names
shortened and reports of one pair counted together. Racecheck looks at shared memory alone and does
not know barriers of the grid. It reports one pair a compilation of the printed one launch, and only
one can be meant: the last look at a block's flag `path` in a run of `kernels.printed.steps.step_4`,
and its clearing at the beginning of the next. The barriers of `steps.read_flags` stand between.
"""

from __future__ import annotations

import itertools

import numpy as np

from papers.common.gpu import device
from papers.common.instances.matrices import uniform
from papers.common.problems import assignment_proof
from papers.kawtikwar_opts import solver
from papers.kawtikwar_opts.configuration import of_version


def main() -> None:
    """Solve small problems by every version in every configuration, type and shape."""
    done = 0
    square = uniform(70, 1, cost_range=70)
    for version in solver.VERSIONS:
        for name, lines in itertools.product(of_version(version), (None, 40)):
            done += _proved(square, version=version, configuration=name, lines_a_bin=lines)
        for name in ("paper", "tuned"):
            if version in solver.HOST_LOOP:
                done += _proved(square, version=version, configuration=name, host="graph")
            else:
                done += _proved(square, version=version, configuration=name, seconds=600.0)
            for dtype in solver.DTYPES:
                matrix = uniform(33, 2, cost_range=90).astype(dtype)
                done += _proved(matrix, dtype=dtype, version=version, configuration=name)
    for shape in ((20, 45), (45, 20)):
        done += _proved(uniform(45, 3, cost_range=60)[: shape[0], : shape[1]])
    print(f"{done} runs, every answer proved")


def _proved(cost: np.ndarray, **options: object) -> int:
    answer = solver.solve(cost, **options)  # type: ignore[arg-type]
    proof = assignment_proof.assignment(cost, answer)
    if not proof.ok:
        raise RuntimeError(f"{options}: {proof.reason}")
    return 1


if __name__ == "__main__":
    device.select("gpu")
    main()
