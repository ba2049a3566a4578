"""Date, Nagi 2016: two Hungarian algorithms that search from all rows at once [DN16].

Reading order: `reference` (the sequential listings), `kernels.half_units` (how theta / 2 stays
exact), `kernels.shared`, `kernels.classical` and `kernels.tree` (the same steps on the GPU),
`kernels.printed` (the kernels as printed), `solver` (the host loop) with `levels` (its forward
pass as printed), `host`, `launches` and `printed_launches` (memory and launches) and `bands` (how
Table 2 counts), `configuration` (what differs between print and ours, switch by switch),
`baselines` (the OpenMP version), `evidence` (tables and figures). Several GPUs:
`several_gpus.solver` (the loop), `several_gpus.classical` and `several_gpus.tree` (the steps that
differ), `several_gpus.exchange` (how the ranks exchange), `several_gpus.kernels`;
`several_gpus.upload`, `costs`, `state`, `strip`, `launches` and `collectives` are their plumbing;
`evidence.scaling_tables` and `evidence.scaling_model` (Tables 4 and 5). `README.md` beside this
file is the teaching page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from papers.common.model import Assignment, Defaults, MainClaim, Paper, lazily

if TYPE_CHECKING:
    from papers.datenagi2016.configuration import Configuration
    from papers.datenagi2016.launches import Geometry

__all__ = ["PAPER", "solve"]


def solve(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    variant: str | None = None,
    exchange: str = "auto",
    comm: Any = None,
    geometry: Geometry | None = None,
    solver: str | None = None,
    seconds: float | None = None,
    configuration: str | Configuration = "tuned",
) -> Assignment:
    """Solve a linear assignment problem on one GPU, or on the ranks of `comm`, a GPU each [DN16].

    Without a GPU the kernels run in the CPU executor up to n = 128; a larger matrix goes to the
    OpenMP version on the CPU, unless an option is given that only the kernels take.

    Floats are rounded. An answer that its proof accepts
    (`papers.common.problems.assignment_proof.assignment`) is within 1e-10 of the sum of its
    assigned costs' sizes from the optimum or, where the duals are so large beside those that this
    is finer than their last digits, within 2**-49 of the sum of the duals' sizes. Less is not
    resolved: a block of 1e-3 beside assigned costs of 1e12, the last digit of
    ``[[-1e12, 0], [0, 1e12 - 2**-13]]``.

    Parameters
    ----------
    cost : array_like[n, m], path of a .npy file, Instance, or int32[n, n] in device memory
        Costs: any integer, boolean or float type. ``inf`` (``-inf`` when maximizing) forbids a
        pair. Rectangular matrices assign ``min(n, m)`` pairs. An object with
        ``__cuda_array_interface__`` (CuPy, Numba, PyTorch ...) is used where it is: int32,
        square, entries >= 0, minimized. With `comm` a path and an `Instance` are read and drawn by
        part (square, finite, no rank holds more than its strip); arrays are given to every rank
        whole.
    maximize : bool
        Whether the sum is to be maximized.
    dtype : {"int32", "int64", "float64"}, optional
        Type of costs, duals and slacks on the device; by default the narrowest that cannot
        overflow. Integers are exact.
    variant : {"tree", "classical"}, optional
        Lawler's alternating tree, O(n^3), which is the default, or Munkres' classical algorithm,
        O(n^4), which keeps a list of up to n * n edges beside the costs.
    exchange : {"auto", "peers", "nccl", "allgather", "gather"}
        How the ranks exchange a frontier (`papers.datenagi2016.several_gpus.exchange`): by default
        the fastest way that the machine has. One process exchanges nothing.
    comm : mpi4py communicator, optional
        Every one of its ranks calls `solve` with the same arguments and gets the same answer.
        Several GPUs give room for larger matrices; they give speed where a level of the search has
        much to read, from about n = 20,000 on for costs in [0, 10n).
    geometry : papers.datenagi2016.launches.Geometry, optional
        Launch shapes; by default those that suit the device.
    solver : str, optional
        A name of ``PAPER.solvers()`` instead of the default; for one process.
    seconds : float, optional
        The time after which a run without an answer is given up; the clock, on several ranks rank
        0's, is looked at after every forward pass.
    configuration : str or papers.datenagi2016.configuration.Configuration
        "tuned", "paper" (Algorithms 1 to 9 as printed) or another name of
        `papers.datenagi2016.configuration.CONFIGURATIONS`, the steps between; on one GPU.

    Returns
    -------
    Assignment
        ``row_ind`` and ``col_ind`` as from `scipy.optimize.linear_sum_assignment`, the cost, the
        duals that prove it, and counters (`papers.datenagi2016.solver.solve`).

    Raises
    ------
    ValueError
        An unknown `variant`, `exchange` or `configuration`, before anything is read; NaN, a wrong
        dimension or type, an infeasible matrix, costs that would overflow the working type, a
        matrix too large for the card; on several ranks more ranks than lines, or other costs or
        options than rank 0's.
    TypeError
        A `comm` that is no communicator.
    OSError
        A file that cannot be read.
    MissingPackageError
        With `comm`: no mpi4py, or an `exchange` that this machine does not have.
    papers.common.model.GivenUpError
        After `seconds`, at a bound on the work that no right run exceeds, or if ranks wait for one
        another in vain.
    RuntimeError
        If the kernels fail, or a dual update makes no progress.

    Examples
    --------
    >>> from papers.datenagi2016 import solve
    >>> solve([[4, 1, 3], [2, 0, 5], [3, 2, 2]]).cost
    5
    """
    if comm is not None:
        if not all(hasattr(comm, name) for name in ("Get_size", "Get_rank", "bcast")):
            raise TypeError(f"comm={comm!r} is no communicator of mpi4py, as MPI.COMM_WORLD is")
        if configuration != "tuned":
            raise ValueError("several GPUs have one configuration, tuned")
        from papers.datenagi2016.several_gpus import solver as mpi_solver

        return mpi_solver.solve(
            cost, maximize, dtype, variant or "tree", geometry, comm, exchange, seconds
        )
    from papers.common.problems import kinds
    from papers.datenagi2016 import solver as one_gpu
    from papers.datenagi2016.several_gpus.exchange import check

    check(exchange)
    if variant is not None:
        one_gpu.check_variant(variant)
    options = {
        "maximize": maximize, "dtype": dtype, "geometry": geometry, "seconds": seconds,
        "configuration": None if configuration == "tuned" else configuration,
    }  # fmt: skip
    matrix = one_gpu.matrix_of(cost)
    return kinds.solve_with(PAPER, kinds.ASSIGNMENT, matrix, solver or variant, options)


PAPER = Paper(
    name="datenagi2016",
    tag="DN16",
    title="GPU-accelerated Hungarian algorithms for the Linear Assignment Problem",
    authors="Ketan Date, Rakesh Nagi",
    venue="Parallel Computing 57, 52-72",
    year=2016,
    doi="10.1016/j.parco.2016.05.012",
    summary=(
        "The classical and the alternating tree Hungarian algorithm in CUDA: a breadth-first "
        "search from all unassigned rows finds many vertex-disjoint augmenting paths at once."
    ),
    experiments=lazily(f"{__name__}.evidence.experiments", "EXPERIMENTS"),
    solvers=lazily(f"{__name__}.solvers", "SOLVERS"),
    defaults={"assignment": Defaults(gpu="tree", cpu="cpu_omp")},
    claims=(
        MainClaim("the GPU is much faster than a CPU with eight threads", "claims", "DN-h:"),
        MainClaim("on larger problems the alternating tree variant dominates", "claims", "DN-l:"),
        MainClaim(
            "the compression of the matrix scales well over GPUs",
            "table4",
            "matrix compression scales well",
        ),
    ),
)
