"""Atomic operations: the value before, the value after, and their errors."""

import math

import numpy as np
import pytest
from numba import cuda

from papers.common.executor.scheduler import (
    Executor,
)


def run(kernel, grid, block, *args, seed=None, shared_bytes=0, **options):
    executor = Executor(seed, **options)
    executor.launch(kernel, grid, block, args, shared_bytes)
    return executor


def zeros(*shape, dtype=np.int64):
    return np.zeros(shape, dtype)


def atomic_kernel(name):
    operation = getattr(cuda.atomic, name)  # noqa: F841 (fails here if Numba has no such atomic)

    if name == "cas":

        @cuda.jit
        def kernel(a, index, operand, old):
            old[0] = cuda.atomic.cas(a, index, operand, 9)

    elif name == "compare_and_swap":

        @cuda.jit
        def kernel(a, index, operand, old):
            old[0] = cuda.atomic.compare_and_swap(a, operand, 9)

    else:
        source = (
            "def kernel(a, index, operand, old):\n"
            f"    old[0] = cuda.atomic.{name}(a, index, operand)\n"
        )
        scope = {"cuda": cuda}
        exec(source, scope)
        kernel = cuda.jit(scope["kernel"])
    return kernel


ATOMICS = [
    ("add", 5, 3, 8),
    ("sub", 5, 3, 2),
    ("min", 5, 3, 3),
    ("min", 5, 7, 5),
    ("max", 5, 3, 5),
    ("max", 5, 7, 7),
    ("exch", 5, 3, 3),
    ("cas", 5, 5, 9),
    ("cas", 5, 4, 5),
    ("compare_and_swap", 5, 5, 9),
    ("compare_and_swap", 5, 4, 5),
    ("and_", 6, 3, 2),
    ("or_", 6, 3, 7),
    ("xor", 6, 3, 5),
    ("nanmin", 5, 3, 3),
    ("nanmax", 5, 7, 7),
]


@pytest.mark.parametrize(("name", "before", "operand", "after"), ATOMICS)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_atomics_return_the_old_value(name, before, operand, after, dtype):
    a, old = np.array([before], dtype), zeros(1)
    run(atomic_kernel(name), 1, 1, a, 0, operand, old)
    assert (a[0], old[0]) == (after, before)


@pytest.mark.parametrize(
    ("name", "before", "operand", "after"),
    [
        ("inc", 2, 3, 3),
        ("inc", 3, 3, 0),
        ("inc", 9, 3, 0),
        ("dec", 2, 3, 1),
        ("dec", 0, 3, 3),
        ("dec", 9, 3, 3),
    ],
)
def test_wrapping_counters(name, before, operand, after):
    a, old = np.array([before], np.uint32), zeros(1)
    run(atomic_kernel(name), 1, 1, a, 0, operand, old)
    assert (a[0], old[0]) == (after, before)
    with pytest.raises(TypeError, match="int32 array 'a'"):
        run(atomic_kernel(name), 1, 1, a.astype(np.int32), 0, operand, old)


NAN = math.nan


@pytest.mark.parametrize(
    ("name", "before", "operand", "after"),
    [
        ("add", 1.5, 2.0, 3.5),
        ("max", 1.5, NAN, 1.5),
        ("max", NAN, 1.5, NAN),
        ("min", NAN, 1.5, NAN),
        ("nanmax", NAN, 1.5, 1.5),
        ("nanmax", 1.5, NAN, 1.5),
        ("nanmin", NAN, 1.5, 1.5),
        ("nanmin", 2.5, 1.5, 1.5),
    ],
)
def test_float_atomics(name, before, operand, after):
    a, old = np.array([before]), zeros(1, dtype=np.float64)
    run(atomic_kernel(name), 1, 1, a, 0, operand, old)
    np.testing.assert_array_equal([a[0], old[0]], [after, before])


def test_atomics_in_two_dimensions_and_their_errors():
    a, old = zeros(2, 3, dtype=np.int32), zeros(1)
    add = atomic_kernel("add")

    @cuda.jit
    def add_2d(a, i, j, value):
        cuda.atomic.add(a, (i, j), value)

    run(add_2d, 2, 8, a, 1, 2, 3)
    assert a.tolist() == [[0, 0, 0], [0, 0, 48]]
    with pytest.raises(IndexError, match="'a'"):
        run(add_2d, 1, 1, a, 2, 0, 1)
    with pytest.raises(OverflowError, match="int32 array 'a'"):
        run(add_2d, 1, 1, a, 1, 2, 2**31 - 48)
    with pytest.raises(TypeError, match="no such atomic on uint8"):
        run(add, 1, 1, zeros(1, dtype=np.uint8), 0, 1, old)
    with pytest.raises(TypeError, match="no such atomic on float64"):
        run(atomic_kernel("exch"), 1, 1, zeros(1, dtype=np.float64), 0, 1, old)
