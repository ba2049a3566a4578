"""Host to host with the costs on their way in one copy or in pinned chunks, on the same instances.

The way's cost and gain: `papers.datenagi2016.arrival` is the code, the field ``staged`` of
`papers.datenagi2016.configuration.Configuration` its switch.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from papers.common.evidence.comparisons import goal, not_measured
from papers.common.evidence.declared import Code, Instances
from papers.common.evidence.tables import KEY, Published, by_seed, named
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cell, Comparison, Plan
from papers.datenagi2016.evidence.tables import order

INSTANCES = Instances(
    sizes={"smoke": (64,), "quick": (2000,), "paper": (10_000, 20_000)},
    executor={"smoke": (8,), "quick": (16,), "paper": (16,)},
    labels=("0.1n",),
)
"""At range 0.1n the search takes least, and the way of the costs shows most."""

WHOLE, CHUNKS = (
    Code("datenagi2016:tree", label, kernels=True, scopes=("run", "end_to_end"), options=options)
    for label, options in (("whole", (("configuration", "one_word"),)), ("chunks", ()))
)


def cells(plan: Plan) -> list[Cell]:
    """Plan both ways."""
    return [cell for code in (WHOLE, CHUNKS) for cell in INSTANCES.cells(plan, code)]


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return seconds host to host by both ways, and the gain: medians over the seeds of both."""
    options = "configuration=one_word"
    whole = by_seed(summary, "datenagi2016:tree", scope="end_to_end", options=options)
    chunks = by_seed(summary, "datenagi2016:tree", scope="end_to_end")
    runs = by_seed(summary, "datenagi2016:tree")
    both = chunks.rename(columns={"value": "chunks_s"}).merge(
        named(whole, "whole_s"), on=[*KEY, "seed"]
    )
    both = both.merge(named(runs, "run_s"), on=[*KEY, "seed"])
    both = both[both["cost_range"].isin(INSTANCES.labels)]
    seconds = ["run_s", "whole_s", "chunks_s"]
    both = both.assign(gain=both["whole_s"] / both["chunks_s"], costs_gb=4e-9 * both["n"] ** 2)
    both[seconds] /= 1e3
    grouped = both.groupby([*KEY, "device", "costs_gb"], sort=False)[[*seconds, "gain"]]
    return order(grouped.median().reset_index())


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Check our goal: the chunks are never slower."""
    return list(_goals(found)) or not_measured("costs in chunks, on a GPU", "goal")


def _goals(found: pd.DataFrame) -> Iterable[Comparison]:
    for row in found[found["device"] != EXECUTOR_NAME].itertuples(index=False):
        what = f"host to host, one copy over chunks, n={row.n} range {row.cost_range}"
        yield goal(what, round(row.gain, 3), at_least=1.0)
