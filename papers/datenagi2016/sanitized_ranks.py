"""Runs every kernel of [DN16 sec.5] once, small, on several ranks, for NVIDIA's compute-sanitizer.

``mpiexec -n 2 compute-sanitizer --tool memcheck python -m MODULE``, where MODULE is
`papers.datenagi2016.sanitized_ranks`, and likewise synccheck, initcheck and racecheck.

Both variants, every way of exchange that the machine has, every type. A way that it does not have
is named, and is not counted. Each rank has a sanitizer of its own, and all of them print into one
log. Every answer is proved. The logs are kept in `papers/datenagi2016/results/sanitizer/`.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from papers.common.gpu.environment import MissingPackageError
from papers.common.instances.matrices import uniform
from papers.common.mpi import ranks
from papers.common.problems import assignment_proof
from papers.datenagi2016.several_gpus import solver
from papers.datenagi2016.several_gpus.exchange import WAYS
from papers.datenagi2016.solver import DTYPES


def main(n: int = 48) -> None:
    """Solve small problems on all ranks of the job; rank 0 says how many runs were proved."""
    comm = ranks.world()
    done = 0
    for way, dtype in itertools.product(WAYS, DTYPES):
        done += _proved(comm, n, dtype, variant="tree", exchange=way)
    for dtype in DTYPES:
        done += _proved(comm, n, dtype, variant="classical")
    if comm.rank == 0:
        print(f"{done} runs on {comm.size} ranks, every answer proved", flush=True)


def _proved(comm: Any, n: int, dtype: str, **options: Any) -> int:
    cost = uniform(n, 1, cost_range=10 * n).astype(np.dtype(dtype))
    try:
        answer = solver.solve(cost, dtype=dtype, comm=comm, **options)
    except MissingPackageError as error:  # on every rank
        if comm.rank == 0:
            print(f"not here: {error}", flush=True)
        return 0
    proof = assignment_proof.assignment(cost, answer)
    if not proof.ok:
        raise RuntimeError(f"{options}: {proof.reason}")
    return 1


if __name__ == "__main__":
    main()
