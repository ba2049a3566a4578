"""Deveci, Kaya, Uçar, Çatalyürek 2013: maximum cardinality matching on the GPU [D13].

Reading order: `start` (the cheap matching), `reference` (the sequential form), `kernels.phases`
(the paper's functions, and why their races are harmless), `solver` (the host loop, eight variants)
and
`launches` (its memory and launches), `cpu` (the rivals), `beyond.kernels` and `beyond` (our own
solver), `experiments`. `README.md` beside this file is the teaching page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from papers.common.model import Defaults, Experiment, Paper, Solver

__all__ = ["PAPER", "solve"]


def solve(*args: Any, **options: Any) -> Any:
    """Find a maximum cardinality matching; see `papers.deveci_matching.solver.solve`."""
    from papers.deveci_matching import solver

    return solver.solve(*args, **options)


def _experiments() -> Sequence[Experiment]:
    from papers.deveci_matching.evidence.experiments import EXPERIMENTS

    return EXPERIMENTS


def _solvers() -> Mapping[str, Solver]:
    from papers.deveci_matching import solver
    from papers.deveci_matching.baselines import solvers
    from papers.deveci_matching.beyond import solver as beyond

    return {**solver.SOLVERS, **solvers.SOLVERS, **beyond.SOLVERS}


PAPER = Paper(
    name="deveci_matching",
    tag="D13",
    title="GPU accelerated maximum cardinality matching algorithms for bipartite graphs",
    authors="Mehmet Deveci, Kamer Kaya, Bora Uçar, Ümit V. Çatalyürek",
    venue="Euro-Par 2013, LNCS 8097, 850-861",
    year=2013,
    doi="10.1007/978-3-642-40047-6_84",
    summary=(
        "Two matching algorithms in CUDA: a breadth-first search from all free columns, then all "
        "paths at once, alternated without locks and repaired where they have met."
    ),
    experiments=_experiments,
    solvers=_solvers,
    defaults={"matching": Defaults(gpu="gpu", cpu="hkdw")},
)
