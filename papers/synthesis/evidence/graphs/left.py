"""Who is faster on what one core's searches leave open: Hopcroft-Karp or the GPU: ``left.csv``.

``python -m papers.synthesis.evidence.graphs.left OUT.csv [REPEATS]`` times whole calls of
`papers.maximum_bipartite_matching`, from SciPy's matrix to the partners, with each of the two
solvers by name: on all graphs of up to `MOST` edges that ``looks.csv`` says are left open, and on
random ones. It wants a GPU, and the matrices in ``$PAPERS_INSTANCES``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from papers.common.gpu import device, environment
from papers.common.model import Instance
from papers.deveci_matching.evidence import sets
from papers.synthesis.calls.matching import ON_GPU
from papers.synthesis.calls.matching import maximum_bipartite_matching as call
from papers.synthesis.evidence.graphs.looks import drawn, is_done, name_of
from papers.synthesis.evidence.programs.table import asked, write

SOLVERS = {"hk_ms": "deveci_matching:hk", "gpu_ms": ON_GPU}
RANDOM = (("uniform_graph", 10_000, "d3"), ("uniform_graph", 30_000, "d3"))
MOST = 400_000
REPEATS, WARM = 9, 3
"""Calls that are timed, and calls before them."""


def open_graphs(most: int = MOST) -> list[Instance]:
    """The random graphs, and the matrices that one core's searches leave open, by their edges."""
    looks = pd.read_csv(Path(__file__).with_name("looks.csv"))
    left = looks[~looks["ended"] & (looks["edges"] <= most)].sort_values(["edges", "ordering"])
    left = left[~left["graph"].str.startswith("uniform_graph")]
    names = zip(left["graph"], left["ordering"], strict=True)
    return [*(Instance(*one) for one in RANDOM), *(sets.matrix(*one) for one in names)]


def rows(graphs: list[Instance], repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row a graph: medians of so many calls in milliseconds, by solver.

    Raises
    ------
    RuntimeError
        If nothing of a graph is left open; if the solvers' matchings differ in size.
    """
    for graph, matrix in drawn(graphs):
        if is_done(matrix):
            raise RuntimeError(f"{graph}: nothing is left open")
        times, sizes = {}, set()
        for column, solver in SOLVERS.items():
            taken = []
            for _ in range(WARM + repeats):
                begin = time.perf_counter()
                found = call(matrix, solver=solver)
                taken.append(1e3 * (time.perf_counter() - begin))
                sizes.add(int(np.count_nonzero(found >= 0)))
            times[column] = round(float(np.median(taken[WARM:])), 3)
        if len(sizes) > 1:
            raise RuntimeError(f"{graph}: matchings of {sizes} pairs")
        yield {
            "code": environment.commit()[:12], "card": device.describe().name,
            "graph": name_of(graph), "ordering": sets.ordering_of(graph.permuted),
            "rows": matrix.shape[0], "edges": matrix.nnz, "matched": sizes.pop(), **times,
        }  # fmt: skip


def main(path: str, repeats: str = str(REPEATS)) -> None:
    """Write the table."""
    device.select("gpu")
    write(rows(open_graphs(), int(repeats)), path)


if __name__ == "__main__":
    main(*asked(__doc__))
