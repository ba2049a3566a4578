"""Draws instances: makes the matrix, graph or network that an instance names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from papers.common.instances import cache
from papers.common.instances.families import Family, check, family_of, parameters
from papers.common.instances.matrices import sources
from papers.common.model import Instance
from papers.common.problems import identity

if TYPE_CHECKING:
    import numpy as np

    from papers.common.problems.blocks import Source
    from papers.common.problems.costs_on_device import ResidentCosts
    from papers.common.problems.graph import Graph
    from papers.common.problems.network import Grid, Network

Data: TypeAlias = "np.ndarray | ResidentCosts | Source | Graph | Network | Grid"
"""The data of an instance: a matrix or a source of its blocks, a graph, or a network."""


def draw(instance: Instance) -> Data:
    """Draw an instance.

    Parameters
    ----------
    instance : Instance
        Its storage decides what is returned: ``"host"``, the data itself (a large graph is read
        where it is kept, see `papers.common.instances.cache`); ``"device"``, a matrix in device
        memory; ``"strips"``, a source of which every rank draws its own strip, nothing being drawn
        yet.

    Returns
    -------
    array[n, n], ResidentCosts, Source, Graph, Network or Grid

    Raises
    ------
    papers.common.instances.labels.FamilyError
        If the family is unknown, its label says nothing, or it cannot be stored or permuted so.
    ValueError
        If a parameter is outside of its range.
    papers.common.instances.files.InstanceError
        If the instance comes from a file that is missing or broken.
    """
    family = check(instance)
    if instance.storage == "strips":
        return sources.formula_of(instance)
    if instance.storage == "device":
        from papers.common.instances.matrices import on_device  # It needs numba.cuda.

        return on_device.draw(sources.formula_of(instance))
    if not family.can_be_permuted:
        return family.make(instance.n, seed=instance.seed, **parameters(instance))
    graph = _graph(family, replace(instance, permuted=False))
    return graph.permuted(instance.seed) if instance.permuted else graph


def _graph(family: Family, instance: Instance) -> Graph:
    arguments = parameters(instance)
    kept = cache.load(instance) if family.can_be_kept else None
    return family.make(instance.n, seed=instance.seed, **arguments) if kept is None else kept


def is_permuted(first: Instance, second: Instance) -> bool:
    """Whether the second graph is the first with its rows and columns permuted by its seed.

    Then ``graph.permuted(second.seed)`` of the first one's graph spares drawing it again.
    """
    return not first.permuted and replace(first, permuted=True) == second


def identify(instance: Instance, data: Data | None = None) -> dict[str, int | str]:
    """Return the size and the checksum of an instance whose data do not follow from its name.

    Data from files and from photographs are whatever the machine holds, so a record keeps this. The
    data of all other families follow from the name, by a seeded rule: nothing is computed for them.

    Parameters
    ----------
    instance : Instance
    data : Graph, Network, Grid or array[n, m], optional
        Its data on the host, as `draw` returns them; they are drawn if they are left out.

    Returns
    -------
    dict
        ``rows``, ``columns``, ``entries`` and ``sha256`` of
        `papers.common.problems.identity.Identity`, of the permuted graph where the instance is
        permuted; empty for an instance that is drawn by a rule.

    Raises
    ------
    papers.common.instances.labels.FamilyError, papers.common.instances.files.InstanceError
        As `draw`.
    """
    if family_of(instance).origin == "drawn":
        return {}
    return identity.of_data(draw(instance) if data is None else data).row()
