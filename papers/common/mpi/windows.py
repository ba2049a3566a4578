"""Device memory that the kernels of all ranks of a host can write: a window.

On GPUs every rank allocates its part and the others map it (CUDA's interprocess handles), so that
a kernel's store goes over NVLink or PCIe without a host in between. In the CPU executor it is a
shared-memory window of MPI. Kernels reach the parts by address (`papers.common.gpu.memory_order`).
Processes share coherent memory there: that a store may reach another rank late is tried with ranks
of one process on a weak memory (`papers.common.executor.ranks`).

A part stays allocated and mapped as long as the process lives, because to free memory that others
have mapped is undefined. So a communicator has one window, used again and again (`window`), which
grows by doubling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.environment import MissingPackageError
from papers.common.mpi import ranks

MOST = 32
"""Ranks of a window, so that a warp has a lane for each."""

LEAST = 1 << 18
"""Words of the smallest window: the 2 MiB that the driver maps at once."""


@dataclass(frozen=True)
class Window:
    """One rank's part, and where all ranks' parts begin.

    Attributes
    ----------
    words : device int64[size]
        This rank's part.
    addresses : device int64[ranks]
        Address of every rank's part, as this rank's kernels reach it.
    keep : object
        The owner of the mappings.
    """

    words: Any
    addresses: Any
    keep: Any


def window(comm: Any, size: int) -> Window:
    """Return a window of at least `size` words a rank; collective.

    Parameters
    ----------
    comm : mpi4py communicator
        Its ranks are on one host (`why_not`).
    size : int
        Words of 8 bytes.

    Returns
    -------
    Window
        It holds the words of its last use: its user clears it.

    Raises
    ------
    MissingPackageError
        On every rank, if one rank's memory cannot be mapped by another.
    """
    kept = ranks.memory_of(comm)
    known: Window | str | None = kept.get(Window)
    if known is None or (isinstance(known, Window) and known.words.size < size):
        make = _of_gpus if device.describe().is_gpu else _of_executors
        known = kept[Window] = make(comm, max(LEAST, 1 << (size - 1).bit_length()))
        _all.append(known)
    if isinstance(known, str):
        raise ranks.agreed(MissingPackageError(known))
    return known


_all: list[Window | str] = []
"""Keeps every window."""


def why_not(comm: Any) -> str:
    """Return why the ranks cannot share a window, the same on all ranks, or nothing; collective."""
    if comm.size > MOST:
        return f"{comm.size} ranks are more than {MOST}"
    if comm.size > 1 and ranks.ranks_of_host(comm) < comm.size:
        return "the ranks are on several hosts"
    gpus = ranks.collect(comm, device.identity())
    if any(gpus) and ("" in gpus or len(set(gpus)) < comm.size):
        return "the ranks do not have a GPU each"
    try:
        window(comm, LEAST)
    except MissingPackageError as error:
        return str(error)
    return ""


def _of_executors(comm: Any, size: int) -> Window:
    shared = ranks.mpi().Win.Allocate_shared(8 * size, 8, comm=comm)
    parts = [np.frombuffer(shared.Shared_query(rank)[0], np.int64) for rank in range(comm.size)]
    addresses = np.array([part.ctypes.data for part in parts], np.int64)
    return Window(parts[comm.rank], addresses, (shared, parts))


def _of_gpus(comm: Any, size: int) -> Window | str:
    """A window, or why a GPU cannot map another's memory, the same on all ranks."""
    from numba import cuda

    words = cuda.device_array(size, np.int64)
    context = cuda.current_context()
    mine: Any = None
    reason = ""
    try:
        mine = context.get_ipc_handle(words.gpu_data) if comm.size > 1 else None
    except Exception as error:  # whatever the driver raises
        reason = f"{type(error).__name__}: {error}"
    handles = ranks.collect(comm, mine)
    opened, addresses = [], []
    for rank, handle in enumerate(handles):
        if rank == comm.rank:
            addresses.append(words.__cuda_array_interface__["data"][0])
        elif handle is not None and not reason:
            try:
                memory = handle.open_direct(context)
                opened.append((handle, memory))
                addresses.append(int(memory.device_pointer))
            except Exception as error:
                reason = f"rank {comm.rank}: {type(error).__name__}: {error}"
    failed = next((found for found in ranks.collect(comm, reason) if found), "")
    if failed:
        return f"a GPU cannot map another's memory ({failed})"
    return Window(words, device.to_device(np.array(addresses, np.int64)), opened)
