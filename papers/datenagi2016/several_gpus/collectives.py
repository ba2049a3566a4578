"""The collectives of [DN16 sec.5] by name, on arrays in device memory.

`Collectives` puts ``Gather``, ``Reduce`` and ``Broadcast`` between device arrays: through pinned
host memory that is allocated once, as in the paper, or straight from device memory where the MPI
library says that it can (CUDA-aware). The frontiers of the tree variant's search go by
`several_gpus.exchange`.

Each of them waits for the device first: MPI knows nothing of CUDA streams.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.mpi import ranks

AWARE = "PAPERS_MPI_CUDA_AWARE"
"""Environment variable: 1 or 0 overrides the MPI library's own answer."""


def cuda_aware() -> bool:
    """Return whether the MPI library takes pointers to device memory.

    It is asked by ``MPIX_Query_cuda_support``, which a library without CUDA may not have.
    """
    answer = os.environ.get(AWARE)
    if answer is not None:
        return answer.strip() == "1"
    ranks.mpi()  # so that the library is loaded
    for path in _loaded_libraries("libmpi"):
        try:
            asked = ctypes.CDLL(path).MPIX_Query_cuda_support
        except (OSError, AttributeError):
            continue
        asked.restype = ctypes.c_int
        return bool(asked() == 1)
    return False


def _loaded_libraries(name: str) -> list[str]:
    """Paths of the shared libraries of this process whose file name begins with `name`."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = {line.split(maxsplit=5)[-1].strip() for line in maps if ".so" in line}
    except OSError:
        return []
    return sorted(path for path in paths if os.path.basename(path).startswith(name))


class Collectives:
    """The collectives of one communicator.

    Parameters
    ----------
    comm : mpi4py communicator

    Attributes
    ----------
    rank, size : int
    is_root : bool
        Rank 0 is the root [DN16 sec.5] (1).
    aware : bool
        Whether MPI is handed device memory.
    calls, bytes : dict of str to int
        Calls and bytes of each collective's buffers on this rank since `forget`.
    """

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.rank, self.size = int(comm.rank), int(comm.size)
        self.is_root = self.rank == 0
        self.aware = device.describe().is_gpu and cuda_aware()
        self.watch = ranks.the_watch()
        self.calls: dict[str, int] = {}
        self.bytes: dict[str, int] = {}
        self._stages: dict[tuple[str, int, str], np.ndarray] = {}
        self._small = np.zeros(4, np.int64)
        self._sum = np.zeros(4, np.int64)
        self.forget()

    def forget(self) -> None:
        """Count anew."""
        names = ("gather", "reduce", "broadcast", "exchange")
        self.calls = dict.fromkeys(names, 0)
        self.bytes = dict.fromkeys(names, 0)

    def count(self, name: str, size: int) -> None:
        """Count one call with so many bytes in this rank's buffers."""
        self.calls[name] += 1
        self.bytes[name] += size

    def stage(self, name: str, size: int, dtype: Any) -> np.ndarray:
        """Host memory for one purpose, allocated once for each size."""
        key = (name, size, np.dtype(dtype).str)
        if key not in self._stages:
            self._stages[key] = device.staging(size, dtype)
        return self._stages[key]

    # --------------------------------------------------------------------------- by name

    def gather(self, part: Any, whole: Any) -> None:
        """Gather: the ranks' equal parts, one behind the other, at the root.

        Parameters
        ----------
        part : device array[k]
        whole : device array[size * k] or None
            Written on the root alone. One rank may have one array for both.
        """
        self.count("gather", part.nbytes)
        if part is whole:  # one rank has one array
            return
        if self.aware:
            device.synchronize()
            self._wait("Gather", self.comm.Gather, part, whole if self.is_root else None, 0)
            return
        sent = self.stage("gather", part.size, part.dtype)
        device.fetch(part, sent)
        room = self.stage("gathered", self.size * part.size, part.dtype) if self.is_root else None
        self._wait("Gather", self.comm.Gather, sent, room, 0)
        if self.is_root:
            device.overwrite(whole, room)  # type: ignore[arg-type]

    def gather_varying(self, part: Any, counts: list[int], whole: Any) -> None:
        """Gather of parts of different sizes.

        Parameters
        ----------
        part : device array[at least counts[rank]]
        counts : list of int
            Elements of every rank.
        whole : device array[at least sum(counts)] or None
            Written on the root alone.
        """
        size = counts[self.rank]
        self.count("gather", size * part.dtype.itemsize)
        sent = self._grown("varying", size, part.dtype)[:size]
        if size:
            device.fetch(part[:size], sent)
        total = sum(counts) if self.is_root else 0
        room = self._grown("varied", total, part.dtype)[:total] if self.is_root else None
        target = None if room is None else [room, counts]
        self._wait("Gather", self.comm.Gatherv, sent, target, 0)
        if self.is_root and total:
            device.overwrite(whole[:total], room)  # type: ignore[arg-type]

    def broadcast(self, array: Any) -> None:
        """Broadcast: the root's device array to all.

        Parameters
        ----------
        array : device array[k]
            Written on all ranks but the root; of one size and type on all.
        """
        self.count("broadcast", array.nbytes)
        if self.aware:
            device.synchronize()
            self._wait("Broadcast", self.comm.Bcast, array, 0)
            return
        stage = self.stage("broadcast", array.size, array.dtype)
        if self.is_root:
            device.fetch(array, stage)
        self._wait("Broadcast", self.comm.Bcast, stage, 0)
        if not self.is_root:
            device.overwrite(array, stage)

    def total(self, value: int) -> int:
        """Reduce to a sum at the root, and Broadcast it.

        Parameters
        ----------
        value : int
            This rank's; the sum must fit int64.

        Returns
        -------
        int
            The sum over the ranks, on every rank.
        """
        self.count("reduce", 8)
        self._small[0] = value
        self._wait("Reduce", self.comm.Reduce, self._small[:1], self._sum[:1], ranks.mpi().SUM, 0)
        self.tell(self._sum, 1)
        return int(self._sum[0])

    def least(self, theta: Any) -> None:
        """Reduce to a minimum at the root, and Broadcast it; in place.

        Parameters
        ----------
        theta : device array[1]
            int32, int64 or float64; the minimum over the ranks afterwards, on every rank.
        """
        self.count("reduce", theta.nbytes)
        mine = self.stage("theta", 1, theta.dtype)
        found = self.stage("least", 1, theta.dtype)
        device.fetch(theta, mine)
        self._wait("Reduce", self.comm.Reduce, mine, found, ranks.mpi().MIN, 0)
        self.count("broadcast", found.nbytes)
        self._wait("Broadcast", self.comm.Bcast, found, 0)
        device.overwrite(theta, found)

    def tell(self, words: np.ndarray, size: int) -> None:
        """Broadcast the first words of a small host array, in place."""
        self.count("broadcast", 8 * size)
        self._wait("Broadcast", self.comm.Bcast, words[:size], 0)

    def _grown(self, name: str, size: int, dtype: Any) -> np.ndarray:
        """Staging of at least `size` elements, of the next power of two."""
        return self.stage(name, 1 << max(size, 1024).bit_length(), dtype)

    def _wait(self, what: str, call: Any, *arguments: Any) -> None:
        self.watch.begins(what)
        call(*arguments)
        self.watch.ends()
