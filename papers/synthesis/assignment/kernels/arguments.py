"""Arguments of the launch: named tuples whose classes state their types, and the shared words.

``T`` is the type of the costs, ``D`` that of duals and distances (int64, or float64).
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from papers.common.gpu import signatures as typed
from papers.common.gpu.signatures import Elements, Int32, Int32s, Int64, Int64s

Dual = Annotated[Any, "D"]

FRONT_CHUNK = 512
"""Rows of the front that a block holds in its shared memory at a time; a grid's holds more."""

GRID_CHUNK, GRID_CHUNK_FLOATS = 2048, 1024
"""As FRONT_CHUNK, of a grid, for integers and floats (`grid.reports.chunk_of`): what fits beside
the rest. A block asks other blocks anew for every further part of a front."""

TEAM = 256
"""Blocks that take part in a search of a grid, at most; as many threads of each read reports."""

READERS = TEAM // 32
"""Warps that read reports, at most."""

SUMS = 2 * READERS + 1
"""Words in which what they read meets: rows and flags of each, and whether a row is lost."""


CREW_THREADS = 512
"""Threads of a block of a cluster, at most; a block has no more columns."""

NUMBERS = 4
"""Words in which a block of a cluster adds up what all have told (`cluster.boxes`)."""

MARKS = 2
"""Words of a block about near pairs (`grid.near`)."""


class Shape(NamedTuple):
    """Numbers of rows and columns (``n <= m``), and the shape of the work."""

    n: Int32
    m: Int32
    square: Int32
    warps_a_row: Int32
    tile: Int32
    sample_step: Int32
    shift: Int32


class Work(NamedTuple):
    """`Shape`, the team that solves the problem (`team`), and a block's shared memory.

    ``block`` is the number of a thread's block in its team of ``blocks``.

    The compiler takes shared arrays of a device function with several callers for several of one
    name, so the kernel itself makes them: D[LARGEST_BLOCK], the same or D[32] (`grid.near`),
    int32[LARGEST_BLOCK], and a part of the front, D[chunk] twice (``starts`` D[1] for integers)
    and int32[chunk]; a chunk is FRONT_CHUNK rows, or of a grid `grid.reports.chunk_of`.

    The rest serves the levels of a grid (`levels`): the tile is two to the power ``tile_bits``,
    ``workers`` blocks take part, a report has ``stride`` pairs, and the reports' figures meet in
    ``nears``, ``fars`` D[32], ``sums`` int32[SUMS] and ``offsets`` int32[TEAM]. ``marked``,
    int32[MARKS], says whether near pairs are marked (`grid.near`).
    """

    n: Int32
    m: Int32
    square: Int32
    warps_a_row: Int32
    tile: Int32
    sample_step: Int32
    shift: Int32
    block: Int32
    blocks: Int32
    firsts: typed.Duals
    seconds: typed.Duals
    places: Int32s
    bases: typed.Duals
    starts: typed.Duals
    rows: Int32s
    tile_bits: Int32
    workers: Int32
    stride: Int32
    nears: typed.Duals
    fars: typed.Duals
    sums: Int32s
    offsets: Int32s
    marked: Int32s


class Crew(NamedTuple):
    """`Shape`, the blocks of a cluster that end a run together, and a block's shared memory.

    ``block`` is the number of a thread's block in its cluster of ``blocks``. Each has two to the
    power ``bits`` columns (`cluster.levels`), and two to the power ``share`` threads read the rows
    of 32 columns (`cluster.boxes`). ``firsts`` D[CREW_THREADS] and ``places`` int32[CREW_THREADS]
    are the threads'. A part of the front is in ``rows``, ``bases``, ``starts`` (D[1] for integers),
    and ``spots``, int64: where a row's costs begin; each of FRONT_CHUNK. ``sums`` int32[2 *
    NUMBERS] and ``ends`` D[2] are what all blocks have told.

    The rest is what other blocks read, in two halves by turns: of sixteen groups of 32 columns the
    ``heads``, ``nears`` and ``fars``, int32[32], and ``lows`` and ``reaches`` D[32]; and the rows
    that were taken, ``taken`` int32[2 * CREW_THREADS], with their ``values`` of D. ``marked`` is as
    in `Work`.

    The block's costs may be in ``strip``, whose rows begin every ``stride`` elements; of a narrow
    one a row's are counted from ``floors``, int32 (`cluster.strips`). ``in_strip``, int32[1], says
    whether they are, and ``widest``, int32[3], how large costs and duals are (`cluster.short`).
    """

    n: Int32
    m: Int32
    square: Int32
    warps_a_row: Int32
    tile: Int32
    sample_step: Int32
    shift: Int32
    block: Int32
    blocks: Int32
    bits: Int32
    share: Int32
    firsts: typed.Duals
    places: Int32s
    rows: Int32s
    bases: typed.Duals
    starts: typed.Duals
    spots: Int64s
    sums: Int32s
    ends: typed.Duals
    heads: Int32s
    nears: Int32s
    fars: Int32s
    lows: typed.Duals
    reaches: typed.Duals
    taken: Int32s
    values: typed.Duals
    marked: Int32s
    stride: Int32
    strip: Any
    floors: Int32s
    in_strip: Int32s
    widest: Int32s


class Schedule(NamedTuple):
    """`papers.synthesis.assignment.settings.Settings`, its shares of the rows as numbers of rows.

    ``start_stop`` rows the start may leave, ``many`` free rows ask for scales, and ``stop`` rows a
    scale may leave. ``cluster`` blocks of another launch make the phases; 0: the grid does. If
    ``cluster_unscaled`` is not 0 it does, too, where fronts are likely to be wide. ``sorting`` is 1
    if lines are sorted before scales (`sorting`).
    """

    start_rounds: Int32
    start_stop: Int32
    many: Int32
    stop: Int32
    divisor: Int32
    most_scales: Int32
    most_rounds: Int32
    stall_rounds: Int32
    stall_share: Int32
    last_rounds: Int32
    delta: Int32
    delta_scaled: Int32
    repairs: Int32
    lifts: Int32
    near: Int32
    near_least: Int32
    warps_marked: Int32
    cluster: Int32
    cluster_unscaled: Int32
    sorting: Int32


class Matrix(NamedTuple):
    """``cost`` T[n * m] by rows; the largest dual, -1, 0; the slack that needs no repair.

    A grid marks near pairs in ``near``, int32[n * tiles], and has rows' bounds in ``bound``, D[n]
    (`grid.near`).
    """

    cost: Elements
    top: Dual
    none: Dual
    zero: Dual
    loose: Dual
    near: Int32s
    bound: typed.Duals


class Duals(NamedTuple):
    """``u`` D[n], ``v`` D[m], and ``bid`` D[m]: the lowest bids, equal to v between rounds."""

    u: typed.Duals
    v: typed.Duals
    bid: typed.Duals


class Matching(NamedTuple):
    """``column`` int32[n] of each row and ``row`` int32[m] of each column, or -1."""

    column: Int32s
    row: Int32s


class Lists(NamedTuple):
    """Free rows, int32[2 * n]: a list in each half, by turns; and the bid of each list entry.

    ``column`` int32[n] is -1 where nothing was bid, ``offer`` D[n] the new dual of the column. A
    grid's auction has rows that wait in ``column`` instead (`chains`).
    """

    rows: Int32s
    column: Int32s
    offer: typed.Duals


class Tree(NamedTuple):
    """A search: ``distance`` D[m], ``before`` int32[m] (a row), ``opened`` int32[m].

    When it ends, `search.note_step` leaves in ``link`` int32[m] the column that the row before is
    matched to, -1 if it is free, and in ``owner`` int32[m] the column's own row; `search.augment`
    leaves in ``opened`` the free row that the column's tree begins at.
    ``row_claim`` int32[n] and ``column_claim`` int32[m] hold the turn of whoever came first.
    """

    distance: typed.Duals
    before: Int32s
    opened: Int32s
    link: Int32s
    owner: Int32s
    row_claim: Int32s
    column_claim: Int32s


class Front(NamedTuple):
    """Rows to be relaxed, a list in each half, by turns: int32[2 * n] and D[2 * n].

    ``start`` is a row's distance, ``base`` the distance less its dual. A grid's rows are in its
    blocks' ``reports`` (`levels`), int64, instead; and a grid's auction has the columns' rows and
    duals in ``held``, int64[2 * m], a pair a column (`chains`).
    """

    rows: Int32s
    start: typed.Duals
    base: typed.Duals
    reports: Int64s
    held: Int64s


class Log(NamedTuple):
    """Shared words: `Word` int32, `Level` D, `Total` int64; nanoseconds allowed; to the host."""

    words: Int32s
    levels: typed.Duals
    totals: Int64s
    signal: Int64s
    limit: Int64


class Word:
    """Indices into ``words``. The first five have three slots each, used by turns.

    In turn t everybody reads slot ``t % 3`` and adds to slot ``(t + 1) % 3``, and the first thread
    clears slot ``(t + 2) % 3``, which nobody has read since the barrier at the end of turn t - 1.
    """

    FREE = 0
    """Free rows in the list of this turn."""
    LATE = 3
    """Whether the time was over in the turn before."""
    FRONT = 6
    """Rows in the front of this level."""
    UNREACHED = 9
    """Free columns that no path had reached before this level."""
    LATE_LEVEL = 12
    """As LATE, by levels of a search."""
    SIGNALS = 15
    """Runs whose end was told to the host; the only word that outlives a run."""
    LEVEL = 16
    """The level at which a grid's search ended."""
    END = 17
    """The end of a grid's search (`Status`)."""
    NEXT = 18
    """Place of the row that an auction's chains take next."""
    LEFT = 19
    """Free rows in an auction."""
    HALT = 20
    """Why an auction's chains end (`chains`), or 0."""
    LONGEST = 21
    """Bids of the group that has made the most."""
    LAST = 22
    """Place behind the last row that waits for an auction's chains."""

    TURN = 23
    """The turn at which a cluster takes over; -1 if it does not."""
    DUE = 24
    """The time at which it has to end, in nanoseconds: two words (`words.hand_over`)."""

    HOLDS = 26
    """Whether the duals of sorted lines prove their diagonal (`sorting`)."""


WORDS = 27
FREE, LATE, FRONT, UNREACHED, LATE_LEVEL, SIGNALS, LEVEL, END = (
    Word.FREE, Word.LATE, Word.FRONT, Word.UNREACHED, Word.LATE_LEVEL, Word.SIGNALS, Word.LEVEL,
    Word.END,
)  # fmt: skip
NEXT, LEFT, HALT, LONGEST, LAST = Word.NEXT, Word.LEFT, Word.HALT, Word.LONGEST, Word.LAST
TURN, DUE, HOLDS = Word.TURN, Word.DUE, Word.HOLDS


class Level:
    """Indices into ``levels``; the first two have three slots as above, by levels of a search."""

    LEAST = 0
    """Distance of the nearest column that is open."""
    REACH = 3
    """Distance of the farthest free column reached, -1 if none (a rectangle: nearest, or top)."""
    SUM = 6
    """Reduced costs of the sampled rows, added up."""
    NUMBER = 7
    """Allowed pairs of these rows."""
    FOUND = 8
    """By how much a grid's search lets the free rows' duals rise."""
    WIDTH = 9
    """The width of a bucket, for a cluster that takes over."""


LEVELS = 10
LEAST, REACH, SUM, NUMBER, FOUND, WIDTH = (
    Level.LEAST, Level.REACH, Level.SUM, Level.NUMBER, Level.FOUND, Level.WIDTH,
)  # fmt: skip

TOTALS = (
    "scales", "rounds", "bids", "phases", "iterations", "relaxed", "rescalings", "repairs",
    "loose", "auctions", "near", "sorts", "sorted",
)  # fmt: skip
"""Names of ``totals``: the reference's counts."""
(
    SCALES, ROUNDS, BIDS, PHASES, ITERATIONS, RELAXED, RESCALINGS, REPAIRS, LOOSE, AUCTIONS, NEAR,
    SORTS, SORTED,
) = range(13)  # fmt: skip


class Status:
    """The end of a run."""

    UNDER_WAY = 0
    """Another launch goes on."""
    SOLVED = 1
    LATE = 2
    """The time was over."""
    INFEASIBLE = 3
    """Some free rows reach no free column."""
    STUCK = 4
    """More phases than rows, or a search of more levels than are needed: a fault."""


SOLVED, EXPIRED, NO_WAY, STUCK = Status.SOLVED, Status.LATE, Status.INFEASIBLE, Status.STUCK
UNDER_WAY = Status.UNDER_WAY

CONCLUDED = 8
"""Added to the status of a run that a cluster has ended."""
