"""Uniform costs of three ranges: the dense solver beside ours, the CPU's and others' programs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from papers.common.evidence import plots, tables
from papers.common.evidence.comparisons import goal, not_measured
from papers.common.evidence.tables import KEY, Published, by_seed, named
from papers.common.model import Cell, Comparison, Instance, Plan, Scope
from papers.synthesis.evidence import peers, work

DENSE, OPT4 = "synthesis:dense", "kawtikwar_opts:opt4"
ONE_CORE = "synthesis:one_core"
CPU = {"scipy": "synthesis:scipy", "lapjv": "synthesis:lapjv", "lapjvs": "synthesis:lapjvs"}
LAPX = ["lapjv_ms", "lapjvs_ms"]
"""The columns of lapx's two codes."""

LABELS = ("0.1n", "n", "10n")

SIZES = {"smoke": (128,), "quick": (256, 512), "paper": (256, 512, 1024, 2048, 4096, 8192)}
EXECUTOR = {"smoke": (8,), "quick": (8, 12), "paper": (8, 12)}

LARGE = 20_000
"""The peers' largest order: ours alone, one seed."""

ALL_SIZES = {n for of in (SIZES, EXECUTOR) for sizes in of.values() for n in sizes} | {LARGE}
"""Other experiments measure other sizes, which are not this table's."""

CPUS_LARGEST = 4096
"""Runs of a CPU's codes beyond take seconds each, and the peers' record has them."""

GOAL_CELLS = tuple((n, label) for n in (512, 1024, 2048, 4096, 8192) for label in LABELS)
LAPX_SIZES, FROM_HOST = tuple(n for n in SIZES["paper"] if n <= CPUS_LARGEST), 512
"""Sizes at which a run has to take less time than the better of lapx's codes on one core, and the
size from which it has to from host to host."""

LESS = math.nextafter(1.0, 0.0)
"""The largest ratio that is less than 1."""

MEAN, WORST = 10.0, 3.0
"""Our goals beside the fastest of others' GPU codes: so many times as fast in the geometric mean of
`GOAL_CELLS`, and nowhere less than so many times."""


def cells(plan: Plan) -> list[Cell]:
    """Return the cells: device-resident and from host to host for ours, the call for CPU codes."""
    both: tuple[Scope, ...] = ("run", "end_to_end")
    found = []
    for n in (SIZES if plan.gpu else EXECUTOR)[plan.preset]:
        for label in LABELS:
            for seed in plan.seeds:
                instance = Instance("uniform", n, label, seed=seed)
                found += [Cell(DENSE, instance, both), Cell(OPT4, instance)]
                if n <= CPUS_LARGEST:
                    found += [Cell(solver, instance) for solver in (ONE_CORE, *CPU.values())]
    if plan.gpu and plan.preset == "paper":
        seed = min(plan.seeds)
        found += [Cell(DENSE, Instance("uniform", LARGE, label, seed=seed), both)
                  for label in LABELS]  # fmt: skip
    return found


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return times, ratios, counts and the floor by size and range: medians over the seeds."""
    rows = by_seed(summary, DENSE).rename(columns={"value": "dense_ms"})
    rows = rows[rows["n"].isin(ALL_SIZES)]
    columns = {
        "end_to_end_ms": by_seed(summary, DENSE, scope="end_to_end"),
        "opt4_ms": by_seed(summary, OPT4),
        "one_core_ms": by_seed(summary, ONE_CORE),
        **{f"{name}_ms": by_seed(summary, solver) for name, solver in CPU.items()},
        **{name: by_seed(summary, DENSE, name, "answer") for name in work.COUNTERS},
    }
    for name, more in columns.items():
        rows = rows.merge(named(more, name), on=[*KEY, "seed"], how="left")
    rows = _beside_peers(rows, published)
    values = [name for name in rows if name not in (*KEY, "device", "seed")]
    grouped = rows.groupby([*KEY, "device"], sort=False)[values].median().reset_index()
    best = peers.best(published(peers.UNIFORM), ["n", "cost_range"])
    grouped = grouped.merge(best, on=["n", "cost_range", "device"], how="left")
    grouped["best_peer"] = grouped["best_peer"].where(grouped["best_peer_ms"].notna(), None)
    grouped = grouped.assign(
        best_over_dense=grouped["best_peer_ms"] / grouped["dense_ms"],
        opt4_over_dense=grouped["opt4_ms"] / grouped["dense_ms"],
        dense_over_lapx=grouped["dense_ms"] / grouped[LAPX].min(axis=1),
        end_to_end_over_lapx=grouped["end_to_end_ms"] / grouped[LAPX].min(axis=1),
        dense_over_floor=grouped["dense_ms"] / grouped["floor_ms"],
    )
    grouped = tables.order(grouped, ranked={"cost_range": LABELS})
    return grouped[
        ["n", "cost_range", "source", "device", "dense_ms", "end_to_end_ms", "opt4_ms",
         "one_core_ms", *(f"{name}_ms" for name in CPU), "hylac_ms", "best_peer", "best_peer_ms",
         "opt4_over_dense", "hylac_over_dense", "best_over_dense", "dense_over_lapx",
         "end_to_end_over_lapx", "rounds", "iterations",
         "barriers", "cluster_barriers", "mib_read", "floor_ms", "dense_over_floor"]
    ]  # fmt: skip


def _beside_peers(rows: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Add the fastest GPU rival's time by seed, the bytes that were read, and the floor."""
    theirs = published(peers.UNIFORM)
    at = ["n", "cost_range", "seed", "device"]
    theirs = theirs[theirs["peer"] == peers.RIVAL][[*at, "solve_ms"]]
    rows = rows.merge(theirs.rename(columns={"solve_ms": "hylac_ms"}), on=at, how="left")
    prices = peers.prices(published)
    counted = [
        (int(row["n"]), prices.get(row["device"]), {c: float(row[c]) for c in work.COUNTERS})
        for row in rows[["n", "device", *work.COUNTERS]].to_dict("records")
    ]
    floor = [
        work.floor_ms(n, n, 4, counts, of_card) if of_card else np.nan
        for n, of_card, counts in counted
    ]
    return rows.assign(
        hylac_over_dense=rows["hylac_ms"] / rows["dense_ms"],
        mib_read=[work.bytes_read(n, n, 4, counts) / 2**20 for n, _, counts in counted],
        floor_ms=np.array(floor, np.float64),
    )


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Check our goals beside the fastest of others' GPU codes, where all cells were measured."""
    judged: list[Comparison] = []
    rows = found.dropna(subset=["hylac_over_dense"]) if len(found) else found
    for _, mine in rows.groupby("source", sort=False) if len(rows) else ():
        ratios = {(row.n, row.cost_range): row.hylac_over_dense for row in mine.itertuples()}
        if not set(GOAL_CELLS) <= set(ratios):
            continue
        wanted = pd.Series({key: ratios[key] for key in GOAL_CELLS})
        n, label = wanted.idxmin()
        what = f"{peers.RIVAL} over synthesis:dense"
        judged += [
            goal(f"{what}, geometric mean of {len(wanted)} cells",
                 peers.geometric_mean(wanted), at_least=MEAN),
            goal(f"{what}, worst of {len(wanted)} cells", float(wanted.min()), at_least=WORST,
                 note=f"n={n} range {label}"),
        ]  # fmt: skip
    judged = judged or not_measured(
        f"{peers.RIVAL} over synthesis:dense: all {len(GOAL_CELLS)} cells, on its card", "goal"
    )
    return judged + beside_lapx(found)


def beside_lapx(found: pd.DataFrame) -> list[Comparison]:
    """Check that a run, and from `FROM_HOST` on a call from host to host, is ahead of lapx."""
    judged: list[Comparison] = []
    for column, words, least in (
        ("dense_over_lapx", "a run", min(LAPX_SIZES)),
        ("end_to_end_over_lapx", "from host to host", FROM_HOST),
    ):  # fmt: skip
        wanted = {(n, label) for n in LAPX_SIZES if n >= least for label in LABELS}
        what = f"synthesis:dense over the better of lapx's, {words}, worst of {len(wanted)} cells"
        rows = found[found["n"] >= least].dropna(subset=[column]) if len(found) else found
        before = len(judged)
        for _, mine in rows.groupby("source", sort=False) if len(rows) else ():
            if wanted <= set(zip(mine["n"], mine["cost_range"], strict=True)):
                worst: Any = mine.loc[mine[column].idxmax()]
                note = f"n={worst['n']} range {worst['cost_range']}"
                judged.append(goal(what, float(worst[column]), at_most=LESS, note=note))
        if len(judged) == before:
            judged += not_measured(what, "goal")
    return judged


def draw(found: pd.DataFrame) -> Any:
    """Draw the times over n, a curve a range, the rival's dashed."""
    shown = tables.best_source(found, "hylac_ms", "dense_ms")
    return plots.line_plot(
        shown, x="n", y_published="hylac_ms", y_measured="dense_ms", series="cost_range",
        xscale="log2", yscale="log", xlabel="matrix size n", ylabel="time (ms), device-resident",
        title=f"Uniform costs: synthesis:dense, and {peers.RIVAL}, a peer, dashed\n"
        f"{tables.measured_by(shown)}",
    )  # fmt: skip
