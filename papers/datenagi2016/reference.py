"""The two sequential algorithms of [DN16 sec.2], in plain NumPy: the oracle.

Read it beside the paper: `classical_hungarian` is the listing of [DN16 sec.2.2] with `augment`
and `update`, `alternating_tree_hungarian` that of [DN16 sec.2.3] with `update_2`. The names are
those of [DN16 sec.2.1], e.g. ``A_r`` for the row assignments.

Duals and slacks are kept in half units (doubled), so that theta / 2 is a whole number whenever the
costs are: see `papers.datenagi2016.kernels.half_units`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

UNASSIGNED = -1


@dataclass
class Tableau:
    """The data structures of [DN16 sec.2.1] for an ``n x n`` cost matrix.

    Attributes
    ----------
    C : ndarray[n, n]
        Twice the costs.
    A_r, A_c : int64[n]
        Assignments of rows and columns, -1 where there is none.
    V_r, V_c : bool[n]
        Covers.
    D_r, D_c : ndarray[n]
        Duals, in half units.
    P_r, P_c : int64[n]
        Predecessors, -1 where there is none.
    slack : ndarray[n]
        Smallest slack of each column, in half units; the tree variant's only.
    updates : list of int
        How many rows were assigned when each dual update began.
    """

    C: np.ndarray
    A_r: np.ndarray = field(init=False)
    A_c: np.ndarray = field(init=False)
    V_r: np.ndarray = field(init=False)
    V_c: np.ndarray = field(init=False)
    D_r: np.ndarray = field(init=False)
    D_c: np.ndarray = field(init=False)
    P_r: np.ndarray = field(init=False)
    P_c: np.ndarray = field(init=False)
    slack: np.ndarray = field(init=False)
    updates: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        n = len(self.C)
        self.A_r, self.A_c = np.full(n, UNASSIGNED), np.full(n, UNASSIGNED)
        self.V_r, self.V_c = np.zeros(n, bool), np.zeros(n, bool)
        self.D_r, self.D_c = np.zeros(n, self.C.dtype), np.zeros(n, self.C.dtype)
        self.P_r, self.P_c = np.full(n, UNASSIGNED), np.full(n, UNASSIGNED)
        self.slack = np.zeros(n, self.C.dtype)

    def reduced(self, i: int) -> np.ndarray:
        """Twice the slack of every column in row i."""
        return self.C[i] - self.D_r[i] - self.D_c


def tableau(cost: np.ndarray) -> Tableau:
    """Double the costs: int64 for integers, float64 for floats."""
    return Tableau(2 * cost.astype(np.float64 if cost.dtype.kind == "f" else np.int64))


def initial_reduction(t: Tableau) -> None:
    """Subtract the row minima, then the column minima [DN16 sec.2.2] [DN16 Alg.1]."""
    t.D_r = t.C.min(axis=1)
    t.D_c = (t.C - t.D_r[:, None]).min(axis=0)


def optimality_check(t: Tableau) -> int:
    """Reset covers and predecessors, cover the assigned rows; returns their number."""
    t.V_c[:] = False
    t.P_r[:], t.P_c[:] = UNASSIGNED, UNASSIGNED
    t.V_r[:] = t.A_r != UNASSIGNED
    return int(t.V_r.sum())


def augment(t: Tableau, j: int) -> None:
    """Swap assigned and unassigned edges from column j back to its root [DN16 sec.2.2]."""
    c_cur = j
    for _ in range(len(t.C)):  # a path visits a column once
        r_cur = t.P_c[c_cur]
        t.A_r[r_cur] = c_cur
        t.A_c[c_cur] = r_cur
        c_cur = t.P_r[r_cur]
        if c_cur == UNASSIGNED:
            return
    raise RuntimeError("the predecessors form a cycle")


# ------------------------------------------------------------------------------- classical


def search(t: Tableau) -> int:
    """Grow the tree along edges without slack; returns an unassigned column it reaches, or -1."""
    ST = [i for i in range(len(t.C)) if not t.V_r[i]]
    Z = [list(np.flatnonzero(t.reduced(i) == 0)) for i in range(len(t.C))]
    while ST:
        i = ST.pop()
        while Z[i]:
            j = Z[i].pop(0)
            i_new = t.A_c[j]
            if i_new == i or t.V_c[j]:
                continue
            t.P_c[j] = i
            if i_new == UNASSIGNED:
                return int(j)
            ST.append(i_new)
            t.P_r[i_new] = j
            t.V_r[i_new] = False
            t.V_c[j] = True
    return UNASSIGNED


def update(t: Tableau) -> None:
    """Move the duals by the smallest uncovered slack [DN16 sec.2.2]."""
    theta = (t.C - t.D_r[:, None] - t.D_c)[np.ix_(~t.V_r, ~t.V_c)].min()
    _shift(t, theta)


def classical_hungarian(cost: np.ndarray) -> Tableau:
    """Munkres' variant [DN16 sec.2.2], integer costs, n >= 1; the final state."""
    t = tableau(cost)
    initial_reduction(t)
    while (matches := optimality_check(t)) < len(t.C):
        while (j := search(t)) == UNASSIGNED:
            t.updates.append(matches)
            update(t)
        augment(t, j)
    return t


# ------------------------------------------------------------------------------- alternating tree


def search_tree(t: Tableau, ST: list[int]) -> int:
    """Grow the tree row by row, keeping each column's least slack [DN16 sec.2.3]."""
    while ST:
        i = ST.pop()
        reduced = t.reduced(i)
        better = (t.slack > reduced) & ~t.V_c  # a covered column's slack is used up
        t.slack[better] = reduced[better]
        t.P_c[better] = i
        for j in np.flatnonzero((t.slack <= 0) & ~t.V_c):
            i_new = t.A_c[j]
            if i_new == UNASSIGNED:
                return int(j)
            ST.append(int(i_new))
            t.P_r[i_new] = j
            t.V_r[i_new] = False
            t.V_c[j] = True
    return UNASSIGNED


def update_2(t: Tableau, ST: list[int]) -> None:
    """Move duals and slacks by the least positive slack [DN16 sec.2.3].

    Raises
    ------
    RuntimeError
        If no column has a positive slack: the tree spans everything and found no free column.
    """
    positive = t.slack > 0
    if not positive.any() or t.slack[positive].min() == _infinity(t):
        raise RuntimeError("the dual update makes no progress: no column has a positive slack")
    theta = t.slack[positive].min()
    _shift(t, theta)
    t.slack[positive] -= theta
    ST.extend(int(i) for i in t.P_c[positive & (t.slack == 0)])


def alternating_tree_hungarian(cost: np.ndarray) -> Tableau:
    """Lawler's variant [DN16 sec.2.3], n >= 1; the final state."""
    t = tableau(cost)
    initial_reduction(t)
    while (matches := optimality_check(t)) < len(t.C):
        t.slack[:] = _infinity(t)
        ST = [i for i in range(len(t.C)) if not t.V_r[i]]
        while (j := search_tree(t, ST)) == UNASSIGNED:
            t.updates.append(matches)
            update_2(t, ST)
        augment(t, j)
    return t


# ------------------------------------------------------------------------------- shared


def _shift(t: Tableau, theta: Any) -> None:
    half = theta / 2 if t.C.dtype.kind == "f" else theta // 2
    t.D_r += np.where(t.V_r, -half, half)
    t.D_c += np.where(t.V_c, -half, half)


def _infinity(t: Tableau) -> Any:
    return np.inf if t.C.dtype.kind == "f" else np.iinfo(np.int64).max
