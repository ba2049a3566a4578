"""Times MPI's collectives on the ranks of one host, on host memory: what a message costs by ranks.

    mpiexec -n 8 python -m papers.datenagi2016.several_gpus.time_collectives

No GPU takes part, so that there may be more ranks than GPUs: `evidence.scaling_model` takes from it
how a message grows with the ranks. Rank 0 prints a line for each collective of [DN16 sec.5] and
size: ranks, collective, bytes of a rank's buffer, median microseconds of the slowest rank.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from papers.common.mpi import ranks

COLUMNS = ("ranks", "collective", "bytes", "us")
SIZES = (8, 1024, 80_000, 160_000)
"""Bytes of a rank's buffer: a word, a short frontier, all rows of n = 20,000 and of 40,000."""

REPEATS = 200
"""Rounds of each collective, behind a tenth as many that warm up."""


def collectives(comm: Any, size: int) -> dict[str, Callable[[], None]]:
    """Return the collectives by name, each on buffers of `size` bytes a rank."""
    mine, whole = (np.zeros(count * size, np.uint8) for count in (1, comm.size))
    word, found = np.zeros(1, np.int64), np.zeros(1, np.int64)
    calls: dict[str, Callable[[], None]] = {
        "gather": lambda: comm.Gather(mine, whole if comm.rank == 0 else None, 0),
        "broadcast": lambda: comm.Bcast(mine, 0),
        "allgather": lambda: comm.Allgather(mine, whole),
    }
    if size == SIZES[0]:
        calls["reduce"] = lambda: comm.Reduce(word, found, ranks.mpi().MIN, 0)
    return calls


def timed(comm: Any, call: Callable[[], None], repeats: int) -> float:
    """Return the median over the rounds of the slowest rank's microseconds; the same everywhere.

    Every round begins at a barrier, as a level begins when the one before it has ended.
    """
    took = []
    for turn in range(repeats + repeats // 10):
        comm.Barrier()
        start = time.perf_counter()
        call()
        seconds = comm.allreduce(time.perf_counter() - start, ranks.mpi().MAX)
        if turn >= repeats // 10:
            took.append(seconds)
    return 1e6 * statistics.median(took)


def measure(comm: Any, repeats: int = REPEATS) -> list[tuple[int, str, int, float]]:
    """Return a row of `COLUMNS` for each collective and size; collective."""
    return [
        (int(comm.size), name, size, round(timed(comm, call, repeats), 3))
        for size in SIZES
        for name, call in collectives(comm, size).items()
    ]


def main() -> None:
    """Print the rows on rank 0; a first argument is the number of rounds."""
    comm = ranks.world()
    rows = measure(comm, int(sys.argv[1]) if sys.argv[1:] else REPEATS)
    if comm.rank == 0:
        print("\n".join(",".join(map(str, row)) for row in rows))


if __name__ == "__main__":
    main()
