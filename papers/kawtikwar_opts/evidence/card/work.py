"""The work of a run as printed: launches, searches, dual updates, and the bytes of their passes.

The counts are a run's own counters, which no hardware changes but for a few restarts of step 4. The
bytes follow from the covers: a warp asks memory for sectors of four doubles, and only for those
that have an entry to read. How many these are in a dual update, the covers of `reference` say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from papers.kawtikwar_opts.evidence.codes import DOUBLES, HOST_LOOP, VERSIONS

TOUCHED, UNCOVERED = 0.77, 0.35
"""The share of sectors with an entry that a dual update changes, and with an uncovered one.

Means over a run's dual updates by the covers of `reference`, n = 128 to 512: 0.60 of the columns
are covered and 0.34 of the rows. A test counts them again."""

MATRICES = {
    "min_reduce_kernel1": UNCOVERED,
    "step_6_add_sub": 2 * TOUCHED,
    "compress_matrix": 1.0,
    "add_sub_compress_matrix": 1 + TOUCHED,
}
"""Matrices that a kernel reads and writes in a dual update, by the names of Figures 2 to 4."""

MINIMUM = "min_reduce_kernel1"
PASSES = {
    "baseline": ("step_6_add_sub", "compress_matrix"),
    "opt0": ("step_6_add_sub", "compress_matrix"),
    **dict.fromkeys(VERSIONS[2:], ("add_sub_compress_matrix",)),
}
"""The kernels of a dual update that pass over the matrix, besides the minimum."""

REDUCTION = 2 * 256 * 256
"""Entries that the release's minimum has under way at once: 256 blocks of 256 threads take pairs.

All of these blocks are resident at once on both cards, and on larger ones too: a turn takes as long
as the memory's latency, and a dual update has n^2 / `REDUCTION` turns one after another."""

THREADS = 1024
"""Threads a block of the one launch, one block a multiprocessor: an entry a thread and turn."""

WARP = 32
BARRIERS_A_SEARCH, BARRIERS_AN_UPDATE, BARRIERS_A_PATH = 3, 3, 8
"""Barriers of the grid in one launch for a run of step 4, the rest of a dual update, and an
augmentation (`kernels.printed.steps`)."""

COUNTERS = {
    "launches": "kernel_launches",
    "searches": "iterations_step_4",
    "begun": "iterations_step_3",
    "updates": "iterations_step_6",
}


class Work(NamedTuple):
    """Counts of a run: launches, those of step 4, searches begun, dual updates; and the order."""

    n: int
    launches: float
    searches: float
    begun: float
    updates: float


def megabytes(n: int, kernel: str) -> float:
    """Return the megabytes that a kernel moves in a dual update, for doubles."""
    return 8e-6 * n * n * MATRICES[kernel]


def turns(n: int, at_once: int) -> int:
    """Return the turns of a pass that has so many entries under way at once."""
    return -(-n * n // at_once)


class Record:
    """The rows of one source by solver, options, clock, metric and n; medians over the seeds."""

    def __init__(self, rows: pd.DataFrame) -> None:
        keys = ["solver", "options", "scope", "metric", "n", "family"]
        self._values = rows.groupby(keys)["median"].median().to_dict()
        doubles = rows[rows["family"] == DOUBLES]
        self.sizes = sorted({int(n) for n in doubles["n"]})

    def __call__(
        self,
        version: str,
        n: int,
        metric: str = "time_ms",
        scope: str = "run",
        options: str = "configuration=paper",
        family: str = DOUBLES,
    ) -> float:
        """Return a figure of a version, or of a solver of another paper; NaN if there is none."""
        solver = version if ":" in version else f"kawtikwar_opts:{version}"
        return float(self._values.get((solver, options, scope, metric, n, family), np.nan))

    def us_a_launch(self, version: str, n: int, kernel: str, **where: str) -> float:
        """Return the device time of a launch of a kernel, as printed."""
        where = {"scope": "kernels", **where}
        ms = self(version, n, f"{kernel}_ms", **where)
        calls = self(version, n, f"{kernel}_launches", **where)
        return 1e3 * ms / calls if calls > 0 else np.nan

    def kernel_ms(self, version: str, n: int, name: str) -> float:
        """Return the device time of a kernel of Figures 2 to 4, or of all others."""
        kernels = {MINIMUM: "step_6_reduction_1"}
        named = [kernels.get(k, k) for k in (MINIMUM, *PASSES[version])]
        if name != "others":
            return self(version, n, f"{kernels.get(name, name)}_ms", "kernels")
        rest = self(version, n, scope="kernels")
        return rest - sum(self(version, n, f"{k}_ms", "kernels") for k in named)

    def work(self, version: str, n: int) -> Work | None:
        """Return the counts of a version's runs as printed; None where they were not recorded."""
        found = {name: self(version, n, m, "answer") for name, m in COUNTERS.items()}
        return None if any(np.isnan(v) for v in found.values()) else Work(n, **found)


def stars(work: Work) -> float:
    """Return the additions of step 3 to its count of stars: one a warp of columns and search.

    The count lies beside the flags, as the counter of all zeros does, and costs as much.
    """
    return work.begun * work.n / WARP


def others(work: Work, version: str) -> float:
    """Return the launches that Figures 2 to 4 call "others": all but those of `MATRICES`."""
    assert version in HOST_LOOP, "one launch has no kernels"
    return work.launches - (1 + len(PASSES[version])) * work.updates
