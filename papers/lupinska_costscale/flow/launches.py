"""What a maximum flow on the device needs before its first launch.

`flow.solver` has the algorithms; this is their plumbing: checks, memory, bound launches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind, resident_blocks
from papers.common.model import Flow
from papers.common.problems.network import Grid, Network, NetworkError
from papers.common.problems.residuals import Arcs, Split, join, settle, split
from papers.lupinska_costscale.flow.kernels import blocking as b
from papers.lupinska_costscale.flow.kernels import lock_free as k
from papers.lupinska_costscale.flow.kernels import network as net
from papers.lupinska_costscale.flow.kernels import one_launch as r

LARGEST = 2**30
"""Fewer nodes than this, and twice as many arcs: heights and arcs are numbered in 32 bits."""

MOST_OPERATIONS = 2**62


@dataclass(frozen=True)
class Tile:
    """The pixels of a block, a thread each.

    Attributes
    ----------
    rows, columns : int
        Columns are a power of two; at most 1024 pixels in all.

    Raises
    ------
    ValueError
        For a shape that is none of these.
    """

    rows: int
    columns: int

    def __post_init__(self) -> None:
        whole = all(isinstance(x, int) and x > 0 for x in (self.rows, self.columns))
        if not whole or self.columns & (self.columns - 1) or self.rows * self.columns > 1024:
            raise ValueError(
                f"a tile of {self.rows!r} x {self.columns!r} pixels: columns must be a power of two"
                ", pixels at most 1024"
            )

    @property
    def threads(self) -> int:
        """Pixels."""
        return self.rows * self.columns

    @property
    def shift(self) -> int:
        """Logarithm of `columns`."""
        return self.columns.bit_length() - 1


ONE = Tile(1, 1)


@dataclass(frozen=True, eq=False)
class Problem:
    """An instance as the kernels take it.

    Attributes
    ----------
    instance : Network or Grid
        As given.
    padded : Network or Grid
        The same, a grid with empty pixels added so that tiles cover it.
    parts : Split
        `padded` with its terminals apart.
    nodes : int
        |V| of `instance`.
    total : int
        What the source sends out: ExcessTotal at the start.
    operations : int
        Pushes and relabels after which a run is given up.
    dtype : numpy dtype
        Of residual capacities.
    """

    instance: Network | Grid
    padded: Network | Grid
    parts: Split
    nodes: int
    total: int
    operations: int
    dtype: np.dtype

    @property
    def n(self) -> int:
        """Nodes that threads operate."""
        return self.parts.arcs.nodes


def prepare(instance: Any, tile: Tile = ONE, operations: int | None = None) -> Problem:
    """Check an instance and bring it into the kernels' form.

    Parameters
    ----------
    instance : Network or Grid
    tile : Tile
        What a grid is padded to.
    operations : int, optional
        Bound on pushes and relabels of a run; ``4 |V|**2 |E|`` otherwise, which no run of
        push-relabel exceeds [LU11 sec.4.4].

    Raises
    ------
    NetworkError
        If it is neither, or too large for 32-bit numbers or for the device's memory.
    ValueError
        For a bound that is no positive whole number.
    """
    if operations is not None and (not isinstance(operations, int) or operations < 1):
        raise ValueError(f"operations={operations!r} is no positive whole number")
    padded = _pad(instance, tile) if isinstance(instance, Grid) else instance
    if isinstance(padded, Grid | Network):
        _check_size(padded)
    parts = split(padded)
    nodes, arcs = instance.nodes, parts.between.size + 2 * parts.source.size
    bound = min(4 * nodes * nodes * max(arcs, 1), MOST_OPERATIONS)
    total = int(parts.source.sum())
    return Problem(
        instance, padded, parts, nodes, total, operations or bound, _narrowest(parts)
    )  # fmt: skip


def _pad(grid: Grid, tile: Tile) -> Grid:
    height, width = grid.shape
    more = (0, -height % tile.rows), (0, -width % tile.columns)
    if more == ((0, 0), (0, 0)):
        return grid
    arcs = {name: np.pad(array, more) for name, array in grid.arcs.items()}
    return Grid(np.pad(grid.source, more), np.pad(grid.sink, more), arcs)


def _check_size(instance: Network | Grid) -> None:
    arcs = len(instance.arcs) * instance.source.size if isinstance(instance, Grid) else (
        instance.arcs)  # fmt: skip
    nodes = instance.nodes
    if nodes >= LARGEST or arcs >= 2 * LARGEST:
        raise NetworkError(f"{nodes} nodes and {arcs} arcs: too many to number in 32 bits")
    needed, free = 32 * arcs + 64 * nodes, device.free_bytes()
    if needed > free:
        raise NetworkError(
            f"{nodes} nodes and {arcs} arcs need up to {needed} bytes of device memory, {free} "
            "are free"
        )


def _narrowest(parts: Split) -> np.dtype:
    """int32 if the sum of any arc and its mate fits, else int64."""
    most = 2 * int(parts.between.max(initial=0))
    most = max(most, int(parts.source.max(initial=0)), int(parts.sink.max(initial=0)))
    return np.dtype(np.int32 if most < 2**31 else np.int64)


def allocate(problem: Problem) -> dict[str, Any]:
    """Device memory of a run, named as in the table of `flow.kernels.lock_free`; capacities copied
    into it.

    Returns
    -------
    dict of str to device array
    """
    parts, kind, n = problem.parts, problem.dtype, problem.n
    given = {"capacity": parts.between, "source": parts.source, "sink": parts.sink}
    lines = {name: device.to_device(array.astype(kind)) for name, array in given.items()}
    arcs = {  # an array of no entries is one of a zero: a grid's rows, a network's offsets
        name: device.to_device(np.resize(getattr(parts.arcs, name), size).astype(dtype))
        for name, size, dtype in _sizes(parts.arcs)
    }
    sizes = {"residual": (parts.between.size, kind), "to_source": (n, kind), "to_sink": (n, kind)}
    sizes |= {"excess": (n + 2, np.int64), "height": (n, np.int32), "tally": (2, np.int64)}
    return lines | arcs | {name: device.empty(*size) for name, size in sizes.items()}


def _sizes(arcs: Arcs) -> list[tuple[str, int, type]]:
    kinds = {"first": np.int32, "head": np.int32, "mate": np.int32, "offset": np.int64}
    return [(name, max(1, getattr(arcs, name).size), kind) for name, kind in kinds.items()]


FLOW = ("residual", "to_source", "to_sink", "excess", "height")
ARCS = ("first", "head", "mate", "offset")


def named(a: dict[str, Any], *names: str) -> tuple[Any, ...]:
    """Some of the arrays."""
    return tuple(a[name] for name in names)


def grid_of(n: int, threads: int = 256) -> tuple[int, int]:
    """Blocks and threads for a thread a node; small blocks in the executor."""
    threads = threads if device.describe().is_gpu else 8
    return max(1, -(-n // threads)), threads


def bind_restore(problem: Problem, a: dict[str, Any]) -> Launch:
    """The launch that begins a run."""
    lines = named(a, "capacity", "source", "sink", *FLOW, "tally")
    return bind(k.restore, *grid_of(problem.n), np.int32(problem.n), *lines)


def bind_operations(
    problem: Problem, a: dict[str, Any], kernel: Any, cycle: int
) -> Launch:  # fmt: skip
    """A launch of `flow.kernels.lock_free.lock_free` or `flow.kernels.lock_free.hybrid`."""
    scalars = np.int32(cycle), np.int32(problem.n), np.int32(problem.nodes)
    return bind(kernel, *grid_of(problem.n), *scalars, *named(a, *ARCS, *FLOW, "tally"))


def bind_tiles(
    problem: Problem, a: dict[str, Any], tile: Tile, limits: tuple[int, int, int], most: int | None
) -> Launch:
    """The cooperative launch of `flow.kernels.one_launch`, as many blocks as stay resident.

    Parameters
    ----------
    problem : Problem
        Of a `Grid`, padded to `tile`.
    a : dict of str to device array
        From `allocate`; the queues are added.
    tile : Tile
    limits : (rounds, sweeps, inner)
    most : int or None
        Blocks at most.
    """
    height, width = problem.padded.shape
    across = width // tile.columns
    tiles = across * (height // tile.rows)
    sizes = {"waiting": tiles, "queue": r.QUEUES * tiles, "control": r.CONTROL}
    a |= {name: device.to_device(np.zeros(size, np.int32)) for name, size in sizes.items()}
    kernel = r.relabel_tiles_4 if len(problem.instance.arcs) == 4 else r.relabel_tiles_8
    scalars = (*limits, problem.n, problem.nodes, across, tiles, tile.shift)
    arguments = (
        *map(np.int32, scalars),
        *named(a, "residual", "to_sink", "excess", "height", "waiting", "queue", "control"),
        a["tally"],
    )
    blocks = min(tiles, most or tiles, resident_blocks(kernel, arguments, tile.threads))
    return bind(kernel, blocks, tile.threads, *arguments)


def bind_nodes(
    problem: Problem, a: dict[str, Any], limits: tuple[int, int, int], most: int | None
) -> Launch:
    """The cooperative launch of `flow.kernels.network.relabel_nodes`; see `bind_tiles`."""
    _add_counters(problem, a)
    scalars = (*limits, problem.n, problem.nodes)
    lines = named(a, *ARCS, *FLOW, "queue", "control", "tally")
    arguments = (*map(np.int32, scalars), *lines)
    blocks, threads = grid_of(problem.n)
    resident = resident_blocks(net.relabel_nodes, arguments, threads)
    return bind(net.relabel_nodes, min(blocks, most or blocks, resident), threads, *arguments)


def bind_async(problem: Problem, a: dict[str, Any], waves: int, cycle: int) -> Launch:
    """The launch of `flow.kernels.network.hybrid_async`: a block more than nodes need."""
    _add_counters(problem, a)
    scalars = map(np.int32, (waves, cycle, problem.n, problem.nodes))
    lines = named(a, *ARCS, *FLOW, "level", "queue", "control", "tally")
    blocks, threads = grid_of(problem.n)
    return bind(net.hybrid_async, blocks + 1, threads, *scalars, *lines)


def _add_counters(problem: Problem, a: dict[str, Any]) -> None:
    sizes = {"level": problem.n, "queue": 2 * problem.n, "control": net.CONTROL}
    a |= {name: device.to_device(np.zeros(size, np.int32)) for name, size in sizes.items()}


def bind_blocking(problem: Problem, a: dict[str, Any], tile: Tile, pull: bool) -> dict[str, Launch]:
    """The launches of `flow.kernels.blocking` by their phase, ``pull`` only if asked for."""
    height, width = problem.padded.shape
    across, n = width // tile.columns, np.int32(problem.n)
    shape = np.int32(across), np.int32(tile.shift)
    grid = across * (height // tile.rows), tile.threads
    a["mask"] = device.empty(problem.n, np.int32)
    a["sent"] = device.empty(problem.parts.between.size if pull else 1, problem.dtype)
    lines = named(a, "offset", "residual", "to_sink", "excess", "height", "mask")
    launches = {
        "push": bind(b.push_phase, *grid, np.int32(pull), n, *shape, *lines, a["sent"], a["tally"]),
        "relabel": bind(
            b.relabel_phase, *grid, n, np.int32(problem.nodes), *shape, *lines, a["tally"]
        ),
    }
    if pull:
        launches["pull"] = bind(
            b.pull_phase, *grid, n, np.int32(height), np.int32(width),
            *named(a, "offset", "residual", "excess", "sent"),
        )  # fmt: skip
    return launches


def answer(problem: Problem, a: dict[str, Any], counters: dict[str, int]) -> Flow:
    """Copy a maximum preflow to the host and make a flow of it.

    Raises
    ------
    FlowError
        If it is no maximum preflow.
    """
    parts = problem.parts
    between, returned, sink = (
        device.to_host(a[name]).astype(np.int64) for name in ("residual", "to_source", "to_sink")
    )
    left = Split(parts.arcs, between, parts.source - returned, sink, 0)
    residual = join(problem.padded, left)
    if isinstance(problem.instance, Grid):
        height, width = problem.instance.shape
        residual = {name: array[:height, :width] for name, array in residual.items()}
    return settle(problem.instance, residual, counters)
