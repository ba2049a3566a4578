"""The choice of the CPU rivals: which published form of each code follows print's curves.

[L19 Fig.4] [L19 Fig.5] time an O(n^3) Hungarian algorithm, shortest paths and an auction, and name
no code. Each has two published forms here (`VARIANTS`). The rule: the form that the figures show is
the one of which the mean distance to print is least; the distance at a point is the absolute
logarithm of measured over printed, of

- the time over that of the O(n^4) code, at each n of Figure 4;
- the time over the same code's at range n, at each other range of Figure 5.

`nearest` fails where the form that the figures show is not the nearer one.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers.common.evidence import comparisons as compare
from papers.common.evidence.comparisons import not_measured
from papers.common.evidence.tables import NOT_MEASURED, Published, over
from papers.common.model import Cell, Comparison, Experiment, Instance, Plan
from papers.lopes2019.evidence.tables import CPU, RANGES_FIG_5, by_seed, range_over_n

VARIANTS = {
    "O3": ("cpu_o3", "cpu_o3_tree"),
    "SP": ("cpu_sp_lists", "cpu_sp_plain"),
    "A": ("cpu_auction_jacobi", "cpu_auction"),
}
"""The published forms by the letters of Figures 4 and 5, described in `baselines.solvers`."""

ENTRIES = {letters: solver for solver, letters in CPU.items()}
SIZES = {"smoke": (32, 64), "quick": (), "paper": (128, 256, 512, 1024, 2048, 4096)}
RANGES: dict[str, tuple[int, tuple[str, ...]]] = {
    "smoke": (64, ("16n",)),
    "quick": (512, ()),
    "paper": (2048, ("n/64", "n/16", "n/4", "4n", "64n", "1024n", "16384n")),
}
"""The n and the ranges of Figure 5, by preset; from 4n on the curves bend little. Preset quick has
no rivals: to compile the other forms takes longer than to measure them there."""


def cells(plan: Plan) -> list[Cell]:
    """Plan both forms of each code at the points of Figures 4 and 5, and the O(n^4) code."""
    n_of_ranges, labels = RANGES[plan.preset]
    points = [(n, "n") for n in SIZES[plan.preset]]
    others = [(n_of_ranges, label) for label in labels]
    return [
        Cell(f"lopes2019:{solver}", Instance("uniform", n, label, seed=seed))
        for forms in (("cpu_o4",), *VARIANTS.values())
        for solver in forms
        for n, label in (points if solver == "cpu_o4" else [*points, *others])
        for seed in plan.seeds
    ]


def points(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return every point of Figures 4 and 5 that a form has, beside print's.

    Returns
    -------
    DataFrame
        ``algorithm``, ``solver``, ``figure``, ``source``, ``n``, ``range_over_n``, ``published``
        and ``measured`` (ratios of times), ``distance``.
    """
    printed = pd.concat([_printed_over_o4(published), _printed_over_range_n(published)])
    parts = []
    for letters, forms in VARIANTS.items():
        for solver in forms:
            rows = pd.concat([_over_o4(summary, solver), _over_range_n(summary, solver)])
            parts.append(rows.assign(algorithm=letters, solver=solver))
    on = ["algorithm", "figure", "n", "range_over_n"]
    table = pd.concat(parts, ignore_index=True).merge(printed, on=on)
    return table.assign(distance=np.abs(np.log(table["measured"] / table["published"])))


def _printed_over_o4(published: Published) -> pd.DataFrame:
    rows = published("fig04").rename(columns={"time_over_o4_time": "published"})
    rows = rows.assign(figure=4, range_over_n=1.0)
    return rows[["algorithm", "figure", "n", "range_over_n", "published"]]


def _printed_over_range_n(published: Published) -> pd.DataFrame:
    rows = published("fig05").rename(columns={"cost_max_over_n": "range_over_n"})
    at_n = rows[rows["range_over_n"] == 1].set_index("algorithm")["time_ms"]
    rows = rows.assign(figure=5, published=rows["time_ms"] / rows["algorithm"].map(at_n))
    rows = rows[rows["range_over_n"] != 1]
    return rows[["algorithm", "figure", "n", "range_over_n", "published"]]


def _over_o4(summary: pd.DataFrame, solver: str) -> pd.DataFrame:
    rows = over(by_seed(summary, solver), by_seed(summary, "cpu_o4"), "measured")
    rows = rows[rows["cost_range"] == "n"].drop(columns="cost_range")
    return rows.assign(figure=4, range_over_n=1.0)


def _over_range_n(summary: pd.DataFrame, solver: str) -> pd.DataFrame:
    rows = by_seed(summary, solver)
    rows = rows[rows["cost_range"].isin(RANGES_FIG_5)]
    base = rows[rows["cost_range"] == "n"].rename(columns={"value": "at_n"})
    on = ["source", "n", "seed"]
    rows = rows[rows["cost_range"] != "n"].merge(base[[*on, "at_n"]], on=on)
    rows = rows.assign(
        measured=rows["value"] / rows["at_n"],
        range_over_n=rows["cost_range"].map(range_over_n).astype(float),
    )
    keys = ["source", "n", "range_over_n"]
    return rows.groupby(keys, sort=False)["measured"].median().reset_index().assign(figure=5)


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return each form's mean distance to print, over the points that both forms of a code have.

    Returns
    -------
    DataFrame
        ``algorithm``, ``solver``, ``shown`` (yes: in Figures 4 and 5), ``source``, ``points``,
        ``distance_fig04``, ``distance_fig05``, ``distance``.
    """
    rows = points(summary, published)
    at = ["algorithm", "source", "figure", "n", "range_over_n"]
    rows = rows[rows.groupby(at)["solver"].transform("nunique") == 2]
    found = [
        {
            "algorithm": letters, "solver": solver,
            "shown": "yes" if solver == ENTRIES[letters] else "no",
            "source": source, "points": len(mine),
            "distance_fig04": mine.loc[mine["figure"] == 4, "distance"].mean(),
            "distance_fig05": mine.loc[mine["figure"] == 5, "distance"].mean(),
            "distance": mine["distance"].mean(),
        }
        for source, of_source in rows.groupby("source", sort=False)
        for letters, forms in VARIANTS.items()
        for solver in forms
        if len(mine := of_source[of_source["solver"] == solver])
    ]  # fmt: skip
    if found:
        return pd.DataFrame(found)
    empty = ((letters, solver) for letters, forms in VARIANTS.items() for solver in forms)
    return pd.DataFrame(empty, columns=["algorithm", "solver"]).assign(
        source=NOT_MEASURED, distance=np.nan
    )


def nearest(table: pd.DataFrame) -> list[Comparison]:
    """Check that the form in Figures 4 and 5 is nearer to print than the other one."""
    rows = table.dropna(subset=["distance"])
    found = []
    for letters, forms in VARIANTS.items():
        distance = rows[rows["algorithm"] == letters].set_index("solver")["distance"]
        if len(distance) == len(forms):
            entry = ENTRIES[letters]
            (other,) = set(forms) - {entry}
            found.append(
                compare.goal(
                    f"{letters}: distance of {entry} to print over that of {other}",
                    float(distance[entry] / distance[other]), at_most=1.0,
                )
            )  # fmt: skip
    return found or not_measured("the rivals' distances to print", "goal")


RIVALS = Experiment(
    name="rivals", title="Two published forms of each CPU rival: the mean distance to print",
    kind="table", cells=cells, table=table, compare=nearest, interleaved=True,
)  # fmt: skip
