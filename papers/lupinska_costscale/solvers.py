"""Lists the solvers of [LU11] by name: for maximum flows, then for assignments; kernels first."""

from __future__ import annotations

from collections.abc import Mapping

from papers.common.model import Solver
from papers.lupinska_costscale.assignment import batch, many, solver
from papers.lupinska_costscale.assignment.baselines import cost_scaling
from papers.lupinska_costscale.flow import solver as flow_solver
from papers.lupinska_costscale.flow.baselines import solvers as flows_on_cpu

SOLVERS: Mapping[str, Solver] = {
    **flow_solver.SOLVERS,
    **flows_on_cpu.SOLVERS,
    **solver.SOLVERS,
    **batch.SOLVERS,
    **many.SOLVERS,
    **cost_scaling.SOLVERS,
}
