"""The OpenMP version of [DN16 sec.6]: the alternating tree variant on the cores of a CPU.

"We also developed an OpenMP version of our parallel algorithm, in which the kernel-analogues were
implemented on the host using #pragma omp parallel for." `papers.datenagi2016.baselines.openmp` has
one compiled function a kernel, named after it, whose ``prange`` stands for the pragma. OMP-1 and
OMP-8 of Tables 1 and 3 are this solver with ``threads=1`` and ``threads=8``.

The authors did not publish that code. This one does what a careful programmer would, none of which
changes an iteration:

- a thread owns a run of neighbouring columns (of rows, in the row reduction) and passes each
  frontier row over its run: the row-major matrix is streamed, and the slacks stay in the cache;
- with one thread there is one run and, but for the two reductions at the start, no parallel region;
- the forest grows inside compiled code, level by level; Python decides what the host decides in
  [DN16 sec.4]: optimal, augment, or update the duals.

**Half units.** [DN16 Alg.9] adds and subtracts ``theta / 2``. Duals and slacks are therefore held
doubled ("in half units"), floats too, which doubling leaves exact. Every dual update moves every
row dual, and every column dual, up or down by the same half, and all start even. So at any time all
row duals have one parity and all column duals the same one; every slack, ``2 c - u - v``, is even,
hence every ``theta``, and half of it is an integer. `download` returns to whole units: if the
parity is odd, every row dual first gains and every column dual loses one half unit, which changes
no slack.

**Range.** Let costs lie in ``[0, C]``. In whole units and the standard form of the method (row
duals of the forest rise by ``theta``, its column duals sink by it, the others stay) row duals are
within ``[0, C]``, column duals within ``[-C, C]`` and slacks within ``2 C``. Here row duals are
less, and column duals more, by half the sum of all ``theta``, and that sum is at most ``C``: an
unassigned row's standard dual has risen by all of it. Doubled, no dual exceeds ``3 C`` and no slack
``4 C``, and none equals the odd number that stands for infinity.

**Floats.** There is no epsilon: a column counts as zero when its slack is <= 0. ``theta`` is an
entry of the slack array, so the least slack becomes exactly zero by subtraction; a slack computed
anew may be some ulp below zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np

from papers.common.deadline import Deadline, check_seconds
from papers.common.model import Assignment, GivenUpError, Solver
from papers.common.problems.assignment import Problem, finish, prepare
from papers.common.problems.duals import row_duals
from papers.datenagi2016 import bands
from papers.datenagi2016.baselines.openmp import (
    AUGMENT,
    REVERSE,
    Duals,
    Forest,
    allocate,
    augmentation,
    contraction,
    dual_update,
    forward_pass,
    initial_reduction,
    min_reduction,
    optimality_check,
    reverse_pass,
    start_of_rectangle,
)
from papers.datenagi2016.kernels.half_units import halves
from papers.datenagi2016.rectangles import rows_first, square_again

DTYPES = ("int32", "int64", "float64")
STEPS = (
    "initial_reduction",
    "optimality_check",
    "forward_pass",
    "reverse_pass",
    "augmentation",
    "dual_update",
)
Trace = Callable[[str], None]


@dataclass
class State:
    """A problem on its way through the three stages.

    Attributes
    ----------
    problem : Problem
        The checked costs.
    forest, duals
        Everything the kernels share.
    threads : int
        How many threads `run` uses.
    counters : dict of str to int
        Filled by `run`.
    seconds : float or None
        Time that a run may take.
    solved : bool
        Whether `run` has ended well.
    """

    problem: Problem
    forest: Forest
    duals: Duals
    threads: int
    counters: dict[str, int]
    seconds: float | None = None
    solved: bool = False


def upload(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    threads: int | None = None,
    seconds: float | None = None,
) -> State:
    """Check the costs and the number of threads, and allocate.

    Parameters
    ----------
    cost : array_like[n, m]
        See `papers.common.problems.assignment.prepare`.
    maximize : bool
        Whether the sum is to be maximized.
    dtype : {"int32", "int64", "float64"}, optional
        Working type; by default the narrowest that holds four times the range of the costs.
    threads : int, optional
        By default all that Numba may use (``numba.config.NUMBA_NUM_THREADS``).
    seconds : float, optional
        Time after which `run` gives up; it looks after every forward pass, which reads each entry
        of the matrix once at most.

    Raises
    ------
    ValueError
        From `prepare`, or for fewer threads than one or more than Numba may use.
    """
    limit = int(numba.config.NUMBA_NUM_THREADS)
    threads = limit if threads is None else int(threads)
    if threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    if threads > limit:
        raise ValueError(
            f"{threads} threads asked, this machine offers {limit} (NUMBA_NUM_THREADS, by default "
            "the number of cores)"
        )
    check_seconds(seconds)
    problem = prepare(cost, maximize, dtype, DTYPES, factor=4)
    return State(problem, *allocate(rows_first(problem), threads), threads, {}, seconds)


def run(state: State, trace: Trace | None = None) -> None:
    """Solve: the loop of [DN16 sec.2.3], with the kernels of [DN16 sec.4].

    Parameters
    ----------
    state : State
        From `upload`; may be run again, from the costs on.
    trace : callable(str), optional
        Called with the name of each step (`STEPS`) as it begins.

    Raises
    ------
    GivenUpError
        After ``state.seconds``, or if a loop exceeds the algorithm's worst case: n searches, n dual
        updates in a search, n levels in a pass.
    RuntimeError
        If a dual update finds nothing to update, or a walk meets a cycle.
    """
    state.solved, deadline = False, Deadline(state.seconds)
    before = numba.get_num_threads()
    numba.set_num_threads(state.threads)
    try:
        state.counters = _solve(state.forest, state.duals, trace or _ignore, deadline)
    finally:
        numba.set_num_threads(before)
    state.counters["threads"] = state.threads
    state.solved = True


def _ignore(step: str) -> None:
    """Trace nothing."""


@dataclass
class _Record:
    """Counters of a run; the two lists are as in `papers.datenagi2016.solver.State`."""

    forward_passes: int = 0
    bfs_levels: int = 0
    augmentations: int = 0
    matches_at_update: list[int] = field(default_factory=list)
    matches_at_pass: list[int] = field(default_factory=list)

    def reached(self, matches: int) -> dict[str, int]:
        """Return what a run that gives up has reached."""
        return {"matched": matches, "dual_updates": len(self.matches_at_update)}

    def counters(self, n: int) -> dict[str, int]:
        found = {
            "initial_assignments": (*self.matches_at_update, n)[0],
            "dual_updates": len(self.matches_at_update),
            "forward_passes": self.forward_passes,
            "bfs_levels": self.bfs_levels,
            "augmentations": self.augmentations,
        }
        return found | bands.counters(self.matches_at_update, self.matches_at_pass, n)


def _solve(f: Forest, w: Duals, trace: Trace, deadline: Deadline) -> dict[str, int]:
    record = _Record()
    rows, lines = w.cost.shape
    trace("initial_reduction")
    (initial_reduction if rows == lines else start_of_rectangle)(f, w)
    for _ in range(lines + 1):
        trace("optimality_check")
        matches = int(optimality_check(f, w)) - (lines - rows)
        if matches == rows:
            return record.counters(matches)
        _search(f, w, trace, record, matches, deadline)
        trace("reverse_pass")
        if reverse_pass(f, contraction(f, f.mark_c, REVERSE)):
            raise RuntimeError("the reverse pass met a cycle")
        trace("augmentation")
        paths = contraction(f, f.mark_r, AUGMENT)
        if paths == 0 or augmentation(f, paths):
            raise RuntimeError("the augmentation met a cycle, or no path")
        record.augmentations += 1
    message = f"no optimal assignment after {f.a_r.size} rounds of augmentations"
    raise GivenUpError(message, reached=record.reached(matches))


def _search(
    f: Forest, w: Duals, trace: Trace, record: _Record, matches: int, deadline: Deadline
) -> None:
    """Forward passes and dual updates in turn, until an unassigned column is reached."""
    for _ in range(f.a_r.size + 1):
        trace("forward_pass")
        if record.matches_at_update:
            record.matches_at_pass.append(matches)
        reverse, levels = forward_pass(f, w)
        if levels < 0:
            message = f"a forward pass exceeded {f.a_r.size + 1} levels"
            raise GivenUpError(message, reached=record.reached(matches))
        record.forward_passes += 1
        record.bfs_levels += int(levels)
        if deadline.seconds is not None:
            text = f"{matches} of {len(w.cost)} rows are assigned"
            deadline.check(text, reached=record.reached(matches))
        if reverse:
            return
        trace("dual_update")
        record.matches_at_update.append(matches)
        theta = min_reduction(f, w)
        if not 0 < theta < w.limit[0]:
            raise RuntimeError("the dual update found no positive slack")
        half = theta / 2 if w.limit.dtype.kind == "f" else theta // 2
        if dual_update(f, w, theta, half) == 0:
            raise RuntimeError("after the dual update no column reached zero")
    message = f"no augmenting path after {f.a_r.size} dual updates"
    raise GivenUpError(message, reached=record.reached(matches))


def download(state: State) -> Assignment:
    """Return the assignment, its duals in whole units, and the counters.

    Counters: ``initial_assignments`` (before the first dual update), ``dual_updates``,
    ``forward_passes``, ``bfs_levels``, ``augmentations`` (rounds), those of
    `papers.datenagi2016.bands`, ``threads``.

    Raises
    ------
    RuntimeError
        If the run has not ended.
    ValueError
        From `papers.common.problems.assignment.finish`.
    """
    if not state.solved:
        raise RuntimeError("nothing to download: the run has not ended")
    columns = state.forest.a_r[: len(state.duals.cost)].copy()
    u, v = _whole_duals(state.problem, state.duals)
    if columns.size < v.size:
        columns, u, v = square_again(state.problem, columns, u[: columns.size], v)
    return finish(state.problem, columns, u, v, state.counters)


def _whole_duals(problem: Problem, w: Duals) -> tuple[np.ndarray, np.ndarray]:
    if problem.cost.dtype.kind == "f":
        v = halves(w.d_c, -1)
        return row_duals(w.cost, v), v
    u, v = w.d_r.astype(np.int64), w.d_c.astype(np.int64)
    odd = u[:1] & 1  # the parity of all: see above
    return (u + odd) // 2, (v - odd) // 2


def solve_omp(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    threads: int | None = None,
    seconds: float | None = None,
) -> Assignment:
    """Solve an assignment problem on the CPU by the alternating tree variant [DN16 sec.6].

    Parameters
    ----------
    cost, maximize, dtype, threads, seconds
        See `upload`.

    Returns
    -------
    Assignment
        ``row_ind``, ``col_ind`` int64[min(n, m)]; duals int64 or float64, ``row_duals[n]`` and
        ``column_duals[m]``; counters as in `download`.

    Raises
    ------
    ValueError
        From `upload`; or every complete assignment uses a forbidden pair.
    GivenUpError, RuntimeError
        From `run`.
    """
    state = upload(cost, maximize, dtype, threads, seconds)
    run(state)
    return download(state)


SOLVERS: dict[str, Solver] = {
    "cpu_omp": Solver(
        name="cpu_omp",
        title="Alternating tree, OpenMP (CPU)",
        device="cpu",
        problem="assignment",
        upload=upload,
        run=run,
        download=download,
        steps=STEPS,
    ),
}
