"""A record of a run in the CPU executor: each change of watched arrays, who made it, and where.

A `Recorder` runs kernels as any `Executor` does. From the moment at which it is told which arrays
to `watch`, it notes each store, atomic and (of arrays that it is asked for) load with kernel,
launch, block, thread and source line; the launches, the barriers, the ends of blocks; and what the
host has changed between two launches. `Recording.replay` makes the arrays anew from the changes.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import numpy as np

from papers.common.executor.arrays import ArrayView, GridView
from papers.common.executor.errors import ExecutorError
from papers.common.executor.scheduler import Executor

MACHINERY = str(Path(__file__).parents[1])
"""The folder of what papers share: no event is said to come from there."""

Kind = Literal["launch", "store", "atomic", "load", "barrier", "block_ends", "host"]


@dataclass(frozen=True, slots=True)
class Site:
    """A line of a kernel, or of a device function that it calls."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a run.

    Attributes
    ----------
    kind : str
        "launch" (a kernel begins), "store", "atomic", "load", "barrier" (a block or the grid has
        met), "block_ends", or "host" (the host has changed the element since the last launch).
    launch : int
        Number of the launch, from 1; 0 before the first.
    kernel : str
        Its kernel; "" before the first.
    block, thread : int
        Linear numbers; -1 where there is none: the grid's barrier has no block.
    array : str
        Name of the watched array, "" for the kinds that have none.
    index : int
        Flat index.
    old, new : int or float or bool
        The element before and after; of a load both are the value that was read. Of a launch
        `old` is the number of its blocks, and `new` that of threads a block.
    site : Site or None
        The line, None for "launch", "block_ends" and "host".
    """

    kind: Kind
    launch: int
    kernel: str
    block: int = -1
    thread: int = -1
    array: str = ""
    index: int = -1
    old: Any = None
    new: Any = None
    site: Site | None = None

    @property
    def changes(self) -> bool:
        """Whether an element was written."""
        return self.kind in ("store", "atomic", "host")


@dataclass
class Recording:
    """The events of a run, and the watched arrays before and after.

    Attributes
    ----------
    initial, final : dict of str to ndarray
        Copies, by name.
    events : list of Event
    """

    initial: dict[str, np.ndarray] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    final: dict[str, np.ndarray] = field(default_factory=dict)

    def replay(self) -> Iterator[tuple[Event, dict[str, np.ndarray]]]:
        """Give each event and the arrays after it, changed in place; nothing is run.

        Raises
        ------
        ValueError
            If an event finds another value than it has changed: an event is missing.
        """
        now = {name: array.copy() for name, array in self.initial.items()}
        for number, event in enumerate(self.events):
            if event.changes:
                flat = now[event.array].reshape(-1)
                if not _same(flat[event.index].item(), event.old):
                    raise ValueError(
                        f"event {number} has found {event.old} in {event.array}[{event.index}], "
                        f"the replay {flat[event.index]}"
                    )
                flat[event.index] = event.new
            yield event, now


def _same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))


class Recorder:
    """Runs kernels in the CPU executor and keeps a `Recording`.

    Parameters
    ----------
    seed : int or None
        Of the interleaving; see `Executor`.
    switch : float
        Probability of a preemption.
    loads : collection of str
        Names of watched arrays whose loads are noted, too.

    Attributes
    ----------
    executor : Executor
        To be used by `papers.common.gpu.device.executing`.
    recording : Recording
    """

    def __init__(
        self, seed: int | None = None, switch: float = 0.3, loads: Collection[str] = ()
    ) -> None:
        self.executor = Executor(seed, switch)
        self.recording = Recording()
        self._loads = frozenset(loads)
        self._watched: dict[str, np.ndarray] = {}
        self._shadow: dict[str, np.ndarray] = {}
        self._launch, self._kernel = 0, ""
        self._scheduler = self.executor._scheduler
        self._scheduler.recorder = self

    def watch(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Watch these arrays from now on, by these names; more than once for new arrays."""
        for name, array in arrays.items():
            self._watched[name] = array
            self.recording.initial[name] = array.copy()
            self._shadow[name] = array.copy()

    def stop(self) -> Recording:
        """End the record and return it."""
        self._note_host()
        self.recording.final = {name: array.copy() for name, array in self._watched.items()}
        self._watched = {}
        return self.recording

    # Called by the scheduler.

    def begin(self, kernel: str, blocks: int, threads: int) -> None:
        """A launch begins."""
        if self._watched:
            self._note_host()
            self._launch, self._kernel = self._launch + 1, kernel
            self._note("launch", old=blocks, new=threads)

    def end(self) -> None:
        """A launch has ended.

        Raises
        ------
        ExecutorError
            If it has changed a watched array behind the recorder's back.
        """
        for name, place in self._changed():
            raise ExecutorError(f"kernel {self._kernel} has changed {name}[{place}] unrecorded")

    def barrier(self, block: int, frame: FrameType) -> None:
        """A block has met, or the grid (-1)."""
        if self._watched:
            self._note("barrier", block=block, site=self._site(frame))

    def block_ends(self, block: int) -> None:
        """All threads of a block have returned."""
        if self._watched:
            self._note("block_ends", block=block)

    def view(self, array: np.ndarray, name: str) -> ArrayView | None:
        """Return a watched array, or a part of it, as a kernel sees it; None for another."""
        address = array.ctypes.data
        for watched, whole in self._watched.items():
            if 0 <= address - whole.ctypes.data < whole.nbytes:
                kind: Any = _RecordedView if array.ndim == 1 else _RecordedGrid
                seen = kind(array, name, self._scheduler, self._scheduler)
                seen.recorder, seen.watched = self, watched
                seen.first = (address - whole.ctypes.data) // whole.itemsize
                return seen
        return None

    # Called by the views.

    def loaded(self, view: Any, index: Any, value: Any) -> None:
        """An element was read."""
        if view.watched in self._loads:
            self._note_access("load", view.watched, view.place(index), value, value)

    def stored(self, kind: Kind, view: Any, index: Any) -> None:
        """An element was written."""
        place = view.place(index)
        shadow = self._shadow[view.watched].reshape(-1)
        old, new = shadow[place].item(), view.array[index].item()
        shadow[place] = new
        self._note_access(kind, view.watched, place, old, new)

    def _note_access(self, kind: Kind, array: str, index: int, old: Any, new: Any) -> None:
        thread = self._scheduler.current
        self.recording.events.append(
            Event(
                kind, self._launch, self._kernel, thread.block.number, thread.number, array, index,
                old, new, self._site(sys._getframe(3)),
            )
        )  # fmt: skip

    def _note(self, kind: Kind, **given: Any) -> None:
        self.recording.events.append(Event(kind, self._launch, self._kernel, **given))

    def _note_host(self) -> None:
        """Note what differs from the last launch's end: only the host can have written it."""
        for name, place in self._changed():
            now, before = self._watched[name].reshape(-1), self._shadow[name].reshape(-1)
            old, new = before[place].item(), now[place].item()
            self._note("host", array=name, index=place, old=old, new=new)
            before[place] = new

    def _changed(self) -> list[tuple[str, int]]:
        """Elements that differ from what the recorder knows of them."""
        found = []
        for name, array in self._watched.items():
            now, before = array.reshape(-1), self._shadow[name].reshape(-1)
            differ = (now != before) & ~((now != now) & (before != before))
            found += [(name, int(place)) for place in np.flatnonzero(differ)]
        return found

    def _site(self, frame: FrameType) -> Site:
        """The innermost line of a paper's own code, or of the kernel itself."""
        while (
            frame.f_code.co_filename.startswith(MACHINERY)
            and frame.f_code is not self._scheduler.kernel_code
            and frame.f_back is not None
        ):
            frame = frame.f_back
        return Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


class _Recorded:
    """A view of a watched array besides: it tells its recorder."""

    __slots__ = ()

    def __getitem__(self: Any, index: Any) -> Any:
        value = self.plain.__getitem__(self, index)
        if not isinstance(value, ArrayView):
            self.recorder.loaded(self, index, value)
        return value

    def __setitem__(self: Any, index: Any, value: Any) -> None:
        self.plain.__setitem__(self, index, value)
        self.recorder.stored("store", self, index)

    def update(self: Any, rule: Any, index: Any, operands: tuple) -> Any:
        old = self.plain.__getitem__(self, index)
        self._write("atomic", index, rule(old, *operands))
        self.recorder.stored("atomic", self, index)
        return old

    def place(self: Any, index: Any) -> int:
        """The flat index in the watched array."""
        keys = index if isinstance(index, tuple) else (index,)
        steps = zip(keys, self.array.strides, strict=True)
        return int(self.first + sum(key * step for key, step in steps) // self.array.itemsize)

    def _part(self: Any, array: np.ndarray, name: str) -> ArrayView:
        seen = self.recorder.view(array, name)
        assert seen is not None
        return seen


class _RecordedView(_Recorded, ArrayView):
    __slots__ = ("first", "recorder", "watched")
    plain = ArrayView


class _RecordedGrid(_Recorded, GridView):
    __slots__ = ("first", "recorder", "watched")
    plain = GridView
