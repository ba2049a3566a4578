"""Kernels with lines changed."""

import numpy as np
import pytest
from numba import cuda

from papers.common.executor.scheduler import Executor
from papers.common.executor.variants import changed


@cuda.jit(device=True)
def twice(x):
    return x + x


@cuda.jit
def double(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = twice(a[i])


def run(kernel):
    a = np.arange(4)
    Executor().launch(kernel, 1, 4, (a,))
    return a.tolist()


def test_a_changed_kernel_does_otherwise_and_the_original_does_not():
    assert run(changed(double, ("twice(a[i])", "twice(a[i]) + 1"))) == [1, 3, 5, 7]
    assert run(changed(double, ("a[i]", "a[0]"), ("twice", "abs"))) == [0, 1, 2, 3]
    assert run(double) == [0, 2, 4, 6]
    assert changed(twice, ("x + x", "x")).py_func(3) == 3


def test_a_change_that_changes_nothing_is_refused():
    for change, words in {("a[j]", "a[i]"): "does not hold", ("a[i]", "a[i]"): "stays"}.items():
        with pytest.raises(ValueError, match=words):
            changed(double, change)
    with pytest.raises(ValueError, match="does not hold"):
        changed(double, ("", "x"))
