"""Flow networks from files: grids as ``.npz``, networks in DIMACS's text form.

Files are looked for in the folder that ``PAPERS_INSTANCES`` names, its subfolder ``maxflow``, and
the cache (see `papers.common.instances.files`). ``n`` counts the nodes, of a grid its pixels and
the two terminals.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from papers.common.instances import files
from papers.common.problems.network import EIGHT, FOUR, Grid, Network, NetworkError, grid, network

SUBFOLDER = "maxflow"


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
    drawn = _read(path, _of_npz)
    if drawn.nodes != n:
        raise files.BrokenInstanceError(f"{path.name} has {drawn.nodes} nodes, not {n}")
    return drawn


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
    drawn = _read(path, _of_dimacs)
    if drawn.nodes != n:
        raise files.BrokenInstanceError(f"{path.name} has {drawn.nodes} nodes, not {n}")
    return drawn


def _read(path: Path, read: Callable[[Path], Any]) -> Any:
    """Call a reader; turn any error that a damaged file makes it raise into one error."""
    try:
        return read(path)
    except MemoryError:
        raise
    except Exception as error:
        # Zip, zlib, NumPy and the readers each have errors of their own for a damaged file.
        what = (str(error) or type(error).__name__).replace(str(path), path.name)
        raise files.BrokenInstanceError(f"{path.name}: {what}") from None


def _of_npz(path: Path) -> Grid:
    with np.load(path, allow_pickle=False) as file:
        names = EIGHT if EIGHT[-1] in file.files else FOUR
        missing = [name for name in ("source", "sink", *names) if name not in file.files]
        if missing:
            raise NetworkError(f"no array {', '.join(missing)}")
        arcs = {name: file[name] for name in names}
        return grid(file["source"], file["sink"], arcs)


def _of_dimacs(path: Path) -> Network:
    """``p max NODES ARCS``, ``n NODE s``, ``n NODE t``, ``a TAIL HEAD CAPACITY``; from 1."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="ascii") as file:
        lines = [line.split() for line in file]
    kinds: dict[str, list[list[str]]] = {"p": [], "n": [], "a": []}
    for words in lines:
        if words and words[0] != "c":
            if words[0] not in kinds:
                raise NetworkError(f"a line begins with {words[0]!r}")
            kinds[words[0]].append(words[1:])
    if len(kinds["p"]) != 1 or kinds["p"][0][0] != "max":
        raise NetworkError('there must be one line "p max NODES ARCS"')
    nodes, count = (int(word) for word in kinds["p"][0][1:])
    if len(kinds["a"]) != count:
        raise NetworkError(f"{len(kinds['a'])} arcs, {count} announced")
    ends = {which: int(node) - 1 for node, which in kinds["n"]}
    if set(ends) != {"s", "t"} or len(kinds["n"]) != 2:
        raise NetworkError('there must be one line "n NODE s" and one "n NODE t"')
    tail, head, capacity = np.array(kinds["a"], np.int64).reshape(-1, 3).T
    return network(tail - 1, head - 1, capacity, nodes, ends["s"], ends["t"])
