"""Deveci, Kaya, Uçar, Çatalyürek 2013: maximum cardinality matching on the GPU [D13].

Reading order: `start` (the cheap matching), `reference` (the sequential form), `kernels` (the
paper's functions, and why their races are harmless), `solver` (the host loop, eight variants) and
`launches` (its memory and launches), `baselines` (the rivals), `beyond` (our own solver),
`evidence`. `README.md` beside this file is the teaching page.
"""

from __future__ import annotations

from typing import Any

from papers.common.model import Defaults, MainClaim, Matching, Paper, lazily
from papers.deveci_matching.configuration import Configuration

__all__ = ["PAPER", "solve"]


def solve(
    graph: Any,
    initial: Any = None,
    algorithm: str = "apfb",
    bfs: str = "wr",
    threads: str = "ct",
    solver: str | None = None,
    seconds: float | None = None,
    configuration: str | Configuration = "tuned",
) -> Matching:
    """Find a matching of maximum cardinality in a bipartite graph [D13].

    Runs on the selected device (`papers.common.gpu.device.select`). Without a GPU the kernels run
    in the CPU executor up to 128 vertices a side; a larger graph goes to HKDW on the CPU, unless a
    variant is asked for.

    Parameters
    ----------
    graph : scipy sparse array or matrix, array_like[rows, columns], Graph, or tuple
        Structure counts: every stored entry of a sparse matrix is an edge, zeros too, except in BSR
        and DIA, where a stored zero cannot be told from padding and is none; of a dense one every
        entry that is not zero. A tuple is CSR: ``(indptr, indices, shape)``.
    initial : {None, "cheap", "empty"} or (row_match, column_match), optional
        The matching to start from; None is ``"cheap"``, the paper's start. A pair holds int[rows]
        and int[columns] with -1 for unmatched.
    algorithm : {"apfb", "apsb"}
        Search to the end in each phase, or to the first level with a path.
    bfs : {"wr", "plain"}
        With the root array and its early exit, or without.
    threads : {"ct", "mt"}
        256 x 256 threads, or one a column.
    solver : str, optional
        A name of ``PAPER.solvers()`` instead of the default.
    seconds : float, optional
        The time after which a run without an answer is given up. The kernels' solver looks at the
        clock after every level, the codes on the CPU after some tens of millions of edges; SciPy's
        cannot be stopped and refuses it.
    configuration : str or papers.deveci_matching.configuration.Configuration
        ``"tuned"``; ``"paper"``, as printed; or a step between the two.

    Returns
    -------
    Matching
        ``row_match`` int32[rows] and ``column_match`` int32[columns] with -1 for unmatched,
        ``cardinality``, and the counters that `solver.download` names.

    Raises
    ------
    GraphError
        A bad graph, a bad start, or a graph too large for the device's memory.
    ValueError
        An unknown variant or configuration, or seconds that are none.
    papers.common.model.GivenUpError
        After `seconds`, or at a bound on the work that no right run exceeds.
    RuntimeError
        If the kernels fail.

    Examples
    --------
    >>> from papers.deveci_matching import solve
    >>> solve([[1, 1], [1, 0]]).row_match.tolist()
    [1, 0]
    """
    from papers.common.problems import kinds

    options = {
        "initial": initial,
        "algorithm": None if algorithm == "apfb" else algorithm,
        "bfs": None if bfs == "wr" else bfs,
        "threads": None if threads == "ct" else threads,
        "seconds": seconds,
        "configuration": None if configuration == "tuned" else configuration,
    }
    return kinds.solve_with(PAPER, kinds.MATCHING, graph, solver, options)


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
    experiments=lazily(f"{__name__}.evidence.experiments", "EXPERIMENTS"),
    solvers=lazily(f"{__name__}.solvers", "SOLVERS"),
    defaults={"matching": Defaults(gpu="gpu", cpu="hkdw")},
    claims=(
        MainClaim(
            "the share of original graphs on which the GPU beats HK, in per cent",
            "claims",
            "DE-a,",
        ),
        MainClaim("the mean speedup over HK on the hard original graphs", "claims", "DE-g,"),
        MainClaim("the mean speedup over PFP on the hard permuted graphs", "claims", "DE-h,"),
    ),
)
