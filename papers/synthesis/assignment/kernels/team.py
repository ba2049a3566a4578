"""Who works on a problem together: all blocks of the grid, those of a cluster, or one block alone.

`Work` says which block of its team a thread is in, and how many blocks the team has. What the
threads of a team share lies in device memory either way; only the barrier differs.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, int32


@cuda.jit(device=True)
def thread_of(shape):
    """The number of a thread in its team."""
    return int32(shape.block * int32(cuda.blockDim.x) + int32(cuda.threadIdx.x))


@cuda.jit(device=True)
def threads_of(shape):
    """The threads of a team."""
    return int32(shape.blocks * int32(cuda.blockDim.x))


@cuda.jit(device=True)
def meet_in_grid():
    """A barrier of all blocks."""
    cuda.cg.this_grid().sync()


@cuda.jit(device=True)
def meet_in_block():
    """A barrier of one block, which suffices where it is the whole team."""
    cuda.syncthreads()


def meet_with(alone: bool) -> Any:
    """The barrier of a team: of one block, or of the grid."""
    return meet_in_block if alone else meet_in_grid
