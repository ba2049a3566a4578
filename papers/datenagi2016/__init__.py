"""Date, Nagi 2016: two Hungarian algorithms that search from all rows at once [DN16].

Reading order: `reference` (the sequential listings), `half_units` (how theta / 2 stays exact),
`kernels.shared`, `kernels.classical` and `kernels.tree` (the same steps on the GPU), `solver` (the
host loop) with `launches` (its memory and launches) and `bands` (how Table 2 counts), `cpu` (the
OpenMP version), `experiments` (tables and figures). Several GPUs: `several_gpus.kernels.strips` and
its two sisters,
`several_gpus.collectives`, `several_gpus.exchange`, `several_gpus.state`, `several_gpus.upload`
with `several_gpus.launches`, `several_gpus.solver` (the loop), `scaling` and
`evidence.scaling_model` (Tables 4 and 5). `README.md` beside this file is the teaching page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from papers.common.model import Defaults, Experiment, Paper, Solver

__all__ = ["PAPER", "solve"]


def solve(cost: Any, *args: Any, comm: Any = None, **options: Any) -> Any:
    """Solve a linear assignment problem on one device, or on the ranks of `comm`.

    Without `comm` it is `papers.datenagi2016.solver.solve`. With an mpi4py communicator every one
    of its ranks calls it, it is `papers.datenagi2016.several_gpus.solver.solve`, and `cost` may
    also be an instance or a file of which each rank draws or reads its part.
    """
    if comm is None:
        from papers.datenagi2016 import solver

        return solver.solve(cost, *args, **options)
    from papers.datenagi2016.several_gpus import solver as mpi_solver

    return mpi_solver.solve(cost, *args, comm=comm, **options)


def _experiments() -> Sequence[Experiment]:
    from papers.datenagi2016.evidence.experiments import EXPERIMENTS

    return EXPERIMENTS


def _solvers() -> Mapping[str, Solver]:
    from papers.datenagi2016 import solver
    from papers.datenagi2016.baselines import solvers
    from papers.datenagi2016.several_gpus import solver as mpi_solver

    variants = {
        "classical": ("Classical Hungarian, CUDA", solver.STEPS_CLASSICAL),
        "tree": ("Alternating tree Hungarian, CUDA", solver.STEPS_TREE),
    }
    gpu = {
        name: Solver(
            name=name,
            title=title,
            device="cuda",
            problem="assignment",
            upload=partial(solver.upload, variant=name),
            run=solver.run,
            download=solver.download,
            steps=steps,
        )
        for name, (title, steps) in variants.items()
    }
    several = {
        f"mpi_{name}": Solver(
            name=f"mpi_{name}",
            title=f"{variants[name][0]}, a rank of MPI a GPU",
            device="cuda",
            problem="assignment",
            upload=partial(mpi_solver.upload, variant=name),
            run=mpi_solver.run,
            download=mpi_solver.download,
            steps=steps,
            ranks="rows" if name == "classical" else "columns",
        )
        for name, steps in (
            ("classical", mpi_solver.STEPS_MPI_CLASSICAL),
            ("tree", solver.STEPS_TREE),
        )
    }
    return {**gpu, **several, **solvers.SOLVERS}


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
    defaults={"assignment": Defaults(gpu="tree", cpu="cpu_omp")},
)
