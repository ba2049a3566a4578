"""Loops on one core where they are little work: the same numbers, and a fork is possible."""

import multiprocessing
import subprocess
import sys

import numpy as np
import pytest
from numba import prange

from papers.common.parallel import parallel
from papers.common.problems import assignment_proof


def doubled(values):
    """Twice each value."""
    out = np.empty_like(values)
    for k in prange(values.size):
        out[k] = 2 * values[k]
    return out


def test_both_ways_give_the_same_and_the_work_decides():
    either = parallel(lambda values: values.size, much=10)(doubled)
    for size, ran in ((0, either.on_one), (9, either.on_one), (10, either.on_all)):
        assert either.chosen(np.arange(size)) is ran
        assert either(np.arange(size)).tolist() == list(range(0, 2 * size, 2))
        assert ran.signatures
    assert either.on_one is not either.on_all
    assert either.__doc__ == doubled.__doc__


def test_a_proof_of_1024_rows_is_much_though_its_strips_are_not():
    scan = assignment_proof._scan
    for columns, ran in ((1023, scan.on_one), (1024, scan.on_all)):
        strip = np.zeros((assignment_proof.STRIP_ROWS, columns), np.int32)
        assert scan.chosen(strip, np.zeros(columns, np.int64)) is ran


FORKS = """
import multiprocessing, sys
import numpy as np
from scipy.sparse import csr_array
import papers

graph = csr_array(np.eye(4, dtype=np.int32) + np.eye(4, k=1, dtype=np.int32))

def work(_):
    return (papers.koenig_cover(graph).size, len(papers.dulmage_mendelsohn(graph).row_order),
            papers.maximum_flow(graph, 0, 3).flow_value,
            papers.grid_cut(np.ones((2, 2), int), np.ones((2, 2), int), 1, prove=True).value)

first = work(0)
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map_async(work, [1, 2]).get(60) == [first, first]
"""


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_a_process_may_fork_after_small_calls():
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS], timeout=240, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
