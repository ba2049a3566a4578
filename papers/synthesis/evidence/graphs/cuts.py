"""`grid_cut` and `minimum_cut` as a whole, from host arrays to the mask, beside CPU codes.

The codes for a CPU are timed end to end: they build their graph of the same arrays, solve it and
tell the cut. Better codes for one core than PyMaxflow are no Python packages, and stand in no
record. They were measured beside PyMaxflow on the 18 real grids (`published/cut_peers.csv`): their
share of its time there is taken of its time here, of building the graph as of solving.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from papers.common.evidence import tables
from papers.common.evidence.comparisons import goal, not_measured
from papers.common.evidence.tables import Published
from papers.common.model import Cell, Comparison, Instance, Plan
from papers.lupinska_costscale.evidence.codes import REAL, WORST, grids, segmentation, worst
from papers.synthesis.evidence import peers, work
from papers.synthesis.evidence.graphs import rows

CALL = "synthesis:call_cut"
PYMAXFLOW = "lupinska_costscale:pymaxflow"
CPU = {
    "pymaxflow": PYMAXFLOW,
    "push_relabel": "lupinska_costscale:push_relabel",
    "scipy": "lupinska_costscale:scipy_flow",
}
PEERS, THEIR_PYMAXFLOW = "cut_peers", "PyMaxflow"

CPU_NODES = 80_000
"""The largest grid for the CPU codes beside PyMaxflow: they take several times as long as it there,
and seconds on larger ones and on `ak-4102`."""

LONG = "4x100000"
LONG_GRIDS = (Instance("oblong_grid", 4, LONG), Instance("channel_grid", 4, LONG))
"""Grids of 4 rows: with arcs to the terminals at all pixels, and at the two ends alone."""

DRAWN: dict[str, tuple[Instance, ...]] = {
    "smoke": (segmentation(32),),
    "quick": (segmentation(128), segmentation(256), Instance("oblong_grid", 4, "4x10000"),
              Instance("channel_grid", 4, "4x10000")),
    "paper": LONG_GRIDS,
}  # fmt: skip
ON_CPU: dict[str, tuple[Instance, ...]] = {
    "smoke": (Instance("oblong_grid", 4, "4x6"), Instance("channel_grid", 4, "4x6"),
              Instance("random_network", 12, "30")),
    "quick": (segmentation(64), Instance("oblong_grid", 4, "4x1000"),
              Instance("channel_grid", 4, "4x1000")),
    "paper": (segmentation(64), Instance("oblong_grid", 4, "4x1000"),
              Instance("channel_grid", 4, "4x1000")),
}  # fmt: skip
"""The instances without a GPU, where the call runs a CPU's code."""

COUNTS = {"pixels": "pixels", "neighbours": "neighbours", "rounds": "device_relabels",
          "steps": "bfs_levels"}  # fmt: skip
"""Counters of an answer that its floor is made of; the last two are of `GPU`."""

GPU = "lupinska_costscale:gpu_relabel"

GRIDS = 18
EACH, ALL, ELSEWHERE = 0.5, 0.1, 2.0
"""Our goals: the call's share of the better CPU code's time on each real grid at most and on all
together, and the multiple of PyMaxflow's on long grids and on `ak-4102`."""

# ------------------------------------------------------------------------------- the cells


def instances(plan: Plan) -> list[Instance]:
    """Return the plan's grids and networks; files that are absent are skipped."""
    found = list((DRAWN if plan.gpu else ON_CPU)[plan.preset])
    if plan.gpu and plan.preset == "paper":
        found += [*grids(), worst()]
    return found


def nodes(instance: Instance) -> int:
    """Return the nodes of an instance, or the pixels of a drawn grid."""
    if instance.family == "segmentation":
        return instance.n**2
    rows_of, by, columns = instance.label.partition("x")
    return int(rows_of) * int(columns) if by and columns.isdigit() else instance.n


def cells(plan: Plan) -> list[Cell]:
    """Return the call and PyMaxflow on all instances, the other CPU codes on small grids."""
    found = []
    for one in instances(plan):
        found.append(Cell(CALL, one, repeats=rows.REPEATS))
        for name, solver in CPU.items():
            small = nodes(one) <= CPU_NODES and one.label != WORST
            if name == "pymaxflow" or small:
                found.append(Cell(solver, one, ("end_to_end",)))
    return found


# ------------------------------------------------------------------------------- the table


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the call's time by instance, the solver that it chose, and the CPU codes' times.

    ``better_ms`` is an estimate: PyMaxflow's time here, times the share of the better codes there.
    """
    found = rows.values(summary, CALL, "call_ms")
    for name, solver in CPU.items():
        theirs = rows.values(summary, solver, f"{name}_ms", scope="end_to_end")
        found = rows.beside(found, theirs)
    found = rows.beside(found, rows.values(summary, CALL, "value", "value", "answer"))
    found = found.merge(rows.chosen(summary, CALL), on=rows.INSTANCE, how="left")
    for name, metric in COUNTS.items():
        found = rows.beside(found, rows.values(summary, CALL, name, metric, "answer"))
    times = found[[f"{name}_ms" for name in CPU]]
    found = found.assign(
        instance=pd.Series(
            [label if family in (REAL, "dimacs_flow") else f"{family} {label} {n}"
             for family, n, label in zip(found["family"], found["n"], found["label"], strict=True)],
            found.index, object,
        ),
        is_real=(found["family"] == REAL).astype(bool),
        best_ms=times.min(axis=1),
    )  # fmt: skip
    better = found["pymaxflow_ms"] * share_of_better(published)
    found = found.assign(
        better_ms=better.where(found["is_real"]),
        over_best=found["call_ms"] / found["best_ms"],
        over_pymaxflow=found["call_ms"] / found["pymaxflow_ms"],
        floor_ms=work.floors(found, peers.prices(published), _floor),
    )
    found["call_over_floor"] = found["call_ms"] / found["floor_ms"]
    found = tables.order(found, by=("family", "n", "instance"), ranked={"family": (REAL,)})
    return found[
        ["instance", "family", "n", "source", "device", "chosen", "call_ms",
         *(f"{name}_ms" for name in CPU), "best_ms", "over_best", "over_pymaxflow", "better_ms",
         "rounds", "steps", "floor_ms", "call_over_floor", "value"]
    ]  # fmt: skip


def _floor(row: Any, prices: Mapping[str, float]) -> float:
    """Return the floor in ms of a call that a GPU solved; NaN of another."""
    if row.chosen != GPU:
        return math.nan
    return work.cut_floor_ms(row.pixels, row.neighbours, row.rounds, row.steps, prices)


def share_of_better(published: Published) -> float:
    """Return what the better codes for one core took of PyMaxflow's time, over all real grids."""
    theirs = published(PEERS)
    times = theirs[theirs["instance"] == "all"].set_index("peer")["solve_ms"].astype(float)
    return float(times.drop(THEIR_PYMAXFLOW).min() / times[THEIR_PYMAXFLOW])


# ------------------------------------------------------------------------------- the goals


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Check our goals where a GPU was there to choose."""
    mine = peers.on_gpu(found)
    goals = [*_real(mine), *_elsewhere(mine)] if len(mine) else []
    return goals or not_measured("the call over CPU codes, from host arrays to the mask", "goal")


def _real(mine: pd.DataFrame) -> Iterator[Comparison]:
    """Judge the 18 grids, all of which must be there."""
    real = mine[mine["family"] == REAL]
    real = real.dropna(subset=["over_best", "better_ms"])
    if len(real) < GRIDS:
        return
    real = real.assign(over_better=real["call_ms"] / real["better_ms"])
    for called, ratio, base in (
        ("the best CPU code here", "over_best", "best_ms"),
        ("better codes for one core, estimated", "over_better", "better_ms"),
    ):
        yield from rows.worst(
            f"the call over {called}, worst of the real grids", real, ratio,
            ("instance", "chosen"), EACH,
        )  # fmt: skip
        both = round(float(real["call_ms"].sum() / real[base].sum()), 4)
        note = f"{real['call_ms'].sum():.4g} ms in all"
        yield goal(f"the call over {called}, all real grids", both, at_most=ALL, note=note)


def _elsewhere(mine: pd.DataFrame) -> Iterator[Comparison]:
    for row in mine.dropna(subset=["over_pymaxflow"]).itertuples(index=False):
        if row.instance == WORST or row.family in {one.family for one in LONG_GRIDS}:
            what = f"the call over PyMaxflow, {row.instance}"
            value = round(float(row.over_pymaxflow), 4)
            yield goal(what, value, at_most=ELSEWHERE, note=f"by {row.chosen}")
