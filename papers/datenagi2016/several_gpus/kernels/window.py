"""The layout of a rank's part of the window, for the kernels and for the host.

In words of 8 bytes, p ranks of ``stride`` columns at most (`papers.common.mpi.windows`):

=================  ============  ==================================================================
part               size          written by
=================  ============  ==================================================================
words              [2 p]         rank r into word ``turn * p + r``: ``exchange << 34 | path << 33 |
                                 rows``
thetas             [2 p]         as words: a rank's smallest slack
lists              [2 p stride]  rank r into list ``turn * p + r``: ``exchange << 32 | row``
trees              [p stride]    of the root's part alone: rank r its columns' predecessors
assignment         [p stride]    the root: columns of rows
=================  ============  ==================================================================

The first three belong to `several_gpus.kernels.peers`, the last two to
`several_gpus.kernels.peers_root`. The host calls a function by its ``py_func``.
"""

from __future__ import annotations

from numba import cuda


@cuda.jit(device=True)
def thetas_at(parts):
    """First word of the thetas."""
    return 2 * parts


@cuda.jit(device=True)
def lists_at(parts):
    """First word of the lists."""
    return 4 * parts


@cuda.jit(device=True)
def trees_at(parts, stride):
    """First word of the trees."""
    return 4 * parts + 2 * parts * stride


@cuda.jit(device=True)
def assignment_at(parts, stride):
    """First word of the assignment."""
    return 4 * parts + 3 * parts * stride


@cuda.jit(device=True)
def words_of(parts, stride):
    """Words of a rank's part in all."""
    return 4 * parts + 4 * parts * stride
