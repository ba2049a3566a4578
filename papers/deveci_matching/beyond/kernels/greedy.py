"""The greedy start on the device: the cheap matching, leaves first, whatever the threads' order.

[D13 sec.4] starts from the cheap matching: each column, in order, takes its first free row. Threads
that race for rows find a matching as large, of no order at all, and the order is what makes it good
where neighbours have near numbers. Here every column *asks* its rows one by one, and a row keeps
the best column that has asked it: a column that is passed over or sent away asks its next row. The
best is a column of one edge, then the one with the lowest number. All rows rank the columns alike,
so the outcome of deferred acceptance (Gale and Shapley 1962) is the same in every order: that of
the columns coming one by one, the best first.

The arrays are in the table of `beyond.kernels`; ``level_of`` holds the edge that a column asks
along next, until the first phase.
"""

from __future__ import annotations

from numba import cuda, int32

from papers.common.gpu.memory_order import load_relaxed, store_relaxed
from papers.deveci_matching.beyond.kernels.control import meet

CHAIN = 2048
"""Columns that a thread may send away in a row; from then on it takes free rows alone.

On a long path one column may send away all others, one after the other. The matching is then not
that of the order, but still no edge has two free vertices.
"""


@cuda.jit(device=True)
def is_better(column, held, cxadj):
    """Tell whether a row prefers a column to the one that it holds; -1 is none."""
    if held < 0:
        return True
    leaf = cxadj[column + 1] - cxadj[column] == 1
    other = cxadj[held + 1] - cxadj[held] == 1
    if leaf != other:
        return leaf
    return column < held


@cuda.jit(device=True)
def ask(column, sent, graph, rmatch, asks):
    """Let a column ask its rows until one takes it; return the column sent away for it, or -1.

    Race: the compare-and-swap lets a row hold one column, and a column is held by one row or is in
    the hand of one thread, who alone writes its word of `asks`. A thread that has sent the column
    away may read an older word there: then it asks rows again that hold a better one for good.
    """
    cxadj = graph.cxadj
    last = cxadj[column + 1]
    for edge in range(load_relaxed(asks, column), last):
        row = graph.cadj[edge]
        held = load_relaxed(rmatch, row)
        while held == -1 or (sent < CHAIN and is_better(column, held, cxadj)):
            # The word is right before another thread can send this column away.
            store_relaxed(asks, column, int32(edge + 1))
            found = cuda.atomic.cas(rmatch, row, held, column)
            if found == held:
                return int32(held)
            held = found  # a better column each time: the loop ends
    return int32(-1)


@cuda.jit(device=True)
def greedy(rows, columns, graph, matching, asks, control):
    """Find the cheap matching, columns of one edge first; all rows and columns are free before."""
    for column in range(cuda.grid(1), columns, cuda.gridsize(1)):
        asks[column] = graph.cxadj[column]
    meet(control)
    for start in range(cuda.grid(1), columns, cuda.gridsize(1)):
        column = int32(start)
        for sent in range(columns):
            column = ask(column, sent, graph, matching.rmatch, asks)
            if column < 0:
                break
    meet(control)
    for row in range(cuda.grid(1), rows, cuda.gridsize(1)):
        if matching.rmatch[row] >= 0:
            matching.cmatch[matching.rmatch[row]] = row
