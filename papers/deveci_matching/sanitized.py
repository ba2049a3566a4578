"""Runs every kernel of [D13] and of `beyond` once, small, for NVIDIA's compute-sanitizer.

::

    compute-sanitizer --tool memcheck python -m papers.deveci_matching.sanitized
    compute-sanitizer --tool synccheck python -m papers.deveci_matching.sanitized
    compute-sanitizer --tool racecheck python -m papers.deveci_matching.sanitized
    compute-sanitizer --tool initcheck python -m papers.deveci_matching.sanitized

Every answer is proved maximum by a cover of its size. The logs are kept in
`papers/deveci_matching/results/sanitizer/`. Racecheck looks at shared memory alone, which of all
kernels `beyond`'s uses; the variants race in global memory, on purpose.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.problems import matching_proof
from papers.common.problems.graph import Graph, bipartite
from papers.deveci_matching import beyond, solver
from papers.deveci_matching.beyond import configuration as ideas
from papers.deveci_matching.beyond.lines import Lines
from papers.deveci_matching.configuration import CONFIGURATIONS
from papers.deveci_matching.launches import ALGORITHMS, BFS, WIDTHS

STARTS = ("cheap", "empty")
BEYOND_STARTS = (*STARTS, "device")
OPTIONS: tuple[dict[str, Any], ...] = ({"jump_after": 2}, {"seconds": 600.0}, {"threads": 64})
"""Options of `beyond` beside its configurations: jumps at once, a run in shares, small blocks."""


WITHIN = dataclasses.replace(ideas.TUNED, lone=False)
"""Small frontiers are every block's, not block 0's alone."""


def main() -> None:
    """Match small graphs by every variant in every configuration, and by `beyond`."""
    device.select("gpu")
    print(f"{variants() + beyonds()} runs, every answer proved")


def graphs(n: int) -> dict[str, Graph]:
    """Return a random graph, a path, a graph with one heavy column, and a rectangle."""
    draw = np.random.default_rng(1)
    random = draw.random((n, n)) < 2.5 / n
    path = np.eye(n, n + 1, dtype=bool) | np.eye(n, n + 1, 1, dtype=bool)
    heavy = random.copy()
    heavy[:, n // 2] = True
    made = {"random": random, "path": path, "heavy": heavy, "wide": random[: n // 2]}
    return {name: bipartite(matrix) for name, matrix in made.items()}


def variants(n: int = 40) -> int:
    """Match by the eight variants and MT's other reading; return how many runs there were."""
    done = 0
    for graph, initial in itertools.product(graphs(n).values(), STARTS):
        every = itertools.product(ALGORITHMS, BFS, WIDTHS, ("paper", "tuned"))
        between = (("apfb", "wr", "ct", name) for name in CONFIGURATIONS)
        for algorithm, bfs, threads, name in dict.fromkeys((*every, *between)):
            answer = solver.solve(graph, initial, algorithm, bfs, threads, configuration=name)
            done += _proved(graph, answer, (algorithm, bfs, threads, name))
    return done


def beyonds(n: int = 40, heavy: int = 2100) -> int:
    """Match by `beyond`; return how many runs there were. `heavy` rows make a heavy column."""
    done = 0
    given = {**graphs(n), "star": bipartite(np.ones((heavy, 2), bool))}
    for graph, initial in itertools.product(given.values(), BEYOND_STARTS):
        named: tuple[str | ideas.Configuration, ...] = (*ideas.CONFIGURATIONS, WITHIN)
        for configuration in named:
            answer = beyond.solve(graph, initial, configuration=configuration)
            done += _proved(graph, answer, (initial, configuration))
        for options in OPTIONS:
            done += _proved(graph, beyond.solve(graph, initial, **options), (initial, options))
    for graph, turn in itertools.product(given.values(), ("csr", "csc")):
        lines = Lines.of(graph.matrix().asformat(turn))
        done += _proved(graph, beyond.solve(lines, "device"), ("turned on the device", turn))
    return done


def _proved(graph: Graph, answer: Any, named: object) -> int:
    proof = matching_proof.matching(graph, answer)
    if not proof.ok:
        raise RuntimeError(f"{named}: {proof.reason}")
    return 1


if __name__ == "__main__":
    main()
