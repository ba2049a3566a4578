"""Lopes, Yadav, Ilic, Patra 2019: the Hungarian algorithm, distributed over blocks [L19].

Reading order: `reference` (the sequential steps), `reference_parallel` (the same by threads under a
schedule), `kernels.search` and `kernels.matrix` (the same steps on the GPU), `kernels.step_4`
(Appendix B), `solver` (the host loop) and `launches` (its memory and launches), `rectangle` (costs
that are no square), `baselines` (the paper's rivals on the CPU), `evidence.experiments` (tables and
figures). `README.md` beside this file is the teaching page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from papers.common.model import Assignment, Defaults, MainClaim, Paper, lazily

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

    from papers.lopes2019.configuration import Configuration
    from papers.lopes2019.launches import Geometry

__all__ = ["PAPER", "solve"]


def solve(
    cost: ArrayLike,
    maximize: bool = False,
    dtype: DTypeLike | None = None,
    step_4: Literal["paper", "A", "B", "C"] = "paper",
    lines_a_bin: int | None = None,
    geometry: Geometry | None = None,
    seconds: float | None = None,
    configuration: str | Configuration = "tuned",
    solver: str | None = None,
) -> Assignment:
    """Solve a linear assignment problem by the block distributed Hungarian algorithm [L19].

    Runs on the selected device (`papers.common.gpu.device.select`). Without a GPU the kernels run
    in the CPU executor up to n = 128; a larger matrix goes to the paper's default solver on the
    CPU, unless an option is given that only the kernels take.

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
    dtype : {"int32", "int64", "float64", "uint8"}, optional
        Type of the slack matrix; by default the narrowest of the first three that cannot overflow.
        Integer slacks are exact.
    step_4 : {"paper", "A", "B", "C"}
        The search kernel: the paper's or one of Appendix B's.
    lines_a_bin : int, optional
        Columns (rows) to a block of step 4; the authors' code has 512.
    geometry : papers.lopes2019.launches.Geometry, optional
        Launch shapes; by default those that suit the device.
    seconds : float, optional
        A run without an answer gives up after so long.
    configuration : str or papers.lopes2019.configuration.Configuration
        "tuned", "paper" (as printed), "released" (as the authors' program has it) or another name
        of `papers.lopes2019.configuration.CONFIGURATIONS`, the steps between.
    solver : str, optional
        A name of ``PAPER.solvers()`` instead of the default.

    Returns
    -------
    Assignment
        ``row_ind`` and ``col_ind`` as from `scipy.optimize.linear_sum_assignment`, the cost, the
        duals that prove it, and counters: ``iterations_step_3`` to ``iterations_step_6``,
        ``zeros_initial``, ``matches_initial``, ``kernel_launches``.

    Raises
    ------
    ValueError
        NaN, a wrong dimension or type, an infeasible matrix, costs that would overflow the
        working type, a matrix too large for the card, an unknown `step_4` or `configuration`.
    papers.common.model.GivenUpError
        If `seconds` are over; its ``reached`` has the counts ``matched``, ``searches`` and
        ``dual_updates``.
    RuntimeError
        If the kernels fail.

    Examples
    --------
    >>> from papers.lopes2019 import solve
    >>> solve([[4, 1, 3], [2, 0, 5], [3, 2, 2]]).cost
    5
    """
    from papers.common.problems import kinds

    options = {
        "maximize": maximize,
        "dtype": dtype,
        "step_4": None if step_4 == "paper" else step_4,
        "lines_a_bin": lines_a_bin,
        "geometry": geometry,
        "seconds": seconds,
        "configuration": None if configuration == "tuned" else configuration,
    }
    return kinds.solve_with(PAPER, kinds.ASSIGNMENT, cost, solver, options)


PAPER = Paper(
    name="lopes2019",
    tag="L19",
    title="Fast block distributed CUDA implementation of the Hungarian algorithm",
    authors="Paulo A. C. Lopes, Satyendra Singh Yadav, Aleksandar Ilic, Sarat Kumar Patra",
    venue="Journal of Parallel and Distributed Computing 130, 50-62",
    year=2019,
    doi="10.1016/j.jpdc.2019.03.014",
    summary=(
        "The O(n^4) Hungarian algorithm in CUDA: the alternating path search is split over blocks "
        "that need no global synchronisation while they have work, many paths are applied at once, "
        "and the search runs on a compressed list of zeros."
    ),
    experiments=lazily(f"{__name__}.evidence.experiments", "EXPERIMENTS"),
    solvers=lazily(f"{__name__}.solvers", "SOLVERS"),
    defaults={"assignment": Defaults(gpu="gpu", cpu="cpu_o4")},
    claims=(
        MainClaim(
            "CUDA is significantly faster than C on large matrices of every range",
            "claims",
            "LO-n:",
        ),
        MainClaim("the time in CUDA grows much slower with n than in C", "claims", "LO-m:"),
        MainClaim("the proposed step 4 is the fastest of four", "claims", "LO-ah:"),
    ),
)
