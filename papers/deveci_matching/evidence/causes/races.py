"""The spread of counts between repetitions: the schedule of racing threads decides them.

A count has no clock. Where the counts of one code lie as far apart between repetitions as those of
two codes, or as far as its times do, it is the races that part them.
"""

from __future__ import annotations

import math
from itertools import product

import pandas as pd

from papers.common.evidence.tables import Published
from papers.deveci_matching.evidence import profiles, sets, tables
from papers.deveci_matching.evidence.codes import BEST, EXCLUDED, MODES, SEARCHES
from papers.deveci_matching.evidence.tables import GRAPH, measured, side_by_side

CLAIM = "DE-o"


def overlaps(summary: pd.DataFrame) -> pd.DataFrame:
    """Return whether APFB has at most APsB's iterations in some pair of repetitions, by graph.

    Returns
    -------
    DataFrame
        ``source``, the columns of a graph, and ``<search> <mode> overlap``, a bool a pair of codes.
    """
    rows = measured(summary, "bfs_iterations", "answer")
    least, most = (side_by_side(rows.assign(value=rows["values"].map(pick))) for pick in (min, max))
    found = least[["source", *GRAPH]].copy()
    for kernel, mode in product(SEARCHES, MODES):
        few, many = (f"{algorithm} {kernel} {mode}" for algorithm in ("APFB", "APsB"))
        found[f"{kernel} {mode} overlap"] = least[few] <= most[many]
    return found


def steady(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the share of graphs on which the number of launches is steady, in per cent.

    Returns
    -------
    DataFrame
        ``source id expected_measured``: the claim about times, asked of the BFS kernel's launches.
    """
    counts = measured(summary, "bfs_launches", "answer")
    counts = counts[(counts["code"] == BEST) & (counts["start"] == EXCLUDED)]
    rows = []
    for source, _, graphs in tables.by_source(summary):
        rebuilt = sets.rebuilt(graphs)
        mine = counts[counts["source"] == source].drop_duplicates(GRAPH)
        mine = mine.merge(rebuilt[profiles.chosen(rebuilt, "O_S1")][GRAPH], on=GRAPH)
        spread = profiles.deviation(mine).dropna()
        share = 100 * float((spread < profiles.BOUNDS[0]).mean()) if len(spread) else math.nan
        rows.append((source, CLAIM, share))
    return pd.DataFrame(rows, columns=["source", "id", "expected_measured"])
