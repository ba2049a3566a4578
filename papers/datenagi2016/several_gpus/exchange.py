"""What the tree variant's ranks exchange in a search [DN16 sec.5] (4b), which the paper found to be
its bottleneck: every rank's new rows become one frontier on every rank, level by level.

Five ways (`HostExchange` has two of them):

``gather``
    As printed: Gather at the root, which makes the list and broadcasts it. The list's length is a
    Broadcast of its own before it, which print does not mention; and a second Gather brings what
    the first one has no room for.
``allgather``
    One call instead of two. Up to `INLINE` rows travel in it; where a rank has more, a second
    call brings them.
``nccl``
    Device memory to device memory, no host in between: messages of a fixed size, so that nobody
    must know how many rows they hold. A level's kernel tells the host how many have come as it
    begins; by then the next one is enqueued, and does nothing if this was the last.
``none``
    One rank by itself: as through NCCL, and its message is copied.
``peers``
    Past the paper: the kernels of one launch a pass write into each other's memory
    (`several_gpus.kernels.peers`), and the host hears of no level but the last. What lies between
    two searches goes that way, too (`several_gpus.kernels.peers_paths`).

In the first two the kernels write their message into the host's memory, and the list is copied from
it. Theta, predecessors and assignment go the way of the rows; in the first two by the paper's
collectives.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.environment import MissingPackageError
from papers.common.gpu.launch import Launch, bind
from papers.common.gpu.signals import Mailbox
from papers.common.mpi import ranks, windows
from papers.datenagi2016.several_gpus.collectives import Collectives
from papers.datenagi2016.several_gpus.kernels.peers_paths import clear
from papers.datenagi2016.several_gpus.kernels.tree import HEADER, copy_message

WAYS = ("auto", "gather", "allgather", "nccl", "peers")
INLINE = 254
"""Rows of a message that the first call carries: one KiB with its header."""

FEW_BLOCKS = 8
"""Blocks that copy a list from the host's memory: each read crosses the bus."""


class Level(NamedTuple):
    """What one exchange brought, the same on every rank."""

    rows: int
    path_found: bool


def level_of(word: int) -> Level:
    """What a kernel has told by `several_gpus.kernels.tree.tell_rows`."""
    return Level(word & ((1 << 33) - 1), bool(word >> 33))


@dataclass
class Buffers:
    """Device ends of the messages: what a level's kernel writes, and what the next one reads.

    Attributes
    ----------
    message : device int32[HEADER + block]
        This rank's, with room for as many rows as a rank has columns: each of them brings or wakes
        one at most; and of the rows a rank's share is no larger.
    messages : device int32[parts * stride]
    parts, stride : int
    """

    message: Any
    messages: Any
    parts: int
    stride: int


def copying(source: Any, target: Any) -> Launch:
    """The launch that copies a message."""
    blocks, threads = (FEW_BLOCKS, 256) if device.describe().is_gpu else (1, 32)
    return bind(copy_message, blocks, threads, source, target)


class Exchange:
    """What all ways have.

    Parameters
    ----------
    collectives : Collectives
    ahead : int
        Kernels that may have told something that the host has not heard yet.

    Attributes
    ----------
    name : str
        The way.
    by_host : bool
        Whether messages go through the hosts.
    mailbox : Mailbox
        What the kernels tell the host.
    launches : dict of str to Launch
        The exchange's own.
    """

    name = ""
    by_host = False

    def __init__(self, collectives: Collectives, ahead: int = 1) -> None:
        self._of = collectives
        self.mailbox = Mailbox(ahead)
        self.launches: dict[str, Launch] = {}

    def matches(self, launch: Launch) -> int:
        """Assigned rows, which every rank has counted."""
        return self._told("an assignment of the root's", launch)

    def _told(self, what: str, launch: Launch | None = None) -> int:
        """Launch a kernel, if there is one to launch, and wait for the next word of the device."""
        watched = self._of.size > 1  # one rank waits for nobody but its device
        if watched:
            self._of.watch.begins(what)
        try:
            if launch is not None:
                launch()  # in the executor it ends with the kernel
            return self.mailbox.wait()
        finally:
            if watched:
                self._of.watch.ends()

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Wait for other ranks, in kernels that are launched in the block, or on the host."""
        self._of.watch.begins(what)
        try:
            yield
        finally:
            self._of.watch.ends()

    def forget(self) -> None:
        """Count signals anew."""
        self.mailbox.forget()


class HostExchange(Exchange):
    """Exchanges through MPI on the host.

    Parameters
    ----------
    collectives : Collectives
    block : int
        Columns a rank, at most.
    way : {"gather", "allgather"}
    """

    by_host = True

    def __init__(self, collectives: Collectives, block: int, way: str) -> None:
        super().__init__(collectives)
        self.name = way
        size = HEADER + max(block, INLINE)
        self._out, out_device = device.mapped(size, np.int32)
        stride = HEADER + collectives.size * block
        self._in, in_device = device.mapped(stride, np.int32)
        messages = device.empty(stride, np.int32)
        self.buffers = Buffers(out_device, messages, 1, stride)
        self.launches["copy_list"] = copying(in_device, messages)
        self._word = HEADER + INLINE
        self._first = self._out[: self._word]
        self._heads = np.empty(collectives.size * self._word, np.int32)

    def levels(self, rows: Launch, level: Launch) -> Iterator[Level]:
        """Go through a search: what each exchange brings, until one brings nothing.

        Parameters
        ----------
        rows : Launch
            Makes this rank's first message.
        level : Launch
            Makes of what has come its next one.
        """
        found = self._exchanged(rows)
        yield found
        while found.rows:
            found = self._exchanged(level)
            yield found

    def _exchanged(self, launch: Launch) -> Level:
        """Exchange this rank's message, once the kernel has made it."""
        launch()
        self.mailbox.wait()
        level = self._gathered() if self.name == "gather" else self._allgathered()
        if level.rows:
            self.launches["copy_list"]()
        return level

    def gather(self, part: Any, whole: Any) -> None:
        """The ranks' parts, at the root alone."""
        self._of.gather(part, whole)

    def broadcast(self, array: Any) -> None:
        """The root's array, to all."""
        self._of.broadcast(array)

    def _allgathered(self) -> Level:
        of = self._of
        of.count("exchange", 4 * self._word)
        of.watch.begins("Allgather of a frontier")
        of.comm.Allgather(self._first, self._heads)
        counts = self._heads[:: self._word].tolist()
        total, most = sum(counts), max(counts)
        if most > INLINE:
            of.count("exchange", 4 * counts[of.rank])
            mine = self._out[HEADER : HEADER + counts[of.rank]]
            of.comm.Allgatherv(mine, [self._in[HEADER : HEADER + total], counts])
        elif total:
            self._collect(counts)
        of.watch.ends()
        self._in[0] = total
        return Level(total, bool(self._heads[1 :: self._word].any()))

    def _collect(self, counts: list[int]) -> None:
        """Lay the rows that came with the heads one behind the other."""
        at = HEADER
        for rank, count in enumerate(counts):
            if count:
                start = rank * self._word + HEADER
                self._in[at : at + count] = self._heads[start : start + count]
                at += count

    def _gathered(self) -> Level:
        of = self._of
        of.count("gather", 4 * self._word)
        of.watch.begins("Gather of a frontier")
        of.comm.Gather(self._first, self._heads if of.is_root else None)
        counts = self._heads[:: self._word].tolist() if of.is_root else []
        head = np.zeros(3, np.int32)
        if of.is_root:
            head[:] = sum(counts), max(counts) > INLINE, self._heads[1 :: self._word].any()
        of.count("broadcast", head.nbytes)
        of.comm.Bcast(head)
        total = int(head[0])
        if head[1]:
            mine = self._out[HEADER : HEADER + int(self._out[0])]
            of.count("gather", mine.nbytes)
            room = [self._in[HEADER : HEADER + total], counts] if of.is_root else None
            of.comm.Gatherv(mine, room)
        elif of.is_root and total:
            self._collect(counts)
        if total:
            of.count("broadcast", 4 * total)
            of.comm.Bcast(self._in[HEADER : HEADER + total])
        of.watch.ends()
        self._in[0] = total
        return Level(total, bool(head[2]))


class PeerExchange(Exchange):
    """No exchange of the host's: what the kernels of `several_gpus.kernels.peers` and
    `several_gpus.kernels.peers_paths` share.

    Attributes
    ----------
    words, thetas : device int64[2 * ranks]
    lists : device int64[2 * ranks * stride]
    trees, assignment : device int64[ranks * stride]
    trees_at, assignment_at : int
        Where the last two begin in a part.
    addresses : device int64[ranks]
        Of every rank's part of the window.
    """

    name = "peers"

    def __init__(self, collectives: Collectives, block: int) -> None:
        super().__init__(collectives)
        self.stride = block
        turns, whole = 2 * collectives.size, collectives.size * block
        self.trees_at = 2 * turns + turns * block
        self.assignment_at = self.trees_at + whole
        used = window_words(collectives.size, block)
        window = windows.window(collectives.comm, used)
        self.addresses = window.addresses
        self.words, self.thetas = window.words[:turns], window.words[turns : 2 * turns]
        self.lists = window.words[2 * turns : self.trees_at]
        self.trees = window.words[self.trees_at : self.assignment_at]
        self.assignment = window.words[self.assignment_at : used]
        blocks, threads = (128, 256) if device.describe().is_gpu else (1, 32)
        self.launches["clear"] = bind(clear, blocks, threads, window.words[:used])

    def run(self, launch: Launch) -> Level:
        """A whole forward pass: rows reached beyond its first frontier."""
        return level_of(self._told("a forward pass of all ranks", launch))

    def forget(self) -> None:
        """Count signals and exchanges anew; collective.

        Other states of these ranks may have used the window since.
        """
        super().forget()
        self.launches["clear"]()
        device.synchronize()
        ranks.barrier(self._of.comm)


def window_words(size: int, block: int) -> int:
    """Words of a rank's part of the window, for `size` ranks of `block` columns at most."""
    return 4 * size + 4 * size * block


class DeviceExchange(Exchange):
    """Messages that are enqueued behind the kernels: NCCL's, or none.

    Parameters
    ----------
    collectives : Collectives
    block : int
        Columns a rank, at most.
    """

    def __init__(self, collectives: Collectives, block: int) -> None:
        super().__init__(collectives, ahead=2)
        stride = HEADER + block
        size = collectives.size
        self.buffers = Buffers(
            device.empty(stride, np.int32), device.empty(size * stride, np.int32), size, stride
        )

    def send(self) -> None:
        """Enqueue the exchange of the messages."""
        raise NotImplementedError

    def levels(self, rows: Launch, level: Launch) -> Iterator[Level]:
        """As `HostExchange.levels`; the next level is enqueued before this one is known."""
        rows()
        self.send()
        level()
        self.send()
        while True:
            level()
            self.send()
            found = level_of(self._told("a level's rows"))
            yield found
            if not found.rows:
                self._told("a level in vain")
                return


class LoneExchange(DeviceExchange):
    """One rank's, which has nobody to exchange with."""

    name = "none"

    def __init__(self, collectives: Collectives, block: int) -> None:
        super().__init__(collectives, block)
        self.launches["copy_message"] = copying(self.buffers.message, self.buffers.messages)

    def send(self) -> None:
        """Copy the message to where the next level reads it."""
        self.launches["copy_message"]()

    def gather(self, part: Any, whole: Any) -> None:
        """Nothing: they are one array (`several_gpus.launches.allocate`)."""

    def broadcast(self, array: Any) -> None:
        """Nothing: the array is there."""


class NcclExchange(DeviceExchange):
    """Exchanges through NCCL.

    Parameters
    ----------
    collectives, block
        As of `DeviceExchange`.
    library : module, optional
        ``nccl.bindings.nccl``, or what stands in for it.

    Raises
    ------
    MissingPackageError
        On every rank, if NCCL cannot make a communicator.
    """

    name = "nccl"

    def __init__(self, collectives: Collectives, block: int, library: Any = None) -> None:
        super().__init__(collectives, block)
        self._library = library or nccl_library()
        self._known: dict[int, tuple[int, int]] = {}
        self._comm, reason = _nccl_communicator(self._library, collectives.comm)
        if reason:
            raise ranks.agreed(MissingPackageError(reason))

    def send(self) -> None:
        """Enqueue the exchange of the messages."""
        self._allgather("exchange", self.buffers.message, self.buffers.messages)

    def gather(self, part: Any, whole: Any) -> None:
        """Enqueue an all-gather: the ranks' parts, on all of them."""
        self._allgather("gather", part, whole)

    def broadcast(self, array: Any) -> None:
        """Enqueue the root's array to all."""
        at, size = self._at(array)
        self._of.count("broadcast", size)
        self._of.watch.begins("NCCL broadcast")
        self._library.broadcast(at, at, size, NCCL_BYTE, 0, self._comm, LEGACY_STREAM)
        self._of.watch.ends()

    def _allgather(self, name: str, part: Any, whole: Any) -> None:
        at, size = self._at(part)
        self._of.count(name, size)
        self._of.watch.begins("NCCL all-gather")  # the first one connects the ranks
        self._library.all_gather(at, self._at(whole)[0], size, NCCL_BYTE, self._comm, LEGACY_STREAM)
        self._of.watch.ends()

    def _at(self, array: Any) -> tuple[int, int]:
        """Address and bytes of a device array that lives as long as this."""
        known = self._known.get(id(array))
        if known is None:  # a device array takes microseconds to say where it is
            known = self._known[id(array)] = _address(array), int(array.nbytes)
        return known


NCCL_BYTE = 0
"""``ncclInt8``."""

LEGACY_STREAM = 0
"""CUDA's default stream, on which `papers.common.gpu.launch` enqueues."""


def nccl_library() -> Any:
    """Return the bindings of nccl4py; ImportError without them."""
    import nccl.bindings.nccl as library

    return library


def _nccl_communicator(library: Any, comm: Any) -> tuple[Any, str]:
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


def choose(comm: Any, asked: str) -> tuple[str, str]:
    """Settle on a way; collective.

    Parameters
    ----------
    comm : mpi4py communicator
    asked : {"auto", "gather", "allgather", "nccl", "peers"}

    Returns
    -------
    way : {"gather", "allgather", "nccl", "none", "peers"}
    reason : str
        Why it is not NCCL, where that was not forbidden; else empty.

    Raises
    ------
    ValueError
        For an unknown way.
    MissingPackageError
        For ``"nccl"`` and ``"peers"`` where they cannot be used.
    """
    if asked not in WAYS:
        raise ranks.agreed(ValueError(f"exchange={asked!r} is not one of {', '.join(WAYS)}"))
    if asked in ("gather", "allgather"):
        return asked, ""
    if asked == "peers":
        reason = windows.why_not(comm)
        if reason:
            raise ranks.agreed(MissingPackageError(f"exchange='peers': {reason}"))
        return "peers", ""
    reason = _why_not_nccl(comm)
    if not reason:
        return "nccl", ""
    if asked == "nccl":
        raise ranks.agreed(MissingPackageError(f"exchange='nccl': {reason}"))
    return ("none" if comm.size == 1 else "allgather"), reason


def make(way: str, collectives: Collectives, block: int) -> Any:
    """The exchange of a way that `choose` has settled on; collective."""
    if way in ("gather", "allgather"):
        return HostExchange(collectives, block, way)
    kinds = {"nccl": NcclExchange, "none": LoneExchange, "peers": PeerExchange}
    return kinds[way](collectives, block)


def _why_not_nccl(comm: Any) -> str:
    """Why NCCL cannot be used, the same on all ranks, or nothing; collective."""
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
    failed = _nccl_communicator(nccl_library(), comm)[1]
    return f"NCCL cannot start ({failed})" if failed else ""
