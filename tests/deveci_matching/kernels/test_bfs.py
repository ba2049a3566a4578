"""The kernels of the search beside small expectations, and the states that races may leave."""

import numpy as np
import pytest
from deveci_matching.kernels.search import UNSET, Search, grids, line, random_search, unset
from numba import cuda

from papers.common.executor.scheduler import Executor
from papers.common.gpu.signals import PAYLOAD_BITS
from papers.deveci_matching.kernels.bfs import (
    SCAN,
    columns_at,
    init_bfs_array,
    init_bfs_array_wr,
    restore_start,
)
from papers.deveci_matching.kernels.notation import END, FREE, L0, Flag, Signal

# ------------------------------------------------------------------------------- start


@grids
def test_restore_start(grid):
    rmatch, cmatch = unset(5), unset(9)
    start = line(3, -1, 0, -1, 8), line(2, -1, -1, 0, -1, -1, -1, -1, 4)
    flags, tally = line(9, 9, 9, 9, 9), np.array([77])
    args = (np.int32(5), np.int32(9), *start, rmatch, cmatch, flags, tally)
    Executor(seed=1).launch(restore_start, *grid, args)
    assert np.array_equal(rmatch, start[0])
    assert np.array_equal(cmatch, start[1])
    assert flags.tolist() == [L0, 9, 9, 0, 9], "the host's words must live on"
    assert tally[0] == 0


@grids
def test_init_bfs_array(grid):
    cmatch = line(2, -1, 0, -1, -1, 1, 3)
    levels, root, flags = unset(7), unset(7), line(9, 9, 9)
    Executor(seed=2).launch(init_bfs_array, *grid, (np.int32(7), cmatch, levels, flags))
    assert levels.tolist() == [1, 2, 1, 2, 2, 1, 1]
    assert flags.tolist() == [L0, 9, 9]
    levels = unset(7)
    Executor(seed=2).launch(init_bfs_array_wr, *grid, (np.int32(7), cmatch, levels, root, flags))
    assert levels.tolist() == [1, 2, 1, 2, 2, 1, 1]
    assert root.tolist() == [0, 1, 0, 3, 4, 0, 0]


# ------------------------------------------------------------------------------- BFS


def levels_of(s):
    """Distances from the free columns, by sets: levels of columns, and of the rows found free."""
    levels = {column: L0 for column in range(s.nc) if s.cmatch[column] == FREE}
    ends, frontier, level = {}, sorted(levels), L0
    while frontier:
        following = []
        for column in frontier:
            for row in s.columns[column]:
                mate = int(np.flatnonzero(s.cmatch == row)[0]) if row in s.cmatch else FREE
                if mate == FREE:
                    ends.setdefault(row, level)
                elif mate not in levels:
                    levels[mate] = level + 1
                    following.append(mate)
        frontier, level = following, level + 1
    return levels, ends


@grids
@pytest.mark.parametrize("name", ["gpubfs", "gpubfs_wr"])
def test_levels_are_distances(name, grid):
    """Level by level: levels, ends, signals; every predecessor one level below."""
    for seed in range(12):
        s = random_search(seed, grid, Executor(seed=seed, switch=0.3))
        s.init()
        levels, ends = levels_of(s)
        left_early = name == "gpubfs_wr" and ends  # then a tree may end before its time
        for level in range(L0, L0 + s.nc + 1):
            assert s.flags[Flag.LEVEL] == level
            reached = np.count_nonzero(s.bfs_array == level + 1)
            payload = getattr(s, name)()
            inserted = np.count_nonzero(s.bfs_array == level + 1) - reached
            assert bool(payload & Signal.INSERTED) == (inserted > 0)
            assert not payload & Signal.STUCK
            if not left_early:
                assert bool(payload & Signal.FOUND) == (level in ends.values())
            if not payload & Signal.INSERTED:
                break
        assert s.word[0] >> PAYLOAD_BITS == level - L0 + 1, "one word a launch"
        assert s.tally[0] == 0
        found = {int(row): 0 for row in np.flatnonzero(s.rmatch == END)}
        assert bool(found) == bool(ends)
        if not left_early:
            expected = [levels.get(column, L0 - 1) for column in range(s.nc)]
            assert s.bfs_array.tolist() == expected
            assert found.keys() == ends.keys()
            for row in range(s.nr):
                if s.rmatch[row] == END or levels.get(int(s.rmatch[row]), L0) > L0:
                    below = s.predecessor[row]
                    own = ends[row] + 1 if row in ends else levels[int(s.rmatch[row])]
                    assert levels[int(below)] == own - 1
                    assert row in s.columns[below]


def test_an_early_exit_leaves_the_tree():
    """Column 0 finds row 0; its subtree, column 2, is not scanned: row 3 stays free."""
    s = Search(4, [[0, 1], [], [1, 3]], [FREE, FREE, 1])
    s.init()
    assert s.gpubfs_wr() == Signal.FOUND | Signal.INSERTED
    assert s.bfs_array.tolist() == [L0 - 2, L0, L0 + 1]
    assert s.root.tolist() == [0, 1, 0]
    assert s.gpubfs_wr() == 0
    assert s.rmatch.tolist() == [END, 2, FREE, FREE]


@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_root_names_its_end_row_0_too(row):
    """With L0 = 2 even -(0) is no level, and the exit and ALTERNATE see it."""
    s = Search(5, [[row, 3], [], [3, 4]], [FREE, FREE, 3])
    s.init()
    assert s.gpubfs_wr(ends=1) == Signal.FOUND | Signal.INSERTED
    assert s.bfs_array.tolist() == [-row, L0, L0 + 1]
    assert s.gpubfs_wr(ends=1) == 0
    assert s.rmatch[4] == FREE, "the tree is left"
    s.alternate_from_ends()
    assert s.rmatch[row] == 0
    s.fix()
    s.check_inverse()


def test_of_several_ends_a_root_names_any():
    """Column 0 leads to columns 1 and 2, which find rows 2 and 3 in the same launch."""
    named = set()
    for seed in range(40):
        s = Search(4, [[0, 1], [0, 2], [1, 3]], [FREE, 0, 1], executor=Executor(seed, 0.5))
        s.init()
        assert s.gpubfs_wr(ends=1) == Signal.INSERTED
        assert s.gpubfs_wr(ends=1) == Signal.FOUND
        ends = np.count_nonzero(s.rmatch == END)
        if ends == 2:  # else one of the two saw the other's mark, and left
            named.add(-int(s.bfs_array[0]))
        s.alternate_from_ends()
        assert s.rmatch[-s.bfs_array[0]] >= 0
        assert np.count_nonzero(s.rmatch == END) == ends - 1, "one walk a root"
        s.fix()
        s.check_inverse()
        assert np.count_nonzero(s.cmatch >= 0) == 3
    assert named == {2, 3}


@pytest.mark.parametrize("name", ["gpubfs", "gpubfs_wr"])
def test_columns_of_one_level_race_for_one_row(name):
    """Any of them becomes the predecessor; the level is the same."""
    winners = set()
    for seed in range(30):
        s = Search(2, [[0]] * 6 + [[0, 1]], [FREE] * 6 + [0], executor=Executor(seed, 0.5))
        s.init()
        assert getattr(s, name)() == Signal.INSERTED
        winners.add(int(s.predecessor[0]))
        assert s.bfs_array[6] == L0 + 1
        assert s.predecessor[1] == UNSET
    assert len(winners) > 3


def test_root_and_predecessor_of_a_column_may_be_of_two_trees():
    """And the phase still ends with one more pair."""
    mixed = 0
    for seed in range(60):
        s = Search(2, [[0]] * 4 + [[0, 1]], [FREE] * 4 + [0], executor=Executor(seed, 0.6))
        s.init()
        s.gpubfs_wr(ends=1)
        mixed += s.root[4] != s.predecessor[0]
        s.gpubfs_wr(ends=1)
        s.alternate_from_ends()
        s.fix()
        s.check_inverse()
        assert np.count_nonzero(s.cmatch >= 0) == 2
    assert mixed > 0, "the race did not happen: the test would prove nothing"


@pytest.mark.parametrize("nc", [1, 5, 23, 24, 25, 40])
def test_a_thread_looks_at_its_columns_in_strides(nc):
    """It takes each column once, also in a last turn of fewer than `SCAN` entries."""
    s = Search(nc, [[c] for c in range(nc)], [FREE] * nc, grid=(1, 3))
    s.init()
    assert s.gpubfs() == Signal.FOUND
    assert s.rmatch.tolist() == [END] * nc
    assert s.predecessor.tolist() == list(range(nc))


def test_the_scan_has_no_branch_between_its_loads(monkeypatch):
    import numba.cuda.dispatcher as dispatcher

    class Card:
        compute_capability = (9, 0)

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: Card)

    def scan(level, first, nc, bfs_array, out):
        out[0] = columns_at(level, first, nc, bfs_array)

    signature = "void(int32, int64, int32, int32[::1], int32[::1])"
    ptx = cuda.compile(scan, signature, device=False, abi="numba", cc=(9, 0))[0]
    loads = ptx[ptx.index("ld.relaxed") : ptx.rindex("ld.relaxed") + 1]
    assert ptx.count("ld.relaxed.gpu.global.b32") == SCAN
    assert "bra" not in loads
