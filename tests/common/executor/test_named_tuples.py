"""Named tuples of arrays in the executor: names, checks and scheduling are those of the arrays."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import cuda, int32

from papers.common.executor.scheduler import Executor


class Lines(NamedTuple):
    row: np.ndarray
    column: np.ndarray


class Problem(NamedTuple):
    n: np.int32
    lines: Lines


SIZES = Problem(3, Lines(np.array([5, 6, 7]), np.array([8, 9])))


@cuda.jit(device=True)
def swap(lines, i):
    value = lines.row[i]
    lines.row[i] = lines.column[i]
    lines.column[i] = value


@cuda.jit
def swapped(problem, plain):
    i = cuda.grid(1)
    if i < problem.n:
        swap(problem.lines, i)
        row, _ = problem.lines
        plain[0][i] = row[i] + problem[0]
        plain[1][i] = len(problem.lines)


def given(n=3):
    lines = Lines(np.arange(3, dtype=np.int32), np.arange(3, 6, dtype=np.int32))
    return Problem(np.int32(n), lines), (np.zeros(3, np.int32), np.zeros(3, np.int32))


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_kernel_finds_the_fields_by_name_and_by_place(seed):
    problem, plain = given()
    Executor(seed=seed).launch(swapped, 2, 2, (problem, plain))
    assert problem.lines.row.tolist() == [3, 4, 5]
    assert problem.lines.column.tolist() == [0, 1, 2]
    assert plain[0].tolist() == [6, 7, 8]
    assert plain[1].tolist() == [2, 2, 2]


def test_an_index_out_of_bounds_names_the_field():
    problem, plain = given(n=4)
    with pytest.raises(IndexError, match=r"'problem\.lines\.row'"):
        Executor().launch(swapped, 1, 4, (problem, plain))


def test_a_value_that_does_not_fit_names_the_field():
    @cuda.jit
    def overflow(lines):
        lines.column[0] = 1 << 31

    with pytest.raises(OverflowError, match=r"'lines\.column'"):
        Executor().launch(overflow, 1, 1, (given()[0].lines,))


def test_a_place_in_a_plain_tuple_has_a_number():
    @cuda.jit
    def beyond(pair):
        pair[1][3] = 0

    with pytest.raises(IndexError, match=r"'pair\[1\]'"):
        Executor().launch(beyond, 1, 1, (given()[1],))


def test_accesses_to_fields_are_scheduling_points():
    executor, seen = Executor(seed=3, switch=1.0), []
    executor._scheduler.on_access = lambda kind, name, index, value: seen.append(name)
    executor.launch(swapped, 1, 3, given())
    assert executor.count["switches"] > 0
    assert {"problem.lines.row", "problem.lines.column", "plain[0]", "plain[1]"} == set(seen)


def test_something_else_in_a_named_tuple_is_refused():
    problem, plain = given()
    wrong = problem._replace(lines=Lines(problem.lines.row, "column"))
    with pytest.raises(TypeError, match=r"'problem\.lines\.column'"):
        Executor().launch(swapped, 1, 3, (wrong, plain))


def test_a_named_tuple_may_be_a_constant_or_made_in_a_kernel():
    @cuda.jit
    def use(out, row):
        made = Lines(row, SIZES.lines.column)
        out[0] = SIZES.n + SIZES.lines.row[2] + made.row[1] + int32(made.column[0])

    out = np.zeros(1, np.int32)
    Executor().launch(use, 1, 1, (out, np.array([1, 2], np.int32)))
    assert out[0] == 3 + 7 + 2 + 8
