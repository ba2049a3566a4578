"""Statements of [D13 sec.4] that name no number: who is faster, and who needs fewer iterations.

Print speaks of its sets of slow graphs. Ours hold too few, so all graphs count: in statements on
times those that all five CPU codes have solved, each ordering by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import pandas as pd

from papers.common.evidence.comparisons import EFFECT, effect, not_measured, signs
from papers.common.evidence.tables import Published
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Comparison
from papers.deveci_matching.evidence import sets
from papers.deveci_matching.evidence.causes import bounds, races
from papers.deveci_matching.evidence.codes import MODES, MULTICORE, SEARCHES, SEQUENTIAL, VARIANTS
from papers.deveci_matching.evidence.sets import ORIGINAL, PERMUTED
from papers.deveci_matching.evidence.tables import (
    GRAPH,
    geometric_mean,
    measured,
    order,
    side_by_side,
)

ON_CPU = (*SEQUENTIAL, *MULTICORE)
COUNTS = {"bfs_iterations": "iterations", "bfs_launches": "executions"}


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the numbers behind the statements, a row a graph: ms of CPU codes, counts of variants.

    ``<variant> iterations`` is the number of outer iterations, ``<variant> executions`` that of the
    BFS kernel, ``<search> <mode> overlap`` and ``crossed`` as of `races.overlaps`. A graph stands
    here once: of a generated one the first seed stands for all.
    """
    keys = ["source", *GRAPH]
    found = side_by_side(measured(summary))[[*keys, "device", *ON_CPU]]
    for metric, name in COUNTS.items():
        counted = side_by_side(measured(summary, metric, "answer"))[[*keys, *VARIANTS]]
        names = {code: f"{code} {name}" for code in VARIANTS}
        found = found.merge(counted.rename(columns=names), on=keys, how="left")
    found = found.merge(races.overlaps(summary), on=keys, how="left")
    found = found[found["kind"].isin((sets.REAL, sets.GENERATED))]
    found = found.sort_values("seed", kind="stable")
    found = found.drop_duplicates(["source", "name", "n", "ordering"])
    return order(found, by=("ordering", "kind", "n", "name")).drop(columns="seed")


# ------------------------------------------------------------------------------- verdicts

FASTER = (
    (ORIGINAL, "HK", "PFP", "HK is the faster sequential code"),
    (PERMUTED, "PFP", "HK", "PFP is the faster sequential code"),
    (ORIGINAL, "P-DBFS", "P-PFP", "P-PFP is inferior to P-DBFS"),
    (PERMUTED, "P-DBFS", "P-PFP", "P-PFP is inferior to P-DBFS"),
    *(
        (ordering, other, "P-HK", "P-HK is outperformed by the others")
        for ordering in (ORIGINAL, PERMUTED)
        for other in ("P-PFP", "P-DBFS")
    ),
)
"""An ordering, the faster code, the slower one, the words."""

BEST_MULTICORE = "P-DBFS"


def _times(rows: pd.DataFrame) -> Iterator[Comparison]:
    rows = rows.dropna(subset=list(ON_CPU))
    for ordering, fast, slow, words in FASTER:
        mine = rows[rows["ordering"] == ordering]
        if len(mine):
            mean = round(geometric_mean(mine[slow] / mine[fast]), 4)
            what = f"{slow} over {fast}, geometric mean, {ordering} graphs"
            yield effect(what, words, mean, at_least=EFFECT, note=f"{len(mine)} graphs")
    for ordering, mine in rows.groupby("ordering"):
        others = mine[[code for code in MULTICORE if code != BEST_MULTICORE]].min(axis=1)
        wins = int((mine[BEST_MULTICORE] < others).sum())
        ties = int((mine[BEST_MULTICORE] == others).sum())
        yield signs(
            f"{BEST_MULTICORE} is the fastest multicore code, {ordering} graphs",
            "the best performance", wins, len(mine), 0.5, ties,
        )  # fmt: skip


FEWER = (("iterations", "fewer iterations", 1.0), ("executions", "fewer for most graphs", 0.5))
"""The text on APFB beside APsB: what is counted, the words, the share of graphs they ask for."""


def _counts(rows: pd.DataFrame) -> Iterator[Comparison]:
    for (name, words, share), kernel, mode in product(FEWER, SEARCHES, MODES):
        pair = [f"{algorithm} {kernel} {mode} {name}" for algorithm in ("APFB", "APsB")]
        known = rows.dropna(subset=pair)
        few, many = (known[column] for column in pair)
        if few.empty:
            continue
        judged = partial(
            signs, f"graphs on which APFB needs fewer {name} than APsB, {kernel} {mode}", words,
            int((few < many).sum()), len(few), share, int((few == many).sum()),
        )  # fmt: skip
        cause = None
        if share == 1.0:
            overlap, crossed = (known[f"{kernel} {mode} {how}"].astype(bool) for how in races.HOW)
            cause = bounds.of_iterations(few, many, overlap, crossed, judged().measured)
        yield judged(cause=cause)


def verdicts(table: pd.DataFrame) -> list[Comparison]:
    """Judge the statements, by counts on any device and by times beside a GPU."""
    found: list[Comparison] = []
    for _, rows in table.groupby("source", sort=False) if len(table) else ():
        found += _counts(rows)
        found += _times(rows[rows["device"] != EXECUTOR_NAME])
    return found or not_measured("statements of section 4", "claim")
