"""Tells from a sample of its lines whether a graph goes to the GPU before one core has matched it.

A greedy pass on one core costs so much a line, and two to three times as much where neighbouring
lines have distant partners: then the core waits for memory, and cannot foresee whether a partner is
free. On the same graphs its searches are slow, and the pass saves the GPU little, which makes a
start of its own. The other graphs have an order (meshes, roads, pages of one host), and a pass may
match them wholly.
"""

from __future__ import annotations

from numba import njit

from papers.deveci_matching.baselines.pfp import JIT
from papers.deveci_matching.beyond.lines import Lines

MANY = 2**16
"""Lines from which a scattered graph is not looked at first. The pass takes 24 to 42 ns a line in
random graphs (the start within the clock, less the run, in `deveci_matching`'s record): for so many
lines about the two milliseconds that a GPU's call takes on the smallest graphs
(``evidence/graphs/solvers.csv``). From there on the pass would double the call."""

FAR = 4096
"""Distance of two partners, 16 KiB of the array of partners, half of a core's nearest cache."""

MOST = 0.5
"""Share of steps from a line to the next that are far in a scattered graph. It is over 0.6 in real
matrices of so many lines that were permuted, but for one of 9643 columns; in their own order it is
under 0.2 in meshes, roads and webs, 0.4 in the one that the pass nearly matches
(``soc-Slashdot0902``). A core is done with none of those above in the time of a GPU's call on the
smallest graphs (``far`` in ``evidence/graphs/looks.csv``)."""

SAMPLES = 256
"""Steps that are looked at: the share is then within 0.1 of the true one, but for a case in 700."""


def at_once(lines: Lines) -> bool:
    """Return whether a graph's lines are many and scattered; they need not have been checked."""
    if lines.indptr.size <= MANY:
        return False
    return far_steps(lines.indptr, lines.indices, SAMPLES) > MOST * SAMPLES


@njit(**JIT)
def far_steps(indptr, indices, samples):
    """Count the lines of an even sample whose middle partner is `FAR` from the next line's.

    A line without edges, or whose bounds are broken, counts as near.

    Parameters
    ----------
    indptr, indices : int32[lines + 1], int32[edges]
        Two lines at least.
    samples : int
    """
    far, lines = 0, indptr.size - 1
    for k in range(samples):
        line = k * (lines - 1) // samples
        begin, middle, end = indptr[line], indptr[line + 1], indptr[line + 2]
        if 0 <= begin < middle < end <= indices.size:
            here, there = indices[(begin + middle) // 2], indices[(middle + end) // 2]
            far += abs(int(here) - int(there)) > FAR
    return far
