"""All settings of the assignment solver: its schedule, and the shape of its launch."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

WARP = 32
LARGEST_BLOCK = 1024

MOST_BLOCKS = 16
"""Blocks of a cluster, at most."""

NEAR, NEAR_OF_LARGE = 48, 96
"""Where pairs are marked, see `Settings.near`."""

LARGE = 32_768
"""A longer side has `NEAR_OF_LARGE`. With 48 searches go beyond what is marked at n = 100,000, and
rows have to look at all columns: 1.3 to 4.8 s at range n, with 96 at most 0.9; at 20,000 and below
more marks save nothing (`evidence/near_large.csv`)."""

SPARSE = 16
"""One pair in so many may be marked at most, where marks are used."""

ALONE, FEWEST_CLUSTERED = 64, 32
"""The longest side of a problem that one block solves by default, and the rows from which a cluster
is faster, where there is one (`evidence/shortest.csv`)."""

CLUSTERED, CLUSTERED_UNSCALED = 1024, 2048
"""The longest sides of a problem whose phases one cluster makes by default: in any case, and of
squares of int32 that need no scales, if fronts are narrow."""


FEW_ROWS = 2048
"""Rows up to which the bytes of a level are few."""

SMALL_BLOCKS = 8192
"""The longest side whose blocks have 256 threads; at n = 20,000 those of 512 are faster
(`evidence/threads.csv`)."""

FEW_FREE = 8
"""Free rows that are not worth a scale, nor the rest of one (`evidence/small_scales.csv`)."""

POWERS = ("threads", "warps_a_row", "warps_marked", "tile")
"""Settings that are powers of two."""

MOST_TURNS = 12
"""Times that the outermost lines are looked for, at most, where lines are sorted."""

SAMPLED_COSTS = 1024
"""Costs that `have_short_range` looks at."""


def have_short_range(matrix: np.ndarray) -> bool:
    """Whether integers differ by less than half as much as there are rows, by a sample of them.

    With up to `FEW_ROWS` rows no setting depends on it, so that it is False without a look.

    Parameters
    ----------
    matrix : T[n, m] or T[m, n]
        Costs of the host.
    """
    n, m = min(matrix.shape), matrix.shape[1]
    if matrix.dtype.kind not in "iu" or n <= FEW_ROWS:
        return False
    # The step is odd, so that the sample is not of a few columns.
    places = np.arange(SAMPLED_COSTS) * (matrix.size // SAMPLED_COSTS | 1) % matrix.size
    sample = matrix[places // m, places % m]
    return bool(2 * (int(sample.max()) - int(sample.min())) < n)


@dataclass(frozen=True)
class Settings:
    """The schedule and the launch; no answer depends on any of them, only the time does.

    One block has auction rounds: all free rows bid, then columns take bids. A grid's rows bid in
    chains (`kernels.grid.chains`), and where a setting counts rounds, a group of warps makes as
    many bids for each row that it begins with.

    Attributes
    ----------
    start_rounds : int
        Auction rounds at eps 0 from the empty matching, at most; in a grid bids of a group, beside
        three for each row that it begins with.
    start_left : int
        Free rows, per mille of n, at which the start's rounds end.
    scale_above : int
        Costs are scaled if more rows than this are free after the start, per mille of n.
    left_free : int
        Rows that a scale may leave free, per mille of n.
    divisor : int
        The quotient of an eps and the next one.
    most_scales : int
        Scales at most.
    most_rounds : int
        Auction rounds of a scale at most.
    stall_rounds, stall_share : int
        The rounds of a scale end if the number of free rows has fallen by less than this share,
        in per mille, over so many rounds.
    last_rounds : int
        Auction rounds at eps 0 behind the last scale, at most.
    delta, delta_scaled : int
        The width of a search's bucket, times ``mean / n``: where costs were not scaled, and where
        they were.
    sampled_rows : int
        Rows, evenly spread, that the mean reduced cost is taken over.
    repairs : int
        Floats: how often pairs that rounding has left loose are taken apart and matched anew.
    lifts : int
        Floats: how often the duals are made small before pairs are judged.
    threads : int
        Threads a block: a power of two, at least a warp.
    blocks : int
        Blocks at most; 0: as many as are resident at once. One block has a kernel of its own, in
        which a thread has whole columns and no barrier leaves the block.
    warps_a_row : int
        Warps that look for one row's bid at most, a power of two. More find a bid sooner, but a
        grid has fewer rows then that bid at a time.
    tile : int
        Columns that one block relaxes at a time: a power of two up to a warp.
    loads : int
        Costs that a thread loads before it looks at the first of them.
    near : int
        A grid marks pairs whose reduced cost is at most this times ``mean / n`` and reads no other
        costs while those suffice (`kernels.grid.near`); 0: it reads all.
    near_least : int
        Marked pairs a row, in the mean, without which no mark is used.
    warps_marked : int
        Warps that look for one row's bid by marks where the auction opens, a power of two, and no
        more than `warps_a_row`.
    cluster : int
        Blocks of the cluster that makes a grid's phases, in a launch of its own
        (`kernels.cluster`); 0: the grid makes them. Cards without clusters ignore it.
    cluster_unscaled : int
        1: the cluster makes them only where there were no scales and a bucket holds more than one
        distance, since fronts are wide elsewhere; 0: in all cases.
    sorting : int
        1: before scales the lines of a square of integers are sorted, and their diagonal is taken
        where its duals prove it (`kernels.sorting`); 0: they are not.

    Raises
    ------
    ValueError
        For a value out of its range.
    """

    start_rounds: int = 16
    start_left: int = 20
    scale_above: int = 80
    left_free: int = 10
    divisor: int = 4
    most_scales: int = 12
    most_rounds: int = 400
    stall_rounds: int = 32
    stall_share: int = 20
    last_rounds: int = 16
    delta: int = 32
    delta_scaled: int = 32
    sampled_rows: int = 128
    repairs: int = 4
    lifts: int = 1
    threads: int = 512
    blocks: int = 0
    warps_a_row: int = 4
    tile: int = 32
    loads: int = 8
    near: int = 0
    near_least: int = 16
    warps_marked: int = 4
    cluster: int = 0
    cluster_unscaled: int = 0
    sorting: int = 1

    def __post_init__(self) -> None:
        least = {"divisor": 2, "lifts": 1, "stall_rounds": 1, "sampled_rows": 1, "threads": WARP,
                 "warps_a_row": 1, "warps_marked": 1, "tile": 1, "loads": 1}  # fmt: skip
        most = {"threads": LARGEST_BLOCK, "warps_a_row": WARP, "warps_marked": WARP, "tile": WARP,
                "loads": 32, "cluster": MOST_BLOCKS, "cluster_unscaled": 1,
                "sorting": 1}  # fmt: skip
        for name, value in vars(self).items():
            if not isinstance(value, int | np.integer) or isinstance(value, bool):
                raise ValueError(f"{name}={value!r} is no whole number")
            if not least.get(name, 0) <= value <= most.get(name, 1_000_000):
                raise ValueError(f"{name}={value} is out of range")
            if name in POWERS and int(value).bit_count() != 1:
                raise ValueError(f"{name}={value} is no power of two")
        if self.near and self.tile != WARP:
            raise ValueError(f"near={self.near} asks for a tile of {WARP} columns")

    def of_rows(self, n: int) -> dict[str, int]:
        """The shares of n rows, as numbers: the names are those of `kernels.arguments.Schedule`."""
        shares = {"start_stop": self.start_left, "many": self.scale_above, "stop": self.left_free}
        return {name: n * share // 1000 for name, share in shares.items()}

    @classmethod
    @functools.lru_cache(maxsize=256)  # every run asks
    def for_shape(
        cls, n: int, m: int, kind: Any = np.int32, short: bool = False, clusters: bool = True
    ) -> Settings:
        """The settings for so many rows and columns, ``n <= m``, and costs of a dtype.

        `FEW_FREE` rows are not worth a scale, and a grid's scales leave as many free: their
        last bids would only drive up one another's prices. The tile is so wide that some hundred
        blocks have one each. Where the bytes of a level are few, smaller blocks meet sooner at its
        barriers, and the smallest problems are one block's; where they are many, a narrow bucket
        reads fewer rows twice. So it does where integers were not scaled, as uniform ones are not;
        floats have more levels by it, and take longer (`evidence/buckets.csv`). Of wide costs half
        as many are as many bytes in flight, and small blocks have the registers that these take. So
        have they for the levels of a search, where a large block's threads keep values in memory.
        Large blocks are faster where ranges are short, whose levels are few and wide, and where
        sides are very long (`evidence/threads.csv`). Bids by marks have one warp a row where the
        auction opens, and four where ranges are short (`evidence/opening_warps.csv`).

        Parameters
        ----------
        n, m : int
        kind : dtype
        short : bool
            Whether costs are known to have a short range (`have_short_range`).
        clusters : bool
            Whether the card has clusters.
        """
        kind = np.dtype(kind)
        loads = 8 if kind.itemsize <= 4 else 4
        few = min(1000, 1000 * FEW_FREE // max(1, n))
        left = min(1000, -(-1000 * FEW_FREE // max(1, n)))  # `of_rows` rounds down
        if m <= ALONE and (n < FEWEST_CLUSTERED or not clusters):
            return cls(scale_above=max(80, few), blocks=1, threads=256, loads=loads)
        tile = 8
        while tile < WARP and 128 * tile < m:
            tile *= 2
        small = n <= FEW_ROWS
        large = kind.itemsize <= 4 and not small and (m > SMALL_BLOCKS or short)
        delta = delta_scaled = 32 if small else 4
        if kind.kind == "i" and n == m:
            delta, delta_scaled = (4, 16) if small else (1, 4)
        unscaled = CLUSTERED < m == n <= CLUSTERED_UNSCALED and kind == np.int32
        return cls(
            scale_above=max(80, few),
            left_free=max(10, left),
            tile=tile,
            threads=512 if large else 256,
            delta=delta,
            delta_scaled=delta_scaled,
            loads=loads,
            near=0 if tile < WARP else NEAR_OF_LARGE if m > LARGE else NEAR,
            warps_marked=4 if short else 1,
            cluster=16 if m <= CLUSTERED or unscaled else 0,
            cluster_unscaled=int(unscaled),
        )
