"""Date, Nagi 2016: two Hungarian algorithms that search from all rows at once [DN16].

Reading order: `reference` (the sequential listings), `half_units` (how theta / 2 stays exact),
`kernels`, `kernels_classical` and `kernels_tree` (the same steps on the GPU), `solver` (the host
loop) with `binding` (its memory and launches) and `bands` (how Table 2 counts), `cpu` (the OpenMP
version), `experiments` (tables and figures). `README.md` beside this file is the teaching page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from papers.common.model import Experiment, Paper, Solver

__all__ = ["PAPER", "solve"]


def solve(*args: Any, **options: Any) -> Any:
    """Solve a linear assignment problem; see `papers.datenagi2016.solver.solve`."""
    from papers.datenagi2016 import solver

    return solver.solve(*args, **options)


def _experiments() -> Sequence[Experiment]:
    from papers.datenagi2016.experiments import EXPERIMENTS

    return EXPERIMENTS


def _solvers() -> Mapping[str, Solver]:
    from papers.datenagi2016 import cpu, solver

    variants = {
        "classical": ("Classical Hungarian, CUDA", solver.STEPS_CLASSICAL),
        "tree": ("Alternating tree Hungarian, CUDA", solver.STEPS_TREE),
    }
    gpu = {
        name: Solver(
            name=name,
            title=title,
            device="cuda",
            upload=partial(solver.upload, variant=name),
            run=solver.run,
            download=solver.download,
            steps=steps,
        )
        for name, (title, steps) in variants.items()
    }
    return {**gpu, **cpu.SOLVERS}


PAPER = Paper(
    name="datenagi2016",
    tag="DN16",
    title="GPU-accelerated Hungarian algorithms for the Linear Assignment Problem",
    authors="Ketan Date, Rakesh Nagi",
    venue="Parallel Computing 57, 52-72",
    year=2016,
    doi="10.1016/j.parco.2016.05.012",
    summary=(
        "The classical and the alternating tree Hungarian algorithm in CUDA: a breadth-first "
        "search from all unassigned rows finds many vertex-disjoint augmenting paths at once."
    ),
    experiments=_experiments,
    solvers=_solvers,
)
