"""Ours, past the paper: a maximum matching in one launch.

Reading order: `kernels` (the idea, its arrays and its parts), `solver` (the launch), `memory`,
`configuration` (each idea switched off), `lines` (a caller's matrix turned around on the device).
"""

from __future__ import annotations

from typing import Any

from papers.common.model import Matching
from papers.deveci_matching.beyond.configuration import Configuration

__all__ = ["solve"]


def solve(
    graph: Any,
    initial: Any = None,
    timed_start: bool = False,
    threads: int | None = None,
    blocks: int | None = None,
    seconds: float | None = None,
    jump_after: int | None = None,
    configuration: str | Configuration = "tuned",
) -> Matching:
    """Find a matching of maximum cardinality in a bipartite graph, in one launch.

    Runs on the selected device (`papers.common.gpu.device.select`): a CUDA GPU, or the CPU
    executor, which is meant for a few hundred vertices.

    Parameters
    ----------
    graph : scipy sparse array or matrix, array_like[rows, columns], Graph, Lines, or tuple
        Structure counts: every stored entry of a sparse matrix is an edge, zeros too, except in BSR
        and DIA, where a stored zero cannot be told from padding and is none; of a dense one every
        entry that is not zero. A tuple is CSR: ``(indptr, indices, shape)``. On a GPU the device
        turns a CSR or CSC matrix around, unless the start needs its edges on the host.
    initial : {None, "cheap", "empty", "device"}, (row_match, column_match) or Known, optional
        The matching to start from. None is ``"cheap"``, the paper's start; ``"device"`` is the
        same made by the kernel, columns of one edge first; a pair holds int[rows] and int[columns]
        with -1 for unmatched.
    timed_start : bool
        Whether a start of the host is computed within `solver.run` too, so that a clock around it
        includes the start.
    threads : int, optional
        Threads a block: a power of two from 32 to 1024.
    blocks : int, optional
        Blocks; at most as many as are resident at once. By default one a multiprocessor.
    seconds : float, optional
        The time after which a run without an answer is given up. It makes several launches of the
        one, between which the clock is looked at.
    jump_after : int, optional
        Levels of a phase before rows join trees many levels at a time; by default as many as cost
        what that costs.
    configuration : str or papers.deveci_matching.beyond.configuration.Configuration
        The ideas that are on: all, ``"tuned"``; none, ``"bare"``; or a step between.

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
        An impossible number of threads, blocks or levels, or seconds that are none.
    papers.common.model.GivenUpError
        After `seconds`, or at a bound on the work that no right kernel exceeds.
    RuntimeError
        If the kernel fails.

    Examples
    --------
    >>> from papers.deveci_matching import beyond
    >>> beyond.solve([[1, 1], [1, 0]]).row_match.tolist()
    [1, 0]
    """
    from papers.deveci_matching.beyond import solver

    return solver.solve(
        graph, initial, timed_start, threads, blocks, seconds, jump_after, configuration
    )
