"""Families of flow networks: from files, from pictures, and at random.

| family | ``n`` | label |
| --- | --- | --- |
| `grid_cut` | pixels + 2 | name of a file NAME.npz |
| `dimacs_flow` | nodes | name of a file NAME.max or NAME.max.gz |
| `segmentation` | pixels a side | picture, one of `image_cuts.PORTRAITS` |
| `stereo_move` | height | ``"a06"``: the label that may expand, 0 .. 29 |
| `flow_move` | height | ``"a06"``: the same, 0 .. 44 |
| `random_grid` | pixels a side | largest capacity; parameter ``directions``: 4 or 8 |
| `random_network` | nodes | largest capacity; parameter ``degree``: arcs for each node |

Files are looked for in the folder that ``PAPERS_INSTANCES`` names, its subfolder ``maxflow``, and
the cache (see `papers.common.instances.files`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from papers.common.instances import files
from papers.common.instances.flows import image_energies
from papers.common.instances.graphs.edge_lists import Draws
from papers.common.model import Instance
from papers.common.problems import network_files
from papers.common.problems.network import (
    EIGHT,
    FOUR,
    Grid,
    Network,
    grid,
    image_of,
    inner,
    network,
)

SUBFOLDER = "maxflow"

# ------------------------------------------------------------------------------- files


def grid_cut(n: int, seed: int = 1, *, name: str) -> Grid:
    """Read a grid from NAME.npz: ``source``, ``sink``, and the directions; `seed` has no effect.

    Raises
    ------
    MissingInstanceError
        If there is no such file.
    BrokenInstanceError
        If no grid can be read from it, or one without `n` nodes.
    """
    path = files.find(name, (".npz",), SUBFOLDER)
    image = image_of(_read(path, n))
    if image is None:
        raise files.BrokenInstanceError(f"{path.name} holds a network, no grid")
    return image


def dimacs_flow(n: int, seed: int = 1, *, name: str) -> Network:
    """Read a network from NAME.max or NAME.max.gz, DIMACS's text form; `seed` has no effect.

    Raises
    ------
    MissingInstanceError
        If there is no such file.
    BrokenInstanceError
        If no network can be read from it, or one without `n` nodes.
    """
    path = files.find(name, (".max", ".max.gz"), SUBFOLDER)
    return _read(path, n).network()


def _read(path: Path, n: int) -> Network | Grid:
    try:
        drawn = network_files.read(path)
    except network_files.NetworkFileError as error:
        raise files.BrokenInstanceError(str(error)) from None
    if drawn.nodes != n:
        raise files.BrokenInstanceError(f"{path.name} has {drawn.nodes} nodes, not {n}")
    return drawn


# ------------------------------------------------------------------------------- pictures


def segmentation(n: int, seed: int = 1, *, name: str) -> Grid:
    """Object and background of a picture (`image_cuts.segmentation`); `seed` has no effect."""
    return image_energies.segmentation(n, name)


def stereo_move(n: int, seed: int = 1, *, alpha: int) -> Grid:
    """The first expansion move of a stereo matching, `n` rows high; `seed` has no effect.

    Before the move every pixel has the disparity that costs it the least by itself.
    """
    return _move(n, image_energies.stereo_shifts, alpha)


def flow_move(n: int, seed: int = 1, *, alpha: int) -> Grid:
    """The same of an optical flow between the two pictures; `seed` has no effect."""
    return _move(n, image_energies.flow_shifts, alpha)


def _move(n: int, shifts_of: Callable[[int], np.ndarray], alpha: int) -> Grid:
    first, second = image_energies.stereo_pair(n)
    shifts = shifts_of(first.shape[1])
    if not 0 <= alpha < len(shifts):
        raise ValueError(f"label {alpha} is none of 0 .. {len(shifts) - 1}")
    labels = image_energies.cheapest(first, second, shifts)
    return image_energies.expansion_move(first, second, shifts, labels, alpha)[0]


# ------------------------------------------------------------------------------- random ones


def random_grid(n: int, seed: int = 1, *, largest: int, directions: int = 4) -> Grid:
    """A square grid whose capacities are uniform in 0 .. `largest`, each drawn by itself.

    A pixel has an arc to one terminal only, to either with equal chance.

    Raises
    ------
    ValueError
        For directions other than 4 or 8, or a side or `largest` below 1.
    """
    if directions not in (4, 8) or n < 1 or largest < 1:
        raise ValueError(
            f"a grid of side {n}, with {directions} directions and capacities up to {largest}"
        )
    draws, shape = Draws(seed), (n, n)

    def drawn() -> np.ndarray:
        return (draws.fractions(n * n) * (largest + 1)).astype(np.int64).reshape(shape)

    to_source = draws.fractions(n * n).reshape(shape) < 0.5
    source, sink = np.where(to_source, drawn(), 0), np.where(to_source, 0, drawn())
    names = FOUR if directions == 4 else EIGHT
    return grid(source, sink, {name: np.where(inner(shape, name), drawn(), 0) for name in names})


def random_network(n: int, seed: int = 1, *, largest: int, degree: float = 4.0) -> Network:
    """``degree * n`` arcs between random nodes, capacities uniform in 1 .. `largest`.

    Node 0 is the source, node ``n - 1`` the sink. Loops are dropped, parallel arcs added.

    Raises
    ------
    ValueError
        For fewer than 2 nodes, `largest` below 1 or a negative degree.
    """
    if n < 2 or largest < 1 or degree < 0:
        raise ValueError(f"{n} nodes, degree {degree} and capacities up to {largest}")
    draws, count = Draws(seed), round(degree * n)
    tail, head = ((draws.fractions(count) * n).astype(np.int64) for _ in range(2))
    capacity = 1 + (draws.fractions(count) * largest).astype(np.int64)
    return network(tail, head, capacity, n, 0, n - 1)


# ------------------------------------------------------------------------------- by name

FLOWS: dict[str, Callable[..., Grid | Network]] = {
    "grid_cut": grid_cut,
    "dimacs_flow": dimacs_flow,
    "segmentation": segmentation,
    "stereo_move": stereo_move,
    "flow_move": flow_move,
    "random_grid": random_grid,
    "random_network": random_network,
}
"""Name -> ``callable(n, seed=1, **params) -> Grid or Network``."""

_LABELS = {
    "grid_cut": ("name", r"(.+)"),
    "dimacs_flow": ("name", r"(.+)"),
    "segmentation": ("name", r"(.+)"),
    "stereo_move": ("alpha", r"a(\d+)"),
    "flow_move": ("alpha", r"a(\d+)"),
    "random_grid": ("largest", r"(\d+)"),
    "random_network": ("largest", r"(\d+)"),
}
"""Which parameter a family's label tells, and how."""


def parameters(instance: Instance) -> dict[str, Any]:
    """Return the keyword arguments of an instance's generator besides ``n`` and ``seed``.

    Raises
    ------
    ValueError
        If the family is none of `FLOWS`, or the label is needed and says nothing.
    """
    if instance.family not in FLOWS:
        raise ValueError(f"unknown family {instance.family!r}; there are {', '.join(FLOWS)}")
    params = dict(instance.params)
    key, form = _LABELS[instance.family]
    if key not in params:
        found = re.fullmatch(form, instance.label)
        if not found:
            raise ValueError(f"the label of {instance.key} does not tell its {key}")
        params[key] = found[1] if key == "name" else int(found[1])
    return params


def draw(instance: Instance) -> Grid | Network:
    """Draw an instance's network.

    Raises
    ------
    ValueError
        As `parameters`, or if a parameter is outside of its range.
    papers.common.instances.files.InstanceError
        If it comes from a file that is missing or broken.
    """
    return FLOWS[instance.family](instance.n, seed=instance.seed, **parameters(instance))
