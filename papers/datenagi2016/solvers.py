"""Lists the solvers of [DN16] by name: both variants on one GPU and on several, and OpenMP."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from papers.common.model import Solver
from papers.datenagi2016 import solver
from papers.datenagi2016.baselines import solvers as baselines
from papers.datenagi2016.several_gpus import solver as several_gpus

TITLES = {
    "classical": "Classical Hungarian, CUDA",
    "tree": "Alternating tree Hungarian, CUDA",
}

ONE_GPU = {
    name: Solver(
        name=name,
        title=TITLES[name],
        device="cuda",
        problem="assignment",
        upload=partial(solver.upload, variant=name),
        run=solver.run,
        download=solver.download,
        steps=steps,
    )
    for name, steps in (("classical", solver.STEPS_CLASSICAL), ("tree", solver.STEPS_TREE))
}

SEVERAL_GPUS = {
    f"mpi_{name}": Solver(
        name=f"mpi_{name}",
        title=f"{TITLES[name]}, a rank of MPI a GPU",
        device="cuda",
        problem="assignment",
        upload=partial(several_gpus.upload, variant=name),
        run=several_gpus.run,
        download=several_gpus.download,
        steps=steps,
        ranks="rows" if name == "classical" else "columns",
    )
    for name, steps in (
        ("classical", several_gpus.STEPS_MPI_CLASSICAL),
        ("tree", solver.STEPS_TREE),
    )
}

SOLVERS: Mapping[str, Solver] = {**ONE_GPU, **SEVERAL_GPUS, **baselines.SOLVERS}
