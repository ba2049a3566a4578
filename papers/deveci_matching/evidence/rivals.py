"""Rivals of today, and why PFP waits for memory. Ours, past the paper.

`table`: MS-BFS-Graft and Karp-Sipser's start beside the paper's codes and `beyond`, the start
within the clock. `latency_table`: PFP's time for an edge on one family at growing sizes: the edges
and the searches stay alike, the memory grows. The codes with a column's numbers side by side tell
whether the layout is the cause.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from papers.common.evidence.comparisons import goal, missing, not_measured
from papers.common.evidence.tables import Published
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cell, Comparison, Instance, Plan
from papers.deveci_matching.evidence import sets
from papers.deveci_matching.evidence.codes import (
    BEYOND,
    GRAFT,
    INCLUDED,
    KARP_SIPSER,
    KARP_SIPSER_INCLUDED,
    MULTICORE,
    ON_DEVICE,
    ON_GPU,
    SEQUENTIAL,
    TUNED,
    cell,
)
from papers.deveci_matching.evidence.tables import GRAPH, measured, order

STARTED = (
    *((code, INCLUDED) for code in (TUNED, BEYOND, *SEQUENTIAL, *MULTICORE, GRAFT)),
    (BEYOND, ON_DEVICE), (BEYOND, KARP_SIPSER_INCLUDED), ("HK", KARP_SIPSER_INCLUDED),
    ("PFP", KARP_SIPSER_INCLUDED), (GRAFT, KARP_SIPSER_INCLUDED),
)  # fmt: skip
"""A code and its start; all starts are within the clock."""

GRAPHS: dict[str, tuple[tuple[str, int, str], ...]] = {
    "smoke": (("delaunay", 2**8, "n8"),),
    "quick": (("delaunay", 2**12, "n12"), ("uniform_graph", 10_000, "d3")),
    "paper": (
        ("delaunay", 2**18, "n18"), ("rgg", 2**18, "n_2_18_s0"), ("kron", 2**16, "logn16"),
        ("uniform_graph", 100_000, "d4"), ("uniform_graph", 1_000_000, "d3"),
        ("skew_graph", 1_000_000, "d8"),
    ),
}  # fmt: skip


def cells(plan: Plan) -> list[Cell]:
    """Return the codes of `STARTED` on drawn graphs, and Karp-Sipser's start before the clock."""
    graphs = [Instance(*which, permuted=p) for which in GRAPHS[plan.preset] for p in (False, True)]
    wanted = (*STARTED, ("HK", KARP_SIPSER))
    return [
        cell(code, graph, start=start)
        for graph in graphs
        for code, start in wanted
        if plan.gpu or code not in ON_GPU
    ]


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return times with their starts, a row a graph, code and start, over `beyond`'s own.

    ``over_beyond`` is over `beyond` with the start on the device; ``left`` is the number of pairs
    that the start left to find.
    """
    keys = ["source", *GRAPH, "code", "start"]
    rows = measured(summary).rename(columns={"value": "measured_ms"})
    wanted = pd.DataFrame(STARTED, columns=["code", "start"])
    names = [sets.name_of(*which) for which in GRAPHS["paper"]]
    rows = rows[rows["name"].isin(names) | (rows["n"] < 2**15)].merge(wanted, on=["code", "start"])
    left = measured(summary, "augmenting_paths", "answer").rename(columns={"value": "left"})
    rows = rows.merge(left[[*keys, "left"]].drop_duplicates(keys), on=keys, how="left")
    ours = rows[(rows["code"] == BEYOND) & (rows["start"] == ON_DEVICE)]
    ours = ours.rename(columns={"measured_ms": "ours"})[["source", *GRAPH, "ours"]]
    rows = rows.merge(ours, on=["source", *GRAPH], how="left")
    rows = rows.assign(over_beyond=rows["measured_ms"] / rows["ours"])
    rows = order(rows, by=("kind", "n", "name", "ordering", "code", "start"))
    return rows[
        ["name", "n", "ordering", "kind", "code", "start", "source", "device", "left",
         "measured_ms", "over_beyond", "count"]
    ]  # fmt: skip


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Judge our goal: `beyond` with its own start is ahead of the fastest rival with any start."""
    return list(_ahead(found)) or not_measured("beyond beside today's rivals", "goal")


def _ahead(found: pd.DataFrame) -> Iterable[Comparison]:
    if found.empty:
        return
    rivals = found[~found["code"].isin(ON_GPU) & (found["device"] != EXECUTOR_NAME)]
    for key, rows in rivals.groupby(["source", "name", "n", "ordering"], sort=False):
        best = rows.loc[rows["over_beyond"].idxmin()] if rows["over_beyond"].notna().any() else None
        if best is not None and isinstance(key, tuple):
            yield goal(
                f"fastest rival over beyond, {key[1]} {key[3]}", round(best["over_beyond"], 4),
                at_least=1.0, note=f"{best['code']}, start {best['start']}",
            )  # fmt: skip


# ------------------------------------------------------------------------------- memory

PACKED = "PFP packed"
EXPONENTS = {"smoke": (8,), "quick": (12, 14), "paper": (12, 14, 16, 18, 20)}
SMALL, LARGE = 2**14, 2**20
"""Vertices of graphs whose rows' and columns' words fit in a core's cache, and that do not."""

SLOWER = 3.0
"""The factor that calls memory the cause: an edge takes so many times longer."""


def latency_cells(plan: Plan) -> list[Cell]:
    """Return PFP in both layouts on Delaunay graphs of growing size."""
    return [
        cell(code, graph)
        for graph in sets.generated({"delaunay": EXPONENTS[plan.preset]})
        for code in ("PFP", PACKED)
    ]


def latency_table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return ns an edge, a row a size and ordering: ``pfp_ns``, ``packed_ns``, their edges."""
    keys = ["source", *GRAPH, "code", "start"]
    edges = measured(summary, "edges_scanned", "answer").rename(columns={"value": "edges"})
    rows = measured(summary).merge(edges[[*keys, "edges"]], on=keys)
    rows = rows[rows["name"].str.startswith("delaunay") & rows["code"].isin(("PFP", PACKED))]
    rows = rows[rows["start"] == "excluded"].assign(ns=1e6 * rows["value"] / rows["edges"])
    index = ["name", "n", "ordering", "source"]
    wide = rows.drop_duplicates([*index, "code"]).set_index([*index, "code"])[["ns", "edges"]]
    wide = wide.unstack("code")
    pairs = [("ns", "PFP"), ("ns", PACKED), ("edges", "PFP"), ("edges", PACKED)]
    wide = wide.reindex(columns=pd.MultiIndex.from_tuples(pairs))
    wide.columns = pd.Index(["pfp_ns", "packed_ns", "edges", "packed_edges"])
    found = wide.reset_index().assign(packed_over_pfp=lambda t: t["packed_ns"] / t["pfp_ns"])
    return order(found, by=("ordering", "n", "source"))


def latency_compare(found: pd.DataFrame) -> list[Comparison]:
    """Judge the cause: the same code takes longer for an edge where memory is larger."""
    judged: list[Comparison] = []
    known = found.dropna(subset=["pfp_ns"]) if len(found) else found
    for (_, ordering), rows in known.groupby(["source", "ordering"]) if len(known) else ():
        per_n = rows.set_index("n")["pfp_ns"]
        growth = per_n.get(LARGE, float("nan")) / per_n.get(SMALL, float("nan"))
        if not missing(growth):
            judged.append(
                goal(
                    f"PFP, ns an edge at n = {LARGE} over those at {SMALL}, {ordering}",
                    round(float(growth), 4), at_least=SLOWER,
                )
            )  # fmt: skip
    return judged or not_measured("PFP's time for an edge", "goal")
