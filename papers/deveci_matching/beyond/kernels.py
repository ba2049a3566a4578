"""One launch that finds a maximum matching: past the paper, with its ideas where they hold.

What is kept: all free columns search at once, every search knows its root, and one that has found
a free row stops at once [D13 Alg.4]. What is new:

* **Frontiers.** The columns of the next level stand in a queue; a level costs its edges, not all
  columns. A block shares the edges of its columns evenly among its threads; columns of more than
  `HEAVY_DEGREE` edges are shared by all blocks.
* **Claims.** A row belongs to the tree whose atomic claimed it, so trees never meet, one path a
  tree is applied, and nothing has to be repaired: there is no FixMatching.
* **Directions.** When the frontier has more edges than rows are left, the rows left look for a
  frontier column instead (Beamer et al. 2012).
* **Grafting.** Trees that found nothing stay; the rows of those that did are free to be taken, and
  the next search begins where they touch a tree that stayed (Azad et al. 2017).
* **Short phases.** Once a good part of the trees has a path and the others cost more edges than
  all before, the phase ends: short paths are everywhere, and trees planted anew find them sooner.
* **No host.** Phases and levels meet at barriers of the grid; while a frontier is small, block 0
  goes on alone with barriers of its own.

======================  ===============  ========================================================
name                    array            dtype, shape
======================  ===============  ========================================================
graph by columns        cxadj, cadj      int32 [columns + 1], [edges]
graph by rows           rxadj, radj      int32 [rows + 1], [edges]
matching                rmatch, cmatch   int32 [rows], [columns]; -1: free
claim                   parent           int32 [rows]: column that reached the row; -1: unclaimed
tree of a column        root             int32 [columns]: a free column; -1: in no tree
end of a tree's path    end_of_root      int32 [columns]: a free row; -1: none yet
level of a column       level_of         int32 [columns]: levels count on over all phases
frontier, two sides     queue            int32 [2 * columns]: light from the front, heavy from
                                         the back
paths of a phase        ends             int32 [columns]: roots
rows to graft           renewable        int32 [rows]
counters                control          int32 [`CONTROL`]
======================  ===============  ========================================================
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed, store_relaxed
from papers.common.gpu.reductions import FULL_WARP, block_scan, warp_rank, warp_sum

MAX_BLOCK = 1024
HEAVY_DEGREE = 2048
"""Columns of more edges are shared by all blocks."""

CUT_SHARE, CUT_WORK = 4, 1
"""A phase is cut short once a `CUT_SHARE`-th of its trees has a path, and the edges since the last
one are more than `CUT_WORK` times those before."""

NEVER = 2**62

LONE_EDGES = 4
"""Edges a thread up to which block 0 expands a frontier alone."""

# Words of a slot: what a step of the grid hands to the next.
LIGHT, HEAVY, EDGES, FOUND, LEVEL, SIDE, SEEN, WORK, MARK = range(9)
SLOT = 9
ALONE = 3 * SLOT
"""Three slots in turn for the grid, three more for block 0 alone."""

ENDS, RENEWABLE, KEPT = 6 * SLOT, 6 * SLOT + 2, 6 * SLOT + 4
"""Two words each, for even and odd phases."""

STATUS = 6 * SLOT + 6
PHASES, LEVELS, PULLED, LONE, GRAFTED, PATHS, CUT = range(6 * SLOT + 7, 6 * SLOT + 14)
CONTROL = 6 * SLOT + 14

SOLVED, TOO_MANY_LEVELS, TOO_MANY_PHASES = 1, 2, 3


# ---------------------------------------------------------------------------------- joining

NOTHING, REFUSED = -1, -2
"""What `join` returns instead of a column for the frontier."""


@cuda.jit(device=True)
def append(column, least, columns, into, side, cxadj, queue, control):
    """Append a column a lane to the next frontier, -1 for none; whole warps call it.

    One atomic a warp for all its light columns; the few heavy ones grow towards them from the
    other end. A column of fewer than `least` edges stays out: a matched one of a single edge leads
    nowhere.

    Returns
    -------
    int32
        The lane's edges in the frontier.
    """
    degree = int32(0)
    if column >= 0:
        degree = int32(cxadj[column + 1] - cxadj[column])
    if degree < least:
        degree = int32(0)
    light = 0 < degree <= HEAVY_DEGREE
    rank, total = warp_rank(light)
    if total > 0:
        place = int32(0)
        if cuda.threadIdx.x & 31 == 0:
            place = cuda.atomic.add(control, into + LIGHT, total)
        place = cuda.shfl_sync(FULL_WARP, place, 0)
        if light:
            queue[int64(side) * columns + place + rank] = column
    if degree > HEAVY_DEGREE:
        place = cuda.atomic.add(control, into + HEAVY, 1)
        queue[int64(side) * columns + columns - 1 - place] = column
    return degree


@cuda.jit(device=True)
def add_up(value, at, control):
    """Add the lanes' values to a counter, with one atomic a warp; whole warps call it."""
    total = warp_sum(value)
    if cuda.threadIdx.x & 31 == 0 and total > 0:
        cuda.atomic.add(control, at, total)


@cuda.jit(device=True)
def join(row, tree, level, odd, into, rmatch, root, end_of_root, level_of, ends, control):
    """Take a row that nobody else takes into a tree.

    A free row ends the tree's path, unless the tree has an end already: the atomic lets one win.

    Returns
    -------
    int32
        The row's column, which belongs to the next frontier; `NOTHING` for a free row; `REFUSED` if
        its tree had an end.
    """
    other = rmatch[row]
    if other < 0:
        if cuda.atomic.cas(end_of_root, tree, -1, row) != -1:
            return int32(REFUSED)
        ends[cuda.atomic.add(control, ENDS + odd, 1)] = tree
        cuda.atomic.add(control, into + FOUND, 1)
        return int32(NOTHING)
    store_relaxed(root, other, tree)
    store_relaxed(level_of, other, int32(level + 1))
    return int32(other)


# ---------------------------------------------------------------------------------- push


@cuda.jit(device=True)
def reach(
    row, column, tree, level, odd, into, rmatch, parent, root, end_of_root, level_of, ends, control
):
    """Follow one edge of the frontier; the column that it brings into the next, or below 0.

    Race: of all columns that reach the row, the atomic lets one claim it. A free row whose tree has
    found an end meanwhile stays claimed for this phase: were it given back, a search that passed
    it in between would have missed it and yet be taken for finished; `sort_rows` gives it back.
    """
    if load_relaxed(parent, row) != -1 or cuda.atomic.cas(parent, row, -1, column) != -1:
        return int32(NOTHING)
    return join(row, tree, level, odd, into, rmatch, root, end_of_root, level_of, ends, control)


@cuda.jit(device=True)
def push(
    worker, workers, light, heavy, level, columns, odd, into, side, cxadj, cadj, rmatch, parent,
    root, end_of_root, level_of, queue, ends, control,
):  # fmt: skip
    """All edges of the frontier, shared evenly: within a block, and heavy columns by all blocks.

    A block takes as many columns as it has threads, adds their degrees up, and thread t follows
    edges t, t + width ... of the lot, whose columns it finds by bisection.
    """
    totals = cuda.shared.array(32, int32)
    offset = cuda.shared.array(MAX_BLOCK, int32)
    member = cuda.shared.array(MAX_BLOCK, int32)
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    here, there = int64(side) * columns, int32(1 - side)
    grown = int32(0)
    for base in range(worker * width, light, workers * width):
        column, degree = int32(-1), int32(0)
        if base + thread < light:
            column = queue[here + base + thread]
            if load_relaxed(end_of_root, root[column]) < 0:
                degree = int32(cxadj[column + 1] - cxadj[column])
        before, total = block_scan(degree, totals)
        offset[thread] = before
        member[thread] = column
        cuda.syncthreads()
        for start in range(0, total, width):
            edge, found = int32(start + thread), int32(NOTHING)
            if edge < total:
                low, high = int32(0), int32(width)
                while high - low > 1:
                    middle = int32((low + high) >> 1)
                    if offset[middle] <= edge:
                        low = middle
                    else:
                        high = middle
                owner = member[low]
                found = reach(
                    cadj[cxadj[owner] + int32(edge - offset[low])], owner, root[owner], level, odd,
                    into, rmatch, parent, root, end_of_root, level_of, ends, control,
                )  # fmt: skip
            grown = int32(grown + append(found, 2, columns, into, there, cxadj, queue, control))
        cuda.syncthreads()
    for k in range(heavy):
        owner = queue[here + columns - 1 - k]
        tree, last = root[owner], cxadj[owner + 1]
        for start in range(int64(cxadj[owner]) + worker * width, last, workers * width):
            found = int32(NOTHING)
            if start + thread < last and load_relaxed(end_of_root, tree) < 0:
                found = reach(
                    cadj[start + thread], owner, tree, level, odd, into, rmatch, parent, root,
                    end_of_root, level_of, ends, control,
                )  # fmt: skip
            grown = int32(grown + append(found, 2, columns, into, there, cxadj, queue, control))
    add_up(grown, into + EDGES, control)


# ---------------------------------------------------------------------------------- pull


@cuda.jit(device=True)
def tree_to_join(column, grafting, level, root, end_of_root, level_of):
    """The tree that a row may join through a column, or -1.

    A frontier's column, or when grafting any tree's, if the tree still searches.
    Race: another thread may bring the column into a tree just now; its root is read once. A column
    that joins has a level above this one, and when grafting it is as good as any other of its tree.
    """
    if not grafting and load_relaxed(level_of, column) != level:
        return int32(-1)
    tree = int32(load_relaxed(root, column))
    if tree >= 0 and load_relaxed(end_of_root, tree) >= 0:
        return int32(-1)
    return tree


@cuda.jit(device=True)
def pull(
    grafting, worker, workers, count, level, columns, odd, into, side, cxadj, rxadj, radj, rmatch,
    parent, root, end_of_root, level_of, queue, ends, renewable, control,
):  # fmt: skip
    """Unclaimed rows look for a column to join, short rows a thread each, long ones a warp each.

    Only the thread or warp that a row belongs to writes the row's claim: no atomic. A row of a
    million edges is one warp's work, unlike such a column's; it stops at the first that fits.

    Parameters
    ----------
    grafting : bool
        Whether the rows are the first `count` of ``renewable``, and any tree's column will do;
        otherwise the rows are all, and the frontier's columns count.
    """
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    lane, there = thread & 31, int32(1 - side)
    grown = int32(0)
    for base in range(worker * width, count, workers * width):
        row, first, last = int32(-1), int32(0), int32(0)
        if base + thread < count:
            row = renewable[base + thread] if grafting else int32(base + thread)
            if parent[row] == -1:
                first, last = rxadj[row], rxadj[row + 1]
        found = int32(NOTHING)
        if last - first <= 32:
            for edge in range(first, last):
                column = radj[edge]
                tree = tree_to_join(column, grafting, level, root, end_of_root, level_of)
                if tree >= 0:
                    found = join(
                        row, tree, level, odd, into, rmatch, root, end_of_root, level_of, ends,
                        control,
                    )  # fmt: skip
                    if found != REFUSED:
                        parent[row] = column
                        break
        crowd = int64(cuda.ballot_sync(FULL_WARP, last - first > 32)) & FULL_WARP
        while crowd != 0:
            source = cuda.ffs(crowd) - 1
            crowd &= crowd - 1
            its_found = pull_by_warp(
                grafting, cuda.shfl_sync(FULL_WARP, row, source),
                cuda.shfl_sync(FULL_WARP, first, source), cuda.shfl_sync(FULL_WARP, last, source),
                level, odd, into, radj, rmatch, parent, root, end_of_root, level_of, ends, control,
            )  # fmt: skip
            if lane == source:
                found = its_found
        grown = int32(grown + append(found, 2, columns, into, there, cxadj, queue, control))
    add_up(grown, into + EDGES, control)


@cuda.jit(device=True)
def pull_by_warp(
    grafting, row, first, last, level, odd, into, radj, rmatch, parent, root, end_of_root, level_of,
    ends, control,
):  # fmt: skip
    """One long row, 32 of its columns at a time; every lane gets what `join` returned."""
    lane = cuda.threadIdx.x & 31
    found = int32(REFUSED)
    for start in range(int64(first), last, 32):  # 64 bits: the last turn may end past 2**31
        if found != REFUSED:
            break
        tree, column = int32(-1), int32(-1)
        if start + lane < last:
            column = radj[start + lane]
            tree = tree_to_join(column, grafting, level, root, end_of_root, level_of)
        votes = int64(cuda.ballot_sync(FULL_WARP, tree >= 0)) & FULL_WARP
        while votes != 0 and found == REFUSED:
            leader = cuda.ffs(votes) - 1
            votes &= votes - 1
            if lane == leader:
                found = join(
                    row, tree, level, odd, into, rmatch, root, end_of_root, level_of, ends, control
                )  # fmt: skip
                if found != REFUSED:
                    parent[row] = column
            found = cuda.shfl_sync(FULL_WARP, found, leader)
    return found


# ---------------------------------------------------------------------------------- levels


@cuda.jit(device=True)
def clear(at, control):
    """Make a slot ready to be counted in."""
    control[at + LIGHT] = 0
    control[at + HEAVY] = 0
    control[at + EDGES] = 0
    control[at + FOUND] = 0


@cuda.jit(device=True)
def hand_over(into, level, side, seen, work, mark, control):
    """What the next step must know beside the counts, by one thread."""
    control[into + LEVEL] = level
    control[into + SIDE] = side
    control[into + SEEN] = seen
    control[into + WORK] = work
    control[into + MARK] = mark


@cuda.jit(device=True)
def is_small(light, heavy, edges):
    """Whether one block is faster alone than all with a barrier of the grid."""
    width = cuda.blockDim.x
    return heavy == 0 and light <= width and edges <= LONE_EDGES * width


@cuda.jit(device=True)
def alone(
    light, edges, level, side, seen, work, mark, most, into, columns, odd, cxadj, cadj, rmatch,
    parent, root, end_of_root, level_of, queue, ends, control,
):  # fmt: skip
    """Levels by block 0 while the frontier stays small; the last one is handed to the grid.

    It stops too where a path is found, or more than `most` edges are spent: the phase may end.

    The other blocks may still be reading the slot of this step: the counters are others.
    """
    thread = cuda.threadIdx.x
    if thread == 0:
        clear(ALONE + SLOT, control)
    cuda.syncthreads()
    heavy, found, done = int32(0), int32(0), int32(0)
    for _ in range(columns + 1):
        inner = ALONE + SLOT * ((done + 1) % 3)
        if thread == 0:
            clear(ALONE + SLOT * ((done + 2) % 3), control)
        push(
            0, 1, light, 0, level, columns, odd, inner, side, cxadj, cadj, rmatch, parent, root,
            end_of_root, level_of, queue, ends, control,
        )  # fmt: skip
        cuda.syncthreads()
        level, side, done = int32(level + 1), int32(1 - side), int32(done + 1)
        work = int32(work + edges)
        light = load_relaxed(control, inner + LIGHT)
        heavy = load_relaxed(control, inner + HEAVY)
        edges = load_relaxed(control, inner + EDGES)
        found = load_relaxed(control, inner + FOUND)
        if light == 0 or found > 0 or work + edges > most or not is_small(light, heavy, edges):
            break
        seen = int32(seen + light)
    if thread == 0:
        control[into + LIGHT] = light
        control[into + HEAVY] = heavy
        control[into + EDGES] = edges
        control[into + FOUND] = found
        hand_over(into, level, side, seen, work, mark, control)
        control[LEVELS] += done
        control[LONE] += done


@cuda.jit(device=True)
def levels(
    step, living, columns, rows, odd, cxadj, cadj, rxadj, radj, rmatch, parent, root, end_of_root,
    level_of, queue, ends, renewable, control,
):  # fmt: skip
    """Expand the frontier until nothing is left of it, or the rest is not worth its edges.

    Every step of the grid reads slot ``step % 3``, counts in the next and clears the one after,
    which all blocks read before the last barrier. `living` is the number of trees that search, or 0
    if they are the frontier.

    Returns
    -------
    (int32, int32, bool)
        The number of the step after the last; the trees that searched; whether the phase was cut.
    """
    grid = cuda.cg.this_grid()
    first = cuda.grid(1) == 0
    worker, workers = cuda.blockIdx.x, cuda.gridDim.x
    found = int32(0)
    for _ in range(columns + 2):
        slot, into = SLOT * (step % 3), SLOT * ((step + 1) % 3)
        light, heavy = load_relaxed(control, slot + LIGHT), load_relaxed(control, slot + HEAVY)
        edges, level = load_relaxed(control, slot + EDGES), load_relaxed(control, slot + LEVEL)
        side = load_relaxed(control, slot + SIDE)
        seen = int32(load_relaxed(control, slot + SEEN) + light + heavy)
        work, mark = load_relaxed(control, slot + WORK), load_relaxed(control, slot + MARK)
        news = load_relaxed(control, slot + FOUND)
        if living == 0:
            living = int32(light + heavy)
        if light + heavy == 0:
            return step, living, False
        if news > 0:
            found, mark = int32(found + news), work
        most = int64(NEVER)
        if int64(found) * CUT_SHARE >= living:
            most = int64(mark) * (1 + CUT_WORK)
            if int64(work) + edges > most:
                return step, living, True
        if first:
            clear(SLOT * ((step + 2) % 3), control)
        if is_small(light, heavy, edges):
            if cuda.blockIdx.x == 0:
                alone(
                    light, edges, level, side, seen, work, mark, most, into, columns, odd, cxadj,
                    cadj, rmatch, parent, root, end_of_root, level_of, queue, ends, control,
                )  # fmt: skip
        else:
            if edges > rows - seen and edges > rows >> 3:
                pull(
                    False, worker, workers, rows, level, columns, odd, into, side, cxadj, rxadj,
                    radj, rmatch, parent, root, end_of_root, level_of, queue, ends, renewable,
                    control,
                )  # fmt: skip
                if first:
                    control[PULLED] += 1
            else:
                push(
                    worker, workers, light, heavy, level, columns, odd, into, side, cxadj, cadj,
                    rmatch, parent, root, end_of_root, level_of, queue, ends, control,
                )  # fmt: skip
            if first:
                control[LEVELS] += 1
                hand_over(
                    into,
                    int32(level + 1),
                    int32(1 - side),
                    seen,
                    int32(work + edges),
                    mark,
                    control,
                )
        grid.sync()
        step = int32(step + 1)
    if first:
        control[STATUS] = TOO_MANY_LEVELS
    return step, living, False


# ---------------------------------------------------------------------------------- phases


@cuda.jit(device=True)
def plant(
    level, columns, rows, into, side, cxadj, cmatch, parent, root, end_of_root, level_of, queue,
    control,
):  # fmt: skip
    """Forget all trees; every free column with edges is the root of a new one."""
    for row in range(cuda.grid(1), rows, cuda.gridsize(1)):
        parent[row] = -1
    there, grown = int32(1 - side), int32(0)
    for base in range(cuda.blockIdx.x * cuda.blockDim.x, columns, cuda.gridsize(1)):
        column, sown = int32(base + cuda.threadIdx.x), int32(-1)
        if column < columns:
            root[column] = -1
            if cmatch[column] < 0 and cxadj[column + 1] > cxadj[column]:
                end_of_root[column] = -1
                root[column] = column
                level_of[column] = int32(level + 1)
                sown = column
        grown = int32(grown + append(sown, 1, columns, into, there, cxadj, queue, control))
    add_up(grown, into + EDGES, control)


@cuda.jit(device=True)
def augment(found, columns, cmatch, rmatch, parent, end_of_root, ends):
    """Apply the paths of this phase, a thread each: trees are disjoint, so paths are."""
    for k in range(cuda.grid(1), found, cuda.gridsize(1)):
        row = end_of_root[ends[k]]
        for _ in range(columns):  # a path visits a column once
            column = parent[row]
            row_before = cmatch[column]
            cmatch[column] = row
            rmatch[row] = column
            if row_before < 0:
                break
            row = row_before


@cuda.jit(device=True)
def sort_rows(rows, odd, parent, root, end_of_root, renewable, control):
    """Free the rows of the trees that found a path; count those of the others.

    The columns of a finished tree keep its root: that it has an end says all there is to know.
    """
    kept = int32(0)
    for base in range(cuda.blockIdx.x * cuda.blockDim.x, rows, cuda.gridsize(1)):
        row, done = int32(base + cuda.threadIdx.x), False
        if row < rows and parent[row] >= 0:
            if end_of_root[root[parent[row]]] >= 0:
                parent[row] = -1
                done = True
            else:
                kept = int32(kept + 1)
        rank, total = warp_rank(done)
        if total > 0:
            place = int32(0)
            if cuda.threadIdx.x & 31 == 0:
                place = cuda.atomic.add(control, RENEWABLE + odd, total)
            place = cuda.shfl_sync(FULL_WARP, place, 0)
            if done:
                renewable[place + rank] = row
    add_up(kept, KEPT + odd, control)


@cuda.jit(device=True)
def greedy(leaves, columns, cxadj, cadj, rmatch, cmatch):
    """Every column takes a row that is free, columns with one edge first: no edge stays free.

    Race: of all columns that want a row, the atomic lets one take it; the others go on looking.
    """
    for start in range(cuda.grid(1), columns, cuda.gridsize(1)):
        column = int32(start)
        first, last = cxadj[column], cxadj[column + 1]
        if (last - first == 1) == leaves:
            for edge in range(first, last):
                row = cadj[edge]
                if load_relaxed(rmatch, row) == -1 and cuda.atomic.cas(rmatch, row, -1, column) == (
                    -1
                ):
                    cmatch[column] = row
                    break


@cuda.jit
def maximum_matching(
    rows, columns, from_greedy, cxadj, cadj, rxadj, radj, rstart, cstart, rmatch, cmatch, parent,
    root, end_of_root, level_of, queue, ends, renewable, control,
):  # fmt: skip
    """Phases until none finds a path: search, augment, sort, and graft or plant anew.

    Longer than a kernel should be: it is the whole algorithm, and hands all arrays on.

    Paper: none; [D13 Alg.1] without its inner break is the frame.
    Launch: cooperative; whole warps, at most `MAX_BLOCK` threads a block.
    Reads/Writes: reads the graph and the start, writes everything else.
    Race: those of the device functions; barriers of the grid stand between the stages.

    Why the answer is maximum. At the end of every phase, an unclaimed row touches no column of a
    living tree, one without an end. For such a column was expanded while its tree lived: pushed,
    it left none of its rows unclaimed (a row that its tree could not take stays claimed until the
    phase ends); pulled, each row tried all its columns, and one that a living tree refused does not
    exist. A phase that is cut short promises nothing of the kind: it has found a path, and the
    next one forgets all trees. `sort_rows` unclaims the rows of finished trees only, and exactly
    these look at the living trees again before the next phase searches on: rows that were
    unclaimed before cannot touch a living tree. So when a phase ends without a path, no tree is
    finished, every row that a tree's column touches is claimed and none of them is free: from no
    free column is there an
    augmenting path (Berge).
    """
    grid = cuda.cg.this_grid()
    first = cuda.grid(1) == 0
    for k in range(cuda.grid(1), CONTROL, cuda.gridsize(1)):
        control[k] = 0
    for row in range(cuda.grid(1), rows, cuda.gridsize(1)):
        rmatch[row] = -1 if from_greedy != 0 else rstart[row]
    for column in range(cuda.grid(1), columns, cuda.gridsize(1)):
        cmatch[column] = -1 if from_greedy != 0 else cstart[column]
    grid.sync()
    if from_greedy != 0:
        greedy(True, columns, cxadj, cadj, rmatch, cmatch)
        grid.sync()
        greedy(False, columns, cxadj, cadj, rmatch, cmatch)
        grid.sync()
    step, renewed, living, replant = int32(0), int32(0), int32(0), True
    for phase in range(columns + 2):  # every phase but the last adds a pair
        odd = int32(phase & 1)
        slot, into = SLOT * (step % 3), SLOT * ((step + 1) % 3)
        level, side = load_relaxed(control, slot + LEVEL), load_relaxed(control, slot + SIDE)
        kept = load_relaxed(control, KEPT + 1 - odd)
        if first:
            clear(SLOT * ((step + 2) % 3), control)
        if replant:
            kept, living = int32(0), int32(0)
            plant(
                level, columns, rows, into, side, cxadj, cmatch, parent, root, end_of_root,
                level_of, queue, control,
            )  # fmt: skip
        else:
            pull(
                True, cuda.blockIdx.x, cuda.gridDim.x, renewed, level, columns, odd, into, side,
                cxadj, rxadj, radj, rmatch, parent, root, end_of_root, level_of, queue, ends,
                renewable, control,
            )  # fmt: skip
        if first:
            hand_over(into, int32(level + 1), int32(1 - side), kept, 0, 0, control)
        grid.sync()
        step, living, cut = levels(
            int32(step + 1), living, columns, rows, odd, cxadj, cadj, rxadj, radj, rmatch, parent,
            root, end_of_root, level_of, queue, ends, renewable, control,
        )  # fmt: skip
        found = load_relaxed(control, ENDS + odd)
        if found == 0:
            if first and control[STATUS] == 0:
                control[STATUS] = SOLVED
            return
        augment(found, columns, cmatch, rmatch, parent, end_of_root, ends)
        if first:
            control[ENDS + 1 - odd] = 0
            control[RENEWABLE + 1 - odd] = 0
            control[KEPT + 1 - odd] = 0
            control[PHASES] += 1
            control[PATHS] += found
            control[GRAFTED] += int32(0) if replant else int32(1)
            control[CUT] += int32(1) if cut else int32(0)
        grid.sync()
        if cut:
            replant = True
        else:
            sort_rows(rows, odd, parent, root, end_of_root, renewable, control)
            grid.sync()
            living = int32(living - found)
            renewed = load_relaxed(control, RENEWABLE + odd)
            replant = load_relaxed(control, KEPT + odd) < renewed
    if first:
        control[STATUS] = TOO_MANY_PHASES


_LINE = "int32[::1]"
SIGNATURES = {maximum_matching: f"void(int32, int32, int32, {', '.join([_LINE] * 16)})"}
"""What the kernel is compiled for."""
