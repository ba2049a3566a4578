"""Many small assignment problems in one launch: upload, run, download, and proofs on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from papers.common.deadline import Deadline, check_seconds
from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind
from papers.common.model import Assignment, Solver
from papers.common.problems.assignment import INTEGER_LIMIT, prepare, total_cost
from papers.lupinska_costscale.assignment.kernels import batch as kernels

DTYPES = kernels.ELEMENT_TYPES
FACTOR = 8
"""The multiple of the range of the costs that the kernel's intermediate values may reach.

A column without a row keeps its dual at the column's minimum, so that an assigned one's stays
within [-C, C] (the last bid: -2 C), reduced costs within 3 C, distances within 4 C."""

WARPS = 4
"""Warps a block."""

SHARE = 4096
"""Problems of a launch where the time is limited: some tenths of a millisecond."""

COUNTERS = ("row_bids", "paths", "columns_scanned", "kernel_launches")


@dataclass(frozen=True)
class BatchAnswer:
    """The answers of a batch.

    Attributes
    ----------
    row_ind, col_ind : int64[k, min(n, m)]
        As `Assignment` has them, a line a problem.
    cost : tuple of int or float
        Exact sums.
    row_duals, column_duals : int64[k, n] and int64[k, m], or float64
    maximize : bool
    counters : dict of str to int
        Counts of the whole batch.

    ``len(answer)``, ``answer[i]`` and iteration give `Assignment`s.
    """

    row_ind: np.ndarray
    col_ind: np.ndarray
    cost: tuple[Any, ...]
    row_duals: np.ndarray
    column_duals: np.ndarray
    maximize: bool
    counters: dict[str, int]

    def __len__(self) -> int:
        return len(self.cost)

    def __getitem__(self, i: int) -> Assignment:
        duals = self.row_duals[i], self.column_duals[i]
        return Assignment(
            self.row_ind[i], self.col_ind[i], self.cost[i], *duals, self.maximize, self.counters
        )

    def __iter__(self) -> Iterator[Assignment]:
        return (self[i] for i in range(len(self)))


@dataclass
class State:
    """A batch on its way through the three stages.

    Attributes
    ----------
    costs : ndarray[k, n, m]
        The caller's.
    matrix : T[k, N, N]
        In working form: square, to be minimized, from 0.
    shift : ndarray[k]
        The numbers that were subtracted (maximizing: that it was subtracted from).
    single : bool
        Whether the caller gave one matrix, and gets one `Assignment`.
    copies : int
        Number of times that each problem is in the batch, its columns rotated anew each time.
    seconds : float or None
        Time that a run may take.
    launches : list of Launch
        One, or one for every `SHARE` problems where the time is limited.
    """

    costs: np.ndarray
    matrix: np.ndarray
    shift: np.ndarray
    maximize: bool
    single: bool
    copies: int = 1
    seconds: float | None = None
    arrays: dict[str, Any] = field(default_factory=dict)
    launches: list[Launch] = field(default_factory=list)
    solved: bool = False
    problem: Any = None


# ------------------------------------------------------------------------------- upload


def upload(
    costs: Any,
    maximize: bool = False,
    dtype: Any = None,
    copies: int = 1,
    threads: int = 32 * WARPS,
    seconds: float | None = None,
) -> State:
    """Check a batch, bring it into working form, and onto the device.

    Parameters
    ----------
    costs : array_like[k, n, m], or [n, m] for a batch of one
        Integers, booleans or floats, n and m at most 64; ``inf`` (``-inf`` when maximizing)
        forbids a pair.
    maximize : bool
    dtype : {"int32", "int64", "float64"}, optional
        Working type; by default the narrowest that cannot overflow.
    copies : int
        Number of times to solve each problem; column j of copy c is column j + c of the
        problem.
    threads : int
        Threads a block, whole warps.
    seconds : float, optional
        A run that has not solved all of them after so long gives up; it looks after every `SHARE`
        problems, each of which is a launch then.

    Raises
    ------
    ValueError
        Bad costs (see `papers.common.problems.assignment.prepare`), a side above 64, a bad option,
        or a batch too large for the card.
    """
    for name, value, low in (("copies", copies, 1), ("threads", threads, 32)):
        if not isinstance(value, (int, np.integer)) or value < low:
            raise ValueError(f"{name}={value!r} is no whole number from {low} on")
    if threads % 32 or threads > 1024:
        raise ValueError(f"threads={threads} is no number of whole warps up to 1024")
    check_seconds(seconds)
    array, single = _as_batch(costs)
    if max(array.shape[1:]) > kernels.LARGEST:
        raise ValueError(
            f"problems of {array.shape[1]} x {array.shape[2]} are too large: a warp's registers "
            f"hold {kernels.LARGEST} lines"
        )
    matrix, shift = _working_form(array, maximize, dtype, single)
    state = State(array, matrix, shift, maximize, single, int(copies), seconds)
    if single:
        state.problem = prepare(array[0], maximize)
    if matrix.size:
        _bind(state, int(threads))
    return state


def _as_batch(costs: Any) -> tuple[np.ndarray, bool]:
    if isinstance(costs, np.ma.MaskedArray):
        raise ValueError("masked costs are not taken: fill them, with inf where forbidden")
    array = np.asarray(costs)
    if array.ndim == 2:
        return array[None], True
    if array.ndim != 3:
        raise ValueError(
            f"expected a batch of cost matrices (3-D array, or 2-D for one), got a {array.ndim}-D "
            "array"
        )
    return array, False


def _working_form(
    array: np.ndarray, maximize: bool, dtype: Any, single: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Square matrices from 0 in the working type, and their shifts; a bad one is told by number.

    Integers all at once; floats, which `prepare` has more to ask of, one by one.
    """
    if array.dtype.kind in "iub" and array.size and min(array.shape[1:]):
        return _integers(array.astype(np.int8) if array.dtype.kind == "b" else array, maximize,
                         dtype)  # fmt: skip
    problems = []
    for number, cost in enumerate(array):
        try:
            problems.append(prepare(cost, maximize, dtype, DTYPES, factor=FACTOR))
        except ValueError as error:
            raise error if single else ValueError(f"problem {number}: {error}") from None
    if not problems:
        prepare(np.zeros(array.shape[1:], array.dtype), maximize, dtype, DTYPES, factor=FACTOR)
        return np.zeros((0, 0, 0)), np.zeros(0)
    matrix = np.stack([problem.matrix for problem in problems])
    return matrix, np.array([problem.shift for problem in problems])


def _integers(array: np.ndarray, maximize: bool, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    low, high = int(array.min()), int(array.max())
    if max(-low, high) > INTEGER_LIMIT:
        raise ValueError(
            f"integer costs from {low} to {high} overflow: the proofs hold up to 2**60"
        )
    if array.dtype == np.uint64:
        array = array.astype(np.int64)  # in range, as was just seen
    count, n, m = array.shape
    lines = array.reshape(count, n * m)
    least, most = (found.astype(np.int64) for found in (lines.min(axis=1), lines.max(axis=1)))
    # `prepare` chooses the type, and refuses what fits none, by the widest range of the batch.
    spread = int((most - least).max())
    work = prepare(np.array([[0, spread]]), False, dtype, DTYPES, factor=FACTOR).matrix.dtype
    shift = most if maximize else least
    matrix = np.zeros((count, max(n, m), max(n, m)), work)
    # The differences fit the working type; what is subtracted may need a wider one.
    fits = work.kind == "i" and np.can_cast(array.dtype, work)
    wide = work if fits else np.dtype(np.int64)
    shifts = shift.astype(wide)[:, None, None]
    first, second = (shifts, array) if maximize else (array, shifts)
    np.subtract(first, second, out=matrix[:, :n, :m], dtype=wide, casting="unsafe")
    return matrix, shift


def _bind(state: State, threads: int) -> None:
    count, n, _ = state.matrix.shape
    work = state.matrix.dtype
    total = count * state.copies
    needed = work.itemsize * total * (n * n + 2 * n) + 4 * total * n + 24
    if needed > device.free_bytes():
        raise ValueError(
            f"{total} problems of order {n} need {needed} bytes of device memory, "
            f"{device.free_bytes()} are free"
        )
    flat = state.matrix.reshape(-1)
    if state.copies > 1:
        rotated = [np.roll(state.matrix, -copy, axis=2) for copy in range(state.copies)]
        flat = np.concatenate(rotated).reshape(-1)
    state.arrays = {
        "cost": device.to_device(flat),
        "columns": device.empty(total * n, np.int32),
        "u": device.empty(total * n, work),
        "v": device.empty(total * n, work),
        "tally": device.to_device(np.zeros(3, np.int64)),
    }
    share = total if state.seconds is None else SHARE
    state.launches = [
        _bind_share(state, threads, first, min(first + share, total))
        for first in range(0, total, share)
    ]


def _bind_share(state: State, threads: int, first: int, last: int) -> Launch:
    """The launch for the problems from `first` to before `last`."""
    n, work = state.matrix.shape[1], state.matrix.dtype
    far = np.finfo(work).max if work.kind == "f" else np.iinfo(work).max
    sizes = {"cost": n * n, "columns": n, "u": n, "v": n}
    parts = [state.arrays[name][first * size : last * size] for name, size in sizes.items()]
    return bind(
        kernels.solve_batch, -(-(last - first) // (threads // 32)), threads,
        np.int32(last - first), np.int32(n), work.type(far), *parts, state.arrays["tally"],
    )  # fmt: skip


# ------------------------------------------------------------------------------- run, download


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Solve the batch in one launch, or in several; may be called again on the same state.

    A problem of order n takes at most 3 n bids and n searches of n columns: the work of a launch is
    bounded by its problems.

    Raises
    ------
    GivenUpError
        After ``state.seconds``, unless that was the last launch.
    """
    deadline, state.solved = Deadline(state.seconds), False
    if state.launches:
        device.overwrite(state.arrays["tally"], np.zeros(3, np.int64))
    for done, launch in enumerate(state.launches):
        if done:
            reached = {"problems": done * SHARE}
            deadline.check(f"{done * SHARE} problems", reached=reached)
        launch()
        device.synchronize()
    state.solved = True


def download(state: State) -> BatchAnswer | Assignment:
    """Copy the answers to the host, in the caller's terms.

    Raises
    ------
    RuntimeError
        If no run has ended, or an answer is no perfect matching, or copies differ in cost.
    ValueError
        If an answer uses a forbidden pair: the matrix is infeasible.
    """
    if not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    if not state.launches:
        return _empty(state)
    count, n, _ = state.matrix.shape
    shape = state.copies, count, n
    columns = device.to_host(state.arrays["columns"]).reshape(shape).astype(np.int64)
    taken = np.zeros(shape, bool)
    inside = (columns >= 0) & (columns < n)
    np.put_along_axis(taken, np.where(inside, columns, 0), True, axis=2)
    if not (inside.all() and taken.all()):
        raise RuntimeError("the run did not end with perfect matchings")
    if state.copies > 1:
        _check_copies(state, columns)
    u, v = (device.to_host(state.arrays[name]).reshape(shape)[0] for name in "uv")
    tally = device.to_host(state.arrays["tally"]).tolist()
    counters = dict(zip(COUNTERS, [*tally, len(state.launches)], strict=True))
    answer = _in_callers_terms(state, columns[0], u, v, counters)
    return answer[0] if state.single else answer


def _check_copies(state: State, columns: np.ndarray) -> None:
    """All copies of a problem must cost the same, up to rounding."""
    n = columns.shape[2]
    first = None
    for copy in range(state.copies):
        back = (columns[copy] + copy) % n
        sums = np.take_along_axis(state.matrix, back[:, :, None], 2).sum(
            axis=(1, 2), dtype=np.float64 if state.matrix.dtype.kind == "f" else np.int64
        )
        first = sums if first is None else first
        if not np.allclose(sums, first, rtol=0 if sums.dtype.kind == "i" else 1e-12, atol=0):
            raise RuntimeError(f"copy {copy} of a problem costs another sum than the first")


def _in_callers_terms(
    state: State, columns: np.ndarray, u: np.ndarray, v: np.ndarray, counters: dict[str, int]
) -> BatchAnswer:
    """As `papers.common.problems.assignment.finish`, for all problems at once."""
    _, n, m = state.costs.shape
    kind = np.float64 if state.costs.dtype.kind == "f" else np.int64
    u, v = u.astype(kind), v.astype(kind)
    if n < m:
        u, v = u - u[:, n : n + 1], v + u[:, n : n + 1]
    elif m < n:
        u, v = u + v[:, m : m + 1], v - v[:, m : m + 1]
    u, v = u[:, :n], v[:, :m]
    if state.maximize:
        u, v = -u, -v
    shift = state.shift.astype(kind)[:, None]
    u, v = (u + shift, v) if n <= m else (u, v + shift)
    columns = columns[:, :n]
    kept = columns < m
    rows = np.nonzero(kept)[1].reshape(len(columns), min(n, m))
    columns = columns[kept].reshape(len(columns), min(n, m))
    chosen = state.costs[np.arange(len(columns))[:, None], rows, columns]
    allowed = np.isfinite(chosen).all(axis=1) if kind is np.float64 else np.ones(1, bool)
    if not allowed.all():
        which = "" if state.single else f"problem {int(np.argmin(allowed))}: "
        raise ValueError(
            f"{which}cost matrix is infeasible: every complete assignment is forbidden"
        )
    return BatchAnswer(rows, columns, _sums(chosen), u, v, state.maximize, counters)


def _sums(chosen: np.ndarray) -> tuple[Any, ...]:
    """Exact sums of the lines."""
    if chosen.dtype.kind in "iu" and chosen.size:
        most = max(int(chosen.max()), -int(chosen.min()))
        if most * chosen.shape[1] < 2**63:
            return tuple(chosen.sum(axis=1, dtype=np.int64).tolist())
    return tuple(total_cost(line) for line in chosen)


def _empty(state: State) -> BatchAnswer | Assignment:
    count, n, m = state.costs.shape
    kind = np.float64 if state.costs.dtype.kind == "f" else np.int64
    none = np.zeros((count, 0), np.int64)
    duals = np.zeros((count, n), kind), np.zeros((count, m), kind)
    counters = dict.fromkeys(COUNTERS, 0)
    answer = BatchAnswer(none, none, (0,) * count, *duals, state.maximize, counters)
    return answer[0] if state.single else answer


def solve_batch(
    costs: Any,
    maximize: bool = False,
    dtype: Any = None,
    copies: int = 1,
    threads: int = 32 * WARPS,
    seconds: float | None = None,
) -> BatchAnswer | Assignment:
    """Solve many small problems in one launch: see `papers.lupinska_costscale.solve_batch`."""
    state = upload(costs, maximize, dtype, copies, threads, seconds)
    run(state)
    return download(state)


SOLVERS = {
    "batch": Solver(
        name="batch",
        title="shortest augmenting paths, a warp a problem",
        device="cuda",
        problem="assignment",
        upload=upload,
        run=run,
        download=cast(Any, download),  # of a stack: a `BatchAnswer`
        limits={"sides above 64": "64"},
        stack=True,
    )
}
