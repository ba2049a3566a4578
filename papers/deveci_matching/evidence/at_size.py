"""Graphs at the paper's own sizes: drawn by definition, and stand-ins as sets of their own.

What can be drawn by its definition gets all eight variants, all rivals and `beyond`, with no limit
of work: print has a time in every cell. A stand-in has its matrix's rows and nonzeros; how well it
fits in all else that we know is in `fit`. Stand-ins are in none of the paper's sets and never
beside print.
"""

from __future__ import annotations

import pandas as pd

from papers.common.evidence.comparisons import correct, not_measured
from papers.common.evidence.tables import Published
from papers.common.model import Cell, Comparison, Instance, Plan
from papers.deveci_matching.evidence import sets
from papers.deveci_matching.evidence.codes import (
    BEST,
    BEYOND,
    GRAFT,
    MULTICORE,
    SEQUENTIAL,
    TUNED,
    VARIANTS,
    cell,
)
from papers.deveci_matching.evidence.tables import (
    GRAPH,
    geometric_mean,
    measured,
    order,
    side_by_side,
)

CODES_AT_SIZE = (*VARIANTS, TUNED, BEYOND, *SEQUENTIAL, *MULTICORE, GRAFT)


def full_size(plan: Plan) -> list[Cell]:
    """Return every code on every graph that can be drawn at the paper's own size, on a GPU."""
    if not (plan.gpu and plan.preset == "paper"):
        return []
    graphs = sets.generated(sets.FULL_SIZES, plan.seeds[0])
    return [cell(code, graph, limit=None) for graph in graphs for code in CODES_AT_SIZE]


def stand_ins(plan: Plan) -> list[Cell]:
    """Return the best variant, `beyond` and the sequential codes on stand-ins of full size."""
    if not (plan.gpu and plan.preset == "paper"):
        return []
    names = [str(name) for name, fact in sets.twenty().iterrows()
             if fact["instead"] == sets.STAND_IN]  # fmt: skip
    graphs = [
        Instance("stand_in", int(sets.facts().loc[name, "rows"]), name,
                 permuted=ordering == sets.PERMUTED)
        for name in names
        for ordering in sets.ORDERINGS
    ]  # fmt: skip
    return [cell(code, graph) for graph in graphs for code in (BEST, BEYOND, *SEQUENTIAL, "P-DBFS")]


def fit(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return how well stand-ins fit their matrices, and their times, a row a stand-in.

    ``maximum_share`` is the maximum matching over the rows, ``cheap_share`` the cheap start over
    that maximum; ``published_share`` is the matrix's own, where its structural rank is known.
    ``full_size`` tells whether the stand-in has as many rows as its matrix: the last row of each
    ordering, ``all at full size``, has the geometric means over these.
    """
    keys = ["source", *GRAPH]
    wide = side_by_side(measured(summary))
    wide = wide[wide["kind"] == sets.STAND_IN]
    for metric in ("cardinality", "initial_cardinality"):
        rows = measured(summary, metric, "answer")
        rows = rows[rows["start"] == "excluded"].drop_duplicates(keys)
        wide = wide.merge(rows[[*keys, "value"]].rename(columns={"value": metric}), on=keys)
    stem = wide["name"].str.removesuffix(" stand-in")
    known = sets.twenty().set_index("in_paper")
    found = wide.assign(
        full_size=wide["n"] == stem.map(known["rows"]),
        published_share=stem.map(known["maximum_matching"] / known["rows"]),
        maximum_share=wide["cardinality"] / wide["n"],
        cheap_share=wide["initial_cardinality"] / wide["cardinality"],
        gpu_ms=wide[BEST], beyond_ms=wide[BEYOND], hk_ms=wide["HK"], pfp_ms=wide["PFP"],
        p_dbfs_ms=wide["P-DBFS"],
    )  # fmt: skip
    columns = ["name", "ordering", "n", "source", "full_size", "published_share", "maximum_share",
               "cheap_share", "gpu_ms", "beyond_ms", "hk_ms", "pfp_ms", "p_dbfs_ms"]  # fmt: skip
    found = order(found, by=("ordering", "name", "n", "source"))[columns]
    return pd.concat([found, _means(found)], ignore_index=True) if len(found) else found


def _means(found: pd.DataFrame) -> pd.DataFrame:
    """Return the geometric means of the times over the stand-ins of full size, by ordering."""
    times = [name for name in found if name.endswith("_ms")]
    rows = [
        {"name": "all at full size", "ordering": ordering, "n": len(mine), "source": source,
         "full_size": True, **{time: geometric_mean(mine[time].dropna()) for time in times}}
        for (source, ordering), mine in found[found["full_size"]].groupby(["source", "ordering"])
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(found))


WITHIN = 0.05
"""The most that a stand-in's share of matched rows may differ from its matrix's."""


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Check the fit where a structural rank is known: times of stand-ins are judged nowhere."""
    known = found.dropna(subset=["published_share"]) if len(found) else found
    return [
        correct(
            f"matched share of {row.name}, {row.ordering}, n = {row.n}", row.published_share,
            round(row.maximum_share, 4), abs(row.maximum_share - row.published_share) <= WITHIN,
        )
        for row in known.itertuples(index=False)
    ] or not_measured("the fit of stand-ins", "correctness")  # fmt: skip
