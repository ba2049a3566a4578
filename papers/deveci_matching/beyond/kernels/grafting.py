"""The phases: plant trees, search, augment, graft; the one kernel.

The arrays are in the table of `beyond.kernels`.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed
from papers.common.gpu.reductions import FULL_WARP, warp_rank
from papers.deveci_matching.beyond.kernels.arguments import (
    Adjacency,
    Partners,
    Queues,
    Sizes,
    Step,
    Trees,
    Ways,
)
from papers.deveci_matching.beyond.kernels.control import (
    CONTROL,
    CUT,
    EDGES,
    ENDS,
    FROM_GREEDY,
    GO_ON,
    GRAFTED,
    KEPT,
    LEVEL,
    LIVING,
    PATHS,
    PHASES,
    RENEWABLE,
    RENEWED,
    REPLANT,
    SIDE,
    SLOT,
    SOLVED,
    STATUS,
    STEP,
    TOO_MANY_PHASES,
    clear,
    hand_over,
    meet,
)
from papers.deveci_matching.beyond.kernels.directions import levels, pull
from papers.deveci_matching.beyond.kernels.frontier import add_up, append
from papers.deveci_matching.beyond.kernels.greedy import greedy
from papers.deveci_matching.beyond.kernels.jumping import augment_marked


@cuda.jit(device=True)
def plant(now, sizes, graph, matching, trees, queues, control):
    """Forget all trees, and make every free column with edges the root of a new one."""
    rows, columns = sizes
    cxadj, root = graph.cxadj, trees.root
    for row in range(cuda.grid(1), rows, cuda.gridsize(1)):
        trees.parent[row] = -1
    there, grown = int32(1 - now.side), int32(0)
    for base in range(cuda.blockIdx.x * cuda.blockDim.x, columns, cuda.gridsize(1)):
        column, sown = int32(base + cuda.threadIdx.x), int32(-1)
        if column < columns:
            root[column] = -1
            if matching.cmatch[column] < 0 and cxadj[column + 1] > cxadj[column]:
                trees.end_of_root[column] = -1
                root[column] = column
                trees.level_of[column] = int32(now.level + 1)
                sown = column
        grown = int32(grown + append(sown, 1, columns, now.into, there, graph, queues, control))
    add_up(grown, now.into + EDGES, control)


@cuda.jit(device=True)
def augment(found, columns, matching, trees, ends):
    """Apply the paths of this phase, a thread each: they are disjoint, because trees are."""
    for k in range(cuda.grid(1), found, cuda.gridsize(1)):
        row = trees.end_of_root[ends[k]]
        for _ in range(columns):  # a path visits a column once
            column = trees.parent[row]
            row_before = matching.cmatch[column]
            matching.cmatch[column] = row
            matching.rmatch[row] = column
            if row_before < 0:
                break
            row = row_before


@cuda.jit(device=True)
def sort_rows(rows, odd, trees, renewable, control):
    """Free the rows of the trees that found a path; count the rows of the other trees.

    The columns of a finished tree keep its root: the end of the tree tells that it is finished.
    """
    parent, kept = trees.parent, int32(0)
    for base in range(cuda.blockIdx.x * cuda.blockDim.x, rows, cuda.gridsize(1)):
        row, done = int32(base + cuda.threadIdx.x), False
        if row < rows and parent[row] >= 0:
            if trees.end_of_root[trees.root[parent[row]]] >= 0:
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
def begin(begins, sizes, graph, start, matching, trees, control):
    """Clear the counters, and start from the matching that is given or from a greedy one.

    Levels are cleared because a pulling row looks at those of all its columns, also of those that
    no tree has reached.
    """
    grid = cuda.cg.this_grid()
    rows, columns = sizes
    greedily = begins == FROM_GREEDY
    for k in range(cuda.grid(1), CONTROL, cuda.gridsize(1)):
        control[k] = 0
    for row in range(cuda.grid(1), rows, cuda.gridsize(1)):
        matching.rmatch[row] = -1 if greedily else start.rmatch[row]
    for column in range(cuda.grid(1), columns, cuda.gridsize(1)):
        matching.cmatch[column] = -1 if greedily else start.cmatch[column]
        trees.level_of[column] = 0
    grid.sync()
    if greedily:
        greedy(rows, columns, graph, matching, trees.level_of, control)
        meet(control)


@cuda.jit
def maximum_matching(
    sizes, begins, share, jump_after, ways, graph, start, matching, trees, queues, control
):  # fmt: skip
    """Repeat phases until one finds no path: search, augment, sort, and graft or plant anew.

    A launch makes `share` phases at most; one that `begins` with `GO_ON` goes on behind the last.
    It is longer than a kernel should be, because it is the whole algorithm.

    Paper: none; [D13 Alg.1] without its inner break is the frame.
    Launch: cooperative; whole warps, at most `frontier.MAX_BLOCK` threads a block.
    Reads/Writes: reads the graph and the start, writes everything else.
    Ends: a phase but the last adds a pair, so `columns` + 1 are enough; a level but the last of a
    phase inserts a column, and both loops are bounded by that.
    Race: see the device functions; barriers of the grid stand between the stages.

    The answer is maximum for this reason. A tree is living if it has no end. At the end of every
    phase that is not cut short, an unclaimed row touches no column of a living tree, because such a
    column was expanded while its tree lived. If it was pushed, by the grid or within a block, it
    left none of its rows unclaimed (a row that its tree could not take stays claimed until the
    phase ends). If the level was pulled, each unclaimed row tried all its columns, and a living
    tree refuses no row. A phase that is cut short has found a path, and the next one forgets all
    trees. `sort_rows` unclaims the rows of finished trees only, and exactly these rows look at the
    living trees again before the next phase searches on: rows that were unclaimed before cannot
    touch a living tree. So when a phase ends without a path, no tree is finished, every row that a
    column of a tree touches is claimed, and none of these rows is free: no augmenting path starts
    from a free column (Berge).
    """
    grid = cuda.cg.this_grid()
    rows, columns = sizes
    first = cuda.grid(1) == 0
    step, renewed, living, replant, done = int32(0), int32(0), int32(0), True, int32(0)
    if begins != GO_ON:
        begin(begins, sizes, graph, start, matching, trees, control)
    else:
        step, done = load_relaxed(control, STEP), load_relaxed(control, PHASES)
        renewed, living = load_relaxed(control, RENEWED), load_relaxed(control, LIVING)
        replant = load_relaxed(control, REPLANT) != 0
        grid.sync()
    for phase in range(done, min(int64(done) + share, int64(columns) + 2)):
        odd = int32(phase & 1)
        slot, into = SLOT * (step % 3), SLOT * ((step + 1) % 3)
        level, side = load_relaxed(control, slot + LEVEL), load_relaxed(control, slot + SIDE)
        kept = load_relaxed(control, KEPT + 1 - odd)
        if first:
            clear(SLOT * ((step + 2) % 3), control)
        now = Step(level, odd, into, side)
        if replant:
            kept, living = int32(0), int32(0)
            plant(now, sizes, graph, matching, trees, queues, control)
        else:
            pull(True, renewed, columns, now, graph, matching, trees, queues, control)
        if first:
            hand_over(into, int32(level + 1), int32(1 - side), kept, 0, 0, control)
        meet(control)
        step, living, cut, jumps = levels(
            int32(step + 1), living, odd, jump_after, ways, sizes, graph, matching, trees, queues,
            control,
        )  # fmt: skip
        found = load_relaxed(control, ENDS + odd)
        if found == 0:
            if first and control[STATUS] == 0:
                control[STATUS] = SOLVED
            return
        if jumps > 0:
            augment_marked(rows, matching, trees, queues, control)
        else:
            augment(found, columns, matching, trees, queues.ends)
        if first:
            control[ENDS + 1 - odd] = 0
            control[RENEWABLE + 1 - odd] = 0
            control[KEPT + 1 - odd] = 0
            control[PHASES] += 1
            control[PATHS] += found
            control[GRAFTED] += int32(0) if replant else int32(1)
            control[CUT] += int32(1) if cut else int32(0)
        meet(control)
        if cut or ways.grafts == 0:
            replant = True
        else:
            sort_rows(rows, odd, trees, queues.renewable, control)
            meet(control)
            living = int32(living - found)
            renewed = load_relaxed(control, RENEWABLE + odd)
            replant = load_relaxed(control, KEPT + odd) < renewed
    if first and done + share < columns + 2:
        control[STEP], control[RENEWED], control[LIVING] = step, renewed, living
        control[REPLANT] = int32(1) if replant else int32(0)
    elif first:
        control[STATUS] = TOO_MANY_PHASES


SIGNATURES = {
    maximum_matching: (
        Sizes, "int32", "int32", "int32", Ways, Adjacency, Partners, Partners, Trees, Queues,
        "int32[::1]",
    ),
}  # fmt: skip
"""The types that the kernel is compiled for."""
