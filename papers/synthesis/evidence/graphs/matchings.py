"""`maximum_bipartite_matching` as a whole, beside SciPy's call and ECL-MM.

Both calls go from the same CSR matrix to an array, a start within. ECL-MM, the fastest published
GPU code, was timed by others on the device alone, without upload and start. Like stands beside like
in the run of `RUN` by itself, on a graph and with a start that are on the device before its clock
begins: the goal beside ECL-MM is judged on that. The whole call's share of ECL-MM's time is in the
table, too, but no goal: the call's clock has the upload, and ECL-MM's does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from papers.common.evidence import tables
from papers.common.evidence.comparisons import correct, goal, not_measured
from papers.common.evidence.tables import Published
from papers.common.model import Cell, Comparison, Instance, Plan
from papers.deveci_matching.evidence import sets
from papers.synthesis.evidence import peers, work
from papers.synthesis.evidence.graphs import rows

CALL, SCIPY = "synthesis:call_matching", "deveci_matching:scipy"
RUN = "deveci_matching:beyond"
"""The solver on the GPU, whose clock `run` has neither upload nor start."""

PEERS = "matching_peers"
"""The CSV of ECL-MM's times, by card."""

ECL_GRAPHS = (
    ("uniform_graph", 100_000, "d4"), ("uniform_graph", 1_000_000, "d3"),
    ("skew_graph", 1_000_000, "d8"),
)  # fmt: skip
"""The graphs that ECL-MM was timed on, of seed 1."""

DRAWN: dict[str, tuple[tuple[str, int, str], ...]] = {
    "smoke": (("uniform_graph", 2000, "d3"), ("path", 64, "deep")),
    "quick": (("uniform_graph", 10_000, "d3"), ("path", 10_000, "deep"),
              ("triangle", 500, "deep"), ("grid_graph", 10_000, "deep"),
              ("layered_graph", 2500, "d2")),
    "paper": (*ECL_GRAPHS, ("path", 100_000, "deep"), ("triangle", 2000, "deep"),
              ("grid_graph", 490_000, "deep"), ("layered_graph", 40_000, "d2")),
}  # fmt: skip
"""Drawn graphs; those of `PERMUTED` are also permuted."""

PERMUTED = (*sets.DEEP_FAMILIES, "layered_graph")
"""Families whose graphs have an order that a search may gain or lose by."""

ON_CPU = {
    "smoke": (("uniform_graph", 12, "d3"), ("path", 12, "deep")),
    "quick": DRAWN["quick"],
    "paper": DRAWN["quick"],
}
"""The graphs without a GPU, where the call runs a CPU's code."""

SCIPYS_EDGES = 1_000_000
"""Edges of a matrix, and rows of a drawn graph, from which SciPy's call is not timed, but for
`SCIPYS_LARGE`: it may take seconds a run there, and knows no limit of work."""

SCIPYS_LARGE = ("cnr-2000", "coAuthorsCiteseer", "coAuthorsDBLP", "mdual")
"""Larger matrices on which, in their own order, it was seen to end within a second on one core;
the others of that size were not tried."""

SCIPY_HARD = (
    ("copter2", False), ("copter2", True), ("4elt", True), ("R2D10000", True), ("bcsstk25", True),
    ("delaunay_n15", True), ("delaunay_n16", True), ("fe_4elt2", True), ("rgg_n_2_15_s0", True),
)  # fmt: skip
"""Matrices, and whether they are permuted, on which SciPy's call took from 0.7 s to over 8 s, where
it was stopped, on one core of a shared machine with two."""

SCIPY_HARD_PERMUTED = ("grid_graph", "triangle")
"""Families whose permuted graphs SciPy's call does not finish in 8 s at preset paper's sizes."""

SHARE_OF_ECL, OVER_SCIPY = 0.2, 2.0
"""Our goals: at most so much of ECL-MM's time for a run, and so many times SciPy's for a call."""

GROUPS = {
    "matrix": "real matrices", "path": "paths", "grid_graph": "meshes", "triangle": "triangles",
    "layered_graph": "layers", "uniform_graph": "random graphs", "skew_graph": "random graphs",
}  # fmt: skip

# ------------------------------------------------------------------------------- the cells


def graphs(plan: Plan) -> list[Instance]:
    """Return the plan's graphs; those from files are skipped where the files are absent."""
    found = []
    for family, n, label in (DRAWN if plan.gpu else ON_CPU)[plan.preset]:
        for permuted in (False, True) if family in PERMUTED else (False,):
            found.append(Instance(family, n, label, permuted=permuted))
    if plan.gpu and plan.preset == "paper":
        found += [sets.matrix(str(name), ordering)
                  for name in sets.ours().index for ordering in sets.ORDERINGS]  # fmt: skip
    return found


def scipy_can(graph: Instance) -> bool:
    """Return whether SciPy's call ends within about a second on a graph."""
    if graph.family == "matrix":
        edges = int(sets.facts().loc[graph.label, "nonzeros"])
        if edges >= SCIPYS_EDGES:
            return graph.label in SCIPYS_LARGE and not graph.permuted
        return (graph.label, graph.permuted) not in SCIPY_HARD
    if graph.family in SCIPY_HARD_PERMUTED:
        return not graph.permuted
    return graph.n < SCIPYS_EDGES


def cells(plan: Plan) -> list[Cell]:
    """Return the call on all graphs, SciPy's where it ends, and the run alone beside ECL-MM."""
    found = []
    for graph in graphs(plan):
        found.append(Cell(CALL, graph, repeats=rows.REPEATS))
        found += [Cell(SCIPY, graph)] if scipy_can(graph) else []
        beside_ecl = plan.gpu and (graph.family, graph.n, graph.label) in ECL_GRAPHS
        found += [Cell(RUN, graph, repeats=rows.REPEATS)] if beside_ecl else []
    return found


# ------------------------------------------------------------------------------- the table


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return both calls' times by graph, the solver that ours chose, and ECL-MM's on its card.

    ``run_ms`` stands beside ECL-MM's times alone, and is missing where no record has the run.
    """
    found = rows.values(summary, CALL, "call_ms")
    found = rows.beside(found, rows.values(summary, SCIPY, "scipy_ms"))
    matched = rows.values(summary, CALL, "matched", "cardinality", "answer")
    found = rows.beside(found, matched)
    found = rows.beside(found, rows.values(summary, RUN, "run_ms"))
    met = rows.values(summary, RUN, "barriers", "grid_barriers", "answer")
    found = rows.beside(found, met)
    found = found.merge(rows.chosen(summary, CALL), on=rows.INSTANCE, how="left")
    keys = list(zip(found["family"], found["n"], found["label"], found["seed"], strict=True))
    found = found.assign(
        graph=pd.Series([sets.name_of(*key[:3]) for key in keys], found.index, object),
        kind=found["family"].map(GROUPS).astype(object),
        ordering=found["permuted"].map(sets.ordering_of).astype(object),
        peers_name=pd.Series(
            [f"{sets.name_of(*key[:3])}_s{key[3]}" for key in keys], found.index, object
        ),
        known=pd.Series(
            [sets.maximum(key[2]) if key[0] == "matrix" else float("nan") for key in keys],
            found.index, float,
        ),
    )  # fmt: skip
    found = found.merge(_ecl_mm(published), on=["peers_name", "device"], how="left")
    elsewhere = found["permuted"].to_numpy(bool)
    found.loc[elsewhere, ["ecl_mm_ms", "peer_matched"]] = float("nan")
    found = found.assign(
        run_ms=found["run_ms"].where(found["ecl_mm_ms"].notna()),
        floor_ms=work.floors(
            found, peers.prices(published),
            lambda row, prices: work.matching_floor_ms(row.n, row.barriers, prices),
        ),
        known=found["known"].fillna(found["peer_matched"]),
        over_scipy=found["call_ms"] / found["scipy_ms"],
        over_ecl_mm=found["call_ms"] / found["ecl_mm_ms"],
        run_over_ecl_mm=found["run_ms"] / found["ecl_mm_ms"],
    )  # fmt: skip
    found["run_over_floor"] = found["run_ms"] / found["floor_ms"]
    ranked = {"kind": list(dict.fromkeys(GROUPS.values()))}
    found = tables.order(found, by=("kind", "n", "graph", "ordering"), ranked=ranked)
    return found[
        ["graph", "kind", "ordering", "n", "source", "device", "chosen", "call_ms", "scipy_ms",
         "over_scipy", "ecl_mm_ms", "over_ecl_mm", "run_ms", "run_over_ecl_mm", "barriers",
         "floor_ms", "run_over_floor", "matched", "known"]
    ]  # fmt: skip


def _ecl_mm(published: Published) -> pd.DataFrame:
    """Return ECL-MM's median by graph and card, and its matching's size."""
    columns = ["solve_ms", "cardinality"]
    theirs = published(PEERS).groupby(["graph", "device"])[columns].median()
    return theirs.reset_index().rename(
        columns={"graph": "peers_name", "solve_ms": "ecl_mm_ms",
                 "cardinality": "peer_matched"}
    )  # fmt: skip


# ------------------------------------------------------------------------------- the goals


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Check the matchings' sizes, and our goals where a GPU was there to choose."""
    judged = list(_sizes(found)) if len(found) else []
    goals = list(_goals(peers.on_gpu(found)))
    return judged + (goals or not_measured("a run over ECL-MM's, the call over SciPy's", "goal"))


def _sizes(found: pd.DataFrame) -> Iterator[Comparison]:
    known = found.dropna(subset=["known"])
    equal = int((known["known"] == known["matched"]).sum())
    if len(known):
        what = "graphs of known maximum on which the call matches as many"
        yield correct(what, len(known), equal, equal == len(known))


def _goals(mine: pd.DataFrame) -> Iterator[Comparison]:
    ran = mine.dropna(subset=["run_over_ecl_mm"]) if len(mine) else mine
    for row in ran.itertuples(index=False):
        value = round(float(row.run_over_ecl_mm), 4)
        note = f"by {RUN}; upload and start are in neither time"
        yield goal(f"a run over ECL-MM's, {row.graph}", value, at_most=SHARE_OF_ECL, note=note)
    for (kind, ordering), group in mine.groupby(["kind", "ordering"], sort=False):
        what = f"the call over SciPy's, worst of {kind}, {ordering}"
        yield from rows.worst(what, group, "over_scipy", ("graph", "chosen"), OVER_SCIPY)
