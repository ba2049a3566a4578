"""Maximum flows from host to host, beside the device-resident times: what a caller waits for.

PyMaxflow tells its users the value and the cut. Beside it stands `gpu_relabel` with the same answer
(``answer="cut"``, a bit a pixel), and with the whole flow, which nobody there pays for.

Better codes for one core than PyMaxflow cannot be installed beside it. They were measured once, on
the 18 real grids and on one core with PyMaxflow (``published/peers.csv``): what they take of its
time there is taken of its time here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from papers.common.evidence.comparisons import goal, not_measured
from papers.common.evidence.tables import Published
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cell, Comparison, Instance, Scope
from papers.lupinska_costscale.evidence.codes import (
    GPU_RELABEL,
    HYBRID,
    PYMAXFLOW,
    REAL,
    cell,
    too_slow,
)
from papers.lupinska_costscale.evidence.tables import (
    INSTANCE,
    geometric_mean,
    measured,
    order,
    ours_only,
    with_options,
)
from papers.lupinska_costscale.evidence.tables_flow import kind_of, name_of

CUT = "GPU relabel, cut alone"
CODES = (HYBRID, GPU_RELABEL, CUT, PYMAXFLOW)
CLOCKS: dict[Scope, str] = {"run": "run", "end_to_end": "end to end"}
RATIO = "pymaxflow_over_cut"
BETTER = "better codes for one core, run"
AT = [*INSTANCE, "source"]


def cells(graphs: list[Instance], gpu: bool) -> list[Cell]:
    """Plan the fast codes on these grids under both clocks."""
    scopes = tuple(CLOCKS)
    found = [cell(PYMAXFLOW, one, scopes) for one in graphs]
    if gpu:
        found += [
            cell(code, one, scopes)
            for one in graphs
            for code in (HYBRID, GPU_RELABEL)
            if not too_slow(code, one)
        ]
        found += [cell(GPU_RELABEL, one, scopes, answer="cut") for one in graphs]
    return found


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return times in ms by grid, code and clock, and PyMaxflow's over those of the cut alone."""
    parts = []
    for scope, called in CLOCKS.items():
        rows = measured(summary, (HYBRID, GPU_RELABEL, PYMAXFLOW), scope=scope)
        rows = with_options(rows, (), answer=lambda of: of.get("answer", ""))
        rows.loc[rows["answer"] == "cut", "code"] = CUT
        rows = rows[(rows["family"] != "dimacs_flow")].drop_duplicates([*AT, "code"])
        parts.append(rows.assign(column=rows["code"] + f", {called}"))
    rows = pd.concat(parts, ignore_index=True)
    columns = [f"{code}, {called}" for called in CLOCKS.values() for code in CODES]
    wide = rows.set_index([*AT, "column"])["value"].unstack("column").reindex(columns=columns)
    wide.columns.name = None
    wide = wide[wide[f"{PYMAXFLOW}, end to end"].notna()].reset_index()
    kernels = rows[rows["code"] != PYMAXFLOW].drop_duplicates("source").set_index("source")
    triples = list(zip(wide["family"], wide["n"], wide["label"], strict=True))
    wide = wide.assign(
        instance=pd.Series([name_of(*one) for one in triples], wide.index, object),
        kind=pd.Series([kind_of(family, label) for family, _, label in triples], wide.index,
                       object),
        device=wide["source"].map(kernels["device"].to_dict()).astype(object).fillna(""),
        **{f"{RATIO}, {called}": wide[f"{PYMAXFLOW}, {called}"] / wide[f"{CUT}, {called}"]
           for called in CLOCKS.values()},
    )  # fmt: skip
    real = wide["family"] == REAL
    wide[BETTER] = (wide[f"{PYMAXFLOW}, run"] * _of_pymaxflow(published)).where(real)
    found = order(wide, by=("kind", "n", "instance"))
    ratios = [f"{RATIO}, {called}" for called in CLOCKS.values()]
    return found[["instance", "kind", "n", "source", "device", *columns, BETTER, *ratios]]


def _of_pymaxflow(published: Published) -> float:
    """Return what the better codes for one core take of PyMaxflow's time, over all real grids."""
    rows = published("peers")
    rows = rows[rows["instance"] == "all"].set_index("peer")["solve_ms"].astype(float)
    return float(rows.drop(PYMAXFLOW).min() / rows[PYMAXFLOW])


def compare(made: pd.DataFrame) -> list[Comparison]:
    """Check our goals: from host to host the cut comes sooner than by codes for one core."""
    return list(_goals(made)) or not_measured("cuts from host to host, on a GPU", "goal")


def _goals(made: pd.DataFrame) -> Iterator[Comparison]:
    rows = ours_only(made)
    rows = rows[(rows["device"] != EXECUTOR_NAME) & (rows["device"] != "")]
    for _, mine in rows.groupby("source", sort=False):
        ratios = mine[f"{RATIO}, end to end"].dropna()
        if len(ratios):
            what = "PyMaxflow over the cut alone, host to host, geometric mean of the grids"
            note = f"{int((ratios > 1).sum())} of {len(ratios)} grids are faster"
            yield goal(what, round(geometric_mean(ratios), 3), at_least=1.0, note=note)
        for called in CLOCKS.values():
            both = mine[[BETTER, f"{CUT}, {called}"]].dropna().sum()
            if both[BETTER]:
                what = f"better codes for one core over the cut alone, {called}, sums of real grids"
                found = round(float(both[BETTER] / both[f"{CUT}, {called}"]), 3)
                yield goal(what, found, at_least=1.0, note="theirs without building the graph")
