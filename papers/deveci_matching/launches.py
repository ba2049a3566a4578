"""What a run of the eight variants [D13 sec.4] needs before its first launch.

`solver` is the algorithm; this is its plumbing: shapes, memory, bound launches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind
from papers.common.gpu.signals import Mailbox
from papers.common.problems.graph import Graph, GraphError
from papers.deveci_matching.kernels import phases as k

ALGORITHMS = ("apfb", "apsb")
BFS = ("wr", "plain")
THREADS = ("ct", "mt")

MAX_BLOCK = 1024


@dataclass(frozen=True)
class Geometry:
    """The grid of all kernels of a run: tot_thread_num = blocks * threads.

    Attributes
    ----------
    blocks : int
        Blocks, below ``2**kernels.COUNT_BITS``.
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
        for name, most in (("blocks", (1 << k.COUNT_BITS) - 1), ("threads", MAX_BLOCK)):
            value = getattr(self, name)
            if not isinstance(value, int) or not 1 <= value <= most:
                raise ValueError(f"{name}={value!r} is no whole number from 1 to {most}")

    @classmethod
    def for_device(cls, columns: int, mode: str) -> Geometry:
        """The grid for the selected device.

        Parameters
        ----------
        columns : int
            nc, at least 1.
        mode : {"ct", "mt"}
            CT: 256 x 256 threads. MT: min(nc, the threads that the device holds at once), in whole
            blocks of 256. The CPU executor has small grids: 3 x 16 (CT), up to 8 x 16 (MT).
        """
        machine = device.describe()
        if mode == "ct":
            return cls(256, 256) if machine.is_gpu else cls(3, 16)
        threads, resident = (256, hardware_threads()) if machine.is_gpu else (16, 128)
        return cls(-(-min(columns, resident) // threads), threads)


def hardware_threads() -> int:
    """#threads of [D13 sec.4]: what the selected GPU's multiprocessors hold at once."""
    from numba import cuda

    each = cuda.get_current_device().MAX_THREADS_PER_MULTIPROCESSOR
    return device.describe().multiprocessors * int(each)


def needed_bytes(graph: Graph, bfs: str) -> int:
    """Bytes of device memory that `allocate` takes."""
    lines = 3 if bfs == "plain" else 4  # cmatch, its start, bfs_array, root
    vertices = (graph.columns + 1) + lines * graph.columns + 3 * graph.rows
    return 4 * (vertices + graph.edges + k.FLAGS) + 8


def check_size(graph: Graph, needed: int) -> None:
    """Refuse a graph whose `needed` bytes the device's free memory cannot hold.

    Raises
    ------
    GraphError
        With what is needed and what is free.
    """
    free = device.free_bytes()
    if needed > free:
        raise GraphError(
            f"{graph.rows} x {graph.columns} with {graph.edges} edges needs {needed} bytes of "
            f"device memory, {free} are free"
        )


def allocate(graph: Graph, rmatch: np.ndarray, cmatch: np.ndarray, bfs: str) -> dict[str, Any]:
    """Device memory of a run, named as in the table of `kernels.phases`; graph and start copied
    into it.

    Parameters
    ----------
    graph : Graph
    rmatch, cmatch : int32[rows], int32[columns]
        The matching to start from.
    bfs : {"wr", "plain"}

    Returns
    -------
    dict of str to device array
    """
    arrays = {
        "cxadj": device.to_device(graph.cxadj),
        "cadj": device.to_device(graph.cadj),
        "rmatch_start": device.to_device(rmatch),
        "cmatch_start": device.to_device(cmatch),
        "flags": device.to_device(np.zeros(k.FLAGS, np.int32)),
        "tally": device.to_device(np.zeros(1, np.int64)),
    }
    sizes = {"rmatch": graph.rows, "predecessor": graph.rows}
    sizes |= {"cmatch": graph.columns, "bfs_array": graph.columns}
    if bfs == "wr":
        sizes["root"] = graph.columns
    return arrays | {name: device.empty(size, np.int32) for name, size in sizes.items()}


def bind_launches(
    graph: Graph,
    a: dict[str, Any],
    mailbox: Mailbox,
    algorithm: str,
    bfs: str,
    shapes: Geometry,
) -> dict[str, Launch]:
    """The launches of a variant, by their part in [D13 Alg.1].

    Parameters
    ----------
    graph : Graph
    a : dict of str to device array
        From `allocate`.
    mailbox : Mailbox
    algorithm, bfs : str
        Of `ALGORITHMS` and `BFS`.
    shapes : Geometry

    Returns
    -------
    dict of str to Launch
        ``restore_start``, ``init_bfs_array``, ``bfs``, ``alternate``, ``fix_matching``.
    """
    grid = int(shapes.blocks), int(shapes.threads)
    nr, nc = np.int32(graph.rows), np.int32(graph.columns)
    edges = a["cxadj"], a["cadj"]
    told = a["flags"], a["tally"], mailbox.device_word
    found = a["cmatch"], a["rmatch"], a["predecessor"], a["flags"]
    ends = algorithm == "apsb" and bfs == "wr"
    if bfs == "wr":
        init = bind(
            k.init_bfs_array_wr, *grid, nc, a["cmatch"], a["bfs_array"], a["root"], a["flags"]
        )
        search = bind(
            k.gpubfs_wr, *grid, nc, np.int32(ends), a["bfs_array"], *edges, a["rmatch"], a["root"],
            a["predecessor"], *told,
        )  # fmt: skip
    else:
        init = bind(k.init_bfs_array, *grid, nc, a["cmatch"], a["bfs_array"], a["flags"])
        search = bind(
            k.gpubfs, *grid, nc, a["bfs_array"], *edges, a["rmatch"], a["predecessor"], *told
        )
    if ends:
        alternate = bind(k.alternate_from_ends, *grid, nc, a["bfs_array"], *found)
    else:
        alternate = bind(k.alternate, *grid, nc, nr, *found)
    return {
        "restore_start": bind(
            k.restore_start, *grid, nr, nc, a["rmatch_start"], a["cmatch_start"], a["rmatch"],
            a["cmatch"], a["flags"], a["tally"],
        ),
        "init_bfs_array": init,
        "bfs": search,
        "alternate": alternate,
        "fix_matching": bind(k.fix_matching, *grid, nr, a["cmatch"], a["rmatch"]),
    }  # fmt: skip
