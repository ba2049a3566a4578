"""Lists the solvers of [LU11] by name: for maximum flows, then for assignments; kernels first.

Each is imported when it is asked for: whoever cuts an image loads nothing of assignments.
"""

from __future__ import annotations

from collections.abc import Mapping

from papers.common.model import Solver
from papers.common.on_demand import OnDemand, solvers_of

_FLOW, _ASSIGNMENT = (f"{__package__}.{problem}" for problem in ("flow", "assignment"))

SOLVERS: Mapping[str, Solver] = OnDemand(
    {
        **solvers_of(
            f"{_FLOW}.solver", "lock_free", "hybrid", "blocking", "async_relabel", "gpu_relabel"
        ),
        **solvers_of(f"{_FLOW}.baselines.solvers", "push_relabel", "pymaxflow", "scipy_flow"),
        **solvers_of(f"{_ASSIGNMENT}.solver", "refine"),
        **solvers_of(f"{_ASSIGNMENT}.batch", "batch"),
        **solvers_of(f"{_ASSIGNMENT}.many", "scipy", "scipy_loop", "batch_of_many"),
        **solvers_of(f"{_ASSIGNMENT}.baselines.cost_scaling", "cost_scaling"),
    }
)
