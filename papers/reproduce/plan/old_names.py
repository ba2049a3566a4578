"""Names that families had when storage and permutation were endings of them.

Records and older run folders hold such names; they are read as the instances that they meant.
"""

from __future__ import annotations

from dataclasses import replace

from papers.common.model import Instance

_STORED = {
    "uniform_resident": Instance("uniform", 0, "", storage="device"),
    "uniform_parts": Instance("uniform", 0, "", storage="strips"),
}
GRAPHS = (
    "uniform_graph", "skew_graph", "delaunay", "rgg", "kron", "mesh_dual", "matrix", "stand_in",
)  # fmt: skip
"""Families that had a permuted name; younger ones never had."""

_MEANT = {**_STORED, **{f"{name}_rcp": Instance(name, 0, "", permuted=True) for name in GRAPHS}}
"""Old name -> an instance with the family, the storage and the permutation that it meant."""


def modern(instance: Instance) -> Instance:
    """Return the instance that is meant, its family under the name that it has today."""
    meant = _MEANT.get(instance.family)
    if meant is None:
        return instance
    return replace(instance, family=meant.family, storage=meant.storage, permuted=meant.permuted)


def modern_key(cell: str, old: Instance) -> str:
    """Return the key of a cell whose key ends with that of `old`, an instance with an old name."""
    head = cell.removesuffix(old.key)
    return cell if head == cell else head + modern(old).key
