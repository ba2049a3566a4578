"""Listings 1 to 5 of [K21] for one entry of the slack matrix, as they are printed.

Entry i is row ``i % n`` of column ``i // n``. The versions of the host loop give every entry a
thread (`host_loop`), one launch gives a thread one entry a turn (`one_launch`), and
`papers.kawtikwar_opts.evidence.sass` counts their loads in the machine code.
"""

from __future__ import annotations

from numba import cuda, int32

from papers.kawtikwar_opts.kernels.entries import place, quotient
from papers.kawtikwar_opts.kernels.near_zero import near_zero


@cuda.jit(device=True)
def collect(i, order, zeros):
    """Append a zero to its bin: the last four lines of each listing [K21 Listing 1]."""
    n, lines = order
    b = quotient(i, int32(lines * n))
    i0 = b * int32(lines * n)
    j = cuda.atomic.add(zeros.sizes, b, 1)
    zeros.positions[i0 + j] = i


@cuda.jit(device=True)
def add_sub(i, n, slack, covers, least):
    """Update one slack in memory [K21 Listing 2]."""
    row, column = place(i, n)
    cover = covers.row[row] + covers.column[column]
    if cover == 2:
        slack[i] += least
    elif cover == 0:
        slack[i] -= least


@cuda.jit(device=True)
def add_sub_in_a_register(i, n, slack, covers, least):
    """Update one slack and return it: the first half of [K21 Listing 4] and [K21 Listing 5]."""
    reg = slack[i]
    row, column = place(i, n)
    cover = covers.row[row] + covers.column[column]
    if cover == 2:
        reg += least
        slack[i] = reg
    elif cover == 0:
        reg -= least
        slack[i] = reg
    return reg


@cuda.jit(device=True)
def add_sub_compress(i, order, eps, slack, covers, least, zeros):
    """Update one slack and test what memory has of it [K21 Listing 3]."""
    add_sub(i, order.n, slack, covers, least)
    if near_zero(slack[i], eps):
        collect(i, order, zeros)


@cuda.jit(device=True)
def add_sub_compress_in_a_register(i, order, eps, slack, covers, least, zeros):
    """Update one slack and test the register [K21 Listing 4]."""
    reg = add_sub_in_a_register(i, order.n, slack, covers, least)
    if near_zero(reg, eps):
        collect(i, order, zeros)
