"""All codes that the experiments measure: the solvers, a CPU's peers, the call, and changes."""

from __future__ import annotations

from collections.abc import Mapping

from papers.common.model import Solver
from papers.synthesis.assignment import changed, solver
from papers.synthesis.baselines import assignment as baselines
from papers.synthesis.evidence import calling, many
from papers.synthesis.evidence.graphs import calling as graphs
from papers.synthesis.solvers import SOLVERS as OURS

SOLVERS: Mapping[str, Solver] = {
    **OURS,
    "dense_changed": Solver(
        name="dense_changed",
        title="synthesis: dense costs, one setting changed",
        device="cuda",
        problem="assignment",
        upload=changed.upload,
        run=solver.run,
        download=solver.download,
        limits={"wide integers": "overflow"},
    ),
    **baselines.SOLVERS,
    **calling.SOLVERS,
    **graphs.SOLVERS,
    **many.SOLVERS,
}
