"""Everything that a run of cost scaling on the GPU needs before its first launch.

`solver` is the algorithm; this is its plumbing: shapes, memory, bound launches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind, resident_blocks
from papers.common.gpu.limits import blocks_for
from papers.lupinska_costscale.assignment.configuration import Configuration
from papers.lupinska_costscale.assignment.costs import Costs
from papers.lupinska_costscale.assignment.kernels import lock_free, one_launch, prices, wide
from papers.lupinska_costscale.assignment.kernels.arguments import Arcs, Lists, Vertices, Whole

MAX_BLOCK = 1024
SWEEPS = 1 << 22
"""Sweeps a warp of the one launch may make in a refine: a second, where 0.1 ms is usual."""


@dataclass(frozen=True)
class Geometry:
    """Shapes of the launches.

    Attributes
    ----------
    threads : int
        Threads a block, 1 to 1024 (``loop="device"``: whole warps).
    lanes : int
        Threads that are set aside for a node: a power of two up to 32 that divides `threads`.
    lookers : int
        How many of these look through its arcs, a power of two; 0: all.

    Raises
    ------
    ValueError
        For a value out of range.
    """

    threads: int
    lanes: int = 1
    lookers: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.threads, int) or not 1 <= self.threads <= MAX_BLOCK:
            raise ValueError(f"threads={self.threads!r} is no whole number from 1 to {MAX_BLOCK}")
        if self.lanes not in (1, 2, 4, 8, 16, 32) or self.threads % self.lanes:
            raise ValueError(
                f"lanes={self.lanes!r} is no power of two up to 32 that divides the {self.threads} "
                "threads of a block"
            )
        if self.lookers not in (0, 1, 2, 4, 8, 16, 32) or self.lookers > self.lanes:
            raise ValueError(f"lookers={self.lookers!r} is no power of two up to {self.lanes}")
        if self.lookers == 0:
            object.__setattr__(self, "lookers", self.lanes)

    @classmethod
    def for_device(cls, n: int, loop: str, chosen: Configuration) -> Geometry:
        """The shapes for the selected device: small in the CPU executor.

        Parameters
        ----------
        n : int
            Nodes a side.
        loop : {"host", "device"}
        chosen : Configuration
            Its threads and lanes are a GPU's; the executor has two where that has a warp.
        """
        is_gpu = device.describe().is_gpu
        if loop == "device":
            return cls(min(MAX_BLOCK, 64 * max(n, 1)) if is_gpu else 64)
        if is_gpu:
            return cls(chosen.threads, chosen.lanes, chosen.lookers)
        lanes = min(chosen.lanes, 2)
        return cls(2 * lanes * max(1, min(n, 128)), lanes, min(chosen.lookers, lanes))

    def blocks(self, nodes: int) -> int:
        """Blocks that give every node its threads."""
        return blocks_for(nodes * self.lanes, self.threads)


def needed_bytes(costs: Costs) -> int:
    """Bytes of device memory that `allocate` takes."""
    nodes, arcs = 2 * costs.n, costs.cost.size
    return 4 * (4 * 2 * arcs + 3 * nodes + arcs) + 8 * (arcs + 2 * nodes) + 128


def check_size(costs: Costs) -> None:
    """Refuse a problem that the device's free memory cannot hold.

    Raises
    ------
    ValueError
        With what is needed and what is free.
    """
    needed, free = needed_bytes(costs), device.free_bytes()
    if needed > free:
        raise ValueError(
            f"{costs.n} x {costs.n} with {costs.cost.size} pairs needs {needed} bytes of device "
            f"memory, {free} are free"
        )


def allocate(costs: Costs) -> dict[str, Any]:
    """Device memory of a host loop, named as in the table of `assignment.kernels.lock_free`; the
    graph copied into it.

    Parameters
    ----------
    costs : Costs

    Returns
    -------
    dict of str to device array
    """
    nodes, arcs = 2 * costs.n, costs.cost.size
    given = {"first": costs.first, "head_0": costs.head, "arc_0": costs.arc, "cost": costs.cost}
    arrays = {name: device.to_device(array) for name, array in given.items()}
    sizes = {"last": nodes, "head": 2 * arcs, "arc": 2 * arcs, "flow": arcs, "excess": nodes}
    arrays |= {name: device.empty(size, np.int32) for name, size in sizes.items()}
    arrays |= {name: device.empty(nodes, np.int64) for name in ("price", "label")}
    arrays["control"] = device.to_device(np.zeros(prices.CONTROL, np.int64))
    arrays["flags"] = device.to_device(np.zeros(lock_free.FLAGS, np.int32))
    arrays["tally"] = device.to_device(np.zeros(lock_free.TALLIES, np.int64))
    return arrays


def bind_refine(
    costs: Costs, arrays: dict[str, Any], shapes: Geometry, eps: int, chosen: Configuration
) -> dict[str, Launch]:
    """The launches of one value of epsilon.

    Parameters
    ----------
    costs : Costs
    arrays : dict of str to device array
        From `allocate`.
    shapes : Geometry
    eps : int
    chosen : Configuration

    Returns
    -------
    dict of str to Launch
        ``start_refine``, ``refine``, ``arc_fixing``, and ``update_prices`` if that is the device's.

    Raises
    ------
    ValueError
        If the kernel as printed is to have several threads a node.
    """
    count = 2 * costs.n
    nodes, grid = np.int32(count), (shapes.blocks(count), shapes.threads)
    lists, arcs, vertices = (
        kind(*(arrays[name] for name in kind._fields)) for kind in (Lists, Arcs, Vertices)
    )
    graph = lists, arcs, vertices, arrays["flags"]
    kernel: Any = lock_free.refine
    who: tuple[Any, ...] = ()
    if chosen.ahead:
        kernel, who = wide.refine_wide, (np.int32(shapes.lanes), np.int32(shapes.lookers))
    elif shapes.lanes > 1:
        raise ValueError(f"lanes={shapes.lanes}: the kernel as printed has a thread a node")
    bound = {
        "start_refine": bind(lock_free.start_refine, *grid, nodes, np.int64(eps), *graph),
        "refine": bind(
            kernel, *grid, nodes, *who, np.int64(chosen.cycle), np.int64(eps), *graph,
            arrays["tally"],
        ),
        "arc_fixing": bind(
            lock_free.arc_fixing, *grid, nodes, np.int64(2 * count * eps), lists, arcs,
            arrays["price"], arrays["tally"],
        ),
    }  # fmt: skip
    if chosen.updates_on == "device":
        lines = arrays["flags"], arrays["label"], arrays["control"]
        given = np.int32(shapes.lanes), np.int64(eps), lists, arcs, vertices, *lines
        bound["update_prices"] = bind_update(shapes, nodes, given)
    return bound


def bind_update(shapes: Geometry, nodes: np.int32, given: tuple[Any, ...]) -> Launch:
    """The cooperative launch of `assignment.kernels.prices`, as many blocks as stay resident."""
    kernel, arguments = prices.update_prices, (nodes, *given)
    resident = resident_blocks(kernel, arguments, shapes.threads)
    return bind(kernel, min(shapes.blocks(int(nodes)), resident), shapes.threads, *arguments)


def bind_start(costs: Costs, arrays: dict[str, Any], shapes: Geometry) -> Launch:
    """The launch that restores the whole graph, prices 0."""
    nodes = 2 * costs.n
    whole = Whole(arrays["first"], arrays["head_0"], arrays["arc_0"])
    names = ("last", "head", "arc", "price", "flow", "flags", "tally")
    written = [arrays[name] for name in names]
    return bind(
        lock_free.start, shapes.blocks(nodes), shapes.threads, np.int32(nodes), whole, *written
    )


def allocate_block(costs: Costs) -> dict[str, Any]:
    """Device memory of the one launch, named as in the table of `assignment.kernels.one_launch`."""
    return {
        "cost": device.to_device(costs.cost),
        "tally": device.to_device(np.zeros(3, np.int64)),
        "ended": device.to_device(np.zeros(1, np.int32)),
        "mates": device.empty(costs.n, np.int32),
        "prices": device.empty(2 * costs.n, np.int64),
    }


def bind_block(
    costs: Costs, arrays: dict[str, Any], shapes: Geometry, alpha: int, eps_0: int, sweeps: int
) -> Launch:
    """The one launch.

    Raises
    ------
    ValueError
        If the threads are no whole warps.
    """
    if shapes.threads % 32:
        raise ValueError(f"threads={shapes.threads}: the one launch takes whole warps")
    lists = [arrays[name] for name in ("cost", "mates", "prices", "tally", "ended")]
    return bind(
        one_launch.cost_scaling, 1, shapes.threads, np.int32(costs.n), np.int64(alpha),
        np.int64(eps_0), np.int64(sweeps), *lists,
    )  # fmt: skip
