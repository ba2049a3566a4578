"""Searches depth first, breadth first and in both ways, on real matrices: ``broad.csv``.

``python -m papers.synthesis.evidence.graphs.broad FILE`` writes the table anew, from the matrices
in ``$PAPERS_INSTANCES`` with `MOST` edges at most that the greedy pass may not have matched wholly.
Counts are exact and the same on each machine; times are medians on one core, of the searches alone
and, where SciPy's call ends within a second, of that call.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from papers.deveci_matching.evidence import sets
from papers.synthesis.calls.lines import direct
from papers.synthesis.calls.lines.searches import ALWAYS
from papers.synthesis.evidence.graphs.looks import REPEATS, drawn, median_us, name_of
from papers.synthesis.evidence.graphs.matchings import scipy_can

MOST = 2_500_000

WAYS = {"depth": ALWAYS, "broad": 0, "both": direct.DEEP}
"""Phases whose searches go depth first."""


def rows() -> Iterator[dict[str, Any]]:
    """Yield a row a graph: ``missing`` of ``possible``, and what the searches of each way take.

    ``looks`` are looks an edge, ``left`` lines that stopped searches leave.
    """
    from scipy.sparse.csgraph import maximum_bipartite_matching as scipys

    every = sets.ours().index
    graphs = [sets.matrix(str(name), ordering) for name in every for ordering in sets.ORDERINGS]
    for graph, matrix in drawn(graphs):
        first = direct.look(matrix)
        assert first is not None
        if matrix.nnz > MOST or not first.missing:
            continue
        row: dict[str, Any] = {
            "graph": name_of(graph), "ordering": sets.ordering_of(graph.permuted),
            "edges": matrix.nnz, "possible": first.possible, "missing": first.missing,
        }  # fmt: skip
        for way, deep in WAYS.items():
            taken = []
            for _ in range(REPEATS):
                match, across_match = first.match.copy(), first.across_match.copy()
                begin = time.perf_counter()
                left, looks = direct.enlarge(
                    first.indptr, first.indices, match, across_match,
                    direct.LOOKS * matrix.nnz, deep,
                )  # fmt: skip
                taken.append(time.perf_counter() - begin)
            row[f"{way}_left"] = left
            row[f"{way}_looks"] = round(looks / matrix.nnz, 3)
            row[f"{way}_us"] = round(1e6 * float(np.median(taken)), 1)
        row["scipy_us"] = median_us(partial(scipys, matrix)) if scipy_can(graph) else ""
        yield row


def main(path: str) -> None:
    """Write the table."""
    pd.DataFrame(rows()).to_csv(path, index=False)


if __name__ == "__main__":
    main(sys.argv[1])
