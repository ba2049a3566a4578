"""Lists the solvers of the synthesis by name; `evidence.codes` has what is measured beside them."""

from __future__ import annotations

from collections.abc import Mapping

from papers.common.model import Solver, lazily
from papers.common.on_demand import OnDemand

SOLVERS: Mapping[str, Solver] = OnDemand(
    {
        "dense": lazily("papers.synthesis.assignment.solver", "SOLVER"),
        "batch": lazily("papers.synthesis.batch.solver", "SOLVER"),
        "one_core": lazily("papers.synthesis.one_core.solver", "SOLVER"),
    }
)
