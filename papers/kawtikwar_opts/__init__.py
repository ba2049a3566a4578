"""Kawtikwar, Chang, Govind: five optimizations of Lopes's Hungarian solver [K21].

Reading order: `reference` (the appendix's steps), `kernels.baseline`, then `kernels.opt0` to
`kernels.opt4`, each beside the one before, `steps` (what the one-launch versions share), `solver`
(the host's side) and `launches` (its memory and launches), `sass` (what the compiler makes of
Opt 3). `README.md` beside this file is the teaching page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from papers.common.model import Defaults, Experiment, Paper, Solver

__all__ = ["PAPER", "solve"]

TITLES = {
    "baseline": "Lopes's solver as released, CUDA",
    "opt0": "Opt 0: reduction for atomics, CUDA",
    "opt1": "Opt 1: add, subtract and compress fused, CUDA",
    "opt2": "Opt 2: one cooperative launch, CUDA",
    "opt3": "Opt 3: slack in a register, CUDA",
    "opt4": "Opt 4: extra barrier, CUDA",
}


def solve(*args: Any, **options: Any) -> Any:
    """Solve a linear assignment problem; see `papers.kawtikwar_opts.solver.solve`."""
    from papers.kawtikwar_opts import solver

    return solver.solve(*args, **options)


def _experiments() -> Sequence[Experiment]:
    from papers.kawtikwar_opts.evidence.experiments import EXPERIMENTS

    return EXPERIMENTS


def _solvers() -> Mapping[str, Solver]:
    from papers.kawtikwar_opts import solver
    from papers.kawtikwar_opts.baselines import solvers
    from papers.kawtikwar_opts.evidence import profile

    versions = {
        name: Solver(
            name=name,
            title=title,
            device="cuda",
            problem="assignment",
            upload=partial(solver.upload, version=name),
            run=solver.run,
            download=solver.download,
            steps=solver.STEPS if name in solver.HOST_LOOP else (),
        )
        for name, title in TITLES.items()
    }
    return {**versions, **solvers.SOLVERS, **profile.SOLVERS}


PAPER = Paper(
    name="kawtikwar_opts",
    tag="K21",
    title="Improvements to the Hungarian LAP Solver",
    authors="Samiran Kawtikwar, Yen-Hsiang Chang, Varun Govind",
    venue="Project report, University of Illinois Urbana-Champaign",
    year=2021,
    doi="",
    summary=(
        "Five optimizations of Lopes's Hungarian solver in CUDA, one on top of the other: a "
        "reduction for an atomic, fused kernels, one cooperative launch, a register, a barrier."
    ),
    experiments=_experiments,
    solvers=_solvers,
    defaults={"assignment": Defaults(gpu="opt4", cpu="lopes2019:cpu_o4")},
)
