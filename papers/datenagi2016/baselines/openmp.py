"""The kernels of the OpenMP version, one compiled function a kernel; see
`papers.datenagi2016.baselines.solvers`.

Each function takes the `Forest`, those that read costs or slacks the `Duals` too: a function
without a working type is compiled once. One with a ``prange`` holds one only, whose body calls a
function that does the work: Numba may fuse neighbouring loops, and drops what a body itself stores
in an array of the tuple.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

# No reassociation: only what lets a minimum of finite doubles be vectorized.
_JIT: dict[str, Any] = {"cache": True, "nogil": True, "fastmath": {"nnan", "nsz"}}
_OMP: dict[str, Any] = _JIT | {"parallel": True}

# NumPy scalars: Numba would compile `contraction` anew for each literal.
INACTIVE, ACTIVE, VISITED, REVERSE, AUGMENT = map(np.uint8, range(5))
_LINE = 64  # entries: runs of columns share no cache line
_FAILED = -1


class Forest(NamedTuple):
    """The indices of [DN16 sec.2.1]; n is the order, -1 stands for "none"."""

    a_r: np.ndarray  # int32[n]: A_r, the column assigned to a row
    a_c: np.ndarray  # int32[n]: A_c
    v_r: np.ndarray  # uint8[n]: V_r, 1 for a covered row
    v_c: np.ndarray  # uint8[n]: V_c
    p_r: np.ndarray  # int32[n]: P_r, predecessors
    p_c: np.ndarray  # int32[n]: P_c
    s_r: np.ndarray  # int32[n]: S_r, successors
    s_c: np.ndarray  # int32[n]: S_c
    mark_r: np.ndarray  # uint8[n]: inactive, active, visited or augment
    mark_c: np.ndarray  # uint8[n]: inactive, visited or reverse
    frontier: np.ndarray  # int32[n]: F_in, then F_rev, then F_aug
    bounds: np.ndarray  # int64[chunks + 1]: chunk c owns rows or columns bounds[c] to bounds[c + 1]
    sizes: np.ndarray  # int64[chunks]: rows or columns that each chunk gathered


class Duals(NamedTuple):
    """The numbers of [DN16 sec.2.1]; T is the working type."""

    cost: np.ndarray  # C: T[rows, n], row-major, square but for rectangles; never written
    d_r: np.ndarray  # T[n]: D_r, in half units
    d_c: np.ndarray  # T[n]: D_c, in half units
    slack: np.ndarray  # T[n], in half units: least over the rows visited so far
    limit: np.ndarray  # T[1]: T's largest value, for an infinite slack
    least: np.ndarray  # T[chunks]: the least slack of each chunk


def allocate(matrix: np.ndarray, threads: int) -> tuple[Forest, Duals]:
    """Allocate for a C-contiguous int32, int64 or float64 matrix, one chunk a thread.

    It has as many columns as rows or more, n of them; lines of `Forest` and `Duals` are n a side.
    """
    n, t = matrix.shape[1], matrix.dtype
    limit = np.inf if t.kind == "f" else np.iinfo(t).max
    width = -(-n // (threads * _LINE)) * _LINE
    bounds = np.minimum(np.arange(threads + 1, dtype=np.int64) * width, n)
    index = iter(np.empty((7, n), np.int32))
    marks = iter(np.empty((4, n), np.uint8))
    reals = iter(np.empty((3, n), t))
    forest = Forest(
        a_r=next(index),
        a_c=next(index),
        v_r=next(marks),
        v_c=next(marks),
        p_r=next(index),
        p_c=next(index),
        s_r=next(index),
        s_c=next(index),
        mark_r=next(marks),
        mark_c=next(marks),
        frontier=next(index),
        bounds=bounds,
        sizes=np.zeros(threads, np.int64),
    )
    duals = Duals(
        cost=matrix,
        d_r=next(reals),
        d_c=next(reals),
        slack=next(reals),
        limit=np.array([limit], t),
        least=np.zeros(threads, t),
    )
    return forest, duals


# --------------------------------------------------------------------------- initial reduction


@njit(**_JIT)
def _least_entry(row: np.ndarray, least: Any) -> Any:
    for j in range(row.size):
        least = row[j] if row[j] < least else least
    return least


@njit(**_JIT)
def _lower(into: np.ndarray, row: np.ndarray, d_r: Any) -> None:
    """``into = min(into, 2 row - d_r)``."""
    for j in range(into.size):
        reduced = into.dtype.type(row[j] + row[j] - d_r)
        into[j] = reduced if reduced < into[j] else into[j]


@njit(**_JIT)
def _reduce_rows(f: Forest, w: Duals, first: int, last: int) -> None:
    for i in range(first, last):
        least = _least_entry(w.cost[i], w.limit[0])
        w.d_r[i] = least + least
        f.a_r[i] = f.a_c[i] = -1


@njit(**_JIT)
def _reduce_columns(f: Forest, w: Duals, first: int, last: int) -> None:
    w.d_c[first:last] = w.limit[0]
    for i in range(w.cost.shape[0]):
        _lower(w.d_c[first:last], w.cost[i, first:last], w.d_r[i])


@njit(**_OMP)
def _row_reduction(f: Forest, w: Duals) -> None:
    for c in prange(f.bounds.size - 1):
        _reduce_rows(f, w, f.bounds[c], f.bounds[c + 1])


@njit(**_OMP)
def _column_reduction(f: Forest, w: Duals) -> None:
    for c in prange(f.bounds.size - 1):
        _reduce_columns(f, w, f.bounds[c], f.bounds[c + 1])


@njit(**_JIT)
def initial_reduction(f: Forest, w: Duals) -> None:
    """Subtract row minima, then column minima; nothing is assigned.

    Paper: [DN16 Alg.1], [DN16 sec.4.1]. Writes ``d_r``, ``d_c``, ``a_r``, ``a_c``.
    """
    _row_reduction(f, w)
    _column_reduction(f, w)


def start_of_rectangle(f: Forest, w: Duals) -> None:
    """Subtract row minima; columns have duals of 0 (`papers.datenagi2016.rectangles`).

    Rows that the matrix does not have count as assigned, so that no search begins there; none gets
    there either, for no column is assigned to them.
    """
    rows = w.cost.shape[0]
    w.d_r[:rows] = 2 * w.cost.min(axis=1)
    w.d_r[rows:], w.d_c[:] = 0, 0
    f.a_r[:rows], f.a_r[rows:], f.a_c[:] = -1, 0, -1


# --------------------------------------------------------------------------- optimality check


@njit(**_JIT)
def _check(f: Forest, w: Duals, first: int, last: int) -> int:
    count = 0
    for k in range(first, last):
        assigned = f.a_r[k] >= 0
        count += assigned
        f.v_r[k] = assigned
        f.mark_r[k] = INACTIVE if assigned else ACTIVE
        f.v_c[k] = 0
        f.mark_c[k] = INACTIVE
        f.p_r[k] = f.p_c[k] = f.s_r[k] = f.s_c[k] = -1
        w.slack[k] = w.limit[0]
    return count


@njit(**_OMP)
def optimality_check(f: Forest, w: Duals) -> int:
    """Cover and count the assigned rows, make the others roots, and reset the search.

    Paper: [DN16 Alg.2], [DN16 sec.4.2]. Writes all covers, predecessors, successors, slacks and
    marks.

    Returns
    -------
    int
        ``match_count``; n means that the assignment is optimal.
    """
    count = 0
    if f.bounds.size == 2:
        count = _check(f, w, 0, f.a_r.size)
    else:
        for c in prange(f.bounds.size - 1):
            count += _check(f, w, f.bounds[c], f.bounds[c + 1])
    return count


# --------------------------------------------------------------------------- forward pass


@njit(**_JIT)
def _gather(f: Forest, mark: np.ndarray, wanted: int, c: int) -> None:
    """List the wanted indices of chunk c from ``frontier[bounds[c]]`` on; they become visited."""
    size = f.bounds[c]
    for k in range(f.bounds[c], f.bounds[c + 1]):
        if mark[k] == wanted:
            mark[k] = VISITED
            f.frontier[size] = k
            size += 1
    f.sizes[c] = size - f.bounds[c]


@njit(**_OMP)
def _gather_chunks(f: Forest, mark: np.ndarray, wanted: int) -> None:
    for c in prange(f.bounds.size - 1):
        _gather(f, mark, wanted, c)


@njit(**_JIT)
def contraction(f: Forest, mark: np.ndarray, wanted: int) -> int:
    """Stream compaction: list in ``frontier`` the lines that bear a mark, which they lose.

    Paper: [DN16 sec.3.3] and step 3 of [DN16 sec.4.3.1]. Each thread compacts its chunk; then the
    pieces are moved together.

    Returns
    -------
    int
        How many there are, in increasing order.
    """
    if f.sizes.size == 1:
        _gather(f, mark, wanted, 0)
    else:
        _gather_chunks(f, mark, wanted)
    size = f.sizes[0]
    for c in range(1, f.sizes.size):
        for k in range(f.bounds[c], f.bounds[c] + f.sizes[c]):
            f.frontier[size] = f.frontier[k]
            size += 1
    return size


@njit(**_JIT)
def _relax(
    row: np.ndarray,
    d_r: Any,
    d_c: np.ndarray,
    i: Any,
    v_c: np.ndarray,
    slack: np.ndarray,
    p_c: np.ndarray,
) -> None:
    """Lower the slacks of uncovered columns to those of row i, vectorized."""
    for j in range(slack.size):
        new = slack.dtype.type(row[j] + row[j] - d_r - d_c[j])
        lower = (new < slack[j]) & (v_c[j] == 0)
        slack[j] = new if lower else slack[j]
        p_c[j] = i if lower else p_c[j]


@njit(**_JIT)
def _expand(f: Forest, w: Duals, size: int, first: int, last: int) -> int:
    slack, p_c = w.slack[first:last], f.p_c[first:last]
    v_c, d_c = f.v_c[first:last], w.d_c[first:last]
    for k in range(size):
        i = f.frontier[k]
        _relax(w.cost[i, first:last], w.d_r[i], d_c, i, v_c, slack, p_c)
    reverse = 0
    for j in range(first, last):
        if w.slack[j] <= 0 and f.v_c[j] == 0:
            row = f.a_c[j]
            if row >= 0:
                f.p_r[row] = j
                f.v_r[row] = 0
                f.v_c[j] = 1
                f.mark_r[row] = ACTIVE
            else:
                f.mark_c[j] = REVERSE
                reverse += 1
    return reverse


@njit(**_OMP)
def expansion(f: Forest, w: Duals, size: int) -> int:
    """Pass the first `size` rows of the frontier over the uncovered columns.

    Paper: [DN16 Alg.4]. A thread owns its columns, and through them the rows assigned to them, so
    nothing races. Unlike in Alg. 4 a column is covered only after the whole frontier: the least
    slack of the level is then known, and covering would have changed no other column.

    Returns
    -------
    int
        How many columns are marked "reverse".
    """
    reverse = 0
    if f.bounds.size == 2:
        reverse = _expand(f, w, size, 0, f.a_c.size)
    else:
        for c in prange(f.bounds.size - 1):
            reverse += _expand(f, w, size, f.bounds[c], f.bounds[c + 1])
    return reverse


@njit(**_JIT)
def forward_pass(f: Forest, w: Duals) -> tuple[int, int]:
    """Grow the forest from the active rows, level by level, until it has no zero edge to grow on.

    Paper: [DN16 sec.4.3.1], alternating tree variant, steps 1 to 4; [DN16 sec.3.4].

    Returns
    -------
    reverse : int
        How many unassigned columns the forest reaches.
    levels : int
        How often `expansion` ran; -1 if more than ``n + 1`` times (each level but the last adds a
        row to the forest).
    """
    reverse = 0
    for level in range(f.a_r.size + 2):
        size = contraction(f, f.mark_r, ACTIVE)
        if size == 0:
            return reverse, level
        reverse = expansion(f, w, size)
    return reverse, _FAILED


# --------------------------------------------------------------------------- reverse, augment


@njit(**_JIT)
def _trace_back(f: Forest, first: int, last: int) -> int:
    failed = 0
    for k in range(first, last):
        r_cur = np.int32(-1)
        c_cur = f.frontier[k]
        steps = 0
        while c_cur != -1 and steps <= f.a_r.size:
            f.s_c[c_cur] = r_cur
            r_cur = f.p_c[c_cur]
            f.s_r[r_cur] = c_cur
            c_cur = f.p_r[r_cur]
            steps += 1
        failed += c_cur != -1
        f.mark_r[r_cur] = AUGMENT
    return failed


@njit(**_OMP)
def reverse_pass(f: Forest, size: int) -> int:
    """Walk from the `size` listed columns back to their roots; the way goes into S_r and S_c.

    Paper: [DN16 Alg.5], [DN16 Prop.2].

    Race: paths of one tree meet in a row r and go on alike. Their threads store different columns
    in ``s_r[r]``, one aligned int32 each time, so that some thread's column stays, whole. Any will
    do: a column's successor is the one row assigned to it (none, for a "reverse" column), so from
    the root there is one path down, through whichever column stayed. Above r, and in the root's
    mark, all store the same value.

    Returns
    -------
    int
        0; more if a walk exceeded n steps.
    """
    chunks = f.bounds.size - 1
    failed = 0
    if chunks == 1:
        failed = _trace_back(f, 0, size)
    else:
        for c in prange(chunks):
            failed += _trace_back(f, c * size // chunks, (c + 1) * size // chunks)
    return failed


@njit(**_JIT)
def _augment(f: Forest, first: int, last: int) -> int:
    failed = 0
    for k in range(first, last):
        r_cur = f.frontier[k]
        steps = 0
        while r_cur != -1 and steps <= f.a_r.size:
            c_cur = f.s_r[r_cur]
            f.a_r[r_cur] = c_cur
            f.a_c[c_cur] = r_cur
            r_cur = f.s_c[c_cur]
            steps += 1
        failed += r_cur != -1
    return failed


@njit(**_OMP)
def augmentation(f: Forest, size: int) -> int:
    """Swap assigned and unassigned edges along the one path of each of the `size` listed roots.

    Paper: [DN16 Alg.6]. The paths are disjoint, one a root, so nothing races.

    Returns
    -------
    int
        0; more if a path exceeded n steps.
    """
    chunks = f.bounds.size - 1
    failed = 0
    if chunks == 1:
        failed = _augment(f, 0, size)
    else:
        for c in prange(chunks):
            failed += _augment(f, c * size // chunks, (c + 1) * size // chunks)
    return failed


# --------------------------------------------------------------------------- dual update


@njit(**_JIT)
def _least_positive(slack: np.ndarray, least: Any) -> Any:
    for j in range(slack.size):
        entry = slack[j] if slack[j] > 0 else least
        least = entry if entry < least else least
    return least


@njit(**_JIT)
def _reduce_chunk(f: Forest, w: Duals, c: int) -> None:
    w.least[c] = _least_positive(w.slack[f.bounds[c] : f.bounds[c + 1]], w.limit[0])


@njit(**_OMP)
def _reduce_chunks(f: Forest, w: Duals) -> None:
    for c in prange(f.bounds.size - 1):
        _reduce_chunk(f, w, c)


@njit(**_JIT)
def min_reduction(f: Forest, w: Duals) -> Any:
    """Return theta, the least positive slack, in half units; ``limit`` if there is none.

    Paper: [DN16 sec.4.4], "a simple O(n) reduction operation of the slack array".
    """
    if w.least.size == 1:
        _reduce_chunk(f, w, 0)
    else:
        _reduce_chunks(f, w)
    return _least_positive(w.least, w.limit[0])


@njit(**_JIT)
def _move_duals(f: Forest, w: Duals, theta: Any, half: Any, first: int, last: int) -> int:
    zeros = 0
    for k in range(first, last):
        w.d_r[k] += half if f.v_r[k] == 0 else -half
        w.d_c[k] += half if f.v_c[k] == 0 else -half
        if w.slack[k] > 0:
            w.slack[k] -= theta
            if w.slack[k] <= 0:
                f.mark_r[f.p_c[k]] = ACTIVE
                zeros += 1
    return zeros


@njit(**_OMP)
def dual_update(f: Forest, w: Duals, theta: Any, half: Any) -> int:
    """Move all duals by half of theta; rows that thereby reach a new zero become active.

    Paper: [DN16 Alg.9]. `theta` and `half` are in half units.

    Race: columns that become zero together may share a predecessor, which all of them mark alike.

    Returns
    -------
    int
        How many columns became zero.
    """
    zeros = 0
    if f.bounds.size == 2:
        zeros = _move_duals(f, w, theta, half, 0, w.slack.size)
    else:
        for c in prange(f.bounds.size - 1):
            zeros += _move_duals(f, w, theta, half, f.bounds[c], f.bounds[c + 1])
    return zeros
