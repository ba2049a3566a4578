"""A small problem of a batch in plain NumPy: the oracle of `kernels.warp` and `kernels.solve`.

Their counts are its own, and of integers their duals.

Notation: ``c`` costs [n, m] with n <= m, ``v`` column duals; a row's dual is the cost of its pair
less the column's dual, so none is kept. Jonker and Volgenant, "A shortest augmenting path algorithm
for dense and sparse linear assignment problems", Computing 38, 1987; the steps are theirs, but for
the rows' first choice, which all make at once.

1. `reduce_columns`: v is the column minima of a square; a rectangle's columns start at 0, and those
   that stay free must stay there.
2. `choose`: each row's nearest column; of the rows that choose one, the first gets it.
3. `bid`: a free row takes its nearest column, whose dual falls until the second nearest is as near;
   the row that had it goes on. A row gives up where nothing would fall.
4. `augment`: the shortest path from a free row to a free column, and one update of the duals.
5. `mend`, of floats: duals that are large have lost the digits of small costs. They rise as far as
   they may, the rows' duals are found anew, and a square's pairs that are then loose are parted:
   their rows are free again, and step 4 goes on.

While a row is free, so is a column, and no free column's dual was ever lowered. A row's dual is at
most its distance to that column, so no column's dual falls by more than the range of the costs:
this is why `costs.NARROW` is enough for 32 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from papers.common.gpu.limits import largest

COUNTS = ("bids", "paths", "scanned", "repairs")
"""Rows that looked for a bid, paths, columns that searches have settled, and times that pairs were
parted."""

REPAIRS = 4
"""Floats: how often loose pairs are parted, at most."""

PASSES = 2
"""Times that all free rows bid."""

BIDS_A_ROW = 4
"""Bids in all, times n: ties could make a chain of bids long."""

TAKEN = 2**30
"""A taken column comes behind all free ones that are as near."""


class InfeasibleError(ValueError):
    """Every complete assignment has a forbidden pair."""


@dataclass
class State:
    """Everything that the steps share.

    Attributes
    ----------
    c : T[n, m]
    v : T[m]
    u : T[n]
        Of floats, from `mend`.
    column, row : int64[n], int64[m]
        The matching: the column of each row and the row of each column, or -1.
    counts : dict of str to int
        See `COUNTS`.
    """

    c: np.ndarray
    v: np.ndarray = field(init=False)
    u: np.ndarray = field(init=False)
    column: np.ndarray = field(init=False)
    row: np.ndarray = field(init=False)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))

    def __post_init__(self) -> None:
        n, m = self.c.shape
        self.v, self.u = np.zeros(m, self.c.dtype), np.zeros(n, self.c.dtype)
        self.column, self.row = np.full(n, -1), np.full(m, -1)

    @property
    def top(self) -> Any:
        """The distance of what cannot be reached."""
        return largest(self.c.dtype)


def reduce_columns(t: State) -> None:
    """Set the duals of a square's columns to their minima."""
    n, m = t.c.shape
    if n == m:
        least = t.c.min(axis=0)
        t.v = np.where(least < t.top, least, 0).astype(t.c.dtype)


def choose(t: State) -> None:
    """Give each row its nearest column, if no row before it has chosen that one.

    Of equally near columns row i takes the first from column i on, so that ties are spread.
    """
    n, m = t.c.shape
    for i in range(n):
        distance = t.c[i] - t.v
        turned = np.roll(distance, -(i % m))
        j = (int(turned.argmin()) + i) % m
        if distance[j] < t.top and t.row[j] < 0:
            t.row[j], t.column[i] = i, j


def nearest(t: State, distance: np.ndarray, open_: np.ndarray) -> tuple[Any, int]:
    """Return the least distance of an open column, and the column: free ones come first."""
    places = np.arange(distance.size) + np.where(t.row >= 0, TAKEN, 0)
    among = np.flatnonzero(open_)
    if not among.size:
        return t.top, -1
    j = int(among[np.lexsort((places[among], distance[among]))[0]])
    return distance[j], j


def bid(t: State) -> None:
    """Let free rows bid, each with the chain of rows that it drives out."""
    n, m = t.c.shape
    left = BIDS_A_ROW * n
    everywhere = np.ones(m, bool)
    for _ in range(PASSES):
        for start in range(n):
            row = start if t.column[start] < 0 else -1
            while row >= 0 and left > 0:
                left -= 1
                t.counts["bids"] += 1
                distance = t.c[row] - t.v
                first, j = nearest(t, distance, everywhere)
                others = everywhere.copy()
                others[j] = False
                second, _ = nearest(t, distance, others)
                taken = t.row[j] >= 0
                if first == t.top or (taken and second in (first, t.top)):
                    break
                if second < t.top:
                    t.v[j] -= second - first
                row, before = t.row[j], row
                if row >= 0:
                    t.column[row] = -1
                t.row[j], t.column[before] = before, j


def augment(t: State, free: int) -> None:
    """Find the shortest path from a free row, move the duals, and shift the rows along it.

    Raises
    ------
    InfeasibleError
        If no free column can be reached.
    """
    m = t.c.shape[1]
    t.counts["paths"] += 1
    distance, before = t.c[free] - t.v, np.full(m, free)
    open_ = np.ones(m, bool)
    while True:
        least, j = nearest(t, distance, open_)
        if least == t.top:
            raise InfeasibleError
        row = t.row[j]
        if row < 0:
            break
        t.counts["scanned"] += 1
        open_[j] = False
        base = t.c[row, j] - t.v[j] - least
        # A slack that rounding has made negative counts as none.
        through = np.maximum(t.c[row] - t.v - base, least)
        nearer = open_ & (through < distance) & (t.c[row] < t.top)
        distance[nearer], before[nearer] = through[nearer], row
    t.v[~open_] += distance[~open_] - least
    while True:
        row = before[j]
        t.row[j] = row
        t.column[row], j = j, t.column[row]
        if row == free:
            break


def mend(t: State, loose: float, may_part: bool) -> int:
    """Let negative duals rise, find the rows' anew, and part loose pairs; return how many."""
    rows = np.arange(t.c.shape[0])
    u = t.c[rows, t.column] - t.v[t.column]
    others = t.c - u[:, None]
    others[rows, t.column] = t.top
    limit = np.minimum(others.min(axis=0, initial=t.top), 0)
    t.v = np.where(t.v < limit, limit, t.v)
    t.u = (t.c - t.v).min(axis=1)
    slack = t.c[rows, t.column] - t.v[t.column] - t.u
    parted = np.flatnonzero(slack > loose) if may_part else rows[:0]
    t.row[t.column[parted]] = -1
    t.column[parted] = -1
    return int(parted.size)


def solve(c: np.ndarray, loose: float = 0.0) -> State:
    """Solve one problem.

    Parameters
    ----------
    c : T[n, m]
        In working form: ``n <= m``, to be minimized, ``inf`` where a pair is forbidden.
    loose : float
        Of floats: the largest slack of a pair that needs no repair.

    Raises
    ------
    InfeasibleError
        If there is no complete assignment.
    """
    t, n, m = State(c), *c.shape
    with np.errstate(invalid="ignore"):
        reduce_columns(t)
        choose(t)
        bid(t)
        for attempt in range(REPAIRS + 1):
            for row in range(n):
                if t.column[row] < 0:
                    augment(t, row)
            if c.dtype.kind != "f":
                t.u = c[np.arange(n), t.column] - t.v[t.column]
                break
            if not mend(t, loose, n == m and attempt < REPAIRS):
                break
            t.counts["repairs"] += 1
    return t
