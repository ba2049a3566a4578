"""The spread of counts between repetitions: the schedule of racing threads decides them.

A count has no clock. Where the counts of one code lie as far apart between repetitions as those of
two codes, it is the races that part them.
"""

from __future__ import annotations

from itertools import product

import pandas as pd

from papers.deveci_matching.evidence.codes import MODES, SEARCHES
from papers.deveci_matching.evidence.tables import GRAPH, measured, side_by_side

HOW = ("overlap", "crossed")
"""The columns of `overlaps` for each pair of codes."""


def overlaps(summary: pd.DataFrame) -> pd.DataFrame:
    """Return on which graphs the schedule alone decides which code has more iterations.

    Returns
    -------
    DataFrame
        ``source``, the columns of a graph, and for each pair of codes two of bool: ``<search>
        <mode> overlap`` tells whether APFB has at most APsB's iterations in some pair of
        repetitions, and ``<search> <mode> crossed`` whether it has more in some pair.
    """
    rows = measured(summary, "bfs_iterations", "answer")
    least, most = (side_by_side(rows.assign(value=rows["values"].map(pick))) for pick in (min, max))
    found = least[["source", *GRAPH]].copy()
    for kernel, mode in product(SEARCHES, MODES):
        few, many = (f"{algorithm} {kernel} {mode}" for algorithm in ("APFB", "APsB"))
        found[f"{kernel} {mode} overlap"] = least[few] <= most[many]
        found[f"{kernel} {mode} crossed"] = most[few] > least[many]
    return found
