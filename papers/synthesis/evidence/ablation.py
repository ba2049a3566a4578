"""One setting of the dense solver changed at a time: what each idea is worth."""

from __future__ import annotations

import pandas as pd

from papers.common.evidence import tables
from papers.common.evidence.tables import KEY, Published, by_seed, named
from papers.common.instances.structured import PEERS_SEED
from papers.common.model import Cell, Instance, Plan
from papers.synthesis.assignment.changes import CHANGES, LAUNCH
from papers.synthesis.evidence.uniform import DENSE, LABELS

CHANGED = "synthesis:dense_changed"

SIZES = {"smoke": (64,), "quick": (512,), "paper": (1024, 4096)}
EXECUTOR = {"smoke": (6,), "quick": (8,), "paper": (8,)}
STRUCTURED = ("euclid", "clustered", "lowrank")
SMALL = 1024
"""One block alone takes too long beyond."""

FEW = ("no_rounds", "no_scales", "one_warp")
"""The changes of the preset smoke."""


def instances(plan: Plan) -> list[Instance]:
    """Return uniform costs of the two wider ranges, and structured ones."""
    sizes = (SIZES if plan.gpu else EXECUTOR)[plan.preset]
    found = [
        Instance("uniform", n, label, seed=seed)
        for n in sizes
        for label in LABELS[1:]
        for seed in plan.seeds
    ]
    n = 1000 if plan.gpu and plan.preset == "paper" else sizes[0]
    return found + [Instance("structured", n, name, seed=PEERS_SEED) for name in STRUCTURED]


def cells(plan: Plan) -> list[Cell]:
    """Return the solver as it is and with each change; without a GPU of the schedule alone."""
    names = FEW if plan.preset == "smoke" else tuple(CHANGES)
    names = tuple(name for name in names if plan.gpu or name not in LAUNCH)
    return [
        cell
        for one in instances(plan)
        for cell in (
            Cell(DENSE, one),
            *(
                Cell(CHANGED, one, options=(("change", name),))
                for name in names
                if name != "one_block" or one.n <= SMALL
            ),
        )
    ]


def _changed(summary: pd.DataFrame, name: str, family: str) -> pd.DataFrame:
    columns = {}
    for key, metric, scope in (("ms", "time_ms", "run"), ("barriers", "barriers", "answer")):
        rows = by_seed(summary, CHANGED, metric, scope, f"change={name}", family)
        usual = named(by_seed(summary, DENSE, metric, scope, family=family), f"usual_{key}")
        columns[key] = rows.rename(columns={"value": key}).merge(usual, on=[*KEY, "seed"])
    both = columns["ms"].merge(
        columns["barriers"].drop(columns="device"), on=[*KEY, "seed"], how="left"
    )
    return both.assign(change=name, family=family, slowdown=both["ms"] / both["usual_ms"])


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return each change's time over the usual one: medians over the seeds."""
    rows = pd.concat(
        [_changed(summary, name, family) for family in ("uniform", "structured")
         for name in CHANGES],
        ignore_index=True,
    )  # fmt: skip
    at = ["family", *KEY, "device", "change"]
    values = ["usual_ms", "ms", "slowdown", "usual_barriers", "barriers"]
    rows = rows.groupby(at, sort=False)[values].median().reset_index()
    rows["words"] = [CHANGES[name][0] for name in rows["change"]]
    rows = tables.order(
        rows, by=("family", "n", "cost_range", "change"),
        ranked={"family": ("uniform", "structured"), "change": tuple(CHANGES),
                "cost_range": (*LABELS, *STRUCTURED)},
    ).rename(columns={"cost_range": "costs"})  # fmt: skip
    return rows[["family", "costs", "n", "change", "words", "source", "device", *values]]
