"""A graph in the middle of a phase, on which one kernel after the other can be launched."""

import numpy as np
import pytest

from papers.common.executor.scheduler import Executor
from papers.common.gpu.signals import PAYLOAD_BITS
from papers.deveci_matching.kernels.arguments import Columns, Words
from papers.deveci_matching.kernels.bfs import SCAN, gpubfs, gpubfs_wr, init_bfs_array_wr
from papers.deveci_matching.kernels.fix_matching import (
    alternate,
    alternate_from_ends,
    fix_matching,
)
from papers.deveci_matching.kernels.notation import FLAGS, FREE

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
        self.columns, self.loads = columns, SCAN
        self.executor = executor or Executor()
        self.cxadj = np.cumsum([0, *map(len, columns)]).astype(np.int32)
        self.cadj = line(*(row for rows in columns for row in rows))
        self.cmatch = line(*cmatch)
        self.rmatch = np.full(nr, FREE, np.int32)
        for column, row in enumerate(cmatch):
            if row >= 0:
                self.rmatch[row] = column
        self.predecessor, self.bfs_array, self.root = unset(nr), unset(self.nc), unset(self.nc)
        self.flags, self.tally = np.zeros(FLAGS, np.int32), np.zeros(1, np.int64)
        self.word = np.zeros(1, np.int64)

    def launch(self, kernel, *args):
        numbers = [np.int32(a) if isinstance(a, int) else a for a in args]
        self.executor.launch(kernel, *self.grid, numbers)

    def init(self):
        self.launch(init_bfs_array_wr, self.nc, self.cmatch, self.bfs_array, self.root, self.flags)

    def graph(self):
        return Columns(self.cxadj, self.cadj)

    def words(self):
        return Words(self.flags, self.tally, self.word, np.int32(0))

    def gpubfs(self):
        self.launch(
            gpubfs, self.nc, self.loads, self.bfs_array, self.graph(), self.rmatch,
            self.predecessor, self.words(),
        )  # fmt: skip
        return self.payload()

    def gpubfs_wr(self, ends=0):
        self.launch(
            gpubfs_wr, self.nc, ends, self.loads, self.bfs_array, self.graph(), self.rmatch,
            self.root, self.predecessor, self.words(),
        )  # fmt: skip
        return self.payload()

    def payload(self):
        return int(self.word[0]) & ((1 << PAYLOAD_BITS) - 1)

    def alternate(self):
        self.launch(
            alternate, self.nc, self.nr, self.cmatch, self.rmatch, self.predecessor, self.flags
        )

    def alternate_from_ends(self):
        self.launch(
            alternate_from_ends, self.nc, self.bfs_array, self.cmatch, self.rmatch,
            self.predecessor, self.flags,
        )  # fmt: skip

    def fix(self):
        self.launch(fix_matching, self.nr, self.cmatch, self.rmatch)

    def check_inverse(self):
        """Both arrays say the same, and only edges are matched."""
        for column, row in enumerate(self.cmatch):
            assert row == FREE or (self.rmatch[row] == column and row in self.columns[column])
        assert np.count_nonzero(self.rmatch >= 0) == np.count_nonzero(self.cmatch >= 0)
        assert self.rmatch.min() >= FREE


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
