"""The second half of step 6 in one launch as printed, and its kernels by configuration.

A thread takes one entry a turn: the blocks that are resident at once are fewer than the matrix has
entries. `papers.kawtikwar_opts.kernels.one_launch` has the loop around it, and `parts` says which
of its phases are the printed ones.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, int64

from papers.kawtikwar_opts.kernels import one_launch as ours
from papers.kawtikwar_opts.kernels import opt2, opt3, opt4
from papers.kawtikwar_opts.kernels.entries import update_duals
from papers.kawtikwar_opts.kernels.near_zero import near_zero
from papers.kawtikwar_opts.kernels.one_launch import SIGNATURE, Parts, begin_with, go_on_with
from papers.kawtikwar_opts.kernels.printed import steps
from papers.kawtikwar_opts.kernels.printed.listings import (
    add_sub_compress,
    add_sub_compress_in_a_register,
    add_sub_in_a_register,
    collect,
)


@cuda.jit(device=True)
def listing_3(order, eps, slack, covers, least, zeros, duals):
    """Opt 2's additions, subtractions and compression [K21 Listing 3]; races as `kernels.opt2`."""
    update_duals(order.n, least, covers, duals)
    for i in range(int64(cuda.grid(1)), int64(order.n) * order.n, cuda.gridsize(1)):
        add_sub_compress(i, order, eps, slack, covers, least, zeros)


@cuda.jit(device=True)
def listing_4(order, eps, slack, covers, least, zeros, duals):
    """Opt 3's: the slack stays in a register [K21 Listing 4]."""
    update_duals(order.n, least, covers, duals)
    for i in range(int64(cuda.grid(1)), int64(order.n) * order.n, cuda.gridsize(1)):
        add_sub_compress_in_a_register(i, order, eps, slack, covers, least, zeros)


@cuda.jit(device=True)
def listing_5(order, eps, slack, covers, least, zeros, duals):
    """Opt 4's: a barrier of the block before the test [K21 Listing 5].

    All threads of a block take as many turns, since the barrier waits for all of them.
    """
    update_duals(order.n, least, covers, duals)
    entries = int64(order.n) * order.n
    start = int64(cuda.blockIdx.x) * cuda.blockDim.x
    for first in range(start, entries, cuda.gridsize(1)):
        i = first + cuda.threadIdx.x
        reg = eps
        if i < entries:
            reg = add_sub_in_a_register(i, order.n, slack, covers, least)
        cuda.syncthreads()
        if i < entries and near_zero(reg, eps):
            collect(i, order, zeros)


LISTINGS = {"opt2": listing_3, "opt3": listing_4, "opt4": listing_5}
OURS = {"opt2": opt2, "opt3": opt3, "opt4": opt4}


def parts(step_1: bool, search: bool, entries: bool) -> Parts:
    """Return the phases of a kernel: as printed where True, ours where False.

    Parameters
    ----------
    step_1, search, entries : bool
        Step 1, steps 2 to 5, and the reduction of step 6.
    """
    first, searching, last = (steps if printed else ours for printed in (step_1, search, entries))
    return Parts(
        first.step_1, searching.steps_2_and_3, searching.search_until_dry, last.least_uncovered
    )


@cache
def kernel(name: str, version: str, step_1: bool, search: bool, entries: bool) -> Any:
    """Return a kernel of a version whose phases are as `parts` says.

    Parameters
    ----------
    name : {"hungarian", "begin", "go_on"}
    version : {"opt2", "opt3", "opt4"}
    step_1, search, entries : bool
        As in `parts`; `entries` is about the second half of step 6 too.
    """
    if not (step_1 or search or entries):
        return getattr(ours if name == "begin" else OURS[version], name)
    phases = parts(step_1, search, entries)
    if name == "begin":
        return begin_with(phases)
    half = LISTINGS[version] if entries else OURS[version].add_sub_compress_matrix
    return (ours.hungarian_with if name == "hungarian" else go_on_with)(half, phases)


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64")

opt2_as_printed, opt3_as_printed, opt4_as_printed = (
    kernel("hungarian", version, True, True, True) for version in LISTINGS
)
SIGNATURES = {one: SIGNATURE for one in (opt2_as_printed, opt3_as_printed, opt4_as_printed)}
"""The kernels of ``configuration="paper"``; `kernel` makes the others from the same phases."""
