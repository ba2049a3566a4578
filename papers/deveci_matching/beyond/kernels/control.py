"""The words of the array ``control``: counters that all blocks share, and a run's totals."""

from __future__ import annotations

from numba import cuda

# The words of a slot, which a step of the grid hands to the next step.
LIGHT, HEAVY, EDGES, FOUND, LEVEL, SIDE, SEEN, WORK, MARK, MORE_SEEN, MORE_WORK = range(11)
SLOT = 11
"""The grid uses three slots in turn. The last two words are added to `SEEN` and to `WORK`: what
blocks have done by themselves (`within`)."""

ENDS, RENEWABLE, KEPT = 3 * SLOT, 3 * SLOT + 2, 3 * SLOT + 4
"""Two words each, for even and odd phases."""

STATUS = 3 * SLOT + 6
PHASES, LEVELS, PULLED, LONE, GRAFTED, PATHS, CUT, WITHIN = range(3 * SLOT + 7, 3 * SLOT + 15)
STEP, RENEWED, LIVING, REPLANT = range(3 * SLOT + 15, 3 * SLOT + 19)
"""The variables of the loop, for the next launch."""

JUMPS, ROUNDS, BARRIERS = range(3 * SLOT + 19, 3 * SLOT + 22)
"""Jumps, rounds of jumps and of marks, barriers of the grid."""

ROUND_OF = 3 * SLOT + 22
"""Three words in turn: rows that have arrived, or marks passed on, in a round."""

CONTROL = 3 * SLOT + 25

GOING, SOLVED, TOO_MANY_LEVELS, TOO_MANY_PHASES = 0, 1, 2, 3

FROM_START, FROM_GREEDY, GO_ON = 0, 1, 2
"""The ways a launch begins: from the matching that is given, from a greedy one, or where the last
launch has ended."""


@cuda.jit(device=True)
def meet(control):
    """Wait for all threads of the grid, and count it."""
    if cuda.grid(1) == 0:
        control[BARRIERS] += 1
    cuda.cg.this_grid().sync()


@cuda.jit(device=True)
def clear_rounds(control):
    """Set the words of the rounds to zero; one thread calls it."""
    for k in range(3):
        control[ROUND_OF + k] = 0


@cuda.jit(device=True)
def clear(at, control):
    """Set the counts of a slot to zero."""
    control[at + LIGHT] = 0
    control[at + HEAVY] = 0
    control[at + EDGES] = 0
    control[at + FOUND] = 0
    control[at + MORE_SEEN] = 0
    control[at + MORE_WORK] = 0


@cuda.jit(device=True)
def hand_over(into, level, side, seen, work, mark, control):
    """Write the words of the next step that are no counts; one thread calls it."""
    control[into + LEVEL] = level
    control[into + SIDE] = side
    control[into + SEEN] = seen
    control[into + WORK] = work
    control[into + MARK] = mark
