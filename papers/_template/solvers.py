"""Lists the solvers of [T00] by name: the kernels, then the paper's CPU baselines."""

from __future__ import annotations

from collections.abc import Mapping

from papers._template import solver
from papers._template.baselines import sequential
from papers.common.model import Solver

SOLVERS: Mapping[str, Solver] = {
    "gpu": Solver(
        name="gpu",
        title="Shortest augmenting paths, CUDA",
        device="cuda",
        problem="assignment",
        upload=solver.upload,
        run=solver.run,
        download=solver.download,
        steps=solver.STEPS,
    ),
    "cpu": Solver(
        name="cpu",
        title="Shortest augmenting paths, one CPU thread",
        device="cpu",
        problem="assignment",
        upload=sequential.upload,
        run=sequential.run,
        download=sequential.download,
    ),
}
