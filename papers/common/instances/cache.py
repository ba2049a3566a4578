"""Drawn graphs, kept: the largest take minutes to draw, so they are drawn before they are measured.

A file of the cache (`papers.common.instances.files.cache`) holds one graph of a family of
`papers.common.instances.families`, not permuted. Its name carries a checksum of the modules that
define those families, so that a graph drawn by other rules is never taken for this one.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import lru_cache
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from papers.common.instances import files
from papers.common.model import Instance
from papers.common.problems.graph import Graph

LEAST_ROWS = 2**20
"""Smaller graphs are drawn anew each time: reading is not faster."""

DEFINED_BY = (
    "counter_rng",
    "graphs/deep",
    "graphs/edge_lists",
    "graphs/kron",
    "graphs/plane",
    "graphs/random_ends",
    "graphs/stand_ins",
    "graphs/suitesparse",
)
"""The modules that define families of drawn graphs."""


@lru_cache(maxsize=1)
def _rules() -> str:
    found = hashlib.sha256()
    for module in DEFINED_BY:
        found.update((Path(__file__).parent / f"{module}.py").read_bytes())
    return found.hexdigest()[:16]


def path(instance: Instance) -> Path:
    """Return the place where the graph of an instance is kept, if it is."""
    name = "".join(c if c.isalnum() or c in "._-" else "_" for c in instance.key)
    return files.cache() / f"drawn-{name}-{_rules()}.npz"


def load(instance: Instance) -> Graph | None:
    """Return the kept graph of an instance, None if there is none.

    Raises
    ------
    BrokenInstanceError
        If the file is damaged.
    """
    if instance.n < LEAST_ROWS:
        return None
    file = path(instance)
    try:
        with np.load(file) as arrays:
            rows, columns = arrays["shape"].tolist()
            return Graph(rows, columns, arrays["cxadj"], arrays["cadj"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise files.BrokenInstanceError(
            f"{file.name} in the cache is damaged; delete it ({error})"
        ) from None


def keep(instance: Instance, graph: Graph) -> Path:
    """Write a graph into the cache; a reader sees all of it or nothing."""
    file = path(instance)
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as scratch:
        part = Path(scratch) / file.name
        np.savez(part, shape=np.array(graph.shape), cxadj=graph.cxadj, cadj=graph.cadj)
        os.replace(part, file)
    return file
