"""Everything that a run of cost scaling on the GPU needs before its first launch.

`solver` is the algorithm; this is its plumbing: shapes, memory, bound launches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind
from papers.common.gpu.limits import blocks_for
from papers.lupinska_costscale.assignment.costs import Costs
from papers.lupinska_costscale.assignment.kernels import lock_free, one_launch

PAPER_THREADS = 32 * 16
"""Threads a block: "the best results" [LU11 sec.5.5]."""

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

    Raises
    ------
    ValueError
        For a value out of range.
    """

    threads: int

    def __post_init__(self) -> None:
        if not isinstance(self.threads, int) or not 1 <= self.threads <= MAX_BLOCK:
            raise ValueError(f"threads={self.threads!r} is no whole number from 1 to {MAX_BLOCK}")

    @classmethod
    def for_device(cls, n: int, loop: str) -> Geometry:
        """The shapes for the selected device: small in the CPU executor.

        Parameters
        ----------
        n : int
            Nodes a side.
        loop : {"host", "device"}
        """
        is_gpu = device.describe().is_gpu
        if loop == "host":
            return cls(PAPER_THREADS if is_gpu else min(PAPER_THREADS, 2 * max(n, 1)))
        return cls(min(MAX_BLOCK, 64 * max(n, 1)) if is_gpu else 64)

    def blocks(self, nodes: int) -> int:
        """Blocks that give every node a thread."""
        return blocks_for(nodes, self.threads)


def needed_bytes(costs: Costs) -> int:
    """Bytes of device memory that `allocate` takes."""
    nodes, arcs = 2 * costs.n, costs.cost.size
    return 4 * (4 * 2 * arcs + 3 * nodes + arcs) + 8 * (arcs + nodes) + 64


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
    arrays["price"] = device.empty(nodes, np.int64)
    arrays["flags"] = device.to_device(np.zeros(lock_free.FLAGS, np.int32))
    arrays["tally"] = device.to_device(np.zeros(lock_free.TALLIES, np.int64))
    return arrays


def bind_refine(
    costs: Costs, arrays: dict[str, Any], shapes: Geometry, eps: int, cycle: int
) -> dict[str, Launch]:
    """The launches of one value of epsilon.

    Parameters
    ----------
    costs : Costs
    arrays : dict of str to device array
        From `allocate`.
    shapes : Geometry
    eps, cycle : int

    Returns
    -------
    dict of str to Launch
        ``start_refine``, ``refine``, ``arc_fixing``.
    """
    count = 2 * costs.n
    nodes, grid = np.int32(count), (shapes.blocks(count), shapes.threads)
    lists = [
        arrays[name] for name in ("first", "last", "head", "arc", "cost", "flow", "price")
    ]  # fmt: skip
    told = arrays["excess"], arrays["flags"]
    limit = np.int64(2 * count * eps)
    return {
        "start_refine": bind(lock_free.start_refine, *grid, nodes, np.int64(eps), *lists, *told),
        "refine": bind(
            lock_free.refine, *grid, nodes, np.int64(cycle), np.int64(eps), *lists, *told,
            arrays["tally"],
        ),
        "arc_fixing": bind(lock_free.arc_fixing, *grid, nodes, limit, *lists, arrays["tally"]),
    }  # fmt: skip


def bind_start(costs: Costs, arrays: dict[str, Any], shapes: Geometry) -> Launch:
    """The launch that restores the whole graph, prices 0."""
    nodes = 2 * costs.n
    names = ("first", "head_0", "arc_0", "last", "head", "arc", "price", "flow", "flags", "tally")
    lists = [arrays[name] for name in names]
    return bind(lock_free.start, shapes.blocks(nodes), shapes.threads, np.int32(nodes), *lists)


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
