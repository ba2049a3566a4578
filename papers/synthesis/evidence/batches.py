"""Batches of small matrices: one launch beside SciPy's loop and others' batched GPU code."""

from __future__ import annotations

import pandas as pd

from papers.common.evidence import tables
from papers.common.evidence.comparisons import correct, goal, not_measured
from papers.common.evidence.tables import KEY, Published, by_seed, named
from papers.common.instances.labels import label_range
from papers.common.model import Cell, Comparison, Instance, Plan
from papers.synthesis.evidence import peers, work
from papers.synthesis.evidence.uniform import LABELS

BATCH, LOOP = "synthesis:batch_of_seeds", "synthesis:scipy_loop"

TRITON = "synthesis:torch_batch"
"""The peer, torch-linear-assignment, where it is installed: then it runs in turn with ours."""

BATCHES = (
    (1000, 32), (1000, 64), (500, 100), (128, 256), (208, 300), (64, 512), (16, 1024), (1, 1024),
)  # fmt: skip
"""Problems and their order, as the peer was timed."""

MANY, MOST_END_TO_END_MS = (10_000, 30), 20.0
"""A batch of ours alone, and our goal for it from host to host."""

SMALL = ((3, 8), (2, 12))
"""The batches of the CPU executor."""

TIMES_FASTER = 3.0
"""Our goal: by so many times a run is faster than the peer's on its card, each batch for itself."""


def batches(plan: Plan) -> tuple[tuple[int, int], ...]:
    """Return problems and order of the plan's batches."""
    if not plan.gpu:
        return SMALL if plan.preset == "paper" else SMALL[:1]
    return {"smoke": BATCHES[:1], "quick": BATCHES[:4], "paper": (*BATCHES, MANY)}[plan.preset]


def cells(plan: Plan) -> list[Cell]:
    """Return the cells: every batch begins with the instance of seed 1."""
    return [
        Cell(solver, Instance("uniform", n, label, seed=1),
             ("run", "end_to_end") if solver == BATCH else ("run",),
             (("problems", problems), ("cost_range", label_range(n, label))))
        for problems, n in batches(plan)
        for label in LABELS[1:]
        for solver in (BATCH, LOOP, TRITON)
        if solver != TRITON or (plan.gpu and (problems, n) != MANY)
    ]  # fmt: skip


def _of(summary: pd.DataFrame, problems: int, n: int, label: str) -> pd.DataFrame:
    options = f"problems={problems},cost_range={label_range(n, label)}"

    def rows(solver: str, metric: str = "time_ms", scope: str = "run") -> pd.DataFrame:
        found = by_seed(summary, solver, metric, scope, options)
        return found[(found["n"] == n) & (found["cost_range"] == label)]

    table = rows(BATCH).rename(columns={"value": "batch_ms"})
    for name, more in {
        "end_to_end_ms": rows(BATCH, scope="end_to_end"),
        "scipy_loop_ms": rows(LOOP),
        "triton_ms": rows(TRITON),
        "bids": rows(BATCH, "bids", "answer"),
        "scanned": rows(BATCH, "scanned", "answer"),
        "total_cost": rows(BATCH, "total_cost", "answer"),
        "scipys_cost": rows(LOOP, "total_cost", "answer"),
    }.items():
        table = table.merge(named(more, name), on=[*KEY, "seed"], how="left")
    return table.assign(problems=problems)


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return times by batch and range, beside the peer's: of this run, else of its card.

    Where the peer ran here, ``earlier_ms`` is what it took on its card on another day.
    """
    found = [
        _of(summary, problems, n, label)
        for problems, n in (*BATCHES, MANY, *SMALL)
        for label in LABELS[1:]
    ]
    rows = pd.concat(found, ignore_index=True)
    theirs = published(peers.BATCHES).rename(
        columns={"solve_ms": "earlier_ms", "cost": "peer_cost"}
    )
    at = ["problems", "n", "cost_range"]
    rows = rows.merge(theirs[[*at, "device", "earlier_ms"]], on=[*at, "device"], how="left")
    rows = rows.merge(theirs[[*at, "peer_cost"]].drop_duplicates(at), on=at, how="left")
    in_turn = rows.pop("triton_ms")
    rows["peer_ms"] = in_turn.fillna(rows["earlier_ms"])
    rows["earlier_ms"] = rows["earlier_ms"].where(in_turn.notna())
    rows = rows.assign(
        earlier_over_batch=rows["earlier_ms"] / rows["batch_ms"],
        peer_over_batch=rows["peer_ms"] / rows["batch_ms"],
        loop_over_batch=rows["scipy_loop_ms"] / rows["batch_ms"],
        floor_ms=work.floors(
            rows, peers.prices(published),
            lambda row, prices: work.batch_floor_ms(row.problems, row.n, prices),
        ),
    )  # fmt: skip
    rows["batch_over_floor"] = rows["batch_ms"] / rows["floor_ms"]
    rows = tables.order(rows, by=("n", "problems", "cost_range"), ranked={"cost_range": LABELS})
    return rows[
        ["problems", "n", "cost_range", "source", "device", "batch_ms", "end_to_end_ms",
         "scipy_loop_ms", "peer_ms", "earlier_ms", "loop_over_batch", "peer_over_batch",
         "earlier_over_batch", "bids", "scanned", "floor_ms", "batch_over_floor", "total_cost",
         "scipys_cost", "peer_cost"]
    ]  # fmt: skip


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Check the sums of the costs, and our goals on a GPU."""
    judged, goals = [], []
    on_gpu = set(peers.on_gpu(found).index)
    for row in found.itertuples():
        what = f"{row.problems} of {row.n} a side, range {row.cost_range}"
        for who, cost in (("SciPy's", row.scipys_cost), ("the peer's", row.peer_cost)):
            if pd.notna(cost):
                same = float(cost) == float(row.total_cost)
                judged.append(
                    correct(f"sum of costs as {who}, {what}", float(cost), float(row.total_cost),
                            same)
                )  # fmt: skip
        for whose, ratio in (
            ("the peer's time", row.peer_over_batch),
            ("the peer's time of an earlier day", row.earlier_over_batch),
        ):
            if pd.notna(ratio):
                quantity = f"{whose} over a run's, {what}"
                goals.append(goal(quantity, float(ratio), at_least=TIMES_FASTER))
        if row.Index in on_gpu and (row.problems, row.n) == MANY:
            most = MOST_END_TO_END_MS
            goals.append(goal(f"ms end to end, {what}", float(row.end_to_end_ms), at_most=most))
    return judged + (goals or not_measured("the peer's time over a run's, on its card", "goal"))
