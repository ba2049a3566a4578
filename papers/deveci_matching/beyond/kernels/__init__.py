"""One launch that finds a maximum matching: past the paper, with its ideas where they hold.

Kept from the paper: all free columns search at once, every search knows its root, and one that has
found a free row stops at once [D13 Alg.4]. New are:

* **Frontiers** (`frontier`). The columns of the next level stand in a queue; a level costs its
  edges, not all columns. A block shares the edges of its columns evenly among its threads; columns
  of more than `frontier.HEAVY_DEGREE` edges are shared by all blocks.
* **Claims** (`frontier`). A row belongs to the tree whose atomic claimed it, so trees never meet,
  one path a tree is applied, and nothing has to be repaired: there is no FixMatching.
* **Directions** (`directions`). When the frontier has more edges than rows are left, the rows left
  look for a frontier column instead (Beamer et al. 2012).
* **Grafting** (`grafting`). Trees that found nothing stay; the rows of the other trees are free to
  be taken, and the next search begins where they touch a tree that stayed (Azad et al. 2017).
* **Short phases** (`directions.levels`). Once a good part of the trees has a path and the others
  cost more edges than all before, the phase ends: short paths are everywhere, and trees planted
  anew find them sooner.
* **Jumps** (`jumping`). A search that has gone on for many levels lets rows join trees over any
  number of levels at once, by pointer doubling, and applies long paths by doubling, too.
* **Levels within a block** (`within`). Where a frontier is small, a level is little but waiting, so
  each block goes on with the columns that its own rows led to, for some levels; while it is so
  small that one block has room for it, block 0 goes on alone.
* **No host.** Phases and levels meet at barriers of the grid.

Reading order: `arguments` (arrays and numbers that go together), `control` (the counters),
`frontier`, `within`, `directions`, `jumping`, `greedy` (the start), `grafting`, which ends with the
kernel; `turning` is a launch before it, where a caller has the graph by rows or by columns alone.

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
rows to go on from      hops             int32 [2 * rows]
counters                control          int32 [`CONTROL`]
======================  ===============  ========================================================
"""
