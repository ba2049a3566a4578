"""Grids, memory and bound launches of the eight variants [D13 sec.4]; `solver` is the algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind
from papers.common.gpu.limits import grid_for
from papers.common.gpu.signals import Mailbox
from papers.common.problems.graph import Graph, GraphError
from papers.deveci_matching.configuration import TUNED, Configuration
from papers.deveci_matching.kernels.arguments import Columns, Words
from papers.deveci_matching.kernels.bfs import (
    COUNT_BITS,
    gpubfs,
    gpubfs_wr,
    init_bfs_array,
    init_bfs_array_wr,
    restore_start,
)
from papers.deveci_matching.kernels.fix_matching import (
    alternate,
    alternate_from_ends,
    fix_matching,
)
from papers.deveci_matching.kernels.notation import FLAGS

ALGORITHMS = ("apfb", "apsb")
BFS = ("wr", "plain")
THREADS = ("ct", "mt")
WIDTHS = (*THREADS, "resident")
"""The threads of the eight variants, and another reading of MT (G7)."""

MAX_BLOCK = 1024
MAX_BLOCKS = (1 << COUNT_BITS) - 1


@dataclass(frozen=True)
class Geometry:
    """The grid of all kernels of a run, with tot_thread_num = blocks * threads.

    Attributes
    ----------
    blocks : int
        Blocks, below ``2**COUNT_BITS``.
    threads : int
        Threads a block, at most 1024.

    Raises
    ------
    ValueError
        For a value out of range.
    """

    blocks: int
    threads: int

    def __post_init__(self) -> None:
        for name, most in (("blocks", MAX_BLOCKS), ("threads", MAX_BLOCK)):
            value = getattr(self, name)
            if not isinstance(value, int) or not 1 <= value <= most:
                raise ValueError(f"{name}={value!r} is no whole number from 1 to {most}")

    @classmethod
    def for_device(cls, columns: int, mode: str) -> Geometry:
        """Return the grid for the selected device.

        Parameters
        ----------
        columns : int
            nc, at least 1.
        mode : {"ct", "mt", "resident"}
            CT: 256 x 256 threads. MT: min(nc, the threads of the largest grid), in whole blocks of
            256. ``"resident"``: min(nc, the threads that the device holds at once). The CPU
            executor has small grids: 3 x 16 (CT), up to 8 x 16 (the others).
        """
        machine = device.describe()
        if mode == "ct":
            return cls(256, 256) if machine.is_gpu else cls(3, 16)
        threads, most = (256, MAX_BLOCKS * 256) if machine.is_gpu else (16, 128)
        if mode == "resident" and machine.is_gpu:
            most = hardware_threads()
        return cls(*grid_for(min(columns, most), threads))


def hardware_threads() -> int:
    """Return the threads that the selected GPU holds at once."""
    from numba import cuda

    each = cuda.get_current_device().MAX_THREADS_PER_MULTIPROCESSOR
    return device.describe().multiprocessors * int(each)


def needed_bytes(graph: Graph, bfs: str) -> int:
    """Return the bytes of device memory that `allocate` takes."""
    lines = 3 if bfs == "plain" else 4  # cmatch, its start, bfs_array, root
    vertices = (graph.columns + 1) + lines * graph.columns + 3 * graph.rows
    return 4 * (vertices + graph.edges + FLAGS) + 8


def check_size(graph: Graph, needed: int) -> None:
    """Refuse a graph whose `needed` bytes the device's free memory cannot hold.

    Raises
    ------
    GraphError
        It names the bytes that are needed and those that are free.
    """
    free = device.free_bytes()
    if needed > free:
        raise GraphError(
            f"{graph.rows} x {graph.columns} with {graph.edges} edges needs {needed} bytes of "
            f"device memory, {free} are free"
        )


def allocate(graph: Graph, rmatch: np.ndarray, cmatch: np.ndarray, bfs: str) -> dict[str, Any]:
    """Allocate the device memory of a run, and copy graph and start into it.

    Parameters
    ----------
    graph : Graph
    rmatch, cmatch : int32[rows], int32[columns]
        The matching to start from.
    bfs : {"wr", "plain"}

    Returns
    -------
    dict of str to device array
        Named as in the table of `kernels.notation`.
    """
    arrays = {
        "cxadj": device.to_device(graph.cxadj),
        "cadj": device.to_device(graph.cadj),
        "rmatch_start": device.to_device(rmatch),
        "cmatch_start": device.to_device(cmatch),
        "flags": device.to_device(np.zeros(FLAGS, np.int32)),
        "tally": device.to_device(np.zeros(1, np.int64)),
    }
    sizes = {"rmatch": graph.rows, "predecessor": graph.rows}
    sizes |= {"cmatch": graph.columns, "bfs_array": graph.columns}
    if bfs == "wr":
        sizes["root"] = graph.columns
    return arrays | {name: device.empty(size, np.int32) for name, size in sizes.items()}


def bind_launches(
    graph: Graph,
    arrays: dict[str, Any],
    mailbox: Mailbox,
    algorithm: str,
    bfs: str,
    shapes: Geometry,
    configuration: Configuration = TUNED,
) -> dict[str, Launch]:
    """Bind the launches of a variant.

    Parameters
    ----------
    graph : Graph
    arrays : dict of str to device array
        From `allocate`.
    mailbox : Mailbox
    algorithm : {"apfb", "apsb"}
    bfs : {"wr", "plain"}
    shapes : Geometry
    configuration : Configuration

    Returns
    -------
    dict of str to Launch
        By their part in [D13 Alg.1]: ``restore_start``, ``init_bfs_array``, ``bfs``,
        ``alternate``, ``fix_matching``.
    """
    grid = int(shapes.blocks), int(shapes.threads)
    nr, nc = np.int32(graph.rows), np.int32(graph.columns)
    cmatch, rmatch, predecessor = arrays["cmatch"], arrays["rmatch"], arrays["predecessor"]
    bfs_array, flags, tally = arrays["bfs_array"], arrays["flags"], arrays["tally"]
    columns = Columns(arrays["cxadj"], arrays["cadj"])
    words = Words(flags, tally, mailbox.device_word, np.int32(configuration.flags == "copied"))
    paths = cmatch, rmatch, predecessor, flags
    ends, loads = algorithm == "apsb" and bfs == "wr", np.int32(configuration.loads)
    if bfs == "wr":
        root = arrays["root"]
        init = bind(init_bfs_array_wr, *grid, nc, cmatch, bfs_array, root, flags)
        search = bind(
            gpubfs_wr, *grid, nc, np.int32(ends), loads, bfs_array, columns, rmatch,
            root, predecessor, words,
        )  # fmt: skip
    else:
        init = bind(init_bfs_array, *grid, nc, cmatch, bfs_array, flags)
        search = bind(gpubfs, *grid, nc, loads, bfs_array, columns, rmatch, predecessor, words)
    if ends:
        augment = bind(alternate_from_ends, *grid, nc, bfs_array, *paths)
    else:
        augment = bind(alternate, *grid, nc, nr, *paths)
    return {
        "restore_start": bind(
            restore_start, *grid, nr, nc, arrays["rmatch_start"], arrays["cmatch_start"], rmatch,
            cmatch, flags, tally,
        ),
        "init_bfs_array": init,
        "bfs": search,
        "alternate": augment,
        "fix_matching": bind(fix_matching, *grid, nr, cmatch, rmatch),
    }  # fmt: skip
