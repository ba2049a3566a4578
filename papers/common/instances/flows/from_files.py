"""Flow networks from files: grids as ``.npz``, networks in DIMACS's text form.

Files are looked for in the folder that ``PAPERS_INSTANCES`` names, its subfolder ``maxflow``, and
the cache (see `papers.common.instances.files`). ``n`` counts the nodes, of a grid its pixels and
the two terminals.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from papers.common.instances import catalogue, files
from papers.common.problems.formats import networks
from papers.common.problems.network import Grid, Network

SUBFOLDER = "maxflow"

Flows = TypeVar("Flows", Grid, Network)


def grid_cut(n: int, seed: int = 1, *, name: str) -> Grid:
    """Read a grid from NAME.npz: ``source``, ``sink``, and the directions; `seed` has no effect.

    Raises
    ------
    MissingInstanceError
        If there is no such file, or (`papers.common.instances.catalogue.ForeignInstanceError`) if
        it holds other data than those that are known by that name.
    BrokenInstanceError
        If no grid can be read from it, or one without `n` nodes.
    """
    path = files.find(name, (".npz",), SUBFOLDER)
    drawn = _read(networks.read_grid, path)
    catalogue.check(name, drawn)
    if drawn.nodes != n:
        raise files.BrokenInstanceError(f"{path.name} has {drawn.nodes} nodes, not {n}")
    return drawn


def dimacs_flow(n: int, seed: int = 1, *, name: str) -> Network:
    """Read a network from NAME.max or NAME.max.gz, DIMACS's text form; `seed` has no effect.

    Raises
    ------
    MissingInstanceError
        If there is no such file, or (`papers.common.instances.catalogue.ForeignInstanceError`) if
        it holds other data than those that are known by that name.
    BrokenInstanceError
        If no network can be read from it, or one without `n` nodes.
    """
    path = files.find(name, (".max", ".max.gz"), SUBFOLDER)
    drawn = _read(networks.read_network, path)
    catalogue.check(name, drawn)
    if drawn.nodes != n:
        raise files.BrokenInstanceError(f"{path.name} has {drawn.nodes} nodes, not {n}")
    return drawn


def _read(read: Callable[[Path], Flows], path: Path) -> Flows:
    """Call a reader; a damaged file is a broken instance."""
    try:
        return read(path)
    except networks.NetworkFileError as error:
        raise files.BrokenInstanceError(str(error)) from None
