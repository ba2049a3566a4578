"""Several processes, one a GPU: errors, waits and devices of a program of MPI ranks.

mpi4py is imported only here, and only when it is used: importing it starts MPI.

**Errors.** An error that every rank finds (bad input) is raised on every rank, by name: `agree`
raises one rank's error on all. An error of one rank alone would leave the others waiting, so
`guarded` ends the job: one line on standard error, then MPI's abort. A rank that is killed is the
launcher's to notice. Every wait is bounded: `Watch`, which knows how long a wait may take, ends a
job in which one rank stops answering, and `give_up` ends a run whose ranks all wait in vain.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any, NoReturn, TypeVar

from papers.common.gpu import device
from papers.common.gpu.environment import MissingPackageError
from papers.common.mpi.job import rank_of_job, size_of_job
from papers.common.mpi.watch import FAILED, PATIENCE, PATIENCE_S, Watch, end_job, the_watch

__all__ = [
    "FAILED", "PATIENCE", "PATIENCE_S", "MissingPackageError", "Watch", "agree", "agreed",
    "agreeing", "alone", "barrier", "beside", "collect", "end_job", "give_order", "give_up",
    "gpus_of", "guarded", "memory_of", "mpi", "rank_of_job", "ranks_of_host", "room_of",
    "settle_device", "share", "size_of_job", "take_device", "the_watch", "wait_for_order", "world",
]  # fmt: skip

IDLE_S = 86_400.0
"""Seconds that a rank waits for an order of rank 0's."""

E = TypeVar("E", bound=BaseException)


def mpi() -> Any:
    """Return ``mpi4py.MPI``, which starts MPI on its first import.

    Raises
    ------
    MissingPackageError
        If mpi4py, or the MPI library it needs, is not there.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise MissingPackageError(
            f"several GPUs need mpi4py and an MPI library (pip install 'papers[mpi]'): {error}"
        ) from None
    return MPI


def world() -> Any:
    """Return the communicator of all ranks that the launcher has started.

    Raises
    ------
    MissingPackageError
        As `mpi`; and if the launcher belongs to another MPI library than mpi4py, so that every
        process takes itself for the only one.
    """
    found = mpi().COMM_WORLD
    if found.size != size_of_job():
        library = mpi().Get_library_version().split("\n")[0].replace("\t", " ").strip(" \0")
        raise MissingPackageError(
            f"the launcher has started {size_of_job()} ranks, the MPI library of mpi4py "
            f"({library}) sees {found.size}: use the mpiexec of that library"
        )
    return found


def alone() -> Any:
    """Return the communicator of this process by itself."""
    return mpi().COMM_SELF


# ------------------------------------------------------------------------------- errors


def agreed(error: E) -> E:
    """Mark an error that every rank raises at the same place: no rank is left waiting."""
    error.agreed_by_all_ranks = True  # type: ignore[attr-defined]
    return error


def agree(comm: Any, error: Exception | None = None) -> None:
    """Raise one rank's error on every rank; collective.

    Parameters
    ----------
    comm : mpi4py communicator
    error : Exception, optional
        This rank's error.

    Raises
    ------
    Exception
        The error of the first rank that has one; the message names the rank.
    """
    if comm.size == 1:
        if error is not None:
            raise agreed(error)
        return
    mine = None if error is None else (type(error), str(error))
    found = [(rank, *met) for rank, met in enumerate(collect(comm, mine)) if met is not None]
    if not found:
        return
    rank, kind, text = found[0]
    if len(found) < comm.size:
        text = f"rank {rank}: {text}"
    try:
        raised = kind(text)
    except TypeError:  # an error that is made of more than a message
        raised = RuntimeError(f"{kind.__name__}: {text}")
    raise agreed(raised) from error


def beside(comm: Any) -> Any:
    """Return a communicator of the same ranks for `give_up`; collective when it is new."""
    kept = memory_of(comm)
    if beside not in kept:
        kept[beside] = comm.Dup()
    return kept[beside]


def give_up(comm: Any, error: Exception) -> NoReturn:
    """Raise an error on every rank, if all ranks come here, each with its own; else end the job.

    For waits that end by themselves, in kernels: no rank can tell whether the others wait, too, so
    no collective of `comm` is safe any more. They meet on `beside` it, which must be there.

    Raises
    ------
    Exception
        `error`, agreed by all ranks; they may go on with another run.
    """
    limit = the_watch().limit_s
    if comm.size > 1 and not _ended(beside(comm).Ibarrier(), limit):
        reason = f"{type(error).__name__}: {error}"
        end_job(f"{reason}; not every rank has given up within {limit:g} s")
    raise agreed(error)


@contextlib.contextmanager
def agreeing(comm: Any) -> Iterator[None]:
    """Run a block without collective calls; its error on any rank is raised on every rank."""
    met: Exception | None = None
    try:
        yield
    except Exception as error:
        met = error
    agree(comm, met)


@contextlib.contextmanager
def guarded(comm: Any) -> Iterator[None]:
    """End the job if this rank alone fails inside the block; agreed errors pass.

    With one rank no other is left waiting: every error passes.
    """
    try:
        yield
    except KeyboardInterrupt:
        if comm.size == 1:
            raise
        end_job("stopped; finished cells are kept", 130)
    except BaseException as error:
        if comm.size == 1 or getattr(error, "agreed_by_all_ranks", False):
            raise
        end_job(f"{type(error).__name__}: {error}")


def collect(comm: Any, value: Any) -> list[Any]:
    """Return every rank's object; collective and watched."""
    watch = the_watch()
    watch.begins("Allgather")
    found = comm.allgather(value)
    watch.ends()
    return found


def share(comm: Any, value: Any) -> Any:
    """Return rank 0's object on every rank; collective and watched."""
    watch = the_watch()
    watch.begins("Broadcast")
    found = comm.bcast(value, root=0)
    watch.ends()
    return found


_keyval: int | None = None


def memory_of(comm: Any) -> dict[Any, Any]:
    """Return this rank's memory of a communicator, which ends with the communicator."""
    global _keyval
    if _keyval is None:
        _keyval = mpi().Comm.Create_keyval()
    kept: dict[Any, Any] | None = comm.Get_attr(_keyval)
    if kept is None:
        kept = {}
        comm.Set_attr(_keyval, kept)
    return kept


def barrier(comm: Any) -> None:
    """Wait for all ranks; watched."""
    watch = the_watch()
    watch.begins("Barrier")
    comm.Barrier()
    watch.ends()


# ------------------------------------------------------------------------------- devices


def take_device(comm: Any, kind: device.Kind = "auto") -> device.Device:
    """Select this rank's device: the ranks of a host take its GPUs in turn; collective.

    Parameters
    ----------
    comm : mpi4py communicator
    kind : {"auto", "gpu", "cpu"}

    Raises
    ------
    RuntimeError, ValueError
        As `papers.common.gpu.device.select`, on every rank.
    """
    place = _place(comm)
    found: device.Device | None = None
    with agreeing(comm):
        found = device.select(kind, place)
    assert found is not None
    return found


def settle_device(comm: Any) -> None:
    """`take_device` if the ranks have used no device yet; collective.

    A rank by itself keeps the current GPU. Ranks without a device select one; the others keep
    theirs.
    """
    if comm.size == 1 or not any(collect(comm, not device.is_settled())):
        return
    place = _place(comm)
    with agreeing(comm):
        if not device.is_settled():
            device.select("auto", place)


def _place(comm: Any) -> int:
    """Return this rank's number among those of its host, which share its cores; collective."""
    watch = the_watch()
    watch.begins("Split by host")
    local = comm.Split_type(mpi().COMM_TYPE_SHARED)
    place, masks = int(local.rank), local.allgather(_cores())
    local.Free()
    watch.ends()
    _share_cores(masks.count(masks[place]))
    return place


def _cores() -> tuple[int, ...]:
    """The cores that this process may run on; empty where the system does not say."""
    mask = getattr(os, "sched_getaffinity", lambda pid: ())(0)
    return tuple(sorted(mask))


def _share_cores(beside: int) -> None:
    """Let ranks with the same cores have them between them, for drawing and proving.

    A launcher that binds each rank to cores of its own has divided them already.

    Parameters
    ----------
    beside : int
        Ranks of this host with this rank's cores, itself among them.
    """
    import numba

    numba.set_num_threads(max(1, numba.config.NUMBA_NUM_THREADS // beside))


def ranks_of_host(comm: Any) -> int:
    """Return how many of the ranks the least occupied host has; collective."""
    watch = the_watch()
    watch.begins("Split by host")
    local = comm.Split_type(mpi().COMM_TYPE_SHARED)
    size = int(local.size)
    local.Free()
    watch.ends()
    return int(min(collect(comm, size)))


def gpus_of(comm: Any) -> int:
    """Return how many different GPUs the ranks have; 0 if one has none; collective."""
    found = collect(comm, device.identity())
    return 0 if "" in found else len(set(found))


def room_of(comm: Any) -> int:
    """Bytes of device memory that this rank may take; collective.

    What is free on its GPU, divided by the ranks there: all look before any of them allocates.
    """
    mine = device.identity()
    found = collect(comm, (mine, device.free_bytes()))
    if not mine:
        return device.free_bytes()
    there = [free for name, free in found if name == mine]
    return min(there) // len(there)


def wait_for_order(comm: Any) -> Any:
    """Return the next order of rank 0, without using a core for the wait; see `give_order`.

    A rank may wait long, as a cell of rank 0's alone may take long: after `IDLE_S` it ends the job.
    """
    length = bytearray(8)
    if not _ended(comm.Ibcast(length, root=0), IDLE_S):
        end_job(f"no order has come from rank 0 for {IDLE_S / 3600:g} h")
    return comm.bcast(None, root=0)


def give_order(comm: Any, order: Any) -> None:
    """Broadcast any object from rank 0 to ranks in `wait_for_order`."""
    comm.Ibcast(bytearray(8), root=0).Wait()
    comm.bcast(order, root=0)


def _ended(request: Any, limit_s: float) -> bool:
    """Return whether a request ends within so many seconds; sleeps meanwhile."""
    deadline, pause = time.monotonic() + limit_s, 1e-5
    while not request.Test():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 5e-3)
    return True
