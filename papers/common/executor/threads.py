"""Threads, warps and blocks of a launch, and the greenlets that carry the threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
from greenlet import getcurrent, greenlet

# A place in the source: (code, bytecode offset) of each call from the barrier up to the kernel.
Site = tuple[tuple[CodeType, int], ...]


class Dim3(NamedTuple):
    """A position or an extent in a grid or a block."""

    x: int
    y: int
    z: int


@dataclass(slots=True, eq=False)
class Block:
    """A block of threads, with its shared memory."""

    index: Dim3
    number: int
    live: int  # threads that have not returned
    dynamic: np.ndarray
    shared: dict = field(default_factory=dict)  # call site -> array
    waiting: list[Thread] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Warp:
    """A warp, and the warp intrinsics at which some of its lanes wait."""

    live: int = 0  # bit mask of the lanes that have not returned
    meetings: dict = field(default_factory=dict)  # (intrinsic, mask) -> {lane: thread}


@dataclass(slots=True, eq=False)
class Thread:
    """A CUDA thread."""

    number: int  # linear, within its block
    index: Dim3
    block: Block
    warp: Warp
    lane: int
    carrier: greenlet | None = None  # None before the first turn and after the last
    waits_at: Any = None  # (barrier, warp mask) and place: a Site; a frame for an intrinsic
    value: Any = None  # brought to a barrier, or taken from it
    knows: Any = None  # what it has seen of a weak memory


@lru_cache(maxsize=64)
def positions(extent: Dim3) -> tuple[Dim3, ...]:
    """All positions in an extent, x first."""
    return tuple(
        Dim3(x, y, z) for z in range(extent.z) for y in range(extent.y) for x in range(extent.x)
    )


# --------------------------------------------------------------------------------- carriers


def _carry(kernel: Callable | None, args: Sequence | None) -> None:
    """Body of a carrier: runs one CUDA thread after another, and tells the hub of each end."""
    while True:
        assert kernel is not None
        assert args is not None
        kernel(*args)
        kernel = args = None  # an idle carrier keeps no array alive
        kernel, args = getcurrent().parent.switch(True)


class Carriers(threading.local):
    """Idle greenlets. Making one costs 10 us, reusing one 0.4 us, so they outlive a launch."""

    KEPT = 2048

    def __init__(self) -> None:
        self.idle: list[greenlet] = []

    def take(self, hub: greenlet) -> greenlet:
        """Return an idle greenlet, or a new one."""
        if not self.idle:
            return greenlet(_carry, hub)
        carrier = self.idle.pop()
        carrier.parent = hub
        return carrier

    def give_back(self, carrier: greenlet) -> None:
        """Keep a greenlet that carries no thread any more."""
        if len(self.idle) < self.KEPT:
            self.idle.append(carrier)


CARRIERS = Carriers()
