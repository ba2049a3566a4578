"""The passes over all costs, each by itself, against NumPy: any shape of block, strip and row.

A minimum that is too low leaves duals that prove every answer, only later: no proof notices it.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import cuda, int32

from papers.common.executor.scheduler import Executor
from papers.synthesis.assignment.kernels import columns, rows
from papers.synthesis.assignment.kernels.grid import near

TOP = 2**40
KINDS = {"int32": np.int64, "float64": np.float64}
SHAPES = ((1, 1), (3, 70), (5, 33), (17, 40), (40, 65), (9, 130))
TEAMS = ((1, 32), (2, 64), (5, 32))


class Team(NamedTuple):
    """What a pass reads of `arguments.Work`."""

    n: int
    m: int
    block: int
    blocks: int
    firsts: Any


class Costs(NamedTuple):
    """What a pass reads of `arguments.Matrix`."""

    cost: np.ndarray
    top: Any
    zero: Any
    near: np.ndarray
    bound: np.ndarray


class Potentials(NamedTuple):
    u: np.ndarray
    v: np.ndarray


class Totals(NamedTuple):
    totals: np.ndarray


def drawn(kind, n, m, seed):
    """Costs, duals and rows of columns, with what the kernels write."""
    g = np.random.default_rng(seed)
    cost = g.integers(0, 50, (n, m)).astype(kind)
    dual = KINDS[kind]
    u, v = (g.integers(-9, 9, k).astype(dual) for k in (n, m))
    row_of = np.where(g.random(m) < 0.4, g.integers(0, n, m), -1).astype(np.int32)
    words = np.full(near.words_for(n, m), -1, np.int32)
    matrix = Costs(cost.ravel(), dual(TOP), dual(0), words, np.zeros(n, dual))
    return cost, matrix, u, v, row_of


def columns_kernel(least_in_columns):
    @cuda.jit
    def kernel(which, n, m, matrix, u, row_of, least):
        shape = Team(n, m, int32(cuda.blockIdx.x), int32(cuda.gridDim.x), least)
        least_in_columns(which, shape, matrix, u, row_of, least)

    return kernel


def rows_kernel(least_of_row, group_of):
    @cuda.jit
    def kernel(v_counts, n, m, power, matrix, v, least, beyond):
        shared = cuda.shared.array(32, v.dtype)
        shape = Team(n, m, int32(cuda.blockIdx.x), int32(cuda.gridDim.x), shared)
        group, groups = group_of(power, shape)
        for base in range(0, n, groups):
            row = base + group if base + group < n else -1
            found = least_of_row(v_counts, shape, matrix, v, row, power)
            if row >= 0:
                least[row] = found
            elif found != matrix.top:
                beyond[0] = 1

    return kernel


def marks_kernel(mark):
    @cuda.jit
    def kernel(threshold, n, m, matrix, duals, log):
        shape = Team(n, m, int32(cuda.blockIdx.x), int32(cuda.gridDim.x), matrix.bound)
        mark(threshold, shape, matrix, duals, log)

    return kernel


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("blocks", "threads"), TEAMS)
@pytest.mark.parametrize("loads", [1, 4, 16])
def test_least_of_columns(kind, blocks, threads, loads):
    kernel = columns_kernel(columns.least_with(loads))
    for seed, (n, m) in enumerate(SHAPES):
        cost, matrix, u, _, row_of = drawn(kind, n, m, seed)
        for which in (columns.FREE_ONLY, columns.OTHERS):
            least = np.full(m, TOP, u.dtype)
            Executor(seed).launch(
                kernel, blocks, threads, (which, n, m, matrix, u, row_of, least)
            )  # fmt: skip
            slack = (cost - u[:, None]).astype(u.dtype)
            taken = np.flatnonzero(row_of >= 0)
            if which == columns.FREE_ONLY:
                slack[:, taken] = TOP
            else:
                slack[row_of[taken], taken] = TOP
            assert np.array_equal(least, slack.min(axis=0)), (n, m, which)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("loads", [1, 4])
def test_least_of_rows(kind, power, loads):
    kernel = rows_kernel(rows.least_with(loads, kind == "float64"), rows.group_of)
    for seed, (n, m) in enumerate(SHAPES):
        cost, matrix, _, v, _ = drawn(kind, n, m, seed)
        for v_counts in (False, True):
            least, beyond = np.zeros(n, v.dtype), np.zeros(1, np.int32)
            Executor(seed).launch(
                kernel, 2, 128, (v_counts, n, m, power, matrix, v, least, beyond)
            )  # fmt: skip
            assert np.array_equal(least, (cost - v_counts * v).min(axis=1)), (n, m)
            assert beyond[0] == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("blocks", "threads"), TEAMS)
@pytest.mark.parametrize("loads", [1, 4, 16])
def test_marks(kind, blocks, threads, loads):
    kernel, threshold = marks_kernel(near.mark_with(loads)), KINDS[kind](12)
    for seed, (n, m) in enumerate(SHAPES):
        cost, matrix, u, v, _ = drawn(kind, n, m, seed)
        log = Totals(np.zeros(11, np.int64))
        Executor(seed).launch(
            kernel, blocks, threads, (threshold, n, m, matrix, Potentials(u, v), log)
        )  # fmt: skip
        is_near = cost - v - u[:, None] <= threshold
        wide = np.zeros((n, -(-m // 32) * 32), bool)
        wide[:, :m] = is_near
        expected = np.packbits(wide, axis=1, bitorder="little").view(np.int32)
        assert np.array_equal(matrix.near.reshape(n, -1), expected), (n, m)
        assert log.totals[near.NEAR] == is_near.sum()
        assert np.array_equal(matrix.bound, u + threshold)
