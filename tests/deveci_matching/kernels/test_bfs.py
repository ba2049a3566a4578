"""Each kernel beside a small NumPy expectation, and the states that its races may leave."""

import numpy as np
import pytest
from numba import cuda

from papers.common.executor.scheduler import Executor
from papers.common.gpu.signals import PAYLOAD_BITS
from papers.deveci_matching.kernels import phases as k
from papers.deveci_matching.kernels.phases import END, FREE, L0, Flag, Signal

GRIDS = [(1, 1), (1, 7), (3, 4), (2, 32)]
grids = pytest.mark.parametrize("grid", GRIDS)
UNSET = -154203


def line(*values):
    return np.array(values, np.int32)


def unset(size):
    return np.full(size, UNSET, np.int32)


class Search:
    """A graph in the middle of a phase, and the launches on it."""

    def __init__(self, nr, columns, cmatch, grid=(3, 4), executor=None):
        self.nr, self.nc, self.grid = nr, len(columns), grid
        self.columns = columns
        self.executor = executor or Executor()
        self.cxadj = np.cumsum([0, *map(len, columns)]).astype(np.int32)
        self.cadj = line(*(row for rows in columns for row in rows))
        self.cmatch = line(*cmatch)
        self.rmatch = np.full(nr, FREE, np.int32)
        for column, row in enumerate(cmatch):
            if row >= 0:
                self.rmatch[row] = column
        self.predecessor, self.bfs_array, self.root = unset(nr), unset(self.nc), unset(self.nc)
        self.flags, self.tally = np.zeros(k.FLAGS, np.int32), np.zeros(1, np.int64)
        self.word = np.zeros(1, np.int64)

    def launch(self, kernel, *args):
        numbers = [np.int32(a) if isinstance(a, int) else a for a in args]
        self.executor.launch(kernel, *self.grid, numbers)

    def init(self):
        self.launch(
            k.init_bfs_array_wr, self.nc, self.cmatch, self.bfs_array, self.root, self.flags
        )

    def told(self):
        return self.flags, self.tally, self.word

    def gpubfs(self):
        self.launch(
            k.gpubfs, self.nc, self.bfs_array, self.cxadj, self.cadj, self.rmatch,
            self.predecessor, *self.told(),
        )  # fmt: skip
        return self.payload()

    def gpubfs_wr(self, ends=0):
        self.launch(
            k.gpubfs_wr, self.nc, ends, self.bfs_array, self.cxadj, self.cadj, self.rmatch,
            self.root, self.predecessor, *self.told(),
        )  # fmt: skip
        return self.payload()

    def payload(self):
        return int(self.word[0]) & ((1 << PAYLOAD_BITS) - 1)

    def alternate(self):
        self.launch(
            k.alternate, self.nc, self.nr, self.cmatch, self.rmatch, self.predecessor, self.flags
        )

    def alternate_from_ends(self):
        self.launch(
            k.alternate_from_ends, self.nc, self.bfs_array, self.cmatch, self.rmatch,
            self.predecessor, self.flags,
        )  # fmt: skip

    def fix(self):
        self.launch(k.fix_matching, self.nr, self.cmatch, self.rmatch)

    def check_inverse(self):
        """Both arrays say the same, and only edges are matched."""
        for column, row in enumerate(self.cmatch):
            assert row == FREE or (self.rmatch[row] == column and row in self.columns[column])
        assert np.count_nonzero(self.rmatch >= 0) == np.count_nonzero(self.cmatch >= 0)
        assert self.rmatch.min() >= FREE


def figure_1(**options):
    """Row 0 and column 1 are matched; from column 0 two paths lead to rows 1 and 2 [D13 Fig.1]."""
    return Search(3, [[0], [0, 1, 2]], [FREE, 0], **options)


# ------------------------------------------------------------------------------- start


@grids
def test_restore_start(grid):
    rmatch, cmatch = unset(5), unset(9)
    start = line(3, -1, 0, -1, 8), line(2, -1, -1, 0, -1, -1, -1, -1, 4)
    flags, tally = line(9, 9, 9), np.array([77])
    args = (np.int32(5), np.int32(9), *start, rmatch, cmatch, flags, tally)
    Executor(seed=1).launch(k.restore_start, *grid, args)
    assert np.array_equal(rmatch, start[0])
    assert np.array_equal(cmatch, start[1])
    assert flags.tolist() == [L0, 0, 9], "the host's sequence number must live on"
    assert tally[0] == 0


@grids
def test_init_bfs_array(grid):
    cmatch = line(2, -1, 0, -1, -1, 1, 3)
    levels, root, flags = unset(7), unset(7), line(9, 9, 9)
    Executor(seed=2).launch(k.init_bfs_array, *grid, (np.int32(7), cmatch, levels, flags))
    assert levels.tolist() == [1, 2, 1, 2, 2, 1, 1]
    assert flags.tolist() == [L0, 9, 9]
    levels = unset(7)
    Executor(seed=2).launch(k.init_bfs_array_wr, *grid, (np.int32(7), cmatch, levels, root, flags))
    assert levels.tolist() == [1, 2, 1, 2, 2, 1, 1]
    assert root.tolist() == [0, 1, 0, 3, 4, 0, 0]


# ------------------------------------------------------------------------------- BFS


def random_search(seed, grid, executor=None):
    """A random graph with a maximal matching on most of it, so that paths are longer than 1."""
    draw = np.random.default_rng(seed)
    nr, nc = draw.integers(8, 40, 2)
    columns = [sorted(draw.choice(nr, min(nr, draw.integers(0, 4)), False)) for _ in range(nc)]
    cmatch, taken = [FREE] * nc, set()
    for column, rows in enumerate(columns):
        row = next((row for row in rows if row not in taken), FREE)
        if row >= 0 and draw.random() < 0.9:
            cmatch[column] = row
            taken.add(row)
    return Search(int(nr), columns, cmatch, grid, executor)


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
    """Each column once, whatever is left over in the last turn of `SCAN` entries."""
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
        out[0] = k.columns_at(level, first, nc, bfs_array)

    signature = "void(int32, int64, int32, int32[::1], int32[::1])"
    ptx = cuda.compile(scan, signature, device=False, abi="numba", cc=(9, 0))[0]
    loads = ptx[ptx.index("ld.relaxed") : ptx.rindex("ld.relaxed") + 1]
    assert ptx.count("ld.relaxed.gpu.global.b32") == k.SCAN
    assert "bra" not in loads


# ------------------------------------------------------------------------------- augmentation


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
    """What no BFS makes. A column that was passed holds a row that names it: line 8 ends it."""
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
    s.launch(k.alternate, n - 1, n, s.cmatch, s.rmatch, s.predecessor, s.flags)
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
    Executor(seed=4).launch(k.fix_matching, *grid, (np.int32(8), cmatch, rmatch))
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
