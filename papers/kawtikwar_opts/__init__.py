"""Kawtikwar, Chang, Govind: five optimizations of Lopes's Hungarian solver [K21].

Reading order: `reference` (the appendix's steps), `kernels.baseline`, then `kernels.opt0` to
`kernels.opt4`, each beside the one before, `kernels.one_launch` (the kernel that the last three
share) with its steps in `kernels.step_1`, `kernels.search` and `kernels.step_4`; `configuration`
and `kernels.printed` (all of it as the report has it), `solver` (the host's side) and `launches`
(its memory and launches), `evidence.counter` (why 4.65), `evidence.sass` (Opt 3's machine code).
`README.md` beside this file is the teaching page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from papers.common.model import Assignment, Defaults, MainClaim, Paper, lazily

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

    from papers.kawtikwar_opts.configuration import Configuration
    from papers.kawtikwar_opts.launches import Geometry

__all__ = ["PAPER", "solve"]


def solve(
    cost: ArrayLike,
    maximize: bool = False,
    dtype: DTypeLike | None = None,
    version: Literal["baseline", "opt0", "opt1", "opt2", "opt3", "opt4"] | None = None,
    lines_a_bin: int | None = None,
    threads: int | None = None,
    blocks: int | None = None,
    trace_steps: bool = False,
    geometry: Geometry | None = None,
    patience: int | None = None,
    seconds: float | None = None,
    configuration: str | Configuration = "tuned",
    host: Literal["python", "graph"] = "python",
    solver: str | None = None,
) -> Assignment:
    """Solve a linear assignment problem by the Hungarian algorithm in one launch [K21].

    Runs on the selected device (`papers.common.gpu.device.select`). Without a GPU the kernels run
    in the CPU executor up to n = 128; a larger matrix goes to Lopes's solver on the CPU,
    unless an option is given that only the kernels take.

    A rectangle is searched from the lines of its shorter side alone; those of the longer side cost
    memory (of a square of that side) and passes over it, no search. Ties cost sweeps: every zero of
    the slack matrix is read in every sweep of a search, and equal costs make all of it zeros.

    Floats are rounded. An answer that its proof accepts
    (`papers.common.problems.assignment_proof.assignment`) is within 1e-10 of the sum of its
    assigned costs' sizes from the optimum or, where the duals are so large beside those that this
    is finer than their last digits, within 2**-49 of the sum of the duals' sizes. Less is not
    resolved: a block of 1e-3 beside assigned costs of 1e12, the last digit of
    ``[[-1e12, 0], [0, 1e12 - 2**-13]]``.

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
    version : {"opt4", "opt3", "opt2", "opt1", "opt0", "baseline"}, optional
        How much of the report is applied, by default all, ``"opt4"``; the last three keep the host
        loop.
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
    seconds : float, optional
        A run without an answer gives up after so long. The one launch of Opts 2 to 4 is then cut
        into shares, so that the host can look at the clock between them.
    configuration : str or papers.kawtikwar_opts.configuration.Configuration
        "tuned", "paper" (each version as the report has it, from the authors' release of Lopes on)
        or another of `papers.kawtikwar_opts.configuration.of_version`, the steps between.
    host : {"python", "graph"}
        ``"baseline"``, ``"opt0"`` and ``"opt1"``: every launch a call, or the launches between two
        answers one CUDA graph.
    solver : str, optional
        A name of ``PAPER.solvers()`` instead of the default.

    Returns
    -------
    Assignment
        ``row_ind`` and ``col_ind`` as from `scipy.optimize.linear_sum_assignment`, the cost, the
        duals that prove it, and the counters that `papers.kawtikwar_opts.solver.download` names.

    Raises
    ------
    ValueError
        NaN, a wrong dimension or type, an infeasible matrix, costs that would overflow the
        working type, a matrix too large for the card, a bad option, an unknown configuration.
    papers.common.model.GivenUpError
        If `seconds` or the patience are over; its ``reached`` has the counts ``matched``,
        ``searches`` and ``dual_updates``.
    RuntimeError
        If the kernels fail, or no block of that many threads can be resident.

    Examples
    --------
    >>> from papers.kawtikwar_opts import solve
    >>> solve([[4, 1, 3], [2, 0, 5], [3, 2, 2]]).cost
    5
    """
    from papers.common.problems import kinds

    options = {
        "maximize": maximize,
        "dtype": dtype,
        "version": version,
        "lines_a_bin": lines_a_bin,
        "threads": threads,
        "blocks": blocks,
        "trace_steps": trace_steps or None,
        "geometry": geometry,
        "patience": patience,
        "seconds": seconds,
        "configuration": None if configuration == "tuned" else configuration,
        "host": None if host == "python" else host,
    }
    return kinds.solve_with(PAPER, kinds.ASSIGNMENT, cost, solver, options)


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
    experiments=lazily(f"{__name__}.evidence.experiments", "EXPERIMENTS"),
    solvers=lazily(f"{__name__}.solvers", "SOLVERS"),
    defaults={"assignment": Defaults(gpu="opt4", cpu="cpu_o4")},
    claims=(
        MainClaim(
            "the mean speedup by all optimizations together",
            "claims",
            "KA-a,",
        ),
        MainClaim("the mean speedup by the first optimization alone", "claims", "KA-b,"),
    ),
)
