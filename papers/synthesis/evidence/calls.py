"""The overhead of the call `linear_sum_assignment` over the solver that it chooses, at n = 64."""

from __future__ import annotations

import pandas as pd

from papers.common.evidence import tables
from papers.common.evidence.tables import KEY, Published, by_seed, named
from papers.common.model import Cell, Instance, Plan, Scope
from papers.synthesis.evidence.uniform import CPU, DENSE, LABELS

N, EXECUTOR_N = 64, 8

CALLS: dict[str, tuple[str, str, Scope]] = {
    "synthesis:call_scipy": ("linear_sum_assignment(cost, solver='scipy')", CPU["scipy"], "run"),
    "synthesis:call_cpu": ("linear_sum_assignment(cost, device='cpu')", CPU["scipy"], "run"),
    "synthesis:call_dense": (
        "linear_sum_assignment(cost, solver='synthesis:dense')", DENSE, "end_to_end"
    ),
    "synthesis:call_there": (
        "linear_sum_assignment(cost on the device, solver='synthesis:dense')", DENSE, "run"
    ),
}  # fmt: skip
"""Each call: its words, the code that it is set beside, and that one's clock, from and to the side
that the costs lie on."""


def cells(plan: Plan) -> list[Cell]:
    """Return the calls and the codes below them, on small uniform matrices."""
    n = N if plan.gpu else EXECUTOR_N
    found = []
    for label in LABELS:
        for seed in plan.seeds:
            instance = Instance("uniform", n, label, seed=seed)
            found += [Cell(CPU["scipy"], instance), Cell(DENSE, instance, ("run", "end_to_end"))]
            found += [Cell(call, instance) for call in CALLS]
    return found


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return each call's time, that of the code below it, and the difference in microseconds."""
    parts = []
    for call, (words, below, clock) in CALLS.items():
        rows = by_seed(summary, call).rename(columns={"value": "call_ms"})
        rows = rows.merge(
            named(by_seed(summary, below, scope=clock), "below_ms"), on=[*KEY, "seed"]
        )
        rows = rows.assign(overhead_us=1e3 * (rows["call_ms"] - rows["below_ms"]))
        values = ["call_ms", "below_ms", "overhead_us"]
        medians = rows.groupby([*KEY, "device"], sort=False)[values].median().reset_index()
        parts.append(medians.assign(call=words, below=f"{below}, {clock}"))
    found = pd.concat(parts, ignore_index=True)
    found = found[found["n"].isin((N, EXECUTOR_N))]
    found = tables.order(found, by=("n", "call", "cost_range"), ranked={"cost_range": LABELS})
    return found[
        ["call", "below", "n", "cost_range", "source", "device", "call_ms", "below_ms",
         "overhead_us"]
    ]  # fmt: skip
