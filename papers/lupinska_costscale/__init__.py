"""Łupińska 2011: lock-free push-relabel and cost scaling on the GPU [LU11].

Reading order. Maximum flow: `flow.reference`, `flow.kernels.blocking`, `flow.kernels.lock_free`,
`flow.kernels.one_launch`, `flow.solver`, `flow.launches`, `flow.baselines.push_relabel`.
Assignment: `costs` (integers that make the last epsilon exact), `reference`,
`assignment.kernels.lock_free` (lock-free refine),
`solver` and
`assignment.launches`, `cpu`, `assignment.kernels.batch` and `batch` (thousands of small problems).
Then `experiments`.
`README.md` beside this file is the teaching page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from papers.common.model import Defaults, Experiment, Paper, Solver

__all__ = ["PAPER", "solve", "solve_batch"]


def solve(*args: Any, **options: Any) -> Any:
    """Solve an assignment problem; see `papers.lupinska_costscale.assignment.solver.solve`."""
    from papers.lupinska_costscale.assignment import solver

    return solver.solve(*args, **options)


def solve_batch(*args: Any, **options: Any) -> Any:
    """Solve many small problems in one launch; see `assignment.batch.solve_batch`."""
    from papers.lupinska_costscale.assignment import batch

    return batch.solve_batch(*args, **options)


def _experiments() -> Sequence[Experiment]:
    from papers.lupinska_costscale.evidence.experiments import EXPERIMENTS

    return EXPERIMENTS


def _solvers() -> Mapping[str, Solver]:
    from papers.lupinska_costscale.assignment import batch, many, solver
    from papers.lupinska_costscale.assignment.baselines import cost_scaling
    from papers.lupinska_costscale.flow import solver as flow_solver
    from papers.lupinska_costscale.flow.baselines import push_relabel

    flows = {**flow_solver.SOLVERS, **push_relabel.SOLVERS}
    return {**flows, **solver.SOLVERS, **batch.SOLVERS, **many.SOLVERS, **cost_scaling.SOLVERS}


PAPER = Paper(
    name="lupinska_costscale",
    tag="LU11",
    title="Parallel implementation of flow and matching algorithms",
    authors="Agnieszka Łupińska",
    venue="arXiv 1110.6231",
    year=2011,
    doi="10.48550/arXiv.1110.6231",
    summary=(
        "Two lock-free push-relabel algorithms in CUDA: maximum flow on grid graphs, and cost "
        "scaling for the assignment problem, whose refine step runs one thread a vertex."
    ),
    experiments=_experiments,
    solvers=_solvers,
    defaults={
        "assignment": Defaults(gpu="refine", cpu="cost_scaling"),
        "flow": Defaults(gpu="hybrid", cpu="push_relabel"),
    },
)
