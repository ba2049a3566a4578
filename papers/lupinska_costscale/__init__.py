"""Łupińska 2011: lock-free push-relabel and cost scaling on the GPU [LU11].

Public calls: `maximum_flow`, `minimum_cut`, `grid_cut`, `least_energy` for flows, `solve` and
`solve_batch` for assignments.

Reading order. Maximum flow: `flow.reference`, `flow.kernels.blocking`, `flow.kernels.lock_free`,
`flow.kernels.tiles` and `flow.kernels.one_launch`, `flow.solver` (the host's loops), `flow.upload`
and `flow.launches`, `flow.baselines.push_relabel`. Assignment: `assignment.costs` (integers that
make the last epsilon exact), `assignment.reference`, `assignment.kernels.lock_free` (lock-free
refine), `assignment.solver` and `assignment.launches`, `assignment.baselines.cost_scaling`,
`assignment.kernels.batch` and `assignment.batch` (thousands of small problems). Then
`evidence.experiments`. `README.md` beside this file is the teaching page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from papers.common.model import Assignment, Defaults, MainClaim, Paper, lazily

if TYPE_CHECKING:
    from papers.lupinska_costscale.assignment.batch import BatchAnswer
    from papers.lupinska_costscale.assignment.configuration import Configuration
    from papers.lupinska_costscale.assignment.launches import Geometry
    from papers.lupinska_costscale.flow.calls import GridCut, LeastEnergy, MaximumFlow, MinimumCut

__all__ = [
    "PAPER",
    "grid_cut",
    "least_energy",
    "maximum_flow",
    "minimum_cut",
    "solve",
    "solve_batch",
]


def maximum_flow(
    csgraph: Any,
    source: int,
    sink: int,
    *,
    solver: str | None = None,
    seconds: float | None = None,
    operations: int | None = None,
    prove: bool = True,
) -> MaximumFlow:
    """Find a maximum flow of a network, exactly.

    It is called as `scipy.sparse.csgraph.maximum_flow` is, and takes capacities of 64 bits. Runs on
    the selected device (`papers.common.gpu.device.select`). On a GPU the default is `gpu_relabel`:
    push-relabel [LU11 Alg.4.2] with its global relabeling on the GPU. Without a GPU the same
    kernels run in the CPU executor where that takes seconds; a larger network goes to
    `push_relabel`, on one core.

    Parameters
    ----------
    csgraph : scipy.sparse array or matrix of int[n, n]
        Entry (x, y) is the capacity of an arc from node x to node y: whole numbers from 0 on
        (floats if they are whole) with a sum below 2**62. Every stored entry is an arc of its own.
        So in a `coo_array` two entries of one place are two parallel arcs, and both (x, y) and
        (y, x) may be there; entries (x, x) carry nothing.
    source, sink : int
        Two different nodes.
    solver : str, optional
        ``"gpu_relabel"``, ``"hybrid"`` (the paper's own), ``"lock_free"`` or ``"async_relabel"``,
        all with kernels; ``"push_relabel"``, ``"pymaxflow"`` (an optional package) or
        ``"scipy_flow"`` on the CPU.
    seconds : float, optional
        The time after which a run without an answer is given up (not for the last two solvers).
    operations : int, optional
        The number of pushes and relabels after which a run is given up (not for the last two).
        Every run is held to the bounds of `papers.lupinska_costscale.flow.bounds`, which no right
        one exceeds.
    prove : bool
        Whether the answer is proved before it is returned, in time proportional to the arcs.

    Returns
    -------
    MaximumFlow
        ``flow_value``; ``flow``, the antisymmetric `csr_array` that SciPy returns, with int64;
        ``arc_flow``, int64 in the order of ``csgraph.data`` (of ``csgraph.tocoo()`` in formats but
        CSR, CSC and COO): the flow on each of the caller's own arcs; ``source_side``, a minimum
        cut; ``counters``; ``proof``.

    Raises
    ------
    papers.common.problems.network.NetworkError
        A `ValueError`. If `csgraph` is dense or not square, a capacity is negative, NaN, infinite
        or not whole, they add up to 2**62 or more, a terminal is no node, or both are one; if the
        network is too large for the device.
    ValueError
        For an unknown solver, or a limit that is none or that the solver does not take.
    papers.common.model.GivenUpError
        At one of the limits.
    RuntimeError
        If a kernel fails, or the answer cannot be proved.

    Examples
    --------
    >>> from scipy.sparse import coo_array
    >>> from papers.lupinska_costscale import maximum_flow
    >>> arcs = ([3, 2, 4, 5], ([0, 0, 0, 1], [1, 1, 2, 2]))  # two arcs lead from 0 to 1
    >>> answer = maximum_flow(coo_array(arcs, shape=(3, 3)), 0, 2)
    >>> answer.flow_value, answer.arc_flow.tolist(), answer.proof.ok
    (9, [3, 2, 4, 5], True)
    """
    from papers.lupinska_costscale.flow import calls

    wishes = calls.Wishes(PAPER, solver, seconds, operations, prove)
    return calls.maximum_flow(csgraph, source, sink, wishes)


def minimum_cut(
    csgraph: Any,
    source: int,
    sink: int,
    *,
    solver: str | None = None,
    seconds: float | None = None,
    operations: int | None = None,
    prove: bool = True,
) -> MinimumCut:
    """Find a minimum cut of a network: the cheapest arcs whose loss parts the sink from the source.

    Parameters
    ----------
    csgraph, source, sink, solver, seconds, operations, prove
        As in `maximum_flow`.

    Returns
    -------
    MinimumCut
        ``value``; ``source_side``, bool[n], True on the source's side; ``arcs``, the arcs that are
        cut, as places in ``csgraph.data`` (of ``csgraph.tocoo()`` in formats but CSR, CSC and COO);
        ``counters``; ``proof``. Of several minimum cuts it is the one with the most nodes on the
        source's side.

    Raises
    ------
    ValueError, RuntimeError
        As `maximum_flow`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from papers.lupinska_costscale import minimum_cut
    >>> cut = minimum_cut(csr_array([[0, 3, 1], [0, 0, 2], [0, 0, 0]]), 0, 2)
    >>> cut.value, cut.source_side.tolist(), cut.arcs.tolist()
    (3, [True, True, False], [1, 2])
    """
    from papers.lupinska_costscale.flow import calls

    wishes = calls.Wishes(PAPER, solver, seconds, operations, prove)
    return calls.minimum_cut(csgraph, source, sink, wishes)


def grid_cut(
    source: Any,
    sink: Any,
    arcs: Any,
    connectivity: Literal[4, 8] = 4,
    *,
    solver: str | None = None,
    seconds: float | None = None,
    operations: int | None = None,
    prove: bool = True,
) -> GridCut:
    """Cut an image in two: the minimum cut of a grid with arcs to two terminals.

    Every pixel goes to the source's side, which costs its capacity to the sink, or to the sink's,
    which costs its capacity from the source; and every arc that leads from the first to the second
    costs its own.

    Parameters
    ----------
    source, sink : array_like of int[height, width], or int
        Capacities from the source to each pixel and from each pixel to the sink.
    arcs : int, array_like of int[height, width], or mapping of str to either
        Capacities between neighbours. A number: of every arc. An array: of all arcs that leave a
        pixel. A mapping has one of these for every direction: ``right``, ``left``, ``down``,
        ``up``, with 8 neighbours also ``down_right``, ``up_left``, ``down_left``, ``up_right``.
        Capacities of arcs that would leave the image are ignored.
    connectivity : {4, 8}
        Neighbours of a pixel.
    solver : str, optional
        As in `maximum_flow`; for grids also ``"blocking"``.
    seconds, operations, prove
        As in `maximum_flow`. Without a proof `gpu_relabel` brings a bit a pixel from the device,
        not the residual capacities.

    Returns
    -------
    GridCut
        ``value``; ``mask``, bool[height, width], True on the source's side; ``counters``;
        ``proof``. Of several minimum cuts it is the one with the most pixels on the source's side.

    Raises
    ------
    papers.common.problems.network.NetworkError
        A `ValueError`. For shapes that do not broadcast to a height and a width, directions that
        are missing or unknown, a connectivity other than 4 or 8, and capacities as in
        `maximum_flow`.
    ValueError, RuntimeError
        As `maximum_flow`.

    Examples
    --------
    >>> import numpy as np
    >>> from papers.lupinska_costscale import grid_cut
    >>> bright = np.array([[9, 8, 1], [7, 2, 0]])
    >>> cut = grid_cut(bright, 9 - bright, arcs=2)
    >>> cut.value, cut.mask.tolist()
    (12, [[True, True, False], [True, False, False]])
    """
    from papers.lupinska_costscale.flow import calls

    wishes = calls.Wishes(PAPER, solver, seconds, operations, prove)
    return calls.grid_cut(source, sink, arcs, connectivity, wishes)


def least_energy(
    costs: Any,
    pairs: Any,
    connectivity: Literal[4, 8] = 4,
    *,
    solver: str | None = None,
    seconds: float | None = None,
    operations: int | None = None,
    prove: bool = True,
) -> LeastEnergy:
    """Give every pixel of an image label 0 or 1, so that costs and pairs together are least.

    The energy is a sum of a cost of each pixel's label and of an entry of a table for each two
    neighbours. It is minimized exactly, by one minimum cut, if every table is regular: ``V[0][0] +
    V[1][1] <= V[0][1] + V[1][0]`` (Kolmogorov and Zabih). Others are refused: no cut tells them.

    Parameters
    ----------
    costs : pair of array_like of int[height, width], or int
        The costs of label 0 and of label 1 at each pixel, of either sign.
    pairs : array_like of int[2, 2] or int[2, 2, height, width], or mapping of str to either
        ``V[a][b]`` is the cost, of either sign, where a pixel has label a and its neighbour to the
        right or below label b. A mapping has a table for each direction: ``right``, ``down``, with
        8 neighbours also ``down_right``, ``down_left``.
    connectivity : {4, 8}
        Neighbours of a pixel.
    solver, seconds, operations, prove
        As in `grid_cut`.

    Returns
    -------
    LeastEnergy
        ``value``, the energy; ``labels``, uint8[height, width]; ``counters``; ``proof``, of the
        cut. Of several least energies it is the one with the most zeros.

    Raises
    ------
    papers.common.problems.network.NetworkError
        A `ValueError`. For a table that is not regular (the message names the pixel), shapes that
        do not go together, directions that are missing or unknown, values that are not whole or
        add up to 2**60 or more.
    ValueError, RuntimeError
        As `grid_cut`.

    Examples
    --------
    >>> from papers.lupinska_costscale import least_energy
    >>> found = least_energy(([[0, 4, 3]], [[9, 3, 2]]), [[0, 2], [5, -1]])
    >>> found.value, found.labels.tolist()
    (6, [[0, 1, 1]])
    """
    from papers.lupinska_costscale.flow import calls

    wishes = calls.Wishes(PAPER, solver, seconds, operations, prove)
    return calls.least_energy(costs, pairs, connectivity, wishes)


def solve(
    cost: Any,
    maximize: bool = False,
    *,
    alpha: int = 10,
    cycle: int | None = None,
    price_updates: Literal["first", "every", "none"] | None = None,
    arc_fixing: bool = True,
    loop: Literal["host", "device"] = "host",
    operations: int | None = None,
    seconds: float | None = None,
    geometry: Geometry | None = None,
    configuration: str | Configuration = "tuned",
    threads: int | None = None,
    solver: str | None = None,
) -> Assignment:
    """Solve an assignment problem by lock-free cost scaling [LU11 sec.5].

    Runs on the selected device (`papers.common.gpu.device.select`). Without a GPU the kernels run
    in the CPU executor up to n = 32; a larger matrix goes to cost scaling on one core, unless an
    option is given that only the kernels take (`seconds` is none of these).

    Floats are rounded. An answer that its proof accepts
    (`papers.common.problems.assignment_proof.assignment`) is within 1e-10 of the sum of its
    assigned costs' sizes from the optimum or, where the duals are so large beside those that this
    is finer than their last digits, within 2**-49 of the sum of the duals' sizes. Less is not
    resolved: a block of 1e-3 beside assigned costs of 1e12, the last digit of
    ``[[-1e12, 0], [0, 1e12 - 2**-13]]``.
    Costs of too many orders of magnitude for int64 prices are refused, before the run where their
    median tells it, else behind it, where the answer's duals prove too little.

    Parameters
    ----------
    cost : array_like[n, m] or scipy.sparse[n, m]
        Integers, booleans or floats; integers are exact. ``inf`` (``-inf`` when maximizing), or
        absence from a sparse matrix, forbids a pair. Rectangular matrices assign ``min(n, m)``
        pairs. Cost scaling is of flows that saturate both sides: a rectangle is padded to the
        square of its longer side with pairs that cost nothing, which all compete for the longer
        side's lines: by the lock-free refine 10 x 40 takes twice the pushes and relabels of
        40 x 40, on one core half of them (README, "What rectangles cost"). The other papers'
        solvers search a rectangle from its shorter side.
    maximize : bool
        Whether the sum is to be maximized, as in the paper.
    alpha : int
        The paper's ALPHA: the number, at least 2, that epsilon is divided by.
    cycle : int, optional
        CYCLE: turns of each node before the control goes back to the host; by default the
        configuration's, in the paper 500,000.
    price_updates : {"first", "every", "none"}, optional
        The runs of the kernel, of each refine, after which prices are updated; by default the
        configuration's, in the paper the first.
    arc_fixing : bool
        Whether arcs are fixed once a refine has its flow.
    loop : {"host", "device"}
        The paper's loop, or all refines in one launch (complete graphs, at most 64 a side, no
        heuristics).
    operations : int, optional
        Relabels after which a refine is given up (in the one launch: sweeps of a warp); by default
        the algorithm's bound.
    seconds : float, optional
        The time after which a run without an answer is given up; it is looked at after every run
        of the kernel, on the CPU after every four million operations.
    geometry : Geometry, optional
        Shapes of the launches; by default those that suit the device.
    configuration : str or papers.lupinska_costscale.assignment.configuration.Configuration
        ``"tuned"``, ``"paper"`` (a thread a node, as printed) or another name of
        `papers.lupinska_costscale.assignment.configuration.CONFIGURATIONS`, the steps between.
    solver : str, optional
        A name of ``PAPER.solvers()`` instead of the default.

    Returns
    -------
    Assignment
        ``row_ind`` and ``col_ind`` as from `scipy.optimize.linear_sum_assignment`, the cost, the
        duals that prove it, and counters: ``refines``, ``pushes``, ``relabels``,
        ``price_updates``, ``arcs_fixed``, ``kernel_launches``.

    Raises
    ------
    ValueError
        For NaN, a wrong dimension or type, an infeasible matrix, costs that would overflow, a
        matrix too large for the device, a bad option, a solver that is unknown or takes no such
        option.
    papers.common.model.GivenUpError
        At one of the limits.
    RuntimeError
        If a kernel fails, or the answer turns out not to be optimal.

    Examples
    --------
    >>> from papers.lupinska_costscale import solve
    >>> solve([[4, 1, 3], [2, 0, 5], [3, 2, 2]]).cost
    5
    """
    from papers.common.problems import kinds
    from papers.lupinska_costscale.assignment.baselines.cost_scaling import check_options

    check_options(alpha, arc_fixing=arc_fixing)
    options = {
        "maximize": maximize,
        "alpha": None if alpha == 10 else alpha,
        "cycle": cycle,
        "price_updates": price_updates,
        "arc_fixing": None if arc_fixing is True else arc_fixing,
        "loop": None if loop == "host" else loop,
        "operations": operations,
        "seconds": seconds,
        "geometry": geometry,
        "configuration": None if configuration == "tuned" else configuration,
        "threads": threads,
    }
    return kinds.solve_with(PAPER, kinds.ASSIGNMENT, cost, solver, options)


def solve_batch(
    costs: Any,
    maximize: bool = False,
    dtype: Any = None,
    *,
    copies: int = 1,
    threads: int = 128,
    seconds: float | None = None,
) -> BatchAnswer | Assignment:
    """Solve many small dense assignment problems in one launch, a warp each, exactly.

    Parameters
    ----------
    costs : array_like[k, n, m]
        Integers, booleans or floats, n and m at most 64; ``inf`` (``-inf`` when maximizing)
        forbids a pair. Two-dimensional: one problem.
    maximize : bool
        Whether the sums are to be maximized.
    dtype : {"int32", "int64", "float64"}, optional
        Working type; by default the narrowest that cannot overflow.
    copies : int
        How often each problem is solved, its columns rotated anew each time.
    threads : int
        Threads a block, whole warps, up to 1024.
    seconds : float, optional
        The time after which a batch without all answers is given up; the clock is looked at after
        every 4096 problems, which are launches of their own then.

    Returns
    -------
    BatchAnswer
        Assignments, exact costs and the duals that prove each (see
        `papers.common.problems.assignment_proof.assignment`). For a two-dimensional `costs` an
        `Assignment`.

    Raises
    ------
    ValueError
        For bad costs, a side above 64, a bad option, a batch too large for the device.
    papers.common.model.GivenUpError
        After `seconds`.
    RuntimeError
        If the kernel fails.

    Examples
    --------
    >>> from papers.lupinska_costscale import solve_batch
    >>> solve_batch([[[4, 1, 3], [2, 0, 5], [3, 2, 2]], [[1, 2, 3], [2, 4, 6], [3, 6, 9]]]).cost
    (5, 10)
    """
    from papers.lupinska_costscale.assignment import batch

    return batch.solve_batch(costs, maximize, dtype, copies, threads, seconds)


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
    experiments=lazily(f"{__name__}.evidence.experiments", "EXPERIMENTS"),
    solvers=lazily(f"{__name__}.solvers", "SOLVERS"),
    defaults={
        "assignment": Defaults(gpu="refine", cpu="cost_scaling", executor=32),
        "flow": Defaults(gpu="gpu_relabel", cpu="push_relabel", executor=1024),
    },
    claims=(
        MainClaim(
            "an assignment of 30 x 30 takes about 1/20 s", "claim_small", "slowest of the sizes"
        ),
        MainClaim(
            "the lock-free refine is not efficient for large graphs",
            "claim_large",
            "time over the fastest",
        ),
        MainClaim(
            "the hybrid maximum flow beats the purely lock-free one",
            "flow_versions",
            "lock-free over hybrid",
        ),
    ),
)
