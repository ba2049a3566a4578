"""The looks and times of one core's searches on real matrices, before a solver: ``looks.csv``.

``python -m papers.synthesis.evidence.graphs.looks FILE`` writes the table anew, from the matrices
in ``$PAPERS_INSTANCES`` and from two random graphs. Counts are exact and the same on each machine;
times are of the machine it runs on, and of SciPy's call only where that ends within a second.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd

from papers.common.instances.drawing import draw
from papers.common.instances.files import MissingInstanceError
from papers.common.model import Instance
from papers.common.problems.graph import Graph
from papers.deveci_matching.evidence import sets
from papers.synthesis.calls.lines import direct, scattered
from papers.synthesis.calls.matching import maximum_bipartite_matching as call
from papers.synthesis.evidence.graphs.matchings import scipy_can

RANDOM = (("uniform_graph", 10_000, "d3"), ("uniform_graph", 100_000, "d4"))
REPEATS = 5
WITHOUT_END = 2**62


def rows(graphs: list[Instance]) -> Iterator[dict[str, Any]]:
    """Yield a row a graph, of CSR and of all its edges.

    ``after_greedy`` and ``maximum`` are sizes of matchings, ``looks`` looks an edge if the searches
    are not stopped, ``ended`` whether `direct.LOOKS` were enough, ``far`` the share of far steps
    between sampled lines (`papers.synthesis.calls.lines.scattered`). Times are medians,
    microseconds: ``us`` of the pass and the searches, and where SciPy's call ends, ``call_us`` of
    our whole call without a GPU, with the solver where one is needed, and ``scipy_us``.
    """
    from scipy.sparse.csgraph import maximum_bipartite_matching as scipys

    for graph, matrix in drawn(graphs):
        first = direct.look(matrix)
        assert first is not None
        begun = int(np.count_nonzero(first.match >= 0))
        arrays = first.indptr, first.indices, first.match, first.across_match
        _, looks = direct.enlarge(*arrays, WITHOUT_END, first.deep)
        ends = scipy_can(graph)
        yield {
            "graph": name_of(graph), "ordering": sets.ordering_of(graph.permuted),
            "rows": matrix.shape[0], "columns": matrix.shape[1], "edges": matrix.nnz,
            "after_greedy": begun, "possible": min(first.possible, first.across),
            "maximum": int(np.count_nonzero(first.match >= 0)),
            "looks": round(looks / max(1, matrix.nnz), 3),
            "far": _far(matrix), "ended": is_done(matrix),
            "us": median_us(partial(is_done, matrix)),
            "call_us": median_us(partial(call, matrix, device="cpu")) if ends else "",
            "scipy_us": median_us(partial(scipys, matrix)) if ends else "",
        }  # fmt: skip


def drawn(graphs: list[Instance]) -> Iterator[tuple[Instance, Any]]:
    """Yield each graph with SciPy's CSR matrix of it, but for those whose file is missing."""
    for graph in graphs:
        try:
            yield graph, cast(Graph, draw(graph)).matrix().tocsr()
        except MissingInstanceError as error:
            print(f"left out: {error}", file=sys.stderr)


def name_of(graph: Instance) -> str:
    """Return the name of a graph in these tables."""
    return graph.label if graph.family == "matrix" else f"{graph.family}_{graph.n}"


def _far(matrix: Any) -> float:
    if matrix.shape[0] < 2:
        return 0.0
    steps = scattered.far_steps(matrix.indptr, matrix.indices, scattered.SAMPLES)
    return round(int(steps) / scattered.SAMPLES, 3)


def is_done(matrix: Any) -> bool:
    """Whether one core is done with a matrix before any solver."""
    looked = direct.look(matrix)
    return looked is not None and (not looked.missing or looked.enlarge())


def median_us(call: Callable[[], Any]) -> float:
    """Return the microseconds of a call."""
    taken = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return round(1e6 * float(np.median(taken)), 1)


def main(path: str) -> None:
    """Write the table."""
    graphs = [Instance(*each) for each in RANDOM]
    graphs += [sets.matrix(str(name), ordering)
               for name in sets.ours().index for ordering in sets.ORDERINGS]  # fmt: skip
    pd.DataFrame(rows(graphs)).to_csv(path, index=False)


if __name__ == "__main__":
    main(sys.argv[1])
