"""ALTERNATE and FIXMATCHING beside small expectations, under every order of their walks."""

import numpy as np
import pytest
from deveci_matching.kernels.search import Search, grids, line, random_search

from papers.common.executor.scheduler import Executor
from papers.deveci_matching.kernels.fix_matching import alternate, fix_matching
from papers.deveci_matching.kernels.notation import END, FREE, L0, Flag, Signal


def figure_1(**options):
    """Row 0 and column 1 are matched; from column 0 two paths lead to rows 1 and 2 [D13 Fig.1]."""
    return Search(3, [[0], [0, 1, 2]], [FREE, 0], **options)


def test_figure_1():
    """Two walks of one tree: one gets the root, the other is stopped by line 8 and repaired."""
    outcomes = set()
    for seed in range(40):
        s = figure_1(executor=Executor(seed=seed, switch=0.4))
        s.init()
        assert s.gpubfs() == Signal.INSERTED
        assert s.gpubfs() == Signal.FOUND
        assert s.rmatch.tolist() == [1, END, END]
        s.alternate()
        assert s.flags[Flag.STUCK] == 0
        outcomes.add((*s.cmatch.tolist(), *s.rmatch.tolist()))
        s.fix()
        s.check_inverse()
        assert np.count_nonzero(s.cmatch >= 0) == 2
    # (c1, c2; r1, r2, r3): either row wins, and the loser has -2, or stale column 1.
    assert {o[:2] for o in outcomes} == {(0, 1), (0, 2)}
    assert {o[3:] for o in outcomes} == {(1, END), (END, 1), (1, 1)}


def test_the_walk_that_would_go_round_is_stopped():
    """In natural order row 1's walk is over before row 2's begins: the paper's endless loop."""
    s = figure_1(grid=(1, 1))
    s.init()
    s.gpubfs()
    s.gpubfs()
    s.alternate()
    assert s.cmatch.tolist() == [0, 1]
    assert s.rmatch.tolist() == [0, 1, END]
    assert s.flags[Flag.STUCK] == 0


def test_a_free_column_has_no_mate_to_ask():
    """predecessor[-1] would be the last row's; here it even equals the column."""
    s = Search(2, [[0, 1]], [FREE])
    s.predecessor[:] = 0
    s.rmatch[0] = END
    s.alternate()
    assert s.cmatch.tolist() == [0]
    assert s.rmatch.tolist() == [0, FREE]


def test_a_walk_is_as_long_as_the_path():
    """All columns on one path: nc steps, the bound is not one too small."""
    n = 40
    s = Search(n, [[c, c - 1] if c else [0] for c in range(n)], [FREE, *range(n - 1)], grid=(2, 3))
    s.init()
    for _ in range(n):
        payload = s.gpubfs()
    assert payload == Signal.FOUND
    s.alternate()
    assert s.flags[Flag.STUCK] == 0
    assert s.cmatch.tolist() == list(range(n))
    s.fix()
    s.check_inverse()


def test_a_circle_of_predecessors_is_left():
    """No BFS makes it. Line 8 ends the walk: a column that was passed holds a row that names it."""
    s = Search(3, [[0, 1], [1, 0], [2, 0]], [0, 1, FREE])
    s.predecessor[:] = [1, 0, 0]  # row 2 -> column 0 -> row 0 -> column 1 -> row 1 -> column 0
    s.rmatch[2] = END
    s.alternate()
    assert s.flags[Flag.STUCK] == 0
    assert s.cmatch.tolist() == [2, 0, FREE]


def test_a_walk_beyond_its_bound_is_reported():
    """The bound is put below the length of the path; the next BFS tells the host."""
    n = 9
    s = Search(n, [[c, c - 1] if c else [0] for c in range(n)], [FREE, *range(n - 1)])
    s.init()
    for _ in range(n):
        s.gpubfs()
    s.launch(alternate, n - 1, n, s.cmatch, s.rmatch, s.predecessor, s.flags)
    assert s.flags[Flag.STUCK] == 1
    s.init()
    assert s.gpubfs() & Signal.STUCK


def test_two_roots_may_name_one_row():
    """Both walks start there; they write the same, or one is stopped."""
    for seed in range(30):
        s = Search(1, [[0], [0], [0]], [FREE] * 3, executor=Executor(seed, 0.5))
        s.init()
        s.gpubfs_wr(ends=1)
        named = np.count_nonzero(s.bfs_array < L0 - 1)
        s.alternate_from_ends()
        s.fix()
        s.check_inverse()
        assert np.count_nonzero(s.cmatch >= 0) == 1
        if named > 1:
            return
    pytest.fail("no two roots named the row: the test would prove nothing")


def test_trees_whose_ends_are_crossed_still_gain():
    """Each root names the row that the other tree holds: no row leads to a root that names it."""
    # Columns 2, 3 descend from root 0, columns 4, 5 from root 1; rows 4 and 5 are free.
    s = Search(
        6,
        [[0, 1], [2, 3], [0, 4], [1, 5], [2, 5], [3, 4]],
        [FREE, FREE, 0, 1, 2, 3],
    )
    s.bfs_array[:] = [-5, -4, 3, 3, 3, 3]
    s.root[:] = [0, 1, 0, 0, 1, 1]
    s.predecessor[:] = [0, 0, 1, 1, 2, 4]  # row 4 from root 0's column 2, row 5 from root 1's
    s.rmatch[4:] = END
    for row in (4, 5):
        assert s.bfs_array[s.root[s.predecessor[row]]] != -row
    s.alternate_from_ends()
    s.fix()
    s.check_inverse()
    assert np.count_nonzero(s.cmatch >= 0) == 6


@grids
def test_fix_matching(grid):
    """Right, stolen, marked, free; columns are not touched."""
    cmatch = line(0, 3, -1, 4)
    before = cmatch.copy()
    rmatch = line(0, 0, END, 1, 3, FREE, 2, END)
    Executor(seed=4).launch(fix_matching, *grid, (np.int32(8), cmatch, rmatch))
    assert rmatch.tolist() == [0, FREE, FREE, 1, 3, FREE, FREE, FREE]
    assert np.array_equal(cmatch, before)


@pytest.mark.parametrize("improved", [False, True])
def test_alternate_leaves_every_column_a_row_of_its_own(improved):
    """Before any repair: cmatch is a matching, larger by one a tree with a walk, on edges only."""
    met = lost = 0
    for seed in range(60):
        s = random_search(seed, (4, 8), Executor(seed=seed, switch=0.4))
        s.init()
        before = s.cmatch.copy()
        payload = Signal.INSERTED
        while payload & Signal.INSERTED and not (improved and payload & Signal.FOUND):
            payload = s.gpubfs_wr(ends=1) if improved else s.gpubfs()
        starts = -s.bfs_array[s.bfs_array < L0 - 1] if improved else np.flatnonzero(s.rmatch == END)
        roots = set()
        for row in starts.tolist():
            column = s.predecessor[row]
            while before[column] != FREE:
                column = s.predecessor[before[column]]
            roots.add(int(column))
        s.alternate_from_ends() if improved else s.alternate()
        assert s.flags[Flag.STUCK] == 0
        matched = s.cmatch[s.cmatch >= 0]
        assert len(set(matched.tolist())) == matched.size
        assert ((before >= 0) <= (s.cmatch >= 0)).all(), "no column loses its place"
        assert set(np.flatnonzero((s.cmatch >= 0) & (before < 0)).tolist()) == roots
        assert (s.rmatch[matched] == np.flatnonzero(s.cmatch >= 0)).all()
        met += len(starts) > len(roots)
        lost += np.count_nonzero(s.rmatch >= 0) > matched.size
        s.fix()
        s.check_inverse()
    assert met > (0 if improved else 5), "no walks met: the test would prove nothing"
    assert improved or lost > 5, "no row had lost its column"
