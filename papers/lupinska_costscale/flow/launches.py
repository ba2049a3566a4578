"""The launches of the maximum flow kernels, bound to the memory of a run.

`prepare` has checks and memory, `solver` the algorithms.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind, resident_blocks
from papers.common.gpu.limits import grid_for
from papers.lupinska_costscale.flow.kernels import (
    blocking,
    cut,
    lock_free,
    network,
    one_launch,
    tiles,
)
from papers.lupinska_costscale.flow.kernels.arguments import (
    Graph,
    Pixels,
    Preflow,
    Queues,
    Tiling,
)
from papers.lupinska_costscale.flow.prepare import Prepared, Tile


def named(arrays: dict[str, Any], names: Iterable[str]) -> tuple[Any, ...]:
    """Return the arrays of these names, in this order."""
    return tuple(arrays[name] for name in names)


def graph_of(prepared: Prepared, arrays: dict[str, Any]) -> Graph:
    """Return the graph as the kernels take it."""
    rows = named(arrays, ("first", "head", "mate", "offset"))
    return Graph(np.int32(prepared.n), np.int32(prepared.nodes), *rows)


def preflow_of(arrays: dict[str, Any]) -> Preflow:
    """Return what operations change."""
    return Preflow(*named(arrays, Preflow._fields))


def pixels_of(arrays: dict[str, Any]) -> Pixels:
    """Return what operations on tiles change."""
    return Pixels(*named(arrays, Pixels._fields))


def grid_of(n: int, threads: int = 256) -> tuple[int, int]:
    """Blocks and threads for a thread a node; small blocks in the executor."""
    return grid_for(n, threads if device.describe().is_gpu else 8)


def bind_restore(prepared: Prepared, arrays: dict[str, Any]) -> Launch:
    """The launch that begins a run."""
    given = named(arrays, ("capacity", "source", "sink"))
    return bind(
        lock_free.restore, *grid_of(prepared.n), np.int32(prepared.n), *given,
        preflow_of(arrays), arrays["tally"],
    )  # fmt: skip


def bind_operations(
    prepared: Prepared, arrays: dict[str, Any], kernel: Any, cycle: int
) -> Launch:  # fmt: skip
    """A launch of `flow.kernels.lock_free.lock_free` or `flow.kernels.lock_free.hybrid`."""
    return bind(
        kernel, *grid_of(prepared.n), np.int32(cycle), graph_of(prepared, arrays),
        preflow_of(arrays), arrays["tally"],
    )  # fmt: skip


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
    kernel = one_launch.relabel_tiles_for(len(image.arcs), tile.threads)
    tiling = Tiling(*map(np.int32, (prepared.n, prepared.nodes, across, count, tile.shift)))
    queues = Queues(*named(arrays, Queues._fields))
    arguments = (*map(np.int32, limits), tiling, pixels_of(arrays), queues, arrays["tally"])
    blocks = min(count, most or count, resident_blocks(kernel, arguments, tile.threads))
    return bind(kernel, blocks, tile.threads, *arguments)


def bind_nodes(
    prepared: Prepared, arrays: dict[str, Any], limits: tuple[int, int, int], most: int | None
) -> Launch:
    """The cooperative launch of `flow.kernels.network.relabel_nodes`; see `bind_tiles`."""
    _add_counters(prepared, arrays)
    lines = named(arrays, ("queue", "control", "tally"))
    graph, flow = graph_of(prepared, arrays), preflow_of(arrays)
    arguments = (*map(np.int32, limits), graph, flow, *lines)
    blocks, threads = grid_of(prepared.n)
    resident = resident_blocks(network.relabel_nodes, arguments, threads)
    return bind(network.relabel_nodes, min(blocks, most or blocks, resident), threads, *arguments)


def bind_cut(prepared: Prepared, arrays: dict[str, Any]) -> Launch:
    """The launch of `flow.kernels.cut.tell_cut`; its two arrays are added."""
    arrays["bits"] = device.empty(-(-prepared.n // 32), np.int32)
    arrays["told"] = device.to_device(np.zeros(1, np.int64))
    return bind(
        cut.tell_cut, *grid_for(prepared.n, 256 if device.describe().is_gpu else 32),
        np.int32(prepared.n), np.int32(prepared.nodes),
        *named(arrays, ("sink", "to_sink", "height", "bits", "told")),
    )  # fmt: skip


def exchanged(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays with the terminals exchanged: what searched the sink searches the source.

    The kernels of `gpu_relabel` then send stranded excess back: it can reach the source along
    residual arcs, and none of these leads across the cut.
    """
    return arrays | {"to_sink": arrays["to_source"], "to_source": arrays["to_sink"]}


def bind_async(prepared: Prepared, arrays: dict[str, Any], waves: int, cycle: int) -> Launch:
    """The launch of `flow.kernels.network.hybrid_async`: a block more than nodes need."""
    _add_counters(prepared, arrays)
    blocks, threads = grid_of(prepared.n)
    return bind(
        network.hybrid_async, blocks + 1, threads, np.int32(waves), np.int32(cycle),
        graph_of(prepared, arrays), preflow_of(arrays),
        *named(arrays, ("level", "queue", "control", "tally")),
    )  # fmt: skip


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
    lines = arrays["offset"], pixels_of(arrays), arrays["mask"]
    bound = {
        "push": bind(
            blocking.push_phase, *grid, np.int32(pull), n, *shape, *lines,
            *named(arrays, ("sent", "tally")),
        ),
        "relabel": bind(
            blocking.relabel_phase, *grid, n, np.int32(prepared.nodes), *shape, *lines,
            arrays["tally"],
        ),
    }  # fmt: skip
    if pull:
        bound["pull"] = bind(
            blocking.pull_phase, *grid, n, np.int32(height), np.int32(width),
            *named(arrays, ("offset", "residual", "excess", "sent")),
        )  # fmt: skip
    return bound
