"""Summaries that nobody measured: every time and size as a test wants it."""

import pandas as pd

from papers.common.model import Plan
from papers.reproduce.run.measurements import SUMMARY
from papers.synthesis.evidence.graphs.rows import CHOSEN

CARD = "NVIDIA H200"
PAPER = Plan("paper", True)


def rows_of(cells, ms, device, chosen, objective, size):
    """A summary of these cells; kernels have the device, CPU codes a processor."""
    rows = []
    for cell in cells:
        one = cell.instance
        metrics = [(scope, "time_ms", ms(cell)) for scope in cell.scopes]
        metrics += [("answer", objective, size(cell))]
        if cell.solver in chosen:
            metrics += [("answer", f"{CHOSEN}{chosen[cell.solver]}", 1)]
        for scope, metric, number in metrics:
            rows.append(
                {"source": "this run", "solver": cell.solver, "family": one.family, "n": one.n,
                 "label": one.label, "seed": one.seed, "storage": one.storage,
                 "permuted": str(one.permuted), "options": "", "scope": scope, "metric": metric,
                 "median": float(number),
                 "device": device if cell.solver in chosen else "some processor"}
            )  # fmt: skip
    return pd.DataFrame(rows).reindex(columns=list(SUMMARY))
