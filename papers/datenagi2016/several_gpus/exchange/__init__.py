"""The ways in which the ranks of the tree variant exchange [DN16 sec.5], and which one is taken.

A search was found to be bound by this: every rank's new rows become one frontier on every rank,
level by level. Theta, predecessors, matches and assignment go the way of the rows.

=============  ========================================================================  ===========
way            how a level's rows go                                                     module
=============  ========================================================================  ===========
``gather``     as printed: Gather at the root, which broadcasts the list                 `host`
``allgather``  one call of the hosts' MPI instead of two                                 `host`
``nccl``       device memory to device memory, enqueued behind the kernels               `nccl`
``peers``      past the paper: the kernels write into each other's memory                `peers`
=============  ========================================================================  ===========

``auto`` takes the fastest that the machine has: `FASTEST` says in which order. An exchange owns all
that differs between the ways, its launches among it: no caller asks which one it has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from papers.common.gpu.environment import MissingPackageError
from papers.common.mpi import ranks, windows
from papers.datenagi2016.several_gpus.collectives import Collectives
from papers.datenagi2016.several_gpus.exchange.base import Exchange
from papers.datenagi2016.several_gpus.exchange.host import AllgatherExchange, GatherExchange
from papers.datenagi2016.several_gpus.exchange.nccl import NcclExchange, why_not_nccl
from papers.datenagi2016.several_gpus.exchange.peers import PeerExchange

__all__ = [
    "FASTEST", "WAYS", "AllgatherExchange", "Exchange", "GatherExchange", "NcclExchange",
    "PeerExchange", "check", "choose", "make",
]  # fmt: skip

_KINDS: dict[str, Callable[[Collectives, int], Exchange]] = {
    "gather": GatherExchange, "allgather": AllgatherExchange, "nccl": NcclExchange,
    "peers": PeerExchange,
}  # fmt: skip

WAYS = ("auto", *_KINDS)
"""The values of `exchange=`."""

FASTEST: dict[str, Callable[[Any], str]] = {
    "peers": windows.why_not,
    "nccl": why_not_nccl,
    "allgather": lambda comm: "",
}
"""The ways that ``auto`` tries, in this order, each with a collective function that returns why it
cannot be used, or nothing."""


def check(asked: str) -> None:
    """Refuse an unknown way.

    Raises
    ------
    ValueError
    """
    if asked not in WAYS:
        raise ValueError(f"exchange={asked!r} is not one of {', '.join(WAYS)}")


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
        Why it is not a faster one, if ``auto`` was asked for; else empty.

    Raises
    ------
    MissingPackageError
        On every rank, for ``"nccl"`` and ``"peers"`` where they cannot be used.
    """
    if asked != "auto":
        reason = FASTEST[asked](comm) if asked in FASTEST else ""
        if reason:
            raise ranks.agreed(MissingPackageError(f"exchange={asked!r}: {reason}"))
        return asked, ""
    reasons: list[str] = []
    for way, why_not in FASTEST.items():
        reason = why_not(comm)
        if not reason:
            return way, "; ".join(reasons)
        reasons.append(f"{way} is not possible: {reason}")
    raise AssertionError("the last way needs nothing")


def make(way: str, collectives: Collectives, block: int) -> Exchange:
    """Return the exchange of a way that `choose` has settled on; collective.

    Parameters
    ----------
    way : {"gather", "allgather", "nccl", "peers"}
    collectives : Collectives
    block : int
        Columns a rank, at most.
    """
    return _KINDS[way](collectives, block)
