"""Lopes, Yadav, Ilic, Patra 2019: the Hungarian algorithm, distributed over blocks [L19].

Reading order: `reference` (the sequential steps), `kernels.search` and `kernels.matrix` (the same
steps on the GPU), `kernels.step_4` (Appendix B), `solver` (the host loop) and `launches` (its
memory and launches), `cpu` (the paper's baselines),
`experiments` (tables and figures). `README.md` beside this file is the teaching page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from papers.common.model import Defaults, Experiment, Paper, Solver

__all__ = ["PAPER", "solve"]


def solve(*args: Any, **options: Any) -> Any:
    """Solve a linear assignment problem; see `papers.lopes2019.solver.solve`."""
    from papers.lopes2019 import solver

    return solver.solve(*args, **options)


def _experiments() -> Sequence[Experiment]:
    from papers.lopes2019.evidence.experiments import EXPERIMENTS

    return EXPERIMENTS


def _solvers() -> Mapping[str, Solver]:
    from papers.lopes2019 import solver
    from papers.lopes2019.baselines import solvers

    gpu = Solver(
        name="gpu",
        title="Block distributed Hungarian, CUDA",
        device="cuda",
        problem="assignment",
        upload=solver.upload,
        run=solver.run,
        download=solver.download,
        steps=solver.STEPS,
        variants={choice: {"step_4": choice} for choice in "ABC"},
    )
    return {"gpu": gpu, **solvers.SOLVERS}


PAPER = Paper(
    name="lopes2019",
    tag="L19",
    title="Fast block distributed CUDA implementation of the Hungarian algorithm",
    authors="Paulo A. C. Lopes, Satyendra Singh Yadav, Aleksandar Ilic, Sarat Kumar Patra",
    venue="Journal of Parallel and Distributed Computing 130, 50-62",
    year=2019,
    doi="10.1016/j.jpdc.2019.03.014",
    summary=(
        "The O(n^4) Hungarian algorithm in CUDA: the alternating path search is split over blocks "
        "that need no global synchronisation while they have work, many paths are applied at once, "
        "and the search runs on a compressed list of zeros."
    ),
    experiments=_experiments,
    solvers=_solvers,
    defaults={"assignment": Defaults(gpu="gpu", cpu="cpu_o4")},
)
