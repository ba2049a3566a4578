"""Where searches are deep: paths, triangles and grids, with jumps and without.

Ours, past the paper. On these graphs `beyond` once lost to one core of a CPU: a path of n rows took
a level a row, and a start by racing threads left long paths on triangles and grids. The counts do
not depend on the device, so that the executor shows them; the time was predicted from them before
it was measured: `GRID_US` a barrier of the grid, `LONE_US` a level of one block.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from papers.common.evidence.comparisons import goal, missing, not_measured, predicted
from papers.common.evidence.tables import Published
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cell, Comparison, Instance, Plan
from papers.deveci_matching.evidence import sets
from papers.deveci_matching.evidence.codes import BEYOND, BY_LEVELS, EXCLUDED, ON_DEVICE, cell
from papers.deveci_matching.evidence.tables import GRAPH, measured, order

GRID_US, LONE_US = 3.0, 5.0
"""Predicted microseconds of a barrier of the grid with the little work around it, and of a level of
one block: the time that paths of 10^5 rows took, by their levels."""

WITHIN = 3.0
"""The factor that a measured time may differ by from the predicted one."""

SIZES: dict[str, tuple[tuple[str, int], ...]] = {
    "smoke": (("path", 64),),
    "quick": (("path", 10_000), ("triangle", 500), ("grid_graph", 10_000)),
    "paper": (("path", 100_000), ("path", 1_000_000), ("triangle", 2000), ("grid_graph", 490_000)),
}
EXECUTOR_SIZES = (("path", 128), ("triangle", 20), ("grid_graph", 36))

MOST_BY_LEVELS = 500_000
"""Rows of the largest graph that goes without jumps: a path of a million takes many seconds."""

LONE_HOST = ("HK", "PFP")
"""The codes of one core that a graph is lost to, or won against."""

COUNTS = {
    "bfs_iterations": "phases",
    "bfs_launches": "levels",
    "levels_alone": "alone",
    "jumps": "jumps",
    "doubling_rounds": "rounds",
    "grid_barriers": "barriers",
}


def graphs(plan: Plan) -> list[Instance]:
    """Return the deep graphs, original and permuted."""
    chosen = SIZES[plan.preset] if plan.gpu else EXECUTOR_SIZES
    return [
        Instance(family, n, "deep", permuted=ordering == sets.PERMUTED)
        for family, n in chosen
        for ordering in sets.ORDERINGS
    ]


def cells(plan: Plan) -> list[Cell]:
    """Return `beyond` with jumps and without, from both starts, beside the sequential codes."""
    found = []
    for graph in graphs(plan):
        found += [cell(code, graph) for code in (*LONE_HOST, BEYOND)]
        found += [cell(BEYOND, graph, start=ON_DEVICE)]
        found += [cell(BY_LEVELS, graph)] if graph.n <= MOST_BY_LEVELS else []
    return found


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return times and counts, a row a graph, code and start.

    ``predicted_ms`` follows from the counts alone; ``over_cpu`` is the time over that of the faster
    sequential code, whose start is before the clock.
    """
    keys = ["source", "device", *GRAPH, "code", "start"]
    rows = measured(summary)
    rows = rows[rows["kind"] == sets.DEEP].rename(columns={"value": "measured_ms"})
    rows = rows[[*keys, "measured_ms"]]
    for metric, name in COUNTS.items():
        counted = measured(summary, metric, "answer").rename(columns={"value": name})
        rows = rows.merge(counted[[*keys, name]], on=keys, how="left")
    on_cpu = rows[rows["code"].isin(LONE_HOST) & (rows["start"] == EXCLUDED)]
    least = on_cpu.groupby(["source", *GRAPH])["measured_ms"].min().rename("cpu_ms").reset_index()
    rows = rows[rows["code"].isin((BEYOND, BY_LEVELS))].merge(
        least, on=["source", *GRAPH], how="left"
    )
    rows = rows.assign(
        predicted_ms=(GRID_US * rows["barriers"] + LONE_US * rows["alone"]) / 1e3,
        over_cpu=rows["measured_ms"] / rows["cpu_ms"],
    )
    rows = order(rows, by=("name", "n", "ordering", "code", "start", "source"))
    return rows[
        ["name", "n", "ordering", "code", "start", "source", "device", *COUNTS.values(),
         "predicted_ms", "measured_ms", "cpu_ms", "over_cpu"]
    ]  # fmt: skip


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Judge our goals and predictions: fewer waits than levels, and no loss to one core."""
    return [*_counts(found), *_times(found)] or not_measured("deep searches", "goal")


def _wide(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    mine = rows[rows["start"] == EXCLUDED]
    return mine.pivot_table(index=["source", "name", "n", "ordering"], columns="code",
                            values=column)  # fmt: skip


def _counts(found: pd.DataFrame) -> Iterable[Comparison]:
    """Judge by the levels of one block and the barriers of the grid, which no hardware changes."""
    if found.empty:
        return
    waits = _wide(found.assign(waits=found["alone"] + found["barriers"]), "waits")
    for key, row in waits.reindex(columns=[BEYOND, BY_LEVELS]).dropna().iterrows():
        if isinstance(key, tuple) and key[1].startswith("path") and key[3] == sets.ORIGINAL:
            share = round(float(row[BEYOND] / row[BY_LEVELS]), 4)
            yield goal(f"waits with jumps over those without, {key[1]}", share, at_most=0.9)


def _times(found: pd.DataFrame) -> Iterable[Comparison]:
    timed = found[found["device"] != EXECUTOR_NAME] if len(found) else found
    for row in timed[timed["code"] == BEYOND].itertuples(index=False) if len(timed) else ():
        what = f"{row.name} {row.ordering}, start {row.start}"
        if not missing(row.over_cpu):
            yield goal(f"beyond over one core, {what}", round(row.over_cpu, 4), at_most=1.0)
        if not missing(row.predicted_ms):
            band = row.predicted_ms / WITHIN, row.predicted_ms * WITHIN
            yield predicted(f"ms of beyond, {what}", *band, round(row.measured_ms, 4))
