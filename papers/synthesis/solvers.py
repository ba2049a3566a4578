"""Lists the solvers of the synthesis by name; `evidence.codes` has what is measured beside them."""

from __future__ import annotations

from collections.abc import Mapping

from papers.common.model import Solver
from papers.synthesis.assignment import solver
from papers.synthesis.batch import solver as batch
from papers.synthesis.one_core import solver as one_core

SOLVERS: Mapping[str, Solver] = {
    "dense": Solver(
        name="dense",
        title="synthesis: dense costs, one launch",
        device="cuda",
        problem="assignment",
        upload=solver.upload,
        run=solver.run,
        download=solver.download,
        limits={"wide integers": "overflow"},
    ),
    "batch": batch.SOLVER,
    "one_core": one_core.SOLVER,
}
