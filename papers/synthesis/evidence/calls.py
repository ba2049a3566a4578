"""The overhead of the call `linear_sum_assignment` over the solver below it, on small matrices.

Costs of the host are set beside a solver's way from host to host, and beside the dense solver's
launch alone. Costs in device memory are set
beside two clocks of the dense solver on the same memory: ``run``, its launch alone, and
``end_to_end``, which adds its own looks, binding and copy of the answer. What the call adds to the
first is all that a caller waits for besides the solve.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from papers.common.evidence import tables
from papers.common.evidence.comparisons import goal, not_measured
from papers.common.evidence.tables import KEY, Published, by_seed, named
from papers.common.model import Cell, Comparison, Instance, Plan, Scope, Storage
from papers.synthesis.evidence.uniform import CPU, DENSE, LABELS

N, EXECUTOR_N = 64, 8

ON_DEVICE = (64, 256)
"""Sizes of costs in device memory; in the executor `EXECUTOR_N`."""

ON_HOST = "linear_sum_assignment(cost, solver='synthesis:dense')"
RESIDENT = "linear_sum_assignment(on_device, solver='synthesis:dense')"
CHOSEN = "linear_sum_assignment(on_device)"


class Beside(NamedTuple):
    """A call, its words, and the code, the clock and the costs that it is set beside.

    Our goal, where there is one, are the microseconds that it adds at most at n = `N`.
    """

    call: str
    words: str
    below: str
    clock: Scope
    storage: Storage = "host"
    most_us: float | None = None


BESIDE = (
    Beside("synthesis:call_scipy", "linear_sum_assignment(cost, solver='scipy')", CPU["scipy"],
           "run", most_us=100.0),
    Beside("synthesis:call_cpu", "linear_sum_assignment(cost, device='cpu')", CPU["scipy"], "run",
           most_us=100.0),
    Beside("synthesis:call_dense", ON_HOST, DENSE, "end_to_end"),
    Beside("synthesis:call_dense", ON_HOST, DENSE, "run", most_us=300.0),
    Beside("synthesis:call_dense_device", RESIDENT, DENSE, "end_to_end", "device", 100.0),
    Beside("synthesis:call_dense_device", RESIDENT, DENSE, "run", "device", 100.0),
    Beside("synthesis:call_device", CHOSEN, DENSE, "run", "device", 100.0),
)  # fmt: skip


def cells(plan: Plan) -> list[Cell]:
    """Return the calls and the codes below them, on small uniform matrices."""
    found = []
    sizes: tuple[tuple[Storage, tuple[int, ...]], ...] = (
        ("host", (N,) if plan.gpu else (EXECUTOR_N,)),
        ("device", ON_DEVICE if plan.gpu else (EXECUTOR_N,)),
    )
    for storage, orders in sizes:
        calls = dict.fromkeys(one.call for one in BESIDE if one.storage == storage)
        for n in orders:
            for label in LABELS:
                for seed in plan.seeds:
                    instance = Instance("uniform", n, label, seed=seed, storage=storage)
                    if storage == "host":
                        found.append(Cell(CPU["scipy"], instance))
                    found.append(Cell(DENSE, instance, ("run", "end_to_end")))
                    found += [Cell(call, instance) for call in calls]
    return found


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return each call's time, that of the code below it, and the difference in microseconds."""
    parts = []
    for call, words, below, clock, storage, _ in BESIDE:
        rows = by_seed(summary, call, storage=storage).rename(columns={"value": "call_ms"})
        rows = rows.merge(
            named(by_seed(summary, below, scope=clock, storage=storage), "below_ms"),
            on=[*KEY, "seed"],
        )
        rows = rows.assign(overhead_us=1e3 * (rows["call_ms"] - rows["below_ms"]))
        values = ["call_ms", "below_ms", "overhead_us"]
        medians = rows.groupby([*KEY, "device"], sort=False)[values].median().reset_index()
        parts.append(medians.assign(call=words, below=f"{below}, {clock}"))
    found = pd.concat(parts, ignore_index=True)
    found = tables.order(
        found, by=("n", "call", "below", "cost_range"), ranked={"cost_range": LABELS}
    )
    return found[
        ["call", "below", "n", "cost_range", "source", "device", "call_ms", "below_ms",
         "overhead_us"]
    ]  # fmt: skip


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Check what each call with a goal adds at n = `N`: the worst of the ranges."""
    judged: list[Comparison] = []
    if not (found["n"] == N).any():
        return not_measured(f"what a call adds at n={N}", "goal")
    for one in BESIDE:
        if one.most_us is None:
            continue
        below = f"{one.below}, {one.clock}"
        rows = found[(found["call"] == one.words) & (found["below"] == below) & (found["n"] == N)]
        what = f"microseconds that {one.words} adds to {below}, n={N}"
        for _, mine in rows.groupby("source", sort=False):
            worst: Any = mine.loc[mine["overhead_us"].idxmax()]
            judged.append(
                goal(what, float(worst["overhead_us"]), at_most=one.most_us,
                     note=f"worst range {worst['cost_range']}")
            )  # fmt: skip
        if not len(rows):
            judged += not_measured(what, "goal")
    return judged
