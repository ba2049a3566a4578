"""The work of the codes' steps: waits, turns, entries, rows; counts that no hardware changes.

On the GPU, as printed:

- a *wait* is a kernel for which the host waits, or a word that it copies. A level of the classical
  forward pass has five kernels and a copy, one of the tree's four and a copy; a pass begins with
  the list of the frontier and ends with the flag of the path;
- an *entry* is one of the matrix that a compression of five kernels goes over;
- a *strided* entry is one that a thread reads which has a row for itself, so that neighbouring
  threads read entries n apart; the n entries of its row are as many *turns*, one after another;
- a *row* is one of the tree's frontiers, which every column's thread reads in its turn;
- a *slack* is one of the n of which the tree's dual update takes the least;
- a *start* is what a run costs before its first kernel, a *copied* entry one that goes to the card
  in one piece.

On the CPU a thread *searches* the entries of the frontiers' rows and *reduces* those of the matrix
at first; at every *level* the threads meet, and one thread looks through the *lines*.

The rows of the frontiers are counted by the runs on strips (`frontier_rows`). A search of the tree
expands a share of all rows that differs with the range of costs and hardly with n: that share, as
recorded, gives the rows at the orders that have no such run.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from papers.common.evidence.tables import by_seed as of_solver
from papers.datenagi2016.evidence.scaling_tables import STRIPS
from papers.datenagi2016.evidence.tables import LABELS, by_seed

GPU_PRICES = ("wait", "turn", "strided", "entry", "row", "slack", "start", "copied")
CPU_PRICES = ("searched", "reduced", "level", "line")

COUNTERS = ("dual_updates", "forward_passes", "bfs_levels", "augmentations")
CODES = ("CU-CLASS", "CU-TREE", "OMP-1", "OMP-8")
KEYS = ["n", "cost_range", "code", "step"]

NAMED: Mapping[str, tuple[str, ...]] = {
    "CU-CLASS": ("matrix_compression", "forward_pass", "dual_update"),
    "CU-TREE": ("forward_pass", "dual_update"),
    "OMP-8": ("forward_pass",),
    "OMP-1": (),
}
"""The steps of which print has times; all others together are the `REST`."""

REST, TOTAL, RUN, ARRIVAL = "rest", "total", "run", "arrival"
"""No names of print's: the other steps; all of them, host to host; all of them on the device; what
the way from host to host adds to the run."""

ONE_RANK = "ranks=1,exchange=gather"


def row_shares(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the share of all rows that a search of the tree expands: ``cost_range row_share``.

    The median over the orders and seeds of the runs of one rank, and over their sources.
    """
    strips = summary[summary["storage"].astype(str) == STRIPS].assign(storage="host")
    parts = [
        of_solver(strips, "datenagi2016:mpi_tree", name, "answer", ONE_RANK).rename(
            columns={"value": name}
        )
        for name in ("frontier_rows", "augmentations")
    ]
    keys = ["source", "n", "cost_range", "seed"]
    both = parts[0].merge(parts[1][[*keys, "augmentations"]], on=keys)
    share = both["frontier_rows"] / (both["augmentations"] * both["n"])
    both = both.assign(row_share=share)
    return both.groupby("cost_range")["row_share"].median().reset_index()


def counts(summary: pd.DataFrame) -> pd.DataFrame:
    """Return each code's counters, medians over the seeds: ``source n cost_range code`` and five.

    The fifth is ``rows``, the rows of the tree's frontiers.
    """
    parts = []
    for code in CODES:
        found: pd.DataFrame | None = None
        for name in COUNTERS:
            rows = by_seed(summary, code, name, "answer")
            column = rows.groupby(["source", "n", "cost_range"])["value"].median().rename(name)
            found = column.to_frame() if found is None else found.join(column)
        assert found is not None, "there are four counters"
        parts.append(found.reset_index().assign(code=code))
    table = pd.concat(parts, ignore_index=True).dropna(subset=list(COUNTERS))
    table = table[table["cost_range"].isin(LABELS)].merge(row_shares(summary), on="cost_range")
    rows = table["row_share"] * table["augmentations"] * table["n"]
    return table.assign(rows=rows).drop(columns="row_share")


Amounts = dict[str, float]


def of_step(code: str, step: str, row: Mapping[str, float]) -> Amounts:
    """Return what a step asks for, by the names of prices.

    Parameters
    ----------
    code : str
        One of `CODES`.
    step : str
        One of `NAMED`, `REST`, `RUN`, `ARRIVAL` or `TOTAL`.
    row : mapping of str to float
        ``n``, `COUNTERS` and ``rows``.
    """
    if step == ARRIVAL:
        return {"start": 1.0, "copied": row["n"] ** 2}
    if step in (RUN, TOTAL):
        more = (ARRIVAL,) if step == TOTAL and code.startswith("CU") else ()
        parts = [of_step(code, name, row) for name in (*NAMED[code], REST, *more)]
        names = dict.fromkeys(name for part in parts for name in part)
        return {name: sum(part.get(name, 0.0) for part in parts) for name in names}
    kind = _on_gpu if code.startswith("CU") else _on_cpu
    return kind(code, step, row)


def _on_gpu(code: str, step: str, row: Mapping[str, float]) -> Amounts:
    n, updates, rounds = row["n"], row["dual_updates"], row["augmentations"]
    classical = code == "CU-CLASS"
    if step == "forward_pass":
        met = row["bfs_levels"] + row["forward_passes"]
        return {"wait": 6 * met} if classical else {"wait": 5 * met, "row": row["rows"]}
    if step == "matrix_compression":
        return {"wait": 5 * (updates + 1), "entry": n**2 * (updates + 1)}
    if step == "dual_update":
        passed = {"turn": n * updates, "strided": n**2 * updates}
        return (
            {"wait": 3 * updates, **passed}
            if classical
            else {"wait": 2 * updates, "slack": n * updates}
        )
    # A round has a check of three waits, a reverse pass and an augmentation of four each.
    return {"wait": 3 + 3 + 11 * rounds, "turn": 2 * n, "strided": n**2}


def _on_cpu(code: str, step: str, row: Mapping[str, float]) -> Amounts:
    n, met = row["n"], row["bfs_levels"] + row["forward_passes"]
    meeting = {"level": met} if code == "OMP-8" else {"line": met * n}
    searched = {"searched": row["rows"] * n, **meeting}
    if code == "OMP-8" and step == "forward_pass":
        return searched
    if code == "OMP-1":
        return {**searched, "reduced": n**2}
    # The threads meet for the check, two gatherings, reverse pass and augmentation of a round, and
    # for the two halves of a dual update.
    return {"reduced": n**2, "level": 2 + 5 * row["augmentations"] + 2 * row["dual_updates"]}


def amounts(rows: pd.DataFrame, prices: tuple[str, ...]) -> np.ndarray:
    """Return float64[k, p]: what the k rows of ``code step`` and counts ask for, by price."""
    found = [of_step(row["code"], row["step"], row) for row in rows.to_dict("records")]
    return np.array([[each.get(name, 0.0) for name in prices] for each in found], float).reshape(
        len(found), len(prices)
    )
