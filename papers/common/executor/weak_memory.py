"""Weak memory for the CPU executor: stores that are seen late, loads that are old.

On a GPU a thread's stores reach other threads at different times and out of order, and a load may
yield a value that another thread has replaced long ago. Only fences, acquires, releases and
barriers set limits to that. An `Executor` with a `WeakMemory` shows such runs, a seed fixes them,
and `without` takes single fences away, to see whether a test misses them.

The model
---------
**A word has versions.** Every store adds one; each word has one order of its versions, which all
threads agree on (coherence). Memory holds the last.

**A thread knows a version of each word**, at least the one that it has loaded or stored itself. A
load yields any version that is not older than the known one, the seed says which; a store goes
anywhere behind the known one, not always to the end. So another thread sees a thread's stores late
or in another order than they were made, two threads may see two stores in two orders, and a
store may lose against one that was made before it. A thread always sees its own stores. In terms
of a store buffer: a store that a thread does not know of yet is one that has not been flushed
towards it.

**What a thread knows it hands on** only in these ways, which are those of the PTX memory model:

===============================  =================================================================
``store_release``, of a scope    the version carries what its thread knows
``threadfence``, of a scope      as the scope's fence.sc: later strong stores and atomics carry
                                 what the thread knew at the fence; the thread learns what the
                                 versions carried that it loaded before, and what the threads
                                 knew that have passed such a fence earlier
``load_acquire``, of a scope     the thread learns what the version carries
``cuda.atomic``                  changes the last version, or one behind which no other atomic has
                                 come, in one step; the new version carries on what that one carried
barriers, ``syncwarp``           all that meet learn what any of them knows
end of a launch                  everything is known
===============================  =================================================================

A scope (block, GPU, system) must reach from the one thread to the other on both sides. Plain
stores and loads are weak: they carry nothing and learn nothing, whatever fence stands beside them.
Shuffles and votes pass their operands and order no memory.

Every choice leaves a chance to the last version, so loops that wait for a store end.

Beyond the model
----------------
* Loads take place in a thread's order, and no load sees a store that its own thread waits with
  ("load buffering"). A fence that only keeps a load before a later store cannot be missed here.
* A plain load in a loop is repeated. A compiler may keep its value for ever; the tests of PTX see
  to that.
* Values are whole words, and local arrays are registers.
* Several executors in one process that share a `WeakMemory` are ranks (see
  `papers.common.executor.ranks`). Between processes, windows are coherent memory.

Sources: the PTX ISA's chapter "Memory Consistency Model"; the versions and what threads know of
them are the operational form that such models have in the literature on C11 ("views"). The file is
long because the model is told where it is made.
"""

from __future__ import annotations

import ctypes
import operator
import random
from collections import Counter
from collections.abc import Collection, Iterable
from types import FrameType
from typing import Any

from papers.common.executor.arrays import ArrayView, Meter, Turns
from papers.common.executor.knowledge import (
    BLOCK,
    GPU,
    NOTHING,
    PLAIN,
    SCOPES,
    SYSTEM,
    Knowledge,
    News,
    Version,
    both,
)
from papers.common.executor.threads import Thread

KEPT = 12
"""Versions of a word that are kept; older ones are never loaded."""

CLOSEST = 1e-6
"""Places of versions that are nearer get none between: a place is a float."""

Site = tuple[str, int]
"""File and line of a fence, an acquire or a release."""


class WeakMemory:
    """The versions of all words, and the choices among them.

    Parameters
    ----------
    seed : int
        Fixes all choices, together with the executor's own seed.
    old, late : float
        Probability to go back one more version at a load, and at a store, in [0, 1).
    without : collection of (str, int), optional
        Fences, acquires and releases, by file and line, that have no effect: a fence is left out,
        an acquire or a release is relaxed.

    Attributes
    ----------
    sites : Counter of (str, int)
        How often each fence, acquire and release was passed.
    stale : int
        Loads that did not yield the last version.
    """

    def __init__(
        self, seed: int, old: float = 0.5, late: float = 0.25, without: Collection[Site] = ()
    ) -> None:
        if not (0 <= old < 1 and 0 <= late < 1):
            raise ValueError(f"old={old}, late={late}: a probability below 1 is needed")
        self.random = random.Random(f"memory {seed}")  # unlike that of the executor
        self.old, self.late, self.without = old, late, frozenset(without)
        self.sites: Counter[Site] = Counter()
        self.stale = 0
        self._words: dict[int, list[Version]] = {}
        self._fenced: dict[Any, News] = {}  # by block, rank, or None for the system
        self._kept: list[Any] = []  # ranks' arrays, so that no other gets one's address
        self._ranks: dict[int, dict[int, float]] = {}  # what a rank's last launch has left

    # Launches.

    def view(self, array: Any, name: str, scheduler: Turns) -> WeakView:
        """An array of global or shared memory, wrapped for a kernel."""
        if len(self._ranks) > 1:
            self._kept.append(array)
        return WeakView(array, name, scheduler, scheduler)

    def add_rank(self, rank: int) -> None:
        """Admit an executor; a rank has one at a time."""
        self._ranks[rank] = {}

    def begin(self, threads: Iterable[Thread], rank: int) -> None:
        """Threads of a launch know all that earlier launches of the rank have done."""
        for thread in threads:
            thread.knows = Knowledge(thread.block, rank, self._ranks[rank])

    def end(self, threads: Collection[Thread], rank: int) -> None:
        """A launch ends, whether well or not."""
        if len(self._ranks) == 1:
            self._words.clear()
            self._fenced.clear()
        elif threads:
            self._ranks[rank] = self._united(threads)
            for thread in threads:
                self._fenced.pop(thread.block, None)

    # Accesses, of the running thread.

    def load(self, knows: Knowledge, word: int, now: Any, scope: int, acquire: bool) -> Any:
        """One of the word's versions; `now` is the last."""
        versions = self._versions(word, now)
        if versions is None:
            return now
        known, k = knows.of(word), len(versions) - 1
        while k > 0 and versions[k - 1].at >= known and self.random.random() < self.old:
            k -= 1
        chosen = versions[k]
        self.stale += chosen is not versions[-1]
        if chosen.at > known:
            knows.own[word] = chosen.at
        self._hear(knows, chosen, scope, acquire)
        return chosen.value

    def store(
        self, knows: Knowledge, word: int, before: Any, value: Any, scope: int, release: bool
    ) -> bool:
        """Add a version; True if it is the last one, which memory has to hold."""
        news = knows.news() if release else None
        carries: Any = tuple(
            None if s > scope else news if release else knows.released[s] for s in SCOPES
        )
        return self._add(knows, word, before, Version(0.0, value, carries, knows)) is None

    def choose_for_atomic(self, knows: Knowledge, word: int, now: Any) -> Version:
        """The version that an atomic is to change."""
        versions = self._versions(word, now) or self._first(word, now)
        return versions[self._place(knows, word, versions) - 1]

    def update(
        self, knows: Knowledge, word: int, before: Any, value: Any, changed: Version
    ) -> bool:
        """Add an atomic's version behind the one that it has changed; as `store`."""
        self._hear(knows, changed, GPU, False)
        near = self._distance(knows, changed)
        old = NOTHING if near > GPU else changed.carries
        carries: Any = tuple(
            None if s > GPU else both(knows.released[s], old[max(s, near)]) for s in SCOPES
        )
        version = Version(0.0, value, carries, knows, by_atomic=True)
        return self._add(knows, word, before, version, changed) is None

    def fence(self, knows: Knowledge, scope: int) -> None:
        """``fence.sc`` of the scope."""
        places = (knows.block, knows.rank, None)[: scope + 1]
        for s, place in enumerate(places):
            for news in knows.heard[s].values():
                knows.learn(news)
            knows.heard[s] = {}
            if place in self._fenced:
                knows.learn(self._fenced[place])
        now = knows.news()
        for s, place in enumerate(places):
            knows.released[s] = self._fenced[place] = now

    def meet(self, threads: Collection[Thread], everyone: bool) -> None:
        """A barrier: all threads learn what any of them knows."""
        if everyone and len(self._ranks) == 1:  # nothing is old any more
            self._words.clear()
            self._fenced.clear()
            for thread in threads:
                thread.knows.forget(self._ranks[thread.knows.rank])
            return
        shared = self._united(threads)
        for thread in threads:
            thread.knows.shared, thread.knows.own = shared, {}

    def left_out(self, frame: FrameType) -> bool:
        """Note the fence, acquire or release that `frame` stands at; whether it has no effect.

        Where that function was called is noted, too: a paper's own `fence` has several callers.
        """
        frames = (frame, frame.f_back) if frame.f_back is not None else (frame,)
        places = [(one.f_code.co_filename, one.f_lineno) for one in frames]
        self.sites.update(places)
        return not self.without.isdisjoint(places)

    # Their parts.

    def _united(self, threads: Iterable[Thread]) -> dict[int, float]:
        """All that any of the threads knows."""
        every = [thread.knows for thread in threads]
        parts = {id(knows.shared): knows.shared for knows in every}
        first = max(parts.values(), key=len)
        news = [part for part in parts.values() if part is not first]
        news += [knows.own for knows in every if knows.own]
        if not news:
            return first
        whole = dict(first)
        for part in news:
            for word, at in part.items():
                if at > whole.get(word, 0.0):
                    whole[word] = at
        return whole

    def _versions(self, word: int, now: Any) -> list[Version] | None:
        """The word's versions, if it has been stored to.

        Where the last one is not what memory holds, the host has stored something, which is the
        only version then.
        """
        versions = self._words.get(word)
        if versions is not None and versions[-1].value != now == now:
            versions[:] = [Version(versions[-1].at + 1.0, now)]
        return versions

    def _first(self, word: int, now: Any) -> list[Version]:
        versions = self._words[word] = [Version(0.0, now)]
        return versions

    def _place(self, knows: Knowledge, word: int, versions: list[Version]) -> int:
        """Index for a new version: behind the known one, and never between two of an atomic."""
        known, k = knows.of(word), len(versions)
        while (
            k > 1
            and versions[k - 1].at > known
            and not versions[k - 1].by_atomic
            and versions[k - 1].at - versions[k - 2].at > CLOSEST
            and self.random.random() < self.late
        ):
            k -= 1
        return k

    def _add(
        self, knows: Knowledge, word: int, before: Any, version: Version,
        behind: Version | None = None,
    ) -> Version | None:  # fmt: skip
        """Give a version its place; the next one, if there is one."""
        versions = self._versions(word, before) or self._first(word, before)
        k = versions.index(behind) + 1 if behind else self._place(knows, word, versions)
        following = versions[k] if k < len(versions) else None
        last = versions[k - 1].at
        version.at = last + 1.0 if following is None else (last + following.at) / 2
        versions.insert(k, version)
        knows.own[word] = version.at
        if len(versions) > KEPT:
            del versions[0]
        return following

    def _distance(self, knows: Knowledge, version: Version) -> int:
        """The least scope that holds the reader and the writer."""
        if version.block is knows.block:
            return BLOCK
        return GPU if version.rank == knows.rank else SYSTEM

    def _hear(self, knows: Knowledge, version: Version, scope: int, acquire: bool) -> None:
        """Take what a loaded version carries: at once, or at the next fence."""
        if version.carries is NOTHING:
            return
        near = self._distance(knows, version)
        news = version.carries[near]
        if news is None or scope < near:
            return
        if acquire:
            knows.learn(news)
        else:
            knows.heard[near][id(news)] = news


class WeakView(ArrayView):
    """An array whose words have versions; of any dimension."""

    __slots__ = ("_begin", "_memory", "_steps")

    def __init__(self, array: Any, name: str, scheduler: Turns, meter: Meter) -> None:
        super().__init__(array, name, scheduler, meter)
        self._memory: WeakMemory = scheduler.memory
        self._begin, self._steps = array.__array_interface__["data"][0], array.strides

    def _part(self, array: Any, name: str) -> WeakView:
        return WeakView(array, name, self.scheduler, self.meter)

    def _word(self, index: Any) -> int | None:
        """Address of an element; None if the index means several."""
        self._check(index)
        places = index if isinstance(index, tuple) else (index,)
        if len(places) < self.ndim or any(isinstance(place, slice) for place in places):
            return None
        return self._begin + sum(
            operator.index(place) * step for place, step in zip(places, self._steps, strict=True)
        )

    def _turn(self) -> None:
        self.meter.left -= 1
        if self.meter.left < 0:
            self.meter.preempt()

    def __getitem__(self, index: Any) -> Any:
        return self.load(index, PLAIN, False)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.store(index, value, PLAIN, False)

    def load(self, index: Any, scope: int, acquire: bool) -> Any:
        """``array[index]``, with the order of the access."""
        self._turn()
        word = self._word(index)
        if word is None:
            return self._read(index)
        knows = self.scheduler.current.knows
        return self._memory.load(knows, word, self.data[index], scope, acquire)

    def store(self, index: Any, value: Any, scope: int, release: bool) -> None:
        """``array[index] = value``, with the order of the access."""
        self._turn()
        word = self._word(index)
        if word is None:
            raise TypeError(f"{self.scheduler.where()}: {self.name!r} is stored to by elements")
        before = self.data[index]
        self._write("store", index, value)
        stored, knows = self.data[index], self.scheduler.current.knows
        if not self._memory.store(knows, word, before, stored, scope, release):
            self.data[index] = before

    def load_pair(self, index: int) -> tuple[Any, Any]:
        """Two elements whose versions are pairs: relaxed, towards the GPU."""
        self._turn()
        word: Any = self._word(index)
        knows, now = self.scheduler.current.knows, (self._read(index), self._read(index + 1))
        return self._memory.load(knows, word, now, GPU, False)

    def store_pair(self, index: int, first: Any, second: Any) -> None:
        """As `load_pair`; an array of pairs is loaded and stored to in no other way."""
        self._turn()
        word: Any = self._word(index)
        before = self._read(index), self._read(index + 1)
        self._write("store", index, first)
        self._write("store", index + 1, second)
        stored, knows = (self.data[index], self.data[index + 1]), self.scheduler.current.knows
        if not self._memory.store(knows, word, before, stored, GPU, False):
            self.data[index], self.data[index + 1] = before

    def swap_pair(self, index: int, old: tuple, new: tuple) -> tuple[Any, Any]:
        """A compare-and-swap of a pair, which sees the last one as every atomic does."""
        self._turn()
        word: Any = self._word(index)
        before = self._read(index), self._read(index + 1)
        knows = self.scheduler.current.knows
        found = self._memory.choose_for_atomic(knows, word, before)
        wanted = new if tuple(found.value) == old else tuple(found.value)
        for place, value in enumerate(wanted):
            self._write("atomic", index + place, value)
        stored = self.data[index], self.data[index + 1]
        if not self._memory.update(knows, word, before, stored, found):
            self.data[index], self.data[index + 1] = before
        return tuple(found.value)

    def update(self, rule: Any, index: Any, operands: tuple) -> Any:
        """As `ArrayView.update`; of the scope that atomics have, the GPU."""
        self._turn()
        word: Any = self._word(index)
        before, knows = self.data[index], self.scheduler.current.knows
        changed = self._memory.choose_for_atomic(knows, word, before)
        self._write("atomic", index, rule(changed.value, *operands))
        stored = self.data[index]
        if not self._memory.update(knows, word, before, stored, changed):
            self.data[index] = before
        return changed.value


def store_at(scheduler: Turns, address: int, value: int, release: bool) -> None:
    """Store a word of 64 bits by its address, towards the system."""
    scheduler.left -= 1
    if scheduler.left < 0:
        scheduler.preempt()
    cell = ctypes.c_int64.from_address(address)
    memory, knows = scheduler.memory, scheduler.current.knows
    if memory.store(knows, address, cell.value, value, SYSTEM, release):
        cell.value = value
