"""Algorithms 1 to 9 of [DN16] as printed, where `kernels.shared` or the variants' own differ.

One thread a row or column, and a launch for everything that the paper calls a kernel: the host
stands between them. `papers.datenagi2016.configuration` says which of the two a run takes; notation
in `kernels.shared`. Algorithms 6, 8 and 9 are the same in both and stand there.

Stores that race are plain, as printed. That is sound on today's memory model for one reason: a
launch's end orders them before everything that reads them. Within a launch nobody relies on seeing
another's store: who reads an old cover only does again what another has done.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import cuda, int32

from papers.common.gpu.kernels_scan import scan_by_block
from papers.common.gpu.signatures import Int32, Int32s
from papers.datenagi2016.kernels.arguments import (
    Covers,
    Edges,
    Forest,
    Limits,
    Lines,
    Marks,
    Matrix,
    Predecessors,
    Shape,
    Successors,
)
from papers.datenagi2016.kernels.half_units import no_slack, reduced_cost
from papers.datenagi2016.kernels.shared import (
    ACTIVE,
    AUGMENT,
    INACTIVE,
    MATCHES,
    REVERSE,
    SIZES,
    TO_AUGMENT,
    TO_REVERSE,
    VISITED,
)

IN, OUT = SIZES, SIZES + 1
"""Places in ``flags`` of the sizes of F_in and F_out."""


class Rules(NamedTuple):
    """Which of print's habits an expansion keeps, 0 or 1 each."""

    racing: Int32
    expand_all: Int32
    compressed: Int32


class Gathered(NamedTuple):
    """F_in, F_out and F_rev with their addresses.

    ``f_in``, ``f_rev`` int32 [n]; ``f_out`` int32 [n * n]; ``places`` int32 [n + 1], the first
    place of each row of F_in in F_out; ``slots`` int32 [n], the place at which a row was gathered.
    """

    f_in: Int32s
    f_out: Int32s
    f_rev: Int32s
    places: Int32s
    slots: Int32s


# ---------------------------------------------------------------------------------- 4.1 and 4.2


@cuda.jit
def row_reduction(rows, columns, top, zero, cost, row_dual):
    """D_r[i] = the minimum of row i.

    Paper: [DN16 Alg.1], first kernel.  Launch: one thread a row.
    Reads/Writes: reads ``cost`` once, neighbours a row apart; writes ``row_dual``.
    """
    i = cuda.grid(1)
    if i >= rows:
        return
    at = i * columns
    least = top
    for j in range(columns):
        least = min(least, cost[at + j])
    row_dual[i] = reduced_cost(least, zero, zero) if least < top else top


@cuda.jit
def column_reduction(rows, columns, top, zero, cost, row_dual, column_dual):
    """D_c[j] = the minimum of C[i, j] - D_r[i] over the rows.

    Paper: [DN16 Alg.1], second kernel.  Launch: one thread a column.
    Reads/Writes: reads ``cost`` once and ``row_dual``; writes ``column_dual``.
    """
    j = cuda.grid(1)
    if j >= columns:
        return
    least = top
    for i in range(rows):
        least = min(least, reduced_cost(cost[i * columns + j], row_dual[i], zero))
    column_dual[j] = least


@cuda.jit
def reset(lines, top, covers, predecessors, successors, marks, slack, flags):
    """Uncover all lines, forget the last search, set the slacks to infinity.

    Paper: [DN16 sec.4.2], what comes before and after Algorithm 2.  Launch: one thread a line.
    Reads/Writes: writes covers, marks, predecessors, successors and ``slack``, once each; clears
    the three counts in ``flags``.
    """
    i = cuda.grid(1)
    if i == 0:
        flags[MATCHES] = 0
        flags[REVERSE] = 0
        flags[AUGMENT] = 0
    if i < lines.n:
        covers.row[i] = 0
        marks.row[i] = INACTIVE
        predecessors.row[i] = -1
        successors.row[i] = -1
    if i < lines.columns:
        covers.column[i] = 0
        marks.column[i] = INACTIVE
        predecessors.column[i] = -1
        successors.column[i] = -1
        slack[i] = top


@cuda.jit
def optimality_check(n, row_assignment, covers, marks, flags):
    """Cover and count the assigned rows; mark the others "active".

    Paper: [DN16 Alg.2]; the marks are item 1 of [DN16 sec.4.3.1].  Launch: one thread a row.
    Reads/Writes: reads ``row_assignment``; one atomic addition an assigned row.
    """
    i = cuda.grid(1)
    if i >= n:
        return
    if row_assignment[i] != -1:
        covers.row[i] = 1
        cuda.atomic.add(flags, MATCHES, 1)
    else:
        marks.row[i] = ACTIVE


# ---------------------------------------------------------------------------------- compression


@cuda.jit
def mark_predicate(size, mark, wanted, addresses):
    """R[k] = 1 where line k bears the mark.

    Paper: [DN16 sec.3.3] [DN16 Fig.1(a)], the predicate.  Launch: one thread a line.
    Reads/Writes: reads ``mark``, writes ``addresses[0 .. size - 1]``, once each.
    """
    k = cuda.grid(1)
    if k < size:
        addresses[k] = int32(1) if mark[k] == wanted else int32(0)


@cuda.jit
def mark_scatter(size, addresses, found, flags, place):
    """Scatter the lines to the addresses that the prefix sum has made of R; note how many.

    Paper: [DN16 sec.3.3] [DN16 Fig.1(a)], the scatter; R[n] is the size.  Launch: one thread a
    line.
    Reads/Writes: reads ``addresses``; writes ``found``, a word a line that bears the mark, and the
    size into ``flags[place]``.
    """
    k = cuda.grid(1)
    if k == 0:
        flags[place] = addresses[size]
    if k < size and addresses[k + 1] != addresses[k]:
        found[addresses[k]] = k


@cuda.jit
def edge_predicate(shape, negligible, matrix, addresses):
    """R[i, j] = 1 where the edge has no slack.

    Paper: [DN16 sec.3.3] [DN16 Fig.1(b)], the predicate.  Launch: one thread an entry.
    Reads/Writes: reads ``cost`` once, and the duals; writes ``addresses``, a word an entry.
    """
    e = cuda.grid(1)
    if e >= shape.rows * shape.columns:
        return
    i = e // shape.columns
    j = e - i * shape.columns
    tight = no_slack(matrix.cost[e], matrix.duals.row[i], matrix.duals.column[j], negligible)
    addresses[e] = int32(1) if tight else int32(0)


@cuda.jit
def chunk_sums(entries, chunk, addresses, totals):
    """Add up each chunk of R: the first third of a prefix sum over many blocks.

    Paper: Thrust's prefix sum [DN16 sec.3.3].  Launch: one block a chunk.
    Reads/Writes: reads ``addresses`` once; writes ``totals``, a word a block.
    """
    shared = cuda.shared.array(1, int32)
    thread = cuda.threadIdx.x
    if thread == 0:
        shared[0] = 0
    cuda.syncthreads()
    first = cuda.blockIdx.x * chunk
    own = int32(0)
    for k in range(first + thread, min(first + chunk, entries), cuda.blockDim.x):
        own += addresses[k]
    cuda.atomic.add(shared, 0, own)
    cuda.syncthreads()
    if thread == 0:
        totals[cuda.blockIdx.x] = shared[0]


@cuda.jit
def chunk_scan(entries, chunk, starts, addresses):
    """Scan each chunk of R in place from the sum of the chunks before it: the last third.

    Paper: Thrust's prefix sum [DN16 sec.3.3].  Launch: one block of whole warps a chunk.
    Reads/Writes: reads ``starts``; ``addresses`` in place, and the sum of all behind the last.
    """
    totals = cuda.shared.array(32, int32)
    first = cuda.blockIdx.x * chunk
    last = min(first + chunk, entries)
    start = starts[cuda.blockIdx.x]
    if first < last:
        part = addresses[first:last]
        scan_by_block(last - first, part, part, totals)
        cuda.syncthreads()
        for k in range(first + cuda.threadIdx.x, last, cuda.blockDim.x):
            addresses[k] += start
    if cuda.blockIdx.x == 0 and cuda.threadIdx.x == 0:
        addresses[entries] = starts[cuda.gridDim.x]


@cuda.jit
def edge_scatter(shape, addresses, edges):
    """Scatter the columns of the edges to their addresses, and take the rows' pointers from R.

    Paper: [DN16 sec.3.3] [DN16 Fig.1(b)], the scatter.  Launch: one thread an entry.
    Reads/Writes: reads ``addresses``; writes ``adjacency``, a word an edge, and ``pointers``.
    """
    e = cuda.grid(1)
    entries = shape.rows * shape.columns
    if e == 0:
        edges.pointers[shape.rows] = addresses[entries]
    if e >= entries:
        return
    i = e // shape.columns
    j = e - i * shape.columns
    if j == 0:
        edges.pointers[i] = addresses[e]
    if addresses[e + 1] != addresses[e]:
        edges.adjacency[addresses[e]] = j


# ---------------------------------------------------------------------------------- forward pass


@cuda.jit
def activate(n, pointers, row_cover, row_mark, flags):
    """Mark the uncovered rows "active", or "visited" if they have no edge.

    Paper: [DN16 sec.4.3.1], the classical variant, item 1.  Launch: one thread a row.
    Reads/Writes: reads ``pointers`` and ``row_cover``; writes ``row_mark``, once each, and clears
    the size of F_out in ``flags``.
    """
    i = cuda.grid(1)
    if i == 0:
        flags[OUT] = 0
    if i >= n:
        return
    mark = int32(INACTIVE)
    if pointers[i + 1] == pointers[i]:
        mark = int32(VISITED)
    elif row_cover[i] == 0:
        mark = int32(ACTIVE)
    row_mark[i] = mark


@cuda.jit
def room(pointers, gathered, flags):
    """The degrees of F_in's rows, and by their prefix sum the room of each in F_out.

    Paper: [DN16 sec.3.4], "allocation".  Launch: one block of whole warps.
    Reads/Writes: reads F_in and ``pointers``; writes ``places``, which the sum changes in place,
    and the size of F_out into ``flags``.
    """
    totals = cuda.shared.array(32, int32)
    size = flags[IN]
    for k in range(cuda.threadIdx.x, size, cuda.blockDim.x):
        i = gathered.f_in[k]
        gathered.places[k] = pointers[i + 1] - pointers[i]
    cuda.syncthreads()
    total = scan_by_block(size, gathered.places, gathered.places, totals)
    if cuda.threadIdx.x == 0:
        flags[OUT] = total


@cuda.jit
def expansion(edges, column_assignment, covers, predecessors, marks, gathered, rules, flags):
    """Reach columns from the frontier, and gather the rows that they are assigned to into F_out.

    Paper: [DN16 Alg.3].  Launch: one thread an element of F_in, n at most; its size stands in
    ``flags``.
    Reads/Writes: reads F_in, Z and the columns' assignments; writes predecessors, covers and marks.
    Where ``rules.racing`` is 1 it reads ``places`` and writes F_out and ``slots``, else it sets the
    size of F_out to 1 once a row is reached. A free column is marked and, unless F_rev is to be
    compressed, appended to it; ``flags`` tell.
    Race: several rows may find a column uncovered. Each stores itself as predecessor, the last
    store survives [DN16 Prop.1]; whatever else they store is the same. Each gathers the column's
    row, and the last place that is noted for it is the one that the contraction keeps: Algorithm 3
    does not say how F_out loses rows that stand there twice, and left in they would multiply from
    level to level. ``rules`` name the changes of `configuration`.
    """
    k = cuda.grid(1)
    if k >= flags[IN]:
        return
    i = gathered.f_in[k]
    first = edges.pointers[i]
    for e in range(first, edges.pointers[i + 1]):
        j = edges.adjacency[e]
        place = gathered.places[k] + e - first if rules.racing else int32(0)
        if rules.racing:
            gathered.f_out[place] = -1
        if covers.column[j] != 0:
            continue
        i_new = column_assignment[j]
        if not rules.racing and i_new != -1 and cuda.atomic.exch(covers.column, j, 1) != 0:
            continue
        predecessors.column[j] = i
        if i_new == i:
            continue
        if i_new != -1:
            predecessors.row[i_new] = j
            covers.row[i_new] = 0
            covers.column[j] = 1
            start = edges.pointers[i_new]
            alone = edges.pointers[i_new + 1] - start == 1 and edges.adjacency[start] == j
            if marks.row[i_new] != VISITED:
                leads_on = rules.expand_all or not alone
                marks.row[i_new] = int32(ACTIVE) if leads_on else int32(VISITED)
            if rules.racing:
                gathered.f_out[place] = i_new
                gathered.slots[i_new] = place
            else:
                flags[OUT] = 1  # a row was reached, though it may not lead on
        elif rules.compressed:
            marks.column[j] = TO_REVERSE
            flags[REVERSE] = 1
        elif cuda.atomic.exch(marks.column, j, TO_REVERSE) != TO_REVERSE:
            gathered.f_rev[cuda.atomic.add(flags, REVERSE, 1)] = j
    marks.row[i] = VISITED


@cuda.jit
def contraction(row_mark, gathered, addresses, flags):
    """R[k] = 1 where F_out has an "active" row, at the one place that was noted last.

    Paper: [DN16 sec.4.3.1], item 3, the predicate.  Launch: a thread each for n elements of F_out
    at a time.
    Reads/Writes: reads F_out, ``row_mark`` and ``slots``; writes ``addresses``, a word an element.
    """
    for k in range(cuda.grid(1), flags[OUT], cuda.gridsize(1)):
        i = gathered.f_out[k]
        kept = i != -1 and row_mark[i] == ACTIVE and gathered.slots[i] == k
        addresses[k] = int32(1) if kept else int32(0)


@cuda.jit
def contraction_scan(addresses, flags):
    """Scan R over F_out in place.

    Paper: [DN16 sec.4.3.1], item 3, the prefix sum [DN16 sec.3.3].  Launch: one block of whole
    warps.
    Reads/Writes: ``addresses`` in place, and the sum of all behind the last; writes it as the size
    of F_in into ``flags``, too.
    """
    totals = cuda.shared.array(32, int32)
    total = scan_by_block(flags[OUT], addresses, addresses, totals)
    if cuda.threadIdx.x == 0:
        addresses[flags[OUT]] = total
        flags[IN] = total


@cuda.jit
def contraction_scatter(gathered, addresses, flags):
    """Copy what is left of F_out into F_in.

    Paper: [DN16 sec.4.3.1], item 3.  Launch: as `contraction`.
    Reads/Writes: reads ``addresses``, and F_out where they say so; writes F_in.
    """
    for k in range(cuda.grid(1), flags[OUT], cuda.gridsize(1)):
        if addresses[k + 1] != addresses[k]:
            gathered.f_in[addresses[k]] = gathered.f_out[k]


@cuda.jit
def expansion_of_columns(lines, limits, matrix, column_assignment, forest, gathered, rules, flags):
    """Pass the frontier over every uncovered column, and take it into the tree at the first zero.

    Paper: [DN16 Alg.4].  Launch: one thread a column, or a row if these are more.
    Reads/Writes: each column's slack, predecessor and cover by its own thread, in global memory at
    every turn of the loop, as printed; each row of F_in is marked "visited" by one thread.
    Race: none on columns, and a row is assigned to one column [DN16 Prop.1]; a row of F_in is
    uncovered, so that no column here leads to it.
    """
    j = cuda.grid(1)
    size = flags[IN]
    if j < size:
        forest.marks.row[gathered.f_in[j]] = VISITED
    if j >= lines.columns or forest.covers.column[j] != 0:
        return
    for k in range(size):
        i = gathered.f_in[k]
        reduced = reduced_cost(
            matrix.cost[i * lines.columns + j], matrix.duals.row[i], matrix.duals.column[j]
        )
        if forest.slack[j] > reduced:
            forest.slack[j] = reduced
            forest.predecessors.column[j] = i
        i_new = column_assignment[j]
        if forest.slack[j] <= limits.zero:
            if i_new != -1:
                forest.predecessors.row[i_new] = j
                forest.covers.row[i_new] = 0
                forest.covers.column[j] = 1
                forest.marks.row[i_new] = ACTIVE
            elif rules.compressed:
                forest.marks.column[j] = TO_REVERSE
                flags[REVERSE] = 1
            elif forest.marks.column[j] != TO_REVERSE:
                forest.marks.column[j] = TO_REVERSE
                gathered.f_rev[cuda.atomic.add(flags, REVERSE, 1)] = j


# ---------------------------------------------------------------------------------- reverse pass


@cuda.jit
def reverse_pass(n, frontier_reverse, predecessors, successors, row_mark, flags):
    """From every free column walk back to the root, note the way, and mark the root "augment".

    Paper: [DN16 Alg.5].  Launch: one thread an element of F_rev, at most as many as columns.
    Reads/Writes: reads F_rev and predecessors; writes successors, and the marks of roots.
    Race: as `kernels.shared.reverse_pass`; all threads of a tree store the same mark.
    """
    k = cuda.grid(1)
    if k >= flags[REVERSE]:
        return
    row = int32(-1)
    column = frontier_reverse[k]
    for _ in range(n):  # a path visits a column once
        successors.column[column] = row
        row = predecessors.column[column]
        successors.row[row] = column
        column = predecessors.row[row]
        if column == -1:
            break
    row_mark[row] = TO_AUGMENT


# ---------------------------------------------------------------------------------- dual update


@cuda.jit
def dual_update_stage_1(shape, top, matrix, covers, slack):
    """U[i] = the smallest slack of row i over the uncovered columns, if the row is uncovered.

    Paper: [DN16 Alg.7], but for its last loop.  Launch: one thread a row.
    Reads/Writes: reads covers, duals and, of uncovered rows, the uncovered columns of ``cost``;
    writes U, whose array is ``slack``, at every turn of the loop.
    """
    i = cuda.grid(1)
    if i >= shape.rows:
        return
    slack[i] = top
    if covers.row[i] == 0:
        for j in range(shape.columns):
            if covers.column[j] == 0:
                reduced = reduced_cost(
                    matrix.cost[i * shape.columns + j], matrix.duals.row[i], matrix.duals.column[j]
                )
                slack[i] = min(reduced, slack[i])


@cuda.jit
def minimum(n, top, zero, values, theta):
    """Theta = the smallest positive value, found by one thread.

    Paper: [DN16 Alg.7], "executed by a single thread": in print in the same kernel as U, whose
    blocks nothing makes wait for one another; so it is a launch of its own.
    Launch: one block, whose first thread does it all.
    Reads/Writes: reads ``values``, writes ``theta[0]``.
    """
    if cuda.grid(1) == 0:
        least = top
        for i in range(n):
            if values[i] > zero:
                least = min(least, values[i])
        theta[0] = least


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64")

_LINES = "int32[::1]"
SIGNATURES = {
    row_reduction: "void(int32, int32, T, T, T[::1], T[::1])",
    column_reduction: "void(int32, int32, T, T, T[::1], T[::1], T[::1])",
    reset: (Lines, "T", Covers, Predecessors, Successors, Marks, "T[::1]", _LINES),
    optimality_check: ("int32", _LINES, Covers, Marks, _LINES),
    mark_predicate: f"void(int32, {_LINES}, int32, {_LINES})",
    mark_scatter: f"void(int32, {_LINES}, {_LINES}, {_LINES}, int32)",
    edge_predicate: (Shape, "T", Matrix, _LINES),
    chunk_sums: f"void(int32, int32, {_LINES}, {_LINES})",
    chunk_scan: f"void(int32, int32, {_LINES}, {_LINES})",
    edge_scatter: (Shape, _LINES, Edges),
    activate: f"void(int32, {_LINES}, {_LINES}, {_LINES}, {_LINES})",
    room: (_LINES, Gathered, _LINES),
    expansion: (Edges, _LINES, Covers, Predecessors, Marks, Gathered, Rules, _LINES),
    contraction: (_LINES, Gathered, _LINES, _LINES),
    contraction_scan: f"void({_LINES}, {_LINES})",
    contraction_scatter: (Gathered, _LINES, _LINES),
    expansion_of_columns: (Lines, Limits, Matrix, _LINES, Forest, Gathered, Rules, _LINES),
    reverse_pass: ("int32", _LINES, Predecessors, Successors, _LINES, _LINES),
    dual_update_stage_1: (Shape, "T", Matrix, Covers, "T[::1]"),
    minimum: "void(int32, T, T, T[::1], T[::1])",
}
"""The types that each kernel is compiled for; ``T`` stands for each of `ELEMENT_TYPES`."""
