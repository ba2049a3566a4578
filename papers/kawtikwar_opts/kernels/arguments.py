"""Arguments of the fused and of the one-launch kernels: named tuples, and the words of ``flags``.

A named tuple costs a kernel no more than its fields. Its class states the types that the kernels
are compiled for (`papers.common.gpu.signatures`); shapes are those of the table in
`papers.lopes2019.kernels.search`.
"""

from __future__ import annotations

from typing import NamedTuple

from papers.common.gpu import signatures as typed
from papers.common.gpu.signatures import Element, Elements, Int32, Int32s, Int64, Int64s
from papers.lopes2019.kernels import search as lopes
from papers.lopes2019.kernels.arguments import Covers, Order, Zeros

# ---------------------------------------------------------------------------------- arrays


class Shape(NamedTuple):
    """Numbers of a launch.

    ``searched`` columns are no padding (`papers.lopes2019.rectangle`), ``lines_a_turn`` is for
    step 1's minima, ``multiplier`` and ``shift`` divide by n (`launches.reciprocal`), ``patience``
    bounds every loop.
    """

    order: Order
    searched: Int32
    lines_a_turn: Int32
    multiplier: Int64
    shift: Int32
    patience: Int32


class Matrix(NamedTuple):
    """Costs and slacks; ``eps`` (see `near_zero`), the type's largest value, and minima."""

    eps: Element
    top: Element
    cost: Elements
    slack: Elements
    min_in_row: Elements
    min_in_column: Elements
    partial: Elements


class Stars(NamedTuple):
    """Starred, primed and green zeros by a line; -1 where there is none."""

    row_of_star_at_column: Int32s
    column_of_star_at_row: Int32s
    column_of_prime_at_row: Int32s
    row_of_green_at_column: Int32s


class Search(NamedTuple):
    """Arrays of steps 2 to 5: covers, marked zeros, and the list of zeros in bins."""

    covers: Covers
    stars: Stars
    zeros: Zeros


class Duals(NamedTuple):
    """The dual variables: ``row_dual`` and ``column_dual``."""

    row: typed.Duals
    column: typed.Duals


class Log(NamedTuple):
    """Words between blocks (`Flag`), the clocks of the steps, and the word to the host."""

    flags: Int32s
    clocks: Int64s
    signal: Int64s


# ---------------------------------------------------------------------------------- words


class Flag:
    """Indices into ``flags`` of the one-launch versions."""

    ZEROS = lopes.Flag.ZEROS
    """Zeros after step 1; `papers.lopes2019`'s step 2 writes it."""
    STATUS = lopes.FLAGS
    """The status that block 0 tells the others at the end of a search, and the host at the end."""
    MATCHES = lopes.FLAGS + 1
    """Starred zeros, counted by step 3."""
    MATCHES_INITIAL = lopes.FLAGS + 2
    """The same after step 2."""
    SIGNALS = lopes.FLAGS + 3
    """Runs whose end was told to the host."""
    AUGMENTATIONS = lopes.FLAGS + 4
    """Runs of step 5."""
    SEARCHES = lopes.FLAGS + 5
    """Runs of step 4, restarts included."""
    UPDATES = lopes.FLAGS + 6
    """Runs of step 6."""
    MOVED = lopes.FLAGS + 7
    """Three slots: some block uncovered a column in this run of step 4."""
    PATH = lopes.FLAGS + 10
    """Three slots: some block found a path in this run of step 4."""


FLAGS = lopes.FLAGS + 13
ZEROS, STATUS, MATCHES, MATCHES_INITIAL = (
    Flag.ZEROS, Flag.STATUS, Flag.MATCHES, Flag.MATCHES_INITIAL,
)  # fmt: skip
SIGNALS, AUGMENTATIONS, SEARCHES, UPDATES = (
    Flag.SIGNALS, Flag.AUGMENTATIONS, Flag.SEARCHES, Flag.UPDATES,
)  # fmt: skip
MOVED, PATH = Flag.MOVED, Flag.PATH


class Status:
    """The end of a search, and of a run."""

    DRY = 0
    """No path left: a dual update is due."""
    SOLVED = 1
    """Every column has a starred zero."""
    SEARCHES = 2
    """More augmentations than lines."""
    RESTARTS = 3
    """Step 4 does not come to rest."""
    UPDATES = 4
    """More dual updates without a path than lines."""


DRY, SOLVED = Status.DRY, Status.SOLVED
TOO_MANY_SEARCHES, TOO_MANY_RESTARTS, TOO_MANY_UPDATES = (
    Status.SEARCHES, Status.RESTARTS, Status.UPDATES,
)  # fmt: skip
