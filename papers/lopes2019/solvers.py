"""Lists the solvers of [L19] by name: the kernels, then the paper's CPU baselines."""

from __future__ import annotations

from collections.abc import Mapping

from papers.common.model import Solver
from papers.lopes2019 import solver
from papers.lopes2019.baselines import solvers as baselines

SOLVERS: Mapping[str, Solver] = {
    "gpu": Solver(
        name="gpu",
        title="Block distributed Hungarian, CUDA",
        device="cuda",
        problem="assignment",
        upload=solver.upload,
        run=solver.run,
        download=solver.download,
        steps=solver.STEPS,
        variants={choice: {"step_4": choice} for choice in "ABC"}
        | {"paper": {"configuration": "paper"}},
    ),
    **baselines.SOLVERS,
}
