"""The launches of the maximum flow kernels, bound to the memory of a run.

`prepare` has checks and memory, `solver` the algorithms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind, resident_blocks
from papers.common.gpu.limits import grid_for
from papers.lupinska_costscale.flow.kernels import blocking, lock_free, network, one_launch, tiles
from papers.lupinska_costscale.flow.prepare import Prepared, Tile

FLOW = ("residual", "to_source", "to_sink", "excess", "height")
ARCS = ("first", "head", "mate", "offset")


def named(arrays: dict[str, Any], *names: str) -> tuple[Any, ...]:
    """Some of the arrays."""
    return tuple(arrays[name] for name in names)


def grid_of(n: int, threads: int = 256) -> tuple[int, int]:
    """Blocks and threads for a thread a node; small blocks in the executor."""
    return grid_for(n, threads if device.describe().is_gpu else 8)


def bind_restore(prepared: Prepared, arrays: dict[str, Any]) -> Launch:
    """The launch that begins a run."""
    lines = named(arrays, "capacity", "source", "sink", *FLOW, "tally")
    return bind(lock_free.restore, *grid_of(prepared.n), np.int32(prepared.n), *lines)


def bind_operations(
    prepared: Prepared, arrays: dict[str, Any], kernel: Any, cycle: int
) -> Launch:  # fmt: skip
    """A launch of `flow.kernels.lock_free.lock_free` or `flow.kernels.lock_free.hybrid`."""
    scalars = np.int32(cycle), np.int32(prepared.n), np.int32(prepared.nodes)
    return bind(kernel, *grid_of(prepared.n), *scalars, *named(arrays, *ARCS, *FLOW, "tally"))


def bind_tiles(
    prepared: Prepared,
    arrays: dict[str, Any],
    tile: Tile,
    limits: tuple[int, int, int],
    most: int | None,
) -> Launch:
    """The cooperative launch of `flow.kernels.one_launch`, as many blocks as stay resident.

    Parameters
    ----------
    prepared : Prepared
        A `Grid`, padded to `tile`.
    arrays : dict of str to device array
        From `allocate`; the queues are added.
    tile : Tile
    limits : (rounds, sweeps, inner)
    most : int or None
        Blocks at most.
    """
    image = prepared.image
    assert image is not None
    across = image.shape[1] // tile.columns
    count = across * (image.shape[0] // tile.rows)
    sizes = {"waiting": count, "queue": tiles.QUEUES * count, "control": tiles.CONTROL}
    arrays |= {name: device.to_device(np.zeros(size, np.int32)) for name, size in sizes.items()}
    kernel = one_launch.RELABEL_TILES[len(image.arcs)]
    scalars = (*limits, prepared.n, prepared.nodes, across, count, tile.shift)
    arguments = (
        *map(np.int32, scalars),
        *named(arrays, "residual", "to_sink", "excess", "height", "waiting", "queue", "control"),
        arrays["tally"],
    )
    blocks = min(count, most or count, resident_blocks(kernel, arguments, tile.threads))
    return bind(kernel, blocks, tile.threads, *arguments)


def bind_nodes(
    prepared: Prepared, arrays: dict[str, Any], limits: tuple[int, int, int], most: int | None
) -> Launch:
    """The cooperative launch of `flow.kernels.network.relabel_nodes`; see `bind_tiles`."""
    _add_counters(prepared, arrays)
    scalars = (*limits, prepared.n, prepared.nodes)
    lines = named(arrays, *ARCS, *FLOW, "queue", "control", "tally")
    arguments = (*map(np.int32, scalars), *lines)
    blocks, threads = grid_of(prepared.n)
    resident = resident_blocks(network.relabel_nodes, arguments, threads)
    return bind(network.relabel_nodes, min(blocks, most or blocks, resident), threads, *arguments)


def bind_async(prepared: Prepared, arrays: dict[str, Any], waves: int, cycle: int) -> Launch:
    """The launch of `flow.kernels.network.hybrid_async`: a block more than nodes need."""
    _add_counters(prepared, arrays)
    scalars = map(np.int32, (waves, cycle, prepared.n, prepared.nodes))
    lines = named(arrays, *ARCS, *FLOW, "level", "queue", "control", "tally")
    blocks, threads = grid_of(prepared.n)
    return bind(network.hybrid_async, blocks + 1, threads, *scalars, *lines)


def _add_counters(prepared: Prepared, arrays: dict[str, Any]) -> None:
    sizes = {"level": prepared.n, "queue": 2 * prepared.n, "control": network.CONTROL}
    arrays |= {name: device.to_device(np.zeros(size, np.int32)) for name, size in sizes.items()}


def bind_blocking(
    prepared: Prepared, arrays: dict[str, Any], tile: Tile, pull: bool
) -> dict[str, Launch]:
    """The launches of `flow.kernels.blocking` by their phase, ``pull`` only if asked for."""
    image = prepared.image
    assert image is not None
    height, width = image.shape
    across, n = width // tile.columns, np.int32(prepared.n)
    shape = np.int32(across), np.int32(tile.shift)
    grid = across * (height // tile.rows), tile.threads
    arrays["mask"] = device.empty(prepared.n, np.int32)
    arrays["sent"] = device.empty(prepared.parts.between.size if pull else 1, prepared.dtype)
    lines = named(arrays, "offset", "residual", "to_sink", "excess", "height", "mask")
    bound = {
        "push": bind(
            blocking.push_phase, *grid, np.int32(pull), n, *shape, *lines,
            *named(arrays, "sent", "tally"),
        ),
        "relabel": bind(
            blocking.relabel_phase, *grid, n, np.int32(prepared.nodes), *shape, *lines,
            arrays["tally"],
        ),
    }  # fmt: skip
    if pull:
        bound["pull"] = bind(
            blocking.pull_phase, *grid, n, np.int32(height), np.int32(width),
            *named(arrays, "offset", "residual", "excess", "sent"),
        )  # fmt: skip
    return bound
