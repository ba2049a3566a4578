"""Flow networks and grids in files, and their answers.

================  ============================================================================
``.npz``, a grid  arrays ``source``, ``sink`` and one for every direction (`FOUR` or `EIGHT`),
                  each int[height, width]
``.npz``, arcs    arrays ``tail``, ``head``, ``capacity``, int[arcs], and the numbers ``nodes``,
                  ``source``, ``sink``; nodes are counted from 0
``.max``,         DIMACS's text: ``p max NODES ARCS``, ``n NODE s``, ``n NODE t``, and a line
``.max.gz``       ``a TAIL HEAD CAPACITY`` for each arc; nodes are counted from 1
================  ============================================================================

Further arrays of an ``.npz`` are passed over.
"""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from papers.common.model import Flow
from papers.common.problems.formats import headers
from papers.common.problems.network import (
    EIGHT,
    FOUR,
    ArcList,
    Grid,
    Network,
    NetworkError,
    flow_on_arcs,
    grid,
    network,
)

ENDINGS = (".npz", ".max", ".max.gz")
"""Endings of the files that `read` takes."""

ANSWER_ENDINGS = (".npz", ".csv")
"""Endings of the files that `write` makes."""

_FORMS = {
    "a": 'three numbers, "a TAIL HEAD CAPACITY"',
    "p": 'one line "p max NODES ARCS"',
    "n": 'one line "n NODE s" and one "n NODE t"',
}
"""The lines that DIMACS wants, by their first letter."""

_OF_ARCS = ("tail", "head", "capacity", "nodes", "source", "sink")


_BYTES_OF_ARC = len("a 1 2 0\n")
"""The shortest line of an arc."""

_BYTES_OF_NODE = 8
"""Memory of a node while a network is made: the count of its arcs."""


class NetworkFileError(NetworkError):
    """There is a file, but no network or grid can be read from it; the message names the file."""


# ------------------------------------------------------------------------------- reading


def is_flow_file(path: Path) -> bool:
    """Say whether a file is one that `read` is meant for, by its name and, for ``.npz``, content.

    Parameters
    ----------
    path : Path
        An ``.npz`` counts if it holds an array ``source``: a sparse matrix has none. It need not
        be whole, and a file that is missing or damaged does not count.
    """
    name = path.name.lower()
    if name.endswith((".max", ".max.gz")):
        return True
    if not name.endswith(".npz"):
        return False
    try:
        with zipfile.ZipFile(path) as file:
            return "source.npy" in file.namelist()
    except (OSError, zipfile.BadZipFile, NotImplementedError):  # the last: a newer zip, it claims
        return False


def read(path: Path) -> Network | Grid:
    """Read a network or a grid.

    Parameters
    ----------
    path : Path
        One of `ENDINGS`; see the table of the module.

    Returns
    -------
    Network or Grid
        A network's `Network.given` holds the arcs in the order of the file, parallel ones apart.

    Raises
    ------
    NetworkFileError
        If the name ends otherwise, or the file is damaged, incomplete or no network, or if its
        header claims more than the file or the memory holds.
    OSError
        If there is no such file, or it may not be read.
    """
    name = path.name.lower()
    if not name.endswith(ENDINGS):
        raise NetworkFileError(f"{path.name}: a network or grid is read from {', '.join(ENDINGS)}")
    with path.open("rb"):  # a missing file keeps its own error
        pass
    try:
        return _read_npz(path) if name.endswith(".npz") else _read_dimacs(path)
    except MemoryError:
        raise
    except Exception as error:
        # Zip, zlib, NumPy and the readers each have errors of their own for a damaged file.
        reason = (str(error) or type(error).__name__).replace(str(path), path.name)
        raise NetworkFileError(f"{path.name}: {reason}") from None


def read_grid(path: Path) -> Grid:
    """Read a grid, as `read`; a file that holds a network is refused with `NetworkFileError`."""
    found = read(path)
    if not isinstance(found, Grid):
        raise NetworkFileError(f"{path.name} holds a network, no grid")
    return found


def read_network(path: Path) -> Network:
    """Read a network, as `read`; a file that holds a grid is refused with `NetworkFileError`."""
    found = read(path)
    if not isinstance(found, Network):
        raise NetworkFileError(f"{path.name} holds a grid, no network")
    return found


def _read_npz(path: Path) -> Network | Grid:
    headers.npz(path)
    with np.load(path, allow_pickle=False) as file:
        if "tail" in file.files:
            return _arcs_of(file)
        names = EIGHT if any(name in file.files for name in EIGHT[4:]) else FOUR
        _demand(file.files, ("source", "sink", *names))
        return grid(file["source"], file["sink"], {name: file[name] for name in names})


def _demand(present: Any, wanted: tuple[str, ...]) -> None:
    missing = [name for name in wanted if name not in present]
    if missing:
        raise NetworkError(f"no array {', '.join(missing)}")


def _arcs_of(file: Mapping[str, np.ndarray]) -> Network:
    _demand(file, _OF_ARCS)
    for name in _OF_ARCS[3:]:
        if file[name].shape != () or file[name].dtype.kind not in "iu":
            raise NetworkError(f"{name} is not one whole number")
    nodes, source, sink = (int(file[name]) for name in _OF_ARCS[3:])
    headers.demand_memory(_BYTES_OF_NODE * headers.count(str(nodes), "nodes"), f"{nodes} nodes")
    return network(file["tail"], file["head"], file["capacity"], nodes, source, sink, keep=True)


def _read_dimacs(path: Path) -> Network:
    zipped = path.name.lower().endswith(".gz")
    room = path.stat().st_size * (headers.DEFLATE_RATIO if zipped else 1)
    # Comments may be in any language; in Latin 1 every byte is a letter.
    with (gzip.open if zipped else open)(path, "rt", encoding="latin-1") as file:
        return _dimacs_network(*_dimacs_lines(file, room))


def _dimacs_lines(
    file: Iterable[str], room: int
) -> tuple[list[tuple[int, int]], dict[str, int], list[list[str]]]:
    """Return the sizes that the file announces, its terminals, and its arcs as words.

    The sizes are checked when they are met: no more than `room` bytes can come out of the file.
    """
    sizes: list[tuple[int, int]] = []
    terminals: dict[str, int] = {}
    arcs: list[list[str]] = []
    for number, line in enumerate(file, 1):
        words = line.split()
        if not words or words[0] == "c":
            continue
        if words[0] == "a" and len(words) == 4:
            arcs.append(words[1:])
        elif words[0] == "p" and words[1:2] == ["max"] and len(words) == 4 and not sizes:
            sizes.append(_announced(words[2], words[3], room))
        elif words[0] == "n" and len(words) == 3 and words[2] in ("s", "t"):
            if words[2] in terminals:
                raise NetworkError(_misfit(number, words))
            terminals[words[2]] = int(words[1]) - 1
        else:
            raise NetworkError(_misfit(number, words))
    return sizes, terminals, arcs


def _announced(nodes: str, arcs: str, room: int) -> tuple[int, int]:
    """Return the sizes of a ``p`` line that its file and this machine can hold."""
    sizes = headers.count(nodes, "nodes"), headers.count(arcs, "arcs")
    headers.demand_length(sizes[1], _BYTES_OF_ARC, room + 1, "arcs")  # the last may lack its end
    headers.demand_memory(_BYTES_OF_NODE * sizes[0], f"{sizes[0]} nodes")
    return sizes


def _misfit(number: int, words: list[str]) -> str:
    """Say why a line does not belong to the format."""
    if words[0] not in _FORMS:
        return f"line {number} begins with {words[0]!r}"
    return f"line {number} is {' '.join(words)!r}: there must be {_FORMS[words[0]]}"


def _dimacs_network(
    sizes: list[tuple[int, int]], terminals: dict[str, int], arcs: list[list[str]]
) -> Network:
    if not sizes:
        raise NetworkError(f"there must be {_FORMS['p']}")
    nodes, count = sizes[0]
    if len(arcs) != count:
        raise NetworkError(f"{len(arcs)} arcs, {count} announced")
    if set(terminals) != {"s", "t"}:
        raise NetworkError(f"there must be {_FORMS['n']}")
    tail, head, capacity = np.array(arcs, np.int64).reshape(-1, 3).T
    ends = terminals["s"], terminals["t"]
    return network(tail - 1, head - 1, capacity, nodes, *ends, keep=True)


# ------------------------------------------------------------------------------- writing


def write(path: Path, data: Network | Grid, answer: Flow) -> None:
    """Write the answer of a maximum flow.

    ========  ===============================================================================
    network,  a line ``tail,head,capacity,flow`` for each arc, nodes counted from 0; the arcs of
    ``.csv``  `Network.given` in their order where there are such (files have them), else all
              arcs of positive capacity by tail and head
    network,  ``flow_value``, ``tail``, ``head``, ``capacity``, ``flow`` (int64, the same arcs) and
    ``.npz``  ``source_side``, bool[nodes]
    grid,     the mask, a line for each row of pixels: 1 on the source's side of the minimum cut,
    ``.csv``  0 on the sink's
    grid,     ``flow_value``, ``source_side``, bool[height, width], and the proof: residual
    ``.npz``  capacities ``residual_source``, ``residual_sink``, ``residual_right`` and so on
    ========  ===============================================================================

    Parameters
    ----------
    path : Path
        One of `ANSWER_ENDINGS`.
    data : Network or Grid
    answer : Flow

    Raises
    ------
    NetworkFileError
        If the name ends otherwise.
    OSError
        If the file cannot be written.
    """
    name = path.name.lower()
    if not name.endswith(ANSWER_ENDINGS):
        endings = ", ".join(ANSWER_ENDINGS)
        raise NetworkFileError(f"{path.name}: the answer of a flow is written to {endings}")
    table = _grid_arrays(answer) if isinstance(data, Grid) else _arc_arrays(data, answer)
    if name.endswith(".npz"):
        whole: dict[str, Any] = {"flow_value": answer.value, "source_side": answer.source_side}
        with path.open("wb") as file:  # NumPy would add an ending to a name in capitals
            np.savez(file, **(whole | table))
    elif isinstance(data, Grid):
        np.savetxt(path, answer.source_side, fmt="%d", delimiter=",")
    else:
        lines = np.column_stack(list(table.values()))
        np.savetxt(path, lines, fmt="%d", delimiter=",", header=",".join(table), comments="")


def _grid_arrays(answer: Flow) -> dict[str, np.ndarray]:
    return {f"residual_{name}": array for name, array in answer.residual.items()}


def _arc_arrays(net: Network, answer: Flow) -> dict[str, np.ndarray]:
    arcs = net.given
    if arcs is None:
        used = net.capacity > 0
        arcs = ArcList(net.tail[used], net.head[used], net.capacity[used])
    columns = (*arcs, flow_on_arcs(net, answer.residual, arcs))
    names = ("tail", "head", "capacity", "flow")
    return {name: np.asarray(a, np.int64) for name, a in zip(names, columns, strict=True)}
