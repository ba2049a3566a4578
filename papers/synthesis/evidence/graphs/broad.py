"""Searches depth first and breadth first on one core, on real matrices: ``broad.csv``.

``python -m papers.synthesis.evidence.graphs.broad FILE`` writes the table anew, from the matrices
in ``$PAPERS_INSTANCES`` with `MOST` edges at most that the greedy pass may not have matched wholly.
Counts are exact and the same on each machine; times are medians, of the searches alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from papers.deveci_matching.evidence import sets
from papers.synthesis.calls.lines import direct
from papers.synthesis.evidence.graphs.looks import REPEATS, drawn, name_of

MOST = 2_500_000


def rows() -> Iterator[dict[str, Any]]:
    """Yield a row a graph: ``missing`` of ``possible``, and what both kinds of searches take.

    ``looks`` are looks an edge, ``left`` lines that stopped searches leave.
    """
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
        for way, broad in (("depth", False), ("broad", True)):
            taken = []
            for _ in range(REPEATS):
                match, across_match = first.match.copy(), first.across_match.copy()
                begin = time.perf_counter()
                left, looks = direct.enlarge(
                    first.indptr, first.indices, match, across_match,
                    direct.LOOKS * matrix.nnz, broad,
                )  # fmt: skip
                taken.append(time.perf_counter() - begin)
            row[f"{way}_left"] = left
            row[f"{way}_looks"] = round(looks / matrix.nnz, 3)
            row[f"{way}_us"] = round(1e6 * float(np.median(taken)), 1)
        yield row


def main(path: str) -> None:
    """Write the table."""
    pd.DataFrame(rows()).to_csv(path, index=False)


if __name__ == "__main__":
    main(sys.argv[1])
