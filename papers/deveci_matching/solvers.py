"""Lists the solvers of [D13] by name: the eight variants, the CPU codes, and ours.

Each is imported when it is asked for: a call that our own answers loads no CPU code.
"""

from __future__ import annotations

from collections.abc import Mapping

from papers.common.model import Solver
from papers.common.on_demand import OnDemand, solvers_of

SOLVERS: Mapping[str, Solver] = OnDemand(
    {
        **solvers_of(f"{__package__}.solver", "gpu"),
        **solvers_of(
            f"{__package__}.baselines.solvers",
            *("hk", "hkdw", "pfp", "pfp_packed", "p_hk", "p_pfp", "p_dbfs", "ms_bfs_graft"),
            "scipy",
        ),
        **solvers_of(f"{__package__}.beyond.solver", "beyond"),
    }
)
