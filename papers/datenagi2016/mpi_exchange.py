"""One level's exchange of the tree variant [DN16 sec.5] (4b), which the paper found to be its
bottleneck: every rank's new rows become one frontier on every rank.

Four ways (`HostExchange` has two of them):

``gather``
    As printed: Gather at the root, which makes the list and broadcasts it. The list's length is a
    Broadcast of its own before it, which print does not mention; and a second Gather brings what
    the first one has no room for.
``allgather``
    One call instead of two. Up to `INLINE` rows travel in it; where a rank has more, a second
    call brings them.
``nccl``
    Device memory to device memory, no host in between: messages of a fixed size, so that nobody
    must know how many rows they hold. The next level is enqueued before the host has heard of this
    one; it does nothing if this one was the last.
``peers``
    Past the paper: the kernels of one launch a pass write into each other's memory
    (`mpi_kernels_peers`), and the host hears of no level but the last. What lies between two
    searches goes that way, too (`mpi_kernels_peers_paths`).

In the first two the kernels write their message into the host's memory and read the list from it:
there is nothing to copy.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from papers.common import device, peers, ranks
from papers.common.environment import MissingPackageError
from papers.common.launch import Launch, bind
from papers.common.mailbox import Mailbox
from papers.datenagi2016.mpi_collectives import Collectives
from papers.datenagi2016.mpi_kernels_peers_paths import clear
from papers.datenagi2016.mpi_kernels_tree import HEADER

WAYS = ("auto", "gather", "allgather", "nccl", "peers")
INLINE = 254
"""Rows of a message that the first call carries: one KiB with its header."""


class Level(NamedTuple):
    """What one exchange brought, the same on every rank."""

    rows: int
    path_found: bool


@dataclass
class Buffers:
    """Device ends of the messages: what `send_frontier` writes and `contraction` reads.

    Attributes
    ----------
    message : device int32[HEADER + block]
    messages : device int32[parts * stride]
    parts, stride : int
        How `contraction` reads ``messages``.
    """

    message: Any
    messages: Any
    parts: int
    stride: int


class HostExchange:
    """Exchanges through MPI on the host.

    Parameters
    ----------
    collectives : Collectives
    block : int
        Columns a rank, at most.
    way : {"gather", "allgather"}
    """

    def __init__(self, collectives: Collectives, block: int, way: str) -> None:
        self._of = collectives
        self.name = way
        size = HEADER + max(block, INLINE)
        self._out, out_device = device.mapped(size, np.int32)
        stride = HEADER + collectives.size * block
        self._in, in_device = device.mapped(stride, np.int32)
        self.buffers = Buffers(out_device, in_device, 1, stride)
        self._word = HEADER + INLINE
        self._first = self._out[: self._word]
        self._heads = np.empty(collectives.size * self._word, np.int32)
        self.mailboxes = [Mailbox()]

    def run(self, launches: Mapping[str, Launch]) -> Level:
        """Send this rank's message, once its kernels have made it, and make the frontier."""
        launches["send_frontier"]()
        self.mailboxes[0].wait()
        level = self._gathered() if self.name == "gather" else self._allgathered()
        launches["contraction"]()
        return level

    def forget(self) -> None:
        """Count signals anew."""
        for mailbox in self.mailboxes:
            mailbox.forget()

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


class PeerExchange:
    """No exchange of the host's: what the kernels of `mpi_kernels_peers` and
    `mpi_kernels_peers_paths` share.

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
        self._of = collectives
        self.stride = block
        turns, whole = 2 * collectives.size, collectives.size * block
        self.trees_at = 2 * turns + turns * block
        self.assignment_at = self.trees_at + whole
        used = window_words(collectives.size, block)
        window = peers.window(collectives.comm, used)
        self.addresses = window.addresses
        self.words, self.thetas = window.words[:turns], window.words[turns : 2 * turns]
        self.lists = window.words[2 * turns : self.trees_at]
        self.trees = window.words[self.trees_at : self.assignment_at]
        self.assignment = window.words[self.assignment_at : used]
        blocks, threads = (128, 256) if device.describe().is_gpu else (1, 32)
        self._clear = bind(clear, blocks, threads, window.words[:used])
        self.mailboxes = [Mailbox()]

    def run(self, launch: Launch) -> Level:
        """A whole forward pass: rows reached beyond its first frontier."""
        word = self._heard("a forward pass of all ranks", launch)
        return Level(word & ((1 << 33) - 1), bool(word >> 33))

    def matches(self, launch: Launch) -> int:
        """Assigned rows, which every rank has counted."""
        return self._heard("an assignment of the root's", launch)

    def _heard(self, what: str, launch: Launch) -> int:
        """Launch, and wait for the kernel's word."""
        with self.waiting(what):
            launch()  # in the executor it ends with the kernel
            return self.mailboxes[0].wait()

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Launch kernels that wait for other ranks: in the executor the host does, too."""
        self._of.watch.begins(what)
        yield
        self._of.watch.ends()

    def forget(self) -> None:
        """Count signals and exchanges anew; collective.

        Other states of these ranks may have used the window since.
        """
        for mailbox in self.mailboxes:
            mailbox.forget()
        self._clear()
        device.synchronize()
        ranks.barrier(self._of.comm)


def window_words(size: int, block: int) -> int:
    """Words of a rank's part of the window, for `size` ranks of `block` columns at most."""
    return 4 * size + 4 * size * block


class NcclExchange:
    """Exchanges through NCCL, enqueued behind the kernels.

    Parameters
    ----------
    collectives : Collectives
    block : int
        Columns a rank, at most.
    library : module, optional
        ``nccl.bindings.nccl``, or what stands in for it.

    Raises
    ------
    MissingPackageError
        On every rank, if NCCL cannot make a communicator.
    """

    name = "nccl"

    def __init__(self, collectives: Collectives, block: int, library: Any = None) -> None:
        self._of = collectives
        self._library = library or nccl_library()
        stride = HEADER + block
        self.buffers = Buffers(
            device.empty(stride, np.int32),
            device.empty(collectives.size * stride, np.int32),
            collectives.size,
            stride,
        )
        self.mailboxes = [Mailbox(), Mailbox()]
        self._turn = self._ended = 0
        self._known: dict[int, tuple[int, int, int]] = {}
        self._comm, reason = _nccl_communicator(self._library, collectives.comm)
        if reason:
            raise ranks.agreed(MissingPackageError(reason))

    def run(self, launches: Mapping[str, Launch]) -> Level:
        """Exchange this rank's message and wait for what came of it."""
        self.begin(launches)
        return self.end()

    def begin(self, launches: Mapping[str, Launch]) -> None:
        """Enqueue an exchange; at most two may be under way."""
        launches["send_frontier"]()
        self.allgather(self.buffers.message, self.buffers.messages)
        launches[f"contraction_{self._turn & 1}"]()
        self._turn += 1

    def end(self) -> Level:
        """Wait for the oldest exchange that is under way."""
        self._of.watch.begins("NCCL all-gather of a frontier")
        word = self.mailboxes[self._ended & 1].wait()
        self._of.watch.ends()
        self._ended += 1
        return Level(word & ((1 << 33) - 1), bool(word >> 33))

    def allgather(self, part: Any, whole: Any) -> None:
        """Enqueue an all-gather of device arrays that live as long as this, byte by byte."""
        known = self._known.get(id(part))
        if known is None:  # a device array takes microseconds to say where it is
            known = self._known[id(part)] = _address(part), _address(whole), int(part.nbytes)
        self._of.count("exchange", known[2])
        self._of.watch.begins("NCCL all-gather")  # the first one connects the ranks
        self._library.all_gather(*known, NCCL_BYTE, self._comm, LEGACY_STREAM)
        self._of.watch.ends()

    def forget(self) -> None:
        """Count signals anew."""
        self._turn = self._ended = 0
        for mailbox in self.mailboxes:
            mailbox.forget()


NCCL_BYTE = 0
"""``ncclInt8``."""

LEGACY_STREAM = 0
"""CUDA's default stream, on which `papers.common.launch` enqueues."""


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
    way : {"gather", "allgather", "nccl", "peers"}
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
        reason = peers.why_not(comm)
        if reason:
            raise ranks.agreed(MissingPackageError(f"exchange='peers': {reason}"))
        return "peers", ""
    reason = _why_not_nccl(comm)
    if not reason:
        return "nccl", ""
    if asked == "nccl":
        raise ranks.agreed(MissingPackageError(f"exchange='nccl': {reason}"))
    return "allgather", reason


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
