"""Kawtikwar, Chang, Govind: five optimizations of Lopes's Hungarian solver [K21].

Reading order: `reference` (the appendix's steps), `kernels.baseline`, then `kernels.opt0` to
`kernels.opt4`, each beside the one before, `kernels.one_launch` (the kernel that the last three
share) with its steps in `kernels.step_1`, `kernels.search` and `kernels.step_4`, `solver` (the
host's side) and `launches` (its memory and launches), `evidence.sass` (the machine code of Opt 3).
`README.md` beside this file is the teaching page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from papers.common.model import Assignment, Defaults, Experiment, Paper, Solver

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

    from papers.kawtikwar_opts.launches import Geometry

__all__ = ["PAPER", "solve"]

TITLES = {
    "baseline": "Lopes's solver as released, CUDA",
    "opt0": "Opt 0: reduction for atomics, CUDA",
    "opt1": "Opt 1: add, subtract and compress fused, CUDA",
    "opt2": "Opt 2: one cooperative launch, CUDA",
    "opt3": "Opt 3: slack in a register, CUDA",
    "opt4": "Opt 4: extra barrier, CUDA",
}


def solve(
    cost: ArrayLike,
    maximize: bool = False,
    dtype: DTypeLike | None = None,
    version: Literal["baseline", "opt0", "opt1", "opt2", "opt3", "opt4"] = "opt4",
    lines_a_bin: int | None = None,
    threads: int | None = None,
    blocks: int | None = None,
    trace_steps: bool = False,
    geometry: Geometry | None = None,
    patience: int | None = None,
) -> Assignment:
    """Solve a linear assignment problem by the Hungarian algorithm in one launch [K21].

    Runs on the selected device (`papers.common.gpu.device.select`): a CUDA GPU, or the CPU
    executor, which is meant for n up to a few hundred.

    Parameters
    ----------
    cost : array_like[n, m]
        Costs: any integer, boolean or float type. ``inf`` (``-inf`` when maximizing) forbids a
        pair. Rectangular matrices assign ``min(n, m)`` pairs.
    maximize : bool
        Whether the sum is to be maximized.
    dtype : {"int32", "int64", "float64"}, optional
        Type of the slack matrix; by default the narrowest that cannot overflow. Integer slacks are
        exact.
    version : {"opt4", "opt3", "opt2", "opt1", "opt0", "baseline"}
        How much of the report is applied; the last three keep the host loop.
    lines_a_bin, threads, blocks : int, optional
        Instead of the geometry's: see `papers.kawtikwar_opts.launches.Geometry`. The report has 512
        columns to a bin.
    trace_steps : bool
        One launch only: read the GPU's clock between the steps, for the counters ``step_1_us`` to
        ``step_6_us`` (microseconds).
    geometry : papers.kawtikwar_opts.launches.Geometry, optional
        Launch shapes; by default those that suit the device.
    patience : int, optional
        Augmentations, restarts and dual updates in a row before a run gives up; by default n + 1,
        which no valid input needs.

    Returns
    -------
    Assignment
        ``row_ind`` and ``col_ind`` as from `scipy.optimize.linear_sum_assignment`, the cost, the
        duals that prove it, and the counters that `papers.kawtikwar_opts.solver.download` names.

    Raises
    ------
    ValueError
        NaN, a wrong dimension or type, an infeasible matrix, costs that would overflow the
        working type, a matrix too large for the card, a bad option.
    RuntimeError
        If the kernels fail, or no block of that many threads can be resident.

    Examples
    --------
    >>> from papers.kawtikwar_opts import solve
    >>> solve([[4, 1, 3], [2, 0, 5], [3, 2, 2]]).cost
    5
    """
    from papers.kawtikwar_opts import solver

    return solver.solve(
        cost, maximize, dtype, version, lines_a_bin, threads, blocks, trace_steps, geometry,
        patience,
    )  # fmt: skip


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
