"""Messages through NCCL: device memory to device memory, with no host in between.

Messages have a fixed size, so that no host must know how many rows they hold. A level's kernel
tells the host how many have come as it begins; by then the next one is enqueued, and does nothing
if this was the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.environment import MissingPackageError
from papers.common.mpi import ranks
from papers.datenagi2016.several_gpus.collectives import Collectives
from papers.datenagi2016.several_gpus.exchange.base import Exchange, Level, level_of
from papers.datenagi2016.several_gpus.exchange.messages import Buffers, MessageExchange
from papers.datenagi2016.several_gpus.kernels import strips
from papers.datenagi2016.several_gpus.kernels.tree import HEADER
from papers.datenagi2016.several_gpus.launches import Workspace

NCCL_BYTE = 0
"""``ncclInt8``."""

LEGACY_STREAM = 0
"""CUDA's default stream, on which `papers.common.gpu.launch` enqueues."""


class NcclExchange(MessageExchange):
    """Exchanges through NCCL.

    Parameters
    ----------
    collectives : Collectives
    block : int
        Columns a rank, at most.

    Raises
    ------
    MissingPackageError
        On every rank, if NCCL cannot make a communicator.
    """

    of_way: ClassVar[dict[str, int]] = {"by_nccl": 1, "by_peers": 0}

    def __init__(self, collectives: Collectives, block: int) -> None:
        super().__init__(collectives, ahead=2)
        stride, size = HEADER + block, collectives.size
        self.buffers = Buffers(
            device.empty(stride, np.int32), device.empty(size * stride, np.int32), size, stride
        )
        self._library = nccl_library()
        self._known: dict[int, tuple[int, int]] = {}
        self._comm, reason = _communicator(self._library, collectives.comm)
        if reason:
            raise ranks.agreed(MissingPackageError(reason))

    def bind(self, work: Workspace) -> None:
        """Bind the minimum over the ranks' thetas, too."""
        super().bind(work)
        one = np.int32(1)
        work.bind(
            strips.least_of_parts, (1, 1), "least_theta", n=one, stride=one,
            gathered=work.arrays["thetas"], minima=work.arrays["theta"],
        )  # fmt: skip

    _bind_check = Exchange._bind_check_of_all
    matches = Exchange._matches_of_all

    def theta(self) -> None:
        """All-gather the thetas; every rank takes the least."""
        self._all_gather("gather", self.arrays["theta"], self.arrays["thetas"])
        self.launches["least_theta"]()

    def assignment(self) -> None:
        """Enqueue the root's assignment to all."""
        at, size = self._at(self.arrays["row_assignment"])
        self._of.count("broadcast", size)
        with self.waiting("NCCL broadcast"):
            self._library.broadcast(at, at, size, NCCL_BYTE, 0, self._comm, LEGACY_STREAM)
        self.launches["accept_assignment"]()

    def _levels(self, rows: Any, level: Any) -> Iterator[Level]:
        """As of `MessageExchange`; the next level is enqueued before this one is known."""
        rows()
        self._send()
        level()
        self._send()
        while True:  # `forward_pass` bounds the levels
            level()
            self._send()
            found = level_of(self._told("a level's rows"))
            yield found
            if not found.rows:
                self._told("a level in vain")
                return

    def _send(self) -> None:
        """Enqueue the exchange of the messages."""
        self._all_gather("exchange", self.buffers.message, self.buffers.messages)

    def _gather(self, part: Any, whole: Any) -> None:
        self._all_gather("gather", part, whole)

    def _all_gather(self, name: str, part: Any, whole: Any) -> None:
        at, size = self._at(part)
        self._of.count(name, size)
        with self.waiting("NCCL all-gather"):  # the first one connects the ranks
            to = self._at(whole)[0]
            self._library.all_gather(at, to, size, NCCL_BYTE, self._comm, LEGACY_STREAM)

    def _at(self, array: Any) -> tuple[int, int]:
        """Address and bytes of a device array that lives as long as this."""
        known = self._known.get(id(array))
        if known is None:  # a device array takes microseconds to say where it is
            known = self._known[id(array)] = _address(array), int(array.nbytes)
        return known


def nccl_library() -> Any:
    """Return the bindings of nccl4py; ImportError without them."""
    import nccl.bindings.nccl as library

    return library


def why_not_nccl(comm: Any) -> str:
    """Return why NCCL cannot be used, the same on all ranks, or nothing; collective."""
    if comm.size == 1:
        return "one rank has nobody to exchange with"
    if ranks.gpus_of(comm) < comm.size:
        return "the ranks do not have a GPU each"
    try:
        nccl_library().get_version()  # loads the library itself
        mine = ""
    except Exception as error:  # whatever the library's loader raises
        mine = f"nccl4py cannot be used ({type(error).__name__}: {error})"
    reason = next((found for found in ranks.collect(comm, mine) if found), "")
    if reason:
        return reason
    failed = _communicator(nccl_library(), comm)[1]
    return f"NCCL cannot start ({failed})" if failed else ""


def _communicator(library: Any, comm: Any) -> tuple[Any, str]:
    """NCCL's communicator of an MPI one, made once for each: it takes a second; collective.

    Returns
    -------
    communicator : int, or None
    reason : str
        Why there is none, the same on all ranks; else empty.
    """
    kept, known = ranks.memory_of(comm), ("nccl", id(library))
    if known not in kept:
        made, mine = None, ""
        try:
            key = bytearray(bytes(library.get_unique_id())) if comm.rank == 0 else None
        except Exception as error:  # whatever the library raises
            key, mine = None, f"{type(error).__name__}: {error}"
        key = ranks.share(comm, key)
        if key is not None:
            watch = ranks.the_watch()
            watch.begins("NCCL's start")
            try:
                made = library.comm_init_rank_scalable(comm.size, comm.rank, 1, key, 0)
            except Exception as error:
                mine = f"rank {comm.rank}: {type(error).__name__}: {error}"
            watch.ends()
        reason = next((found for found in ranks.collect(comm, mine) if found), "")
        kept[known] = (None, reason) if reason else (made, "")
    found: tuple[Any, str] = kept[known]
    return found


def _address(array: Any) -> int:
    if isinstance(array, np.ndarray):  # in the executor
        return array.ctypes.data
    return int(array.__cuda_array_interface__["data"][0])
