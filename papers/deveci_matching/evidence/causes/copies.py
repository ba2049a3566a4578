"""The share of a run that its copies take: bytes over the bus beside the time of the kernels.

A copied run moves the graph, the start and the answer. On the record, what a run with copies takes
beyond one without is a fixed time and a time a byte, fitted to all graphs whose entries are known.
In print it is at least the bytes of its twenty matrices at the peak of the C2050's bus.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers.common.evidence.tables import Published
from papers.deveci_matching.evidence import profiles, sets, tables
from papers.deveci_matching.evidence.codes import BEST, COPIED
from papers.deveci_matching.evidence.tables import GRAPH, geometric_mean, measured

BUS_OF_PRINT = 8.0
"""GB/s: the peak of 16 lanes of PCI Express 2.0, the C2050's bus."""

CLAIM = "DE-n"


def megabytes(facts: pd.DataFrame) -> pd.Series:
    """Return the MB of graph, start and answer, all of 32-bit words.

    Parameters
    ----------
    facts : DataFrame
        Columns ``rows columns nonzeros``, as of `papers.deveci_matching.evidence.sets.facts`.
    """
    words = facts["nonzeros"] + facts["columns"] + 1 + 2 * (facts["rows"] + facts["columns"])
    return 4e-6 * words


def drop(run: pd.Series, copies: pd.Series) -> float:
    """Return by how many per cent copies lower the geometric mean of the speedups."""
    return 100 * (1 - geometric_mean(run / (run + copies)))


def prices(copied: pd.DataFrame) -> tuple[float, float]:
    """Return a copied run's fixed ms and its ms a MB, by least squares, both at least 0.

    Parameters
    ----------
    copied : DataFrame
        A row a graph: ``extra`` (ms) and ``megabytes``.
    """
    amounts = np.column_stack([np.ones(len(copied)), copied["megabytes"]])
    found = np.linalg.lstsq(amounts, copied["extra"].to_numpy(float), rcond=None)[0]
    fixed, rate = np.maximum(found, 0.0)
    return float(fixed), float(rate)


def _copied(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the graphs of known entries that ran with copies: ``run extra megabytes``."""
    rows = measured(summary)
    keys = ["source", *GRAPH]
    rows = rows[rows["code"] == BEST].drop_duplicates([*keys, "start"])
    wide = rows.set_index([*keys, "start"])["value"].unstack("start")
    wide = wide.reindex(columns=["excluded", COPIED]).dropna().reset_index()
    sizes = megabytes(sets.facts())
    found = wide.assign(
        run=wide["excluded"], extra=wide[COPIED] - wide["excluded"],
        megabytes=wide["name"].map(sizes),
    )  # fmt: skip
    return found.dropna(subset=["megabytes"])


def of_print(published: Published) -> float:
    """Return the drop of print's mean speedups by copies at the peak of its bus, in per cent."""
    times = tables.printed_times(published)
    sizes = megabytes(sets.twenty().set_index("in_paper"))
    seconds = times["matrix"].map(sizes) / (1e3 * BUS_OF_PRINT)
    return max(
        drop(mine["published_gpu_s"], seconds[mine.index])
        for _, mine in times.groupby("ordering")
    )  # fmt: skip


def expected(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the largest drop by the prices of a copy: ``source id`` and two figures.

    ``print_model_measured`` is the one in print, ``expected_measured`` the record's.
    """
    copied = _copied(summary)
    rows = []
    for source, _, graphs in tables.by_source(summary):
        mine = copied[copied["source"] == source]
        rebuilt = sets.rebuilt(graphs)
        members = [rebuilt[name][GRAPH].merge(mine, on=GRAPH) for name in profiles.OF_PRINT]
        members = [each for each in members if len(each) >= tables.FEW]
        if members:
            fixed, rate = prices(mine)
            drops = [drop(each["run"], fixed + rate * each["megabytes"]) for each in members]
            rows.append((source, CLAIM, of_print(published), max(drops)))
    return pd.DataFrame(
        rows, columns=["source", "id", "print_model_measured", "expected_measured"]
    )  # fmt: skip
