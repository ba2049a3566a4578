"""Calls on networks beside SciPy's, by each solver of a CPU that tells a flow: ``networks.csv``.

``python -m papers.synthesis.evidence.graphs.networks OUT.csv [REPEATS]`` times whole calls of
`papers.maximum_flow`, from SciPy's matrix to the flow, with both solvers by name, of
`papers.minimum_cut` as it chooses without a GPU, and of SciPy's maximum flow: medians by turns in
microseconds. The file has the rows of two codes, of before and after the passes over arcs were
compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow as scipys

from papers.common.gpu import environment
from papers.common.instances.flows.random_flows import random_grid, random_network
from papers.common.problems.network import Network, network
from papers.synthesis.calls.flow import maximum_flow, minimum_cut
from papers.synthesis.evidence.programs.table import asked, write

NODES = (6, 20, 50, 100, 200, 500, 1000, 4000, 16_000)
LARGEST = 50
"""The largest capacity."""

WARM = 3
SOLVERS = {
    "by_scipy_us": "lupinska_costscale:scipy_flow",
    "by_push_relabel_us": "lupinska_costscale:push_relabel",
}


def grid(n: int) -> Network:
    """An image of about so many nodes, as a network."""
    side = max(2, round(np.sqrt(n)))
    return random_grid(side, largest=LARGEST).network()


def layers(n: int) -> Network:
    """Layers of as many nodes as there are layers, three random arcs from each node to the next."""
    wide = max(2, round(np.sqrt(n)))
    many = max(1, round(n / wide))
    draws = np.random.default_rng(n)
    inner = 1 + np.arange(wide * many).reshape(many, wide)
    tails = [np.zeros(wide, int), *np.repeat(inner[:-1], 3, axis=1), inner[-1]]
    heads = [inner[0], *(draws.choice(each, 3 * wide) for each in inner[1:])]
    goal = wide * many + 1
    tail, head = np.concatenate(tails), np.concatenate([*heads, np.full(wide, goal)])
    capacity = draws.integers(1, LARGEST, tail.size)
    return _network(tail, head, capacity, goal + 1)


def path(n: int) -> Network:
    """A path."""
    capacity = np.random.default_rng(n).integers(1, LARGEST, n - 1)
    return _network(np.arange(n - 1), np.arange(1, n), capacity, n)


def _network(tail: Any, head: Any, capacity: Any, nodes: int) -> Network:
    return network(tail, head, capacity, nodes, 0, nodes - 1)


KINDS: dict[str, Callable[[int], Network]] = {
    "random, degree 3": lambda n: random_network(n, largest=LARGEST, degree=3),
    "random, degree 10": lambda n: random_network(n, largest=LARGEST, degree=10),
    "image": grid,
    "layers": layers,
    "path": path,
}


def matrix_of(net: Network) -> csr_array:
    """Return the arcs with a capacity as SciPy's matrix."""
    there = net.capacity > 0
    entries = net.capacity[there].astype(np.int32), (net.tail[there], net.head[there])
    return csr_array(entries, shape=(net.nodes, net.nodes))


def rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a row a kind and size.

    Raises
    ------
    RuntimeError
        If the values differ.
    """
    code, cpu = environment.commit()[:12], environment.cpu_model()
    for n in NODES:
        for kind, drawn in KINDS.items():
            net = drawn(n)
            matrix, ends = matrix_of(net), (net.source, net.sink)
            calls: dict[str, Callable[[], Any]] = {
                "scipy_us": partial(scipys, matrix, *ends),
                **{
                    column: partial(maximum_flow, matrix, *ends, solver=name)
                    for column, name in SOLVERS.items()
                },
                "cut_us": partial(minimum_cut, matrix, *ends, device="cpu"),
            }
            taken: dict[str, list[float]] = {column: [] for column in calls}
            values = set()
            for _ in range(WARM + repeats):
                for column, call in calls.items():
                    begin = time.perf_counter()
                    found = call()
                    taken[column].append(1e6 * (time.perf_counter() - begin))
                    values.add(int(found.value if column == "cut_us" else found.flow_value))
            if len(values) > 1:
                raise RuntimeError(f"{kind}, {n} nodes: flows of {values}")
            yield {
                "code": code, "cpu": cpu, "kind": kind, "n": n, "nodes": net.nodes,
                "arcs": matrix.nnz, "repeats": repeats,
                **{column: round(float(np.median(us[WARM:])), 1) for column, us in taken.items()},
            }  # fmt: skip


def main(out: str, repeats: str = "15") -> None:
    """Write the table."""
    write(rows(int(repeats)), out)


if __name__ == "__main__":
    main(*asked(__doc__))
