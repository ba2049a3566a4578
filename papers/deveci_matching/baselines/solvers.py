"""The CPU codes of [D13 sec.4]: sequential and multicore rivals of the GPU, and SciPy's.

| name | what it is | where |
| --- | --- | --- |
| `hk`, `hkdw` | Hopcroft-Karp; with Duff and Wiberg's third part | `baselines.hk` |
| `pfp` | Pothen-Fan with lookahead and fairness | `baselines.pfp` |
| `pfp_packed` | PFP, the words of a vertex side by side | `baselines.pfp_packed` |
| `ms_bfs_graft` | trees kept from phase to phase; multicore | `baselines.ms_bfs_graft` |
| `p_hk`, `p_pfp`, `p_dbfs` | multicore codes, with the parameter `threads` | `baselines.p_hk` ... |
| `scipy` | `scipy.sparse.csgraph.maximum_bipartite_matching` | |

The paper took the programs of other authors; these are written anew from descriptions of the
algorithms. All start from the same matching, by default the cheap one. The clock covers `run`,
which goes from that matching to a maximum one, in memory that was allocated before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numba
import numpy as np

from papers.common.deadline import Deadline, check_seconds
from papers.common.model import GivenUpError, Matching, Solver
from papers.common.problems import kinds
from papers.common.problems.graph import Graph, bipartite
from papers.deveci_matching.baselines import (
    hk,
    ms_bfs_graft,
    p_dbfs,
    p_hk,
    p_pfp,
    pfp,
    pfp_packed,
)
from papers.deveci_matching.baselines.pfp import EDGES, LEVELS, OVER, PATHS, PHASES, STUCK, TALLY
from papers.deveci_matching.start import start

Trace = Callable[[str], None]
Code = Callable[[np.ndarray, np.ndarray, np.ndarray, int], int]
"""Enlarges ``(rmatch, cmatch)`` and counts in the tally; returns 0, `OVER` or `STUCK`."""

SLICE = 1 << 25
"""The number of edges, at least, between two looks at the clock: some tenths of a second."""

LOOKS = 5
"""Looks of a phase at an edge, at most, those ahead and of both sides included."""


class WorkLimitError(GivenUpError):
    """The code has looked at more edges than ``work_limit`` allows."""


@dataclass
class State:
    """A graph with its code, its memory and its matching.

    Attributes
    ----------
    graph : Graph
    solve : Code
        The code, with graph and memory bound to it.
    start : (int32[rows], int32[columns]) or None
        The matching to start from; None: computed within `run`.
    named : str
        The start that is computed there: ``"cheap"`` or ``"karp_sipser"``.
    limit : int
        Number of edges that the code may look at.
    asked : int or None
        The limit that the caller has asked for.
    seconds : float or None
        Time that a run may take.
    threads : int
        0 for a sequential code.
    rmatch, cmatch : int32[rows], int32[columns]
    tally : int64[TALLY]
    counters : dict of str to int
        Filled by `run`.
    solved : bool
        Whether `run` has ended well.
    """

    graph: Graph
    solve: Code
    start: tuple[np.ndarray, np.ndarray] | None
    limit: int
    asked: int | None
    seconds: float | None
    threads: int
    rmatch: np.ndarray
    cmatch: np.ndarray
    named: str = "cheap"
    tally: np.ndarray = field(default_factory=lambda: np.zeros(TALLY, np.int64))
    counters: dict[str, int] = field(default_factory=dict)
    solved: bool = False


# --------------------------------------------------------------------------- the codes


def _hk(graph: Graph, threads: int, duff_wiberg: bool = False) -> Code:
    work = hk.allocate(graph.rows, graph.columns)
    extra = pfp.allocate(graph.columns, graph.rows) if duff_wiberg else pfp.allocate(0, 0)
    both = hk.Adjacency(graph.cxadj, graph.cadj, *graph.by_rows)
    fixed = (work, duff_wiberg, extra)
    return lambda *rest: hk.hk(both, *rest[:2], *fixed, *rest[2:])


def _pfp(graph: Graph, threads: int) -> Code:
    work = pfp.allocate(graph.rows, graph.columns)
    return lambda *rest: pfp.pfp(graph.cxadj, graph.cadj, *_with(work, rest))


def _pfp_packed(graph: Graph, threads: int) -> Code:
    work = pfp_packed.allocate(graph.rows, graph.columns)
    return lambda *rest: pfp_packed.pfp_packed(graph.cxadj, graph.cadj, *_with(work, rest))


def _ms_bfs_graft(graph: Graph, threads: int) -> Code:
    work = ms_bfs_graft.allocate(graph.rows, graph.columns, threads)
    both = graph.cxadj, graph.cadj, *graph.by_rows
    return lambda *rest: ms_bfs_graft.ms_bfs_graft(*both, *_with(work, rest))


def _p_pfp(graph: Graph, threads: int) -> Code:
    work = p_pfp.allocate(graph.rows, graph.columns, threads)
    return lambda *rest: p_pfp.p_pfp(graph.cxadj, graph.cadj, *_with(work, rest))


def _p_dbfs(graph: Graph, threads: int) -> Code:
    work = p_dbfs.allocate(graph.rows, graph.columns, threads)
    return lambda *rest: p_dbfs.p_dbfs(graph.cxadj, graph.cadj, *_with(work, rest))


def _p_hk(graph: Graph, threads: int) -> Code:
    work = p_hk.allocate(graph.rows, graph.columns, threads)
    by_rows = graph.by_rows
    return lambda *rest: p_hk.p_hk(graph.cxadj, graph.cadj, *by_rows, *_with(work, rest))


def _with(work: Any, rest: tuple[Any, ...]) -> tuple[Any, ...]:
    """Put the memory between the matching and the tally."""
    return (*rest[:2], work, *rest[2:])


# --------------------------------------------------------------------------- the three stages


def upload(
    graph: Any,
    initial: Any = None,
    work_limit: int | None = None,
    timed_start: bool = False,
    threads: int | None = None,
    seconds: float | None = None,
    *,
    make: Callable[[Graph, int], Code],
    parallel: bool,
    short: bool = False,
) -> State:
    """Check the graph and the options, compute the start, and allocate.

    Parameters
    ----------
    graph : Graph or anything that `papers.common.problems.graph.bipartite` accepts
    initial : {None, "cheap", "empty", "karp_sipser"} or (row_match, column_match)
        See `papers.deveci_matching.start.start`.
    work_limit : int, optional
        The number of edges that the code may look at; an edge counts every time.
    timed_start : bool
        Whether a start by name is computed within `run`; others are copied there anyway.
    threads : int, optional
        For a multicore code; by default all that Numba may use
        (``numba.config.NUMBA_NUM_THREADS``).
    seconds : float, optional
        Time after which a run gives up; see `run`.
    make, parallel, short
        The code, whether it is a multicore code, and whether all shortest paths of a phase are
        taken (see `most_edges`); `SOLVERS` binds them.

    Raises
    ------
    GraphError
        For a bad graph or a bad start.
    ValueError
        For a limit below 0, threads less than 1 or more than Numba may use, or threads for a
        sequential code.
    """
    if work_limit is not None and work_limit < 0:
        raise ValueError(f"work_limit must be at least 0, not {work_limit}")
    check_seconds(seconds)
    count = _threads(threads, parallel)
    checked = bipartite(graph)
    named = "cheap" if initial is None else initial
    made = isinstance(named, str) and named in ("cheap", "karp_sipser")
    return State(
        graph=checked,
        solve=make(checked, count),
        start=None if timed_start and made else start(checked, initial),
        limit=most_edges(checked, short) if work_limit is None else int(work_limit),
        asked=work_limit,
        seconds=seconds,
        threads=count,
        rmatch=np.empty(checked.rows, np.int32),
        cmatch=np.empty(checked.columns, np.int32),
        named=named if made else "",
    )


def most_edges(graph: Graph, short: bool) -> int:
    """Return how many edges a right code looks at, at most.

    A phase looks at an edge `LOOKS` times at most, and each but the last matches a pair more: their
    number is at most ``k + 1``, where k is the shorter side. Hopcroft and Karp's own need only
    ``2 sqrt(k) + 2``, because a phase takes a maximal set of shortest paths (`short`). Looks ahead
    add one at each edge.
    """
    pairs = min(graph.rows, graph.columns)
    phases = min(pairs + 1, 2 * math.isqrt(pairs) + 4) if short else pairs + 1
    return (LOOKS * phases + 1) * graph.edges


def _threads(threads: int | None, parallel: bool) -> int:
    """Return the number of threads to use; 0 for a sequential code."""
    if not parallel:
        if threads is not None:
            raise ValueError("threads: this code is sequential")
        return 0
    most = int(numba.config.NUMBA_NUM_THREADS)
    count = most if threads is None else int(threads)
    if count < 1:
        raise ValueError(f"threads must be at least 1, not {count}")
    if count > most:
        raise ValueError(
            f"{count} threads asked, this machine offers {most} (NUMBA_NUM_THREADS, by default "
            "the number of cores)"
        )
    return count


def run(state: State, trace: Trace | None = None) -> None:
    """Restart from the initial matching and enlarge it to a maximum one.

    Parameters
    ----------
    state : State
        From `upload`; may be run again.
    trace : callable(str), optional
        Not called: the codes have no steps.

    Where the time is limited the code is called again and again, from the matching that it has
    reached, for so many edges at a time that it ends a phase at least.

    Raises
    ------
    WorkLimitError
        If the code has looked at more than ``work_limit`` edges, or than any right run does
        (`most_edges`).
    GivenUpError
        After ``state.seconds``.
    RuntimeError
        If a phase finds no path where there must be one.
    """
    state.solved, deadline = False, Deadline(state.seconds)
    if state.start is None:
        state.rmatch, state.cmatch = start(state.graph, state.named)
    else:
        state.rmatch[:], state.cmatch[:] = state.start
    initial = int(np.count_nonzero(state.cmatch >= 0))
    state.tally[:] = 0
    outcome = _call(state, state.limit) if state.seconds is None else _slices(state, deadline)
    if outcome == OVER:
        asked = "no right run exceeds" if state.asked is None else "work_limit is"
        raise WorkLimitError(
            f"stopped after {state.tally[EDGES]} edges: {asked} {state.limit}",
            reached=_reached(state),
        )
    if outcome == STUCK:
        raise RuntimeError("a phase found no augmenting path where there must be one")
    state.counters = {
        "initial_cardinality": initial,
        "augmenting_paths": int(state.tally[PATHS]),
        "phases": int(state.tally[PHASES]),
        "bfs_levels": int(state.tally[LEVELS]),
        "edges_scanned": int(state.tally[EDGES]),
    }
    if state.threads:
        state.counters["threads"] = state.threads
    state.solved = True


def _reached(state: State) -> dict[str, int]:
    """Return the counts that a run has reached when it gives up."""
    matched = int(np.count_nonzero(state.cmatch >= 0))
    return {"matched": matched, "edges_scanned": int(state.tally[EDGES])}


def _slices(state: State, deadline: Deadline) -> int:
    """Call the code for a slice of the edges at a time, and look at the clock in between."""
    initial, edges = int(np.count_nonzero(state.cmatch >= 0)), 0
    share = max(SLICE, 2 * LOOKS * state.graph.edges)  # a whole phase from its beginning, at least,
    if state.asked is None:  # and the one that is broken off is no longer than that
        state.limit = 2 * most_edges(state.graph, False)
    while True:
        state.tally[EDGES] = 0
        outcome = _call(state, min(share, state.limit - edges))
        edges += int(state.tally[EDGES])
        state.tally[EDGES] = edges
        reached = _reached(state)
        state.tally[PATHS] = reached["matched"] - initial  # of a phase that was broken off, too
        if outcome != OVER or edges > state.limit:
            return outcome
        deadline.check(f"{edges} edges, {reached['matched']} pairs matched", reached=reached)


def _call(state: State, limit: int) -> int:
    """Call the code, with as many threads as asked for."""
    if state.threads == 0:
        return state.solve(state.rmatch, state.cmatch, state.tally, limit)
    before = numba.get_num_threads()
    numba.set_num_threads(state.threads)
    try:
        return state.solve(state.rmatch, state.cmatch, state.tally, limit)
    finally:
        numba.set_num_threads(before)


def download(state: State) -> Matching:
    """Return the matching and the counters.

    The counters are ``initial_cardinality``, ``augmenting_paths``, ``phases``, ``bfs_levels`` (of
    all phases; 0 for a code without levels), ``edges_scanned``, and ``threads`` for a multicore
    code.

    Raises
    ------
    RuntimeError
        If the run has not ended well.
    """
    if not state.solved:
        raise RuntimeError("nothing to download: the run has not ended")
    cardinality = int(np.count_nonzero(state.cmatch >= 0))
    return Matching(state.rmatch.copy(), state.cmatch.copy(), cardinality, dict(state.counters))


# --------------------------------------------------------------------------- SciPy


@dataclass
class SciPyState:
    """A matrix for SciPy, and its answer.

    Attributes
    ----------
    matrix : csr_array[rows, columns]
    row_match : int32[rows] or None
    """

    matrix: Any
    row_match: np.ndarray | None = None


def upload_scipy(
    graph: Any,
    initial: Any = None,
    work_limit: int | None = None,
    timed_start: bool = False,
    threads: int | None = None,
) -> SciPyState:
    """Check the graph and store it as SciPy wants it; the start is checked but not used.

    Raises
    ------
    GraphError
        For a bad graph or a bad start.
    ValueError
        For a `work_limit`, because SciPy counts no edges and cannot be stopped, or for threads.
    """
    if work_limit is not None:
        raise ValueError("SciPy's code cannot be stopped: work_limit must be None")
    _threads(threads, parallel=False)
    checked = bipartite(graph)
    start(checked, initial)
    return SciPyState(checked.matrix().tocsr())


def run_scipy(state: SciPyState, trace: Trace | None = None) -> None:
    """Call `scipy.sparse.csgraph.maximum_bipartite_matching`, which starts from nothing."""
    from scipy.sparse.csgraph import maximum_bipartite_matching

    state.row_match = None
    if min(state.matrix.shape) == 0:
        state.row_match = np.full(state.matrix.shape[0], -1, np.int32)
    else:
        state.row_match = maximum_bipartite_matching(state.matrix, perm_type="column")


def download_scipy(state: SciPyState) -> Matching:
    """Return the matching; SciPy reports nothing else.

    Raises
    ------
    RuntimeError
        If the run has not ended.
    """
    if state.row_match is None:
        raise RuntimeError("nothing to download: the run has not ended")
    rmatch = state.row_match.astype(np.int32)
    cmatch = np.full(state.matrix.shape[1], -1, np.int32)
    matched = np.flatnonzero(rmatch >= 0)
    cmatch[rmatch[matched]] = matched
    counters = {"initial_cardinality": 0, "augmenting_paths": int(matched.size)}
    return Matching(rmatch, cmatch, int(matched.size), counters)


# --------------------------------------------------------------------------- by name


def solve(
    graph: Any,
    code: str = "hk",
    initial: Any = None,
    work_limit: int | None = None,
    timed_start: bool = False,
    threads: int | None = None,
    seconds: float | None = None,
) -> Matching:
    """Return a maximum matching of a bipartite graph, found on the CPU.

    Parameters
    ----------
    graph : Graph or anything that `papers.common.problems.graph.bipartite` accepts
    code : str
        A key of `SOLVERS`.
    initial, work_limit, timed_start, threads, seconds
        See `upload`; SciPy's code cannot be stopped and takes no seconds.

    Returns
    -------
    Matching
        ``row_match`` int32[rows] and ``column_match`` int32[columns] with -1 for unmatched,
        ``cardinality``, and the counters that `download` names.

    Raises
    ------
    GraphError, ValueError
        From `upload`; ValueError also for an unknown code.
    WorkLimitError, RuntimeError
        From `run`.
    """
    if code not in SOLVERS:
        raise ValueError(f"code={code!r} is none of {', '.join(SOLVERS)}")
    solver = SOLVERS[code]
    limits = {} if seconds is None else {"seconds": seconds}
    kinds.check_options(solver, limits)
    state = solver.upload(
        graph, initial=initial, work_limit=work_limit, timed_start=timed_start, threads=threads,
        **limits,
    )  # fmt: skip
    solver.run(state)
    return cast(Matching, solver.download(state))


def _solver(
    name: str, title: str, make: Callable[..., Code], parallel: bool = False, short: bool = False
) -> Solver:
    return Solver(
        name=name,
        title=title,
        device="cpu",
        problem="matching",
        upload=partial(upload, make=make, parallel=parallel, short=short),
        run=run,
        download=download,
    )


SOLVERS: Mapping[str, Solver] = {
    "hk": _solver("hk", "HK (CPU)", _hk, short=True),
    "hkdw": _solver("hkdw", "HKDW (CPU)", partial(_hk, duff_wiberg=True)),
    "pfp": _solver("pfp", "PFP (CPU)", _pfp),
    "pfp_packed": _solver("pfp_packed", "PFP, packed words (CPU)", _pfp_packed),
    "p_hk": _solver("p_hk", "P-HK (multicore CPU)", _p_hk, parallel=True),
    "p_pfp": _solver("p_pfp", "P-PFP (multicore CPU)", _p_pfp, parallel=True),
    "p_dbfs": _solver("p_dbfs", "P-DBFS (multicore CPU)", _p_dbfs, parallel=True),
    "ms_bfs_graft": _solver(
        "ms_bfs_graft", "MS-BFS-Graft (multicore CPU)", _ms_bfs_graft, parallel=True
    ),
    "scipy": Solver(
        name="scipy",
        title="SciPy (CPU)",
        device="cpu",
        problem="matching",
        upload=upload_scipy,
        run=run_scipy,
        download=download_scipy,
        limits={"time limits": "takes no option seconds"},
    ),
}
