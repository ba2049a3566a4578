"""Files, ranges and their order: what these tables share beside `papers.common.evidence.rows`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

RANGES = ("0.1n", "n", "10n")
"""The ranges of uniform costs in the order of the pages."""

_HOME = Path(__file__).parents[1]


def read(name: str) -> pd.DataFrame:
    """Return a table of `papers/synthesis/evidence` by its file's name without the ending."""
    return pd.read_csv(_HOME / f"{name}.csv")


def in_page_order(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows sorted by ``n`` and then by the range of their uniform ``costs``."""
    ranked = found.assign(rank=found["costs"].map(RANGES.index))
    return ranked.sort_values(["n", "rank"], kind="stable").drop(columns="rank")
