"""Comparisons of each table and figure of [L19] with print: rows, curves and rankings.

`judged` turns judges into the function that an experiment wants; a judge looks at the rows of one
origin (this run, or a record) that have both values. Times of the CPU executor are never judged.
The declared tables of `experiments` compare themselves; their notes and claims stand here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from papers.common.evidence import comparisons as compare
from papers.common.evidence.comparisons import effect, not_measured
from papers.common.evidence.judges import (
    curves,
    each,
    judged,
    rankings,
    without,
)
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Comparison
from papers.lopes2019.evidence.card import causes

LATENCY = compare.if_smaller(
    "flatter: at small n a run is a chain of launches and waits, which the newer card shortens "
    "less than the matrix-wide kernels that rule at large n (Figures 10 to 12)"
)


# ------------------------------------------------------------------------------- notes


def gains(first: str, second: str, what: str, other: str) -> Callable[[Any], compare.Note]:
    """Return a note of `papers.common.evidence.comparisons.gains`, from two columns of a row."""
    return lambda row: compare.gains(getattr(row, first), getattr(row, second), what, other)


def _share_note(row: Any) -> compare.Note:
    """Remark on a share, which is larger where the run gained more than the step did."""
    if row.share_pct == 0:
        return "no dual update was needed on these instances"
    return gains("run_gain", "step_gain", "the run's time", "the step's")(row)


# ------------------------------------------------------------------------------- tables, figures


_SPEEDUP = ("published_speedup", "speedup")
step_speedups = judged(
    "speedup of the steps", *_SPEEDUP,
    each("speedup: n={n} {step}", *_SPEEDUP,
         note=gains("cuda_gain", "c_gain", "the step's CUDA time", "its C time"),
         cause=causes.of_speedup),
    without(rankings("order of the steps by speedup, n={}", *_SPEEDUP, "step", "n", 0.25),
            "step", "global"),
)  # fmt: skip

_SHARE = ("published_share_pct", "share_pct")
shares = judged(
    "shares of the steps", *_SHARE,
    rankings("order of the steps by share, n={}", *_SHARE, "step", "n", 0.25),
    each("share of {step}, n={n}", *_SHARE, compare.share, _share_note, causes.of_share),
)  # fmt: skip

_RATIO = ("published_ratio", "ratio")
over_o4 = judged(
    "time over O4", *_RATIO,
    each("{algorithm} over O4, n={n}", *_RATIO),
    rankings("order of the codes, n={}", *_RATIO, "algorithm", "n", 0.2),
)  # fmt: skip


def _range_label(over_n: float) -> str:
    return f"{over_n:g}n" if over_n >= 1 else f"n/{1 / over_n:g}"


_TIME = ("published_ms", "time_ms")
against_range = judged(
    "time against the range", *_TIME,
    rankings("order of the codes, range {}", *_TIME, "algorithm", "range_over_n", 0.2,
             _range_label),
    curves("{}: slope over the range", *_TIME, "algorithm", "range_over_n", tolerance=0.15),
)  # fmt: skip


ANOTHER_CODE = (
    "print's O(n^3) code is not public, ours is another one (the alternating tree of [DN16])"
)


def other_code(row: Any) -> compare.Note:
    """Remark on a ratio that the O(n^3) code is another one, and how far both codes moved."""
    public = f"the public codes of both papers have {row.authors_ratio:.2g} on an H200"
    moved = gains("o4_gain", "o3_gain", "the O(n^4) time", "the O(n^3) time")(row)
    return compare.either(moved, f"{ANOTHER_CODE}; {public}")


# ------------------------------------------------------------------------------- our own


def authors(table: pd.DataFrame) -> list[Comparison]:
    """Check our goals: as printed within twice the authors' program, ours at most a fourth of it.

    The first says whether our configuration is theirs: each of the 15 cells, with flags in managed
    memory and with flags that the host copies.
    """
    found = []
    for _, rows in table.groupby("source", sort=False):
        complete = len(rows) == 15 and (rows["seeds"] >= 2).all()
        if not complete or not rows["device"].str.contains("H200").all():
            continue
        for flags in ("managed", "copied"):
            for row in rows.itertuples(index=False):
                found.append(
                    compare.goal(
                        f"{flags} flags, ours as printed over the authors', n={row.n} range "
                        f"{row.cost_range}",
                        float(getattr(row, f"{flags}_over_authors")), 0.5, 2.0,
                    )
                )  # fmt: skip
        ratios = rows["tuned_over_authors"]
        found += compare.goal_of_cells("our time over the authors'", ratios, 0.25, 0.5)
    return found or not_measured("our times over the authors': all 15 cells, an H200", "goal")


def appendix_b(table: pd.DataFrame) -> list[Comparison]:
    """Judge that the paper's kernel is the fastest: Appendix B gives no numbers, but chose it.

    As printed: 512 columns a bin, where the alternatives pay for what they do not see. In our
    configuration one block searches alone up to n = 4096; that is shown and proves nothing.
    """
    found = []
    rows_on_gpu = table[table["device"] != EXECUTOR_NAME]
    for (_, n), rows in rows_on_gpu.groupby(["source", "n"], sort=False):
        for choice in ("A", "B", "C"):
            ratios = rows.loc[rows["step_4"] == choice, "over_choice"].dropna()
            if ratios.empty:
                continue
            mean = float(np.exp(np.log(ratios).mean()))
            found.append(
                effect(
                    f"alternative {choice} over the paper's kernel, n={n}", "not faster",
                    round(mean, 3), at_least=1.0,
                )
            )  # fmt: skip
    return found or not_measured("alternatives over the paper's kernel, on a GPU", "claim")
