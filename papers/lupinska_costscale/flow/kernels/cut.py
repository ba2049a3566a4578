"""The cut, told by the heights of the last search: a bit a node, and the value; ours.

=========  ===============  ======================================================================
name       array            dtype, shape
=========  ===============  ======================================================================
mask       bits             int32 [ceil(n / 32)]: bit k of word w is node 32 w + k
value      told             int64 [1]: units that have come to the sink
=========  ===============  ======================================================================

Others as in `flow.kernels.lock_free`. After the last search of `gpu_relabel` a node has height |V|
exactly if the sink cannot be reached from it [LU11 sec.4.6]: these nodes are the source's side.
"""

from __future__ import annotations

from numba import cuda, int64

from papers.common.gpu.reductions import FULL_WARP, warp_sum
from papers.lupinska_costscale.flow.kernels.lock_free import ELEMENT_TYPES as ELEMENT_TYPES


@cuda.jit
def tell_cut(n, nodes, sink, to_sink, height, bits, told):
    """Pack the source's side into bits, and add up what the sink has got.

    Paper: none; see the module.  Launch: whole warps, which stride over the words.
    Reads/Writes: reads ``sink``, ``to_sink`` and ``height``; writes ``bits``, adds to ``told``. No
    race: a word is one warp's.
    """
    lane = cuda.threadIdx.x & 31
    arrived = int64(0)
    for word in range(cuda.grid(1) >> 5, bits.size, cuda.gridsize(1) >> 5):
        x = int64(word) * 32 + lane
        behind = False
        if x < n:
            behind = height[x] >= nodes
            arrived += int64(sink[x]) - int64(to_sink[x])
        votes = cuda.ballot_sync(FULL_WARP, behind)
        if lane == 0:
            bits[word] = votes
    arrived = warp_sum(arrived)
    if lane == 0 and arrived > 0:
        cuda.atomic.add(told, 0, arrived)


SIGNATURES = {
    tell_cut: ("int32", "int32", "T[::1]", "T[::1]", "int32[::1]", "int32[::1]", "int64[::1]"),
}
"""The types that each kernel is compiled for."""
