"""The instances from files whose facts are known: `catalogue.csv`, and the check of data by it.

A file is found by its name alone, so its data are held against the facts of that name. There are
four kinds of facts, and a file that differs from one of them is another instance:

- rows, columns and stored entries: for every name;
- whether the pattern is symmetric: for every square matrix;
- the checksum of the pattern, ``compared_by = pattern``: where the recorded copy is numbered as
  everybody's is, or where nobody else has that instance;
- the checksum of the degrees, ``compared_by = degrees``: where the recorded copy came by another
  way than the collection's file and may number the same vertices otherwise. A record names the
  checksum of the pattern that was measured, so that two numberings are told apart there.

Of the matrices that nobody here has read (the twenty of [D13 Table 2]), no checksum is known.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from papers.common.instances.files import MissingInstanceError
from papers.common.problems import identity
from papers.common.problems.graph import Graph, bipartite

PATH = Path(__file__).with_name("catalogue.csv")

WITHOUT_DIAGONAL = "without diagonal"
"""The one change that a recipe may ask for: the entries of the diagonal are taken out."""


class ForeignInstanceError(MissingInstanceError):
    """A file bears the name of a known instance and holds another one: the known one is missing."""


@dataclass(frozen=True)
class Known:
    """The facts of an instance from a file, its origin, and its recipe if there is one.

    Attributes
    ----------
    name, family : str
        `Instance.label` and `Instance.family`.
    rows, columns, entries : int
        As `papers.common.problems.identity.size` counts them; entries stored as zero count.
    symmetric : {"yes", "no", ""}
        Whether the pattern of a square matrix is symmetric; empty for all others.
    sha256 : str
        The checksum of `papers.common.problems.identity` of the recorded copy; empty where there
        is none.
    degrees_sha256 : str
        `papers.common.problems.identity.degrees` of a graph; empty where `sha256` is.
    compared_by : {"pattern", "degrees", ""}
        The checksum that a file must have; see the module.
    collection : str
        ``GROUP/NAME`` in the SuiteSparse Collection; empty where it has no such matrix.
    change : str
        `WITHOUT_DIAGONAL`, or empty: the change that makes the collection's matrix this one.
    source : str
        The place that the recorded copy came from.
    url : str
        The page of the collection's matrix, else of the source.
    licence : str
        The licence as the source states it.
    note : str
        A further fact that a reader of a refusal needs, or empty.
    """

    name: str
    family: str
    rows: int
    columns: int
    entries: int
    symmetric: Literal["yes", "no", ""]
    sha256: str
    degrees_sha256: str
    compared_by: Literal["pattern", "degrees", ""]
    collection: str
    change: str
    source: str
    url: str
    licence: str
    note: str

    @property
    def size(self) -> str:
        """The size in words."""
        return f"{self.rows} x {self.columns} with {self.entries} entries"

    @property
    def recipe(self) -> str:
        """The sentence that says how the instance is had, or that it has no recipe."""
        if self.collection:
            changed = f", {self.change}" if self.change else ""
            return f"{self.name} is {self.collection} of the SuiteSparse Collection{changed}"
        return (
            f"{self.name} has no recipe: it is not in the SuiteSparse Collection; its recorded "
            f"copy: {self.source} ({self.url})"
        )


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Known]:
    """Return all known instances by name."""
    with PATH.open(encoding="utf-8", newline="") as file:
        rows = [cast(Any, row) for row in csv.DictReader(file)]
    sizes = ("rows", "columns", "entries")
    return {
        row["name"]: Known(**{**row, **{size: int(row[size]) for size in sizes}}) for row in rows
    }


def known(name: str) -> Known | None:
    """Return the facts of ``NAME`` or ``GROUP/NAME``; None if there are none."""
    group, _, short = name.rpartition("/")
    found = catalogue().get(short)
    return found if found and group in ("", found.collection.partition("/")[0]) else None


# ------------------------------------------------------------------------------- the check


def check(name: str, data: Any) -> None:
    """Hold a network or a grid against the facts of its name; without facts it passes.

    Parameters
    ----------
    name : str
        With or without a group.
    data : Network or Grid

    Raises
    ------
    ForeignInstanceError
        If its size or its checksum differs from the facts.
    """
    fact = catalogue().get(name.rpartition("/")[2])
    if fact:
        _refuse(fact, _of_size(fact, data) or _of_pattern(fact, data))


def check_graph(name: str, graph: Graph) -> None:
    """Hold a graph against the facts of its name; without facts it passes.

    Parameters
    ----------
    name : str
        With or without a group.
    graph : Graph

    Raises
    ------
    ForeignInstanceError
        If it differs from a fact. The message says from which, and what would mend it if that is
        known.
    """
    fact = catalogue().get(name.rpartition("/")[2])
    if fact is None:
        return
    size = _of_size(fact, graph)
    if size:
        _refuse(fact, size + _mend(fact, graph))
    sum_of = _of_degrees if fact.compared_by == "degrees" else _of_pattern
    _refuse(fact, _of_symmetry(fact, graph) or sum_of(fact, graph))


def _refuse(fact: Known, difference: str) -> None:
    if difference:
        note = f"; {fact.note}" if fact.note else ""
        raise ForeignInstanceError(
            f"the file of {fact.name} holds another instance: {difference}{note}"
        )


def _of_size(fact: Known, data: Any) -> str:
    """Return the difference in size; "" if there is none."""
    rows, columns, entries = identity.size(data)
    if (rows, columns, entries) == (fact.rows, fact.columns, fact.entries):
        return ""
    return f"it is {rows} x {columns} with {entries} entries, the facts say {fact.size}"


def _mend(fact: Known, graph: Graph) -> str:
    """Return what is to be done about too many entries, if they are known to be harmless."""
    if graph.shape != (fact.rows, fact.columns) or graph.edges < fact.entries:
        return ""
    diagonal = on_diagonal(graph)
    if graph.edges - diagonal == fact.entries:
        return f": take the {diagonal} entries of the diagonal out"
    return ": entries that are stored as zero count, take them out if there are any"


def _of_symmetry(fact: Known, graph: Graph) -> str:
    is_so = symmetric(graph)
    if not fact.symmetric or is_so == (fact.symmetric == "yes"):
        return ""
    return f"its pattern is {'' if is_so else 'not '}symmetric, the facts say the contrary"


def _of_degrees(fact: Known, graph: Graph) -> str:
    if identity.degrees(graph) == fact.degrees_sha256:
        return ""
    return "its size is right, but its rows and columns have other degrees"


def _of_pattern(fact: Known, data: Any) -> str:
    found = identity.of_data(data).sha256 if fact.sha256 else ""
    if found == fact.sha256:
        return ""
    return (
        f"its size is right, but the SHA-256 of its data begins with {found[:12]}, not with "
        f"{fact.sha256[:12]}"
    )


def symmetric(graph: Graph) -> bool:
    """Say whether a graph's pattern is square and equal to its transpose."""
    if graph.rows != graph.columns:
        return False
    by_rows = graph.matrix().tocsr()
    same = np.array_equal(by_rows.indptr, graph.cxadj)
    return same and np.array_equal(by_rows.indices, graph.cadj)


def on_diagonal(graph: Graph) -> int:
    """Count the entries on the diagonal."""
    return int(np.count_nonzero(_columns(graph) == graph.cadj))


def without_diagonal(graph: Graph) -> Graph:
    """Return the graph without the entries of the diagonal."""
    columns = _columns(graph)
    kept = columns != graph.cadj
    starts = np.zeros(graph.columns + 1, np.int64)
    np.cumsum(np.bincount(columns[kept], minlength=graph.columns), out=starts[1:])
    return bipartite((starts, graph.cadj[kept], graph.shape), by="columns")


def _columns(graph: Graph) -> np.ndarray:
    """Return the column of every edge, int32[edges]."""
    return np.repeat(np.arange(graph.columns, dtype=np.int32), np.diff(graph.cxadj))
