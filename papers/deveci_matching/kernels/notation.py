"""The paper's notation, and the facts on which every argument about races rests [D13 sec.3].

==========================  ==============  =======================================================
paper                       array           dtype, shape
==========================  ==============  =======================================================
cxadj, cadj                 cxadj, cadj     int32 [nc + 1], [edges]: the rows of each column
rmatch                      rmatch          int32 [nr]: column of each row; -1 none; -2 the row ends
                                            an augmenting path that this BFS has found
cmatch                      cmatch          int32 [nc]: row of each column; -1 none
the prior matching          rmatch_start,   int32 [nr], [nc]; never changed
                            cmatch_start
bfs_array                   bfs_array       int32 [nc]: level; L0 - 1 not reached; below that a root
                                            whose path is found
predecessor                 predecessor     int32 [nr]: column from which the row was reached;
                                            only rows reached by the last BFS hold anything
root                        root            int32 [nc]: free column that the column descends from
bfs_level, vertex_inserted  flags, tally    int32 [FLAGS], see `Flag`; int64 [1], see
augmenting_path_found                       `kernels.bfs.report`
nc, nr                      nc, nr          int32
L0                          `L0`            2 in all variants
==========================  ==============  =======================================================

**Why races within a launch are harmless.** Write "mate" for the row of a column when ALTERNATE
begins. All race arguments rest on three facts about one BFS, which hold for every winner of its
races:

1. A launch of the BFS kernel scans the columns of one level and gives their successors the next
   one, so ``predecessor[r]`` is a column exactly one level below r's own column. Predecessors form
   trees, whose roots are free columns.
2. A column is never reached through its own scan of its mate (it has a level by then), so
   ``predecessor[mate(c)] != c``.
3. ALTERNATE writes ``cmatch[c] = r`` only where ``predecessor[r] == c``.

All accesses that race within a launch are relaxed, 32 bits wide and aligned: a load returns a whole
value that some thread wrote.
"""

from __future__ import annotations

L0 = 2
"""The level at which a BFS starts. The paper asks for 2 in APsB-GPUBFS-WR: levels are then 1 (not
reached), 2, 3, ..., and a root's entry can hold ``-row``, 0 included, and still be told from a
level."""

FREE = -1
"""In a match array: the vertex has no partner."""

END = -2
"""In ``rmatch``: the row is free and a BFS has reached it."""


class Flag:
    """Indices into ``flags``."""

    LEVEL = 0
    """bfs_level of the next launch of the BFS kernel."""
    INSERTED = 1
    """vertex_inserted, where the host reads the flags; it has cleared it before the launch."""
    FOUND = 2
    """augmenting_path_found, likewise."""
    STUCK = 3
    """A walk of ALTERNATE had more steps than there are columns."""
    SIGNALS = 4
    """Words sent to the host, over all runs."""


FLAGS = 5
LEVEL, STUCK, SIGNALS = Flag.LEVEL, Flag.STUCK, Flag.SIGNALS
INSERTED, FOUND = Flag.INSERTED, Flag.FOUND


class Signal:
    """Bits of the word that a launch of the BFS kernel sends."""

    INSERTED = 1
    FOUND = 2
    STUCK = 4


INSERTED_BIT, FOUND_BIT, STUCK_BIT = Signal.INSERTED, Signal.FOUND, Signal.STUCK
