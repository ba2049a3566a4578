"""The algorithm in plain NumPy: the oracle of the kernels, and the counter of their work.

Notation: ``c`` costs [n, m] with n <= m, ``u`` row duals, ``v`` column duals; a pair's slack is
``c[i, j] - u[i] - v[j]``. At a scale ``eps`` every slack is at least -eps, and 0 on matched pairs;
at eps 0 the duals prove the matching.

1. `reduce_lines`: u is the row minima, v (of a square) the column minima of what is left.
2. `rounds` at eps 0: all free rows bid at once for their nearest columns; a column takes the
   lowest bid. This is the auction's round; with eps 0 the first one is a greedy matching.
3. If many rows are still free, the costs have a structure. Integers whose lines become a Monge
   array by their costs at the outermost lines are solved by that (`sort`). Else scaling is needed:
   for falling eps, `rescale` and `rounds`, which may leave a few rows free, since the last ones are
   the dear ones.
4. `phase` until no row is free, exact: the shortest distances from all free rows to all free
   columns, one update of the duals, and a path for every tree that has reached a free column.

One block takes these steps as they stand here. A grid takes other ones in the place of `rounds`:
its rows bid one after the other, in chains, since nothing is dearer there than to wait for one
another (`kernels.grid.chains`). The other steps do not depend on which pairs an auction has left.

Step 4's search corrects labels: all columns within `delta` of the nearest open one are opened at
once, and again if a shorter way is found. A square's search goes on to the farthest free column, so
that one update serves all. In a rectangle some columns stay free, and their duals must stay 0:
there it ends at the nearest one, and there are no scales, which would lower free columns. A tree
that was not augmented stays: the update has made all its columns as near as its row, so that the
next search begins with them open at distance 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from papers.common.gpu.limits import largest
from papers.common.model import Assignment
from papers.synthesis.assignment.costs import INFEASIBLE, Costs, finish, prepare, shift_of
from papers.synthesis.assignment.settings import MOST_TURNS, Settings

COUNTS = (
    "scales", "rounds", "bids", "phases", "iterations", "relaxed", "rescalings", "repairs",
    "loose", "auctions", "near", "sorts", "sorted",
)  # fmt: skip
"""Scales; rounds and the bids in them (of a grid, whose rows do not bid in rounds: the bids of the
group that has made the most, and of all); phases, their levels and the rows relaxed in them; passes
that find the row duals anew; repairs of floats, and pairs that are loose after the last one;
auctions, one at the start and in each scale at most; marks of near pairs; and whether lines were
sorted, and with success."""


TAKEN = 2**30
"""A row looks at columns that are taken behind those that are free."""


@dataclass
class State:
    """Everything that the steps share.

    Attributes
    ----------
    c : T[n, m]
    settings : Settings
    u, v : D[n], D[m]
        Duals; D is int64 or float64.
    column, row : int64[n], int64[m]
        The matching: the column of each row and the row of each column, or -1.
    mean : D
        Mean reduced cost.
    scaled : bool
        Whether there were scales.
    stays : bool[m]
        Columns of trees that stay for the next search.
    before : int64[m]
        The row before each of them.
    counts : dict of str to int
        See `COUNTS`.
    """

    c: np.ndarray
    settings: Settings
    u: np.ndarray = field(init=False)
    v: np.ndarray = field(init=False)
    column: np.ndarray = field(init=False)
    row: np.ndarray = field(init=False)
    mean: Any = 0
    scaled: bool = False
    stays: np.ndarray = field(init=False)
    before: np.ndarray = field(init=False)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))

    def __post_init__(self) -> None:
        n, m = self.c.shape
        kind = np.float64 if self.c.dtype.kind == "f" else np.int64
        self.u, self.v = np.zeros(n, kind), np.zeros(m, kind)
        self.column, self.row = np.full(n, -1), np.full(m, -1)
        self.stays, self.before = np.zeros(m, bool), np.full(m, -1)

    @property
    def top(self) -> Any:
        """The largest value of a dual: the distance of what was not reached."""
        return largest(self.u.dtype)

    @property
    def square(self) -> bool:
        """Whether every column is assigned."""
        return self.c.shape[0] == self.c.shape[1]

    @property
    def turn(self) -> int:
        """Steps that made a new list of free rows so far."""
        return sum(self.counts[name] for name in ("rounds", "rescalings", "phases"))

    def free(self) -> np.ndarray:
        """Rows that have no column."""
        return np.flatnonzero(self.column < 0)

    def left(self, rows: Any = slice(None)) -> np.ndarray:
        """``c - v`` of some rows: their slacks, were u zero."""
        return self.c[rows].astype(self.u.dtype) - self.v

    def portion(self, value: Any, divisor: int) -> Any:
        """``value / divisor``, of integers rounded down."""
        return value // divisor if self.u.dtype.kind == "i" else value / divisor


# ------------------------------------------------------------------------------- the start


def reduce_lines(state: State) -> None:
    """Row minima, column minima of the rest (of a square), and the mean of what is left."""
    n = len(state.u)
    state.u = _finite_or_zero(state.left().min(axis=1), state.top)
    if state.square:
        rest = (state.left() - state.u[:, None]).min(axis=0)
        state.v = _finite_or_zero(rest, state.top)
    state.counts["rescalings"] += 1
    step = -(-n // state.settings.sampled_rows)
    sample = state.left(slice(0, n, step)) - state.u[::step, None]
    finite = sample < state.top
    total = sample[finite].sum() if sample.dtype.kind == "f" else sum(sample[finite].tolist())
    state.mean = state.u.dtype.type(state.portion(total, max(1, int(finite.sum()))))


def _finite_or_zero(values: np.ndarray, top: Any) -> np.ndarray:
    """A line without an allowed pair keeps the dual 0."""
    return np.where(values < top, values, 0).astype(values.dtype)


# ------------------------------------------------------------------------------- auction rounds


def places(rows: np.ndarray, turn: int, m: int) -> np.ndarray:
    """The order in which each row looks at the columns: of equal ones it takes the first free one.

    Every row begins at another tile of 32 columns, in every round at the next one, and inside a
    tile at another column: else all rows of equal costs would want the same column.
    """
    tiles = -(-m // 32)
    columns = np.arange(m)
    tile = (columns[None, :] // 32 - rows[:, None] - turn) % tiles
    return 32 * tile + (columns[None, :] - rows[:, None]) % 32


def two_least(state: State, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each row's nearest column, its distance ``c - v``, and that of the second nearest.

    Of equally near columns a free one is taken: at eps 0 rows would else take columns from one
    another that cost them the same, in turns, and gain nothing.
    """
    left = state.left(rows)
    first = left.min(axis=1)
    order = places(rows, state.turn, left.shape[1]) + TAKEN * (state.row >= 0)
    column = np.where(left == first[:, None], order, order.max() + 1).argmin(axis=1)
    left[np.arange(len(rows)), column] = state.top
    return column, first, left.min(axis=1)


def bid(state: State, eps: Any) -> None:
    """One round: all free rows bid, each column takes its lowest bid."""
    rows = state.free()
    column, first, second = two_least(state, rows)
    allowed = first < state.top
    rows, column, first, second = rows[allowed], column[allowed], first[allowed], second[allowed]
    fall = np.where(second < state.top, second, first + state.mean) - first + eps
    offered = state.v[column] - fall
    order = np.lexsort((rows, offered, column))
    winners = order[np.unique(column[order], return_index=True)[1]]
    rows, column = rows[winners], column[winners]
    displaced = state.row[column]
    state.column[displaced[displaced >= 0]] = -1
    state.row[column], state.column[rows] = rows, column
    state.v[column] = offered[winners]
    state.u[rows] = state.c[rows, column] - state.v[column]
    state.counts["rounds"] += 1
    state.counts["bids"] += len(allowed)


def rounds(state: State, eps: Any, stop: int, most: int) -> None:
    """Rounds until at most `stop` rows are free, their number stalls, or there were `most`."""
    settings = state.settings
    before = len(state.free())
    for done in range(most):
        free = len(state.free())
        if free <= stop:
            return
        state.counts["auctions"] += not done
        if done and done % settings.stall_rounds == 0:
            if 1000 * (before - free) < settings.stall_share * before:
                return
            before = free
        bid(state, eps)


# ------------------------------------------------------------------------------- scales


def rescale(state: State, eps: Any) -> None:
    """New row duals; pairs whose slack exceeds eps go; free columns rise as far as eps allows."""
    least = _finite_or_zero(state.left().min(axis=1), state.top)
    rows = np.flatnonzero(state.column >= 0)
    columns = state.column[rows]
    tight = state.c[rows, columns] - state.v[columns]
    keep = tight <= least[rows] + eps
    state.column[rows[~keep]] = -1
    state.row[columns[~keep]] = -1
    state.u = least
    state.u[rows[keep]] = tight[keep]
    free = np.flatnonzero(state.row < 0)
    rest = (state.c[:, free].astype(state.u.dtype) - state.u[:, None]).min(axis=0)
    state.v[free] = np.where(rest < state.top, rest + eps, state.v[free])
    state.counts["rescalings"] += 1


def scales(state: State) -> None:
    """Rescale and bid for falling eps, then at eps 0."""
    n, settings, state.scaled = len(state.u), state.settings, True
    eps, least = state.mean, state.portion(state.mean, n * n)
    for _ in range(settings.most_scales):
        if eps <= 0 or eps < least:
            break
        rescale(state, eps)
        rounds(state, eps, settings.of_rows(n)["stop"], settings.most_rounds)
        state.counts["scales"] += 1
        eps = state.portion(eps, settings.divisor)
    rescale(state, state.u.dtype.type(0))
    rounds(state, state.u.dtype.type(0), 0, settings.last_rounds)


# ------------------------------------------------------------------------------- sorted lines


def sort(state: State) -> bool:
    """Sort the lines; take the diagonal if its duals prove it, and return whether they do.

    The diagonal's pairs and those above it are tight, and the first row's dual is 0.
    """
    rows, columns = in_order(state.c.astype(np.int64))
    c = state.c[rows][:, columns].astype(np.int64)
    state.counts["sorts"] += 1
    diagonal, above = c.diagonal(), c.diagonal(1)
    u = np.append(0, np.cumsum(diagonal[1:] - above))
    v = diagonal - u
    if (c < u[:, None] + v).any():
        return False
    state.u[rows], state.v[columns] = u, v
    state.column[rows], state.row[columns] = columns, rows
    state.counts["sorted"] += 1
    return True


def in_order(c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns by their costs at one outermost end less those at the other.

    The ends are looked for in turns, until two of them do not spread the columns' keys more widely.
    Of equal lines every second turn takes the last one.
    """
    first, last, widest, still = 0, len(c) - 1, -1, 0
    for turn in range(MOST_TURNS):
        of_rows = c[:, first] - c[:, last]
        upper, lower = ends_of(of_rows, turn)
        of_columns = c[upper] - c[lower]
        spread = int(np.ptp(of_columns))
        still = 0 if spread > widest else still + 1
        widest = max(widest, spread)
        if still == 2:
            break
        first, last = ends_of(of_columns, turn)
    return np.argsort(of_rows, kind="stable"), np.argsort(of_columns, kind="stable")


def ends_of(keys: np.ndarray, turn: int) -> tuple[int, int]:
    """The lines of the least key and of the greatest."""
    if turn % 2 == 0:
        return int(keys.argmin()), int(keys.argmax())
    turned = keys[::-1]
    return len(keys) - 1 - int(turned.argmin()), len(keys) - 1 - int(turned.argmax())


# ------------------------------------------------------------------------------- exact phases


def search(state: State, delta: Any) -> tuple[np.ndarray, np.ndarray]:
    """Distances of the columns from the free rows, and the row before each column.

    They are final below the distance of the farthest free column (of a rectangle: the nearest).

    Returns
    -------
    distance : D[m]
        `State.top` where nothing leads.
    before : int64[m]
    """
    m, top = state.v.size, state.top
    distance = np.where(state.stays, state.u.dtype.type(0), top)
    before = np.where(state.stays, state.before, -1)
    opened, free = state.stays.copy(), state.row < 0
    rows, start = state.free(), np.zeros(len(state.free()), state.u.dtype)
    least, goal = start.dtype.type(0), top
    # Every second level at least settles the nearest open column for good.
    for _ in range(2 * m + 8):
        if least >= goal or least == top:
            return distance, before
        if rows.size:
            slack = np.maximum(state.left(rows) - state.u[rows, None], 0)
            through = slack + start[:, None]
            which = through.argmin(axis=0)
            nearest = through[which, np.arange(m)]
            lower = nearest < distance
            distance[lower], before[lower] = nearest[lower], rows[which[lower]]
            opened |= lower & ~free
        state.counts["iterations"] += 1
        state.counts["relaxed"] += rows.size
        taken = opened & (distance - least <= delta) & (distance < goal)
        least = distance[opened].min(initial=top)
        goal = distance[free].max() if state.square else distance[free].min()
        rows, start = state.row[taken], distance[taken]
        opened &= ~taken
    raise AssertionError("a search has not ended")  # the bound above is proved there


def phase(state: State, delta: Any) -> None:
    """One search, one update of the duals, and one path for each tree with a free column.

    Raises
    ------
    ValueError
        If no free column is within reach: the rows reached have too few columns.
    """
    distance, before = search(state, delta)
    free = np.flatnonzero((state.row < 0) & (distance < state.top))
    if not free.size:
        raise ValueError(INFEASIBLE)
    reach = distance[free].max() if state.square else distance[free].min()
    roots = state.free()
    near = np.flatnonzero(distance < reach)
    state.v[near] -= reach - distance[near]
    rows = state.row[near]
    matched = rows >= 0
    state.u[rows[matched]] = state.c[rows[matched], near[matched]] - state.v[near[matched]]
    state.u[roots] += reach
    # All paths are read before the first is walked: two of one tree share its root.
    paths = {int(j): path_to(state, before, int(j)) for j in np.flatnonzero(distance <= reach)}
    augmented = {path[-1][0]: path for j, path in reversed(paths.items()) if state.row[j] < 0}
    for path in augmented.values():
        for row, column in path:
            state.column[row], state.row[column] = column, row
            state.u[row] = state.c[row, column] - state.v[column]
    state.stays[:], state.before = False, before
    for j, path in paths.items():
        state.stays[j] = path[-1][0] not in augmented
    state.counts["phases"] += 1


def path_to(state: State, before: np.ndarray, column: int) -> list[tuple[int, int]]:
    """The pairs that a path to a column makes, from its end to its root."""
    pairs = []
    for _ in range(len(state.u)):
        row = int(before[column])
        pairs.append((row, column))
        column = int(state.column[row])
        if column < 0:
            return pairs
    raise AssertionError("a path that visits a row twice")


def phases(state: State) -> None:
    """Phases until no row is free: each matches at least one."""
    width = state.settings.delta_scaled if state.scaled else state.settings.delta
    delta = state.portion(width * state.mean, len(state.u))
    state.stays[:] = False
    for _ in range(len(state.u)):
        if not state.free().size:
            return
        phase(state, delta)


# ------------------------------------------------------------------------------- the whole


def lift(state: State) -> None:
    """Raise negative column duals as far as the others' rows allow, at most to 0.

    A bid may fall far below what the column is worth, and large duals round coarsely. All columns
    may rise at once: their own rows' duals fall with them, which loosens all other pairs.
    """
    rest = state.c - state.u[:, None]
    taken = np.flatnonzero(state.row >= 0)
    rest[state.row[taken], taken] = state.top
    state.v = np.maximum(state.v, np.minimum(rest.min(axis=0), 0))
    state.u = state.left().min(axis=1)
    state.counts["rescalings"] += 1


def repair(state: State, loose: Any) -> None:
    """Floats: find small duals; in a square, match loose pairs again, a few times.

    The row duals end as the least ``c - v`` of each row, which no pair undercuts by more than a
    rounding; a matched pair's slack shows what rounding has cost.
    """
    for turn in range(state.settings.repairs + 1):
        for _ in range(state.settings.lifts):
            lift(state)
        rows = np.arange(len(state.u))
        slack = state.c[rows, state.column] - state.v[state.column] - state.u
        state.counts["loose"] = int((slack > loose).sum())
        if not state.counts["loose"] or not state.square or turn == state.settings.repairs:
            return
        state.counts["repairs"] += 1
        state.row[state.column[slack > loose]] = -1
        state.column[slack > loose] = -1
        phases(state)


def match(costs: Costs, settings: Settings) -> State:
    """Solve checked costs; see the head of this module.

    Raises
    ------
    ValueError
        If every complete assignment has a forbidden pair.
    """
    state = State(costs.matrix, settings)
    n = len(state.u)
    if n:
        zero = state.u.dtype.type(0)
        reduce_lines(state)
        shares = settings.of_rows(n)
        rounds(state, zero, shares["start_stop"], settings.start_rounds)
        if state.square and len(state.free()) > shares["many"]:
            may_sort = settings.sorting and costs.dual.kind == "i" and not shift_of(costs, settings)
            if not (may_sort and sort(state)):
                scales(state)
        phases(state)
        if costs.dual.kind == "f":
            repair(state, costs.loose)
    return state


def solve(
    cost: Any, maximize: bool = False, dtype: Any = None, settings: Settings | None = None
) -> Assignment:
    """Solve an assignment problem by the reference.

    Parameters
    ----------
    cost : array_like[rows, columns]
        See `papers.synthesis.assignment.costs.prepare`.
    maximize : bool
    dtype : {"int32", "int64", "float64"}, optional
    settings : Settings, optional
        By default `Settings.for_shape`.

    Returns
    -------
    Assignment
        With duals, and `COUNTS` as its counters.

    Raises
    ------
    ValueError
        As `prepare`, and if every complete assignment has a forbidden pair.
    """
    costs = prepare(cost, maximize, dtype)
    state = match(costs, settings or Settings.for_shape(*costs.matrix.shape, costs.matrix.dtype))
    return finish(costs, state.column, state.u, state.v, state.counts)
