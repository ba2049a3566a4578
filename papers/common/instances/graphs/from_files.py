"""Graphs from files: the matrices of `papers.common.instances.files`, by name."""

from __future__ import annotations

from papers.common.instances import catalogue, files
from papers.common.problems.graph import Graph


def matrix(n: int, seed: int = 1, *, name: str) -> Graph:
    """Read the graph of the matrix called `name`; `seed` has no effect.

    Raises
    ------
    MissingInstanceError
        If there is no such file, or (`papers.common.instances.catalogue.ForeignInstanceError`) if
        it holds another matrix than the one that is known by that name.
    BrokenInstanceError
        If no graph can be read from it, or one without `n` rows.
    """
    graph = files.load(name)
    catalogue.check_graph(name, graph)
    if graph.rows != n:
        raise files.BrokenInstanceError(f"{name} has {graph.rows} rows, not {n}")
    return graph
