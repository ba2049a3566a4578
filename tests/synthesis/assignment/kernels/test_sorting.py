"""What a block's threads find together where lines are sorted, in any order of the threads."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import cuda
from synthesis.assignment.small import spoiled

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.gpu.memory_order import pause
from papers.synthesis.assignment.kernels import sorting

THREADS, TIMES = 96, 4


class Shared(NamedTuple):
    """The part of `Work` that the functions take."""

    firsts: Any
    places: Any


def found(values, least_of_block, seed):
    """Least value, its place and the range, of each thread in each of the times."""

    @cuda.jit
    def together(values, least, place, range_of):
        k = cuda.threadIdx.x
        shared = Shared(cuda.shared.array(THREADS, "int64"), cuda.shared.array(THREADS, "int32"))
        for turn in range(TIMES):
            at = turn * THREADS + k
            most, _ = least_of_block(-values[at], np.int32(k), shared)
            least[at], place[at] = least_of_block(values[at], np.int32(k), shared)
            range_of[at] = -most - least[at]

    made = [np.empty(values.size, np.int64) for _ in range(3)]
    with device.executing(Executor(seed, 0.2)) as executor:
        executor.launch(together, 1, THREADS, (values.ravel(), *made), 0)
    return [array.reshape(values.shape) for array in made]


def assert_found(least_of_block, seeds):
    for seed in range(seeds):
        values = np.random.default_rng(seed).integers(-20, 20, (TIMES, THREADS))
        least, place, range_of = found(values, least_of_block, seed)
        assert (least == values.min(axis=1)[:, None]).all()
        assert (place == values.argmin(axis=1)[:, None]).all()
        assert (range_of == np.ptp(values, axis=1)[:, None]).all()


def test_a_block_finds_its_least_value():
    assert_found(sorting.least_of_block, 8)


FAULTS = {
    "a warp's least is read before it is there": (
        "= value, place\n    cuda.syncthreads()", "= value, place",
    ),
    "of equal values one warp's is any": (
        "warp_least(value, place)\n    cuda", "(value, place)\n    cuda",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(fault):
    with pytest.raises(AssertionError):
        assert_found(spoiled(sorting, "least_of_block", *FAULTS[fault]), 60)


CHUNK = """cuda.syncthreads()  # everybody has read what was there before
    shape.firsts[warp], shape.places[warp] = value, place
    cuda.syncthreads()
"""
SLEEP = "    for _ in range(60 * warp):\n        pause()\n"
"""The other warps read later than the first one goes on."""

LATE = {"pause": pause}


def test_a_slow_reader_still_finds_what_was_there():
    assert_found(spoiled(sorting, "least_of_block", CHUNK, CHUNK + SLEEP, LATE), 3)


def test_without_a_barrier_in_front_it_would_not():
    chunk = CHUNK.replace("cuda.syncthreads()  # everybody", "pass  # everybody")
    with pytest.raises(AssertionError):
        assert_found(spoiled(sorting, "least_of_block", CHUNK, chunk + SLEEP, LATE), 9)
