"""A CPU executor for `numba.cuda` kernels: every CUDA thread is a greenlet.

`Executor.launch` runs a kernel, decorated as for the GPU, on the CPU: all blocks are resident at
once, barriers of block, warp and grid work, and the order of the threads is either the natural
one (``seed=None``, fast) or a random interleaving that the seed reproduces. The real `numba.cuda`
stays as it is: the kernel is copied (see `papers.common.executor.rebinding`), so the same
process can compile the original.

Limits of an interleaving
-------------------------
* Interleavings are sequentially consistent unless an executor has a `WeakMemory`: every access
  happens at one instant, and all threads see the same order. Races between whole accesses show
  (lost updates, flags seen before barriers, two winners); errors that need reordering of memory,
  such as a missing `threadfence`, show in a weak memory (`papers.common.executor.weak_memory`).
* A thread is never stopped between accesses to global or shared memory, except at barriers.
  Local arrays and registers are private, so nothing is lost by that.
* Integers are Python ints and stand for int64; nothing wraps. A store, cast or atomic that would
  wrap raises OverflowError. Arithmetic between float32 values is done in float64 and rounded when
  stored or cast.
* A loop without any access to global or shared memory, barrier or `nanosleep` is never
  interrupted: if it does not end, neither does the launch.

* Kernels must reach CUDA through a module (``from numba import cuda``); a bare
  ``from numba.cuda import syncthreads`` is not replaced and raises NotImplementedError.

An executor runs one launch at a time and belongs to the operating system's thread that uses it.
The file is long because the hub and the barriers share one state.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from types import FrameType
from typing import Any

import numpy as np
from greenlet import getcurrent, greenlet

from papers.common.executor._cuda_namespace import BLOCK_VOTES, VOTES, SimulatedCuda
from papers.common.executor.arrays import poisoned
from papers.common.executor.errors import (
    BarrierDivergenceError,
    DeadlockError,
    ExecutorError,
    StepLimitError,
)
from papers.common.executor.rebinding import Rebinder
from papers.common.executor.report import groups
from papers.common.executor.threads import (
    CARRIERS,
    Block,
    Dim3,
    Site,
    Thread,
    Warp,
    positions,
)
from papers.common.executor.weak_memory import WeakMemory

QUANTUM = 2000  # accesses after which a thread lets others run, so that spin loops end
MAX_BLOCK = 1024  # threads to a block, as on every GPU since Fermi

# -------------------------------------------------------------------------------- scheduler


class Scheduler:
    """Decides which thread runs, and holds those that wait.

    The caller of `run` is the hub: it starts threads, and gets control back when one returns. A
    thread that waits or is preempted hands over to the next one that has started without the hub.
    `left` counts down the accesses until the next preemption; the arrays decrement it (inlined
    there, since it is the hot path).
    """

    def __init__(self, seed: int | None, switch: float, warp_size: int, limit: int) -> None:
        self.warp_size, self.limit = warp_size, limit
        self.random = None if seed is None else random.Random(seed)
        self.switch, self.log_stay = switch, math.log(1.0 - switch) if 0 < switch < 1 else 0.0
        self.on_access: Callable | None = None
        self.memory: WeakMemory | None = None
        self.blocks: list[Block] = []
        self.recorder: Any = None  # a `papers.common.executor.recorder.Recorder`
        self.rank = 0
        self.elsewhere: Callable[[], None] = lambda: None  # lets other ranks of the process run
        self.cuda = SimulatedCuda(self)
        self.left = self.quantum = 0
        self.turns = 0  # since a released thread last queued up behind the others
        self.accesses = self.steps = self.barriers = self.switches = 0
        self.current: Any = None
        self.kernel_name, self.kernel_code = "", None

    # The hub.

    def run(self, kernel: Any, args: Sequence, grid: Dim3, block: Dim3, shared_bytes: int) -> None:
        """Run every thread of a launch to its end.

        Raises
        ------
        ExecutorError
            As its subclasses say.
        Exception
            Whatever the kernel raised, with a note that names the kernel, block and thread.
        """
        self.kernel_name, self.kernel_code = kernel.__name__, kernel.__code__
        self.cuda.gridDim, self.cuda.blockDim = grid, block
        self.threads = self._make_threads(grid, block, shared_bytes)
        self.ready: Any = deque(self.threads) if self.random is None else list(self.threads)
        self.chosen: Thread | None = None  # whom a preempted thread gave its turn
        self.at_grid: list[Thread] = []
        self.steps, self.live = 0, len(self.threads)
        if self.recorder is not None:
            self.recorder.begin(self.kernel_name, math.prod(grid), math.prod(block))
        if self.memory is not None:
            self.memory.begin(self.threads, self.rank)
        try:
            self._drive(kernel, args)
            if self.recorder is not None:
                self.recorder.end()
        except BaseException as error:
            if isinstance(error, AttributeError) and error.obj is self.cuda:
                error.args = (f"the CPU executor has no cuda.{error.name}",)
            if self.current is not None:
                error.add_note(f"in {self.where()}")
            self._dispose()
            raise
        finally:
            if self.memory is not None:
                self.memory.end(self.threads, self.rank)
            self.current, self.threads, self.ready, self.at_grid = None, [], [], []
            self.blocks = []

    def _drive(self, kernel: Any, args: Sequence) -> None:
        """The hub's loop."""
        self.hub, carriers = getcurrent(), CARRIERS
        while self.chosen or self.ready:
            carrier = self._begin_turn(self.chosen or self._pick())
            if carrier is None:
                self.current.carrier = carrier = carriers.take(self.hub)
                returned = carrier.switch(kernel, args)
            else:
                returned = carrier.switch()
            if returned:  # not always the thread that the hub has switched to
                self._account()
                thread = self.current
                carriers.give_back(thread.carrier)
                thread.carrier = None
                self._retire(thread)
        self.current = None
        if self.live:
            raise DeadlockError(self._report())

    def _make_threads(self, grid: Dim3, block: Dim3, shared_bytes: int) -> list[Thread]:
        indices = positions(block)
        threads = []
        self.blocks = []
        for number, block_index in enumerate(positions(grid)):
            memory = poisoned(shared_bytes, np.dtype(np.uint8))
            home = Block(block_index, number, len(indices), memory)
            self.blocks.append(home)
            for k, index in enumerate(indices):
                lane = k % self.warp_size
                if lane == 0:
                    warp = Warp()
                warp.live |= 1 << lane
                threads.append(Thread(k, index, home, warp, lane))
        return threads

    def _begin_turn(self, thread: Thread) -> greenlet | None:
        """Make a thread the running one; return its carrier, None if it has not started."""
        cuda = self.cuda
        self.chosen, self.current = None, thread
        cuda.threadIdx, cuda.blockIdx = thread.index, thread.block.index
        if self.random is None:
            self.quantum = self.left = QUANTUM
        else:
            self._draw_quantum()
        return thread.carrier

    def _pick(self) -> Thread:
        if self.random is None:
            return self.ready.popleft()
        ready = self.ready
        k = int(self.random.random() * len(ready))
        ready[k], ready[-1] = ready[-1], ready[k]
        return ready.pop()

    def _draw_quantum(self) -> None:
        """Set the accesses until preemption: geometric, as if a coin were tossed at each one."""
        quantum = QUANTUM
        if self.random is not None and self.switch > 0:
            toss = 1.0 - self.random.random()  # in (0, 1]
            quantum = min(QUANTUM, int(math.log(toss) / self.log_stay)) if self.log_stay else 0
        self.quantum = self.left = quantum

    def _account(self) -> None:
        used = self.quantum - self.left
        self.quantum = self.left
        self.accesses += used
        self.turns += 1
        self.steps += used + 1  # a turn counts too, so that endless loops of barriers end
        if self.steps > self.limit:
            raise StepLimitError(
                f"{self.where()}: more than {self.limit} accesses in one launch, which is the CPU "
                "executor's limit: give it a smaller problem"
            )

    def _retire(self, thread: Thread) -> None:
        """A thread returned; whoever waited only for it goes on."""
        block, warp = thread.block, thread.warp
        self.live -= 1
        block.live -= 1
        warp.live &= ~(1 << thread.lane)
        if self.recorder is not None and not block.live:
            self.recorder.block_ends(block.number)
        if block.waiting:
            self._complete_block(block)
        for meeting, members in tuple(warp.meetings.items()):
            if len(members) == (meeting[1] & warp.live).bit_count():
                self._complete_meeting(warp, meeting)

    def _dispose(self) -> None:
        """Unwind the carriers of all unfinished threads."""
        for thread in self.threads:
            if thread.carrier is not None and not thread.carrier.dead:
                thread.carrier.throw()

    # Called by the running thread.

    def preempt(self) -> None:
        """Let another ready thread run, if there is one."""
        self._account()
        if not self.ready:
            self._draw_quantum()
            return
        self.switches += 1
        thread, self.chosen = self.current, self._pick()
        self.ready.append(thread)
        self._end_turn()

    def _end_turn(self) -> None:
        """Let the next thread run; return when the calling one has its next turn."""
        self._account()
        thread = self.chosen
        if thread is None and self.ready:
            thread = self.chosen = self._pick()
        if thread is None or thread.carrier is None:
            self.hub.switch(False)  # which starts the chosen thread
        else:
            self._begin_turn(thread)
            thread.carrier.switch()

    def _release(self, threads: list[Thread]) -> None:
        """Waiting threads become ready.

        In natural order they go before threads that have not started, so that a block ends before
        the next begins and few carriers are needed; but every `QUANTUM` turns they queue up behind,
        so that a block that loops over barriers cannot keep the others from running.
        """
        if self.random is None and self.turns < QUANTUM:
            self.ready.extendleft(threads[::-1])
        else:
            self.turns = 0
            self.ready.extend(threads)

    def block_barrier(self, name: str, frame: FrameType, value: Any = None) -> Any:
        """Wait for all live threads of the block; return the barrier's result, if it has one."""
        thread = self.current
        block = thread.block
        thread.waits_at, thread.value = ((name, None), self._site(frame)), value
        block.waiting.append(thread)
        if self.recorder is not None and len(block.waiting) == block.live:
            self.recorder.barrier(block.number, frame)
        self._complete_block(block)
        self._end_turn()
        thread.waits_at = None
        return thread.value

    def _complete_block(self, block: Block) -> None:
        waiting = block.waiting
        if len(waiting) < block.live:
            return
        self._require_one_site(waiting)
        name = waiting[0].waits_at[0][0]
        if name in BLOCK_VOTES:
            votes = sum(bool(thread.value) for thread in waiting)
            for thread in waiting:
                thread.value = BLOCK_VOTES[name](votes, len(waiting))
        self.barriers += 1
        self._share(waiting)
        self._release(waiting)
        block.waiting = []

    def grid_barrier(self, frame: FrameType) -> None:
        """Wait for all threads of the grid; none may have returned before."""
        thread = self.current
        thread.waits_at = (("grid sync", None), self._site(frame))
        self.at_grid.append(thread)
        if len(self.at_grid) == len(self.threads):
            if self.recorder is not None:
                self.recorder.barrier(-1, frame)
            by_block = defaultdict(list)
            for other in self.at_grid:
                by_block[other.block].append(other)
            for members in by_block.values():
                self._require_one_site(members)
            self.barriers += 1
            self._share(self.at_grid)
            self._release(self.at_grid)
            self.at_grid = []
        self._end_turn()
        thread.waits_at = None

    def warp_meeting(self, name: str, mask: int, value: Any, frame: FrameType) -> Any:
        """Wait for the live lanes of `mask` at the same intrinsic.

        Returns the result of a vote, else the values by lane.
        """
        thread = self.current
        if not mask >> thread.lane & 1:
            raise ExecutorError(
                f"{self.where()}: lane {thread.lane} calls {name} with mask {mask:#x}, "
                "which does not include it"
            )
        warp, meeting = thread.warp, (name, mask)
        thread.waits_at, thread.value = (meeting, frame), value
        members = warp.meetings.get(meeting)
        if members is None:
            members = warp.meetings[meeting] = []
        members.append(thread)
        if len(members) == (mask & warp.live).bit_count():
            self._complete_meeting(warp, meeting)
        self._end_turn()
        thread.waits_at = None
        return thread.value

    def _complete_meeting(self, warp: Warp, meeting: tuple[str, int]) -> None:
        """All live lanes of the mask are there."""
        name, members = meeting[0], warp.meetings.pop(meeting)
        values = {thread.lane: thread.value for thread in members}
        result = VOTES[name](values) if name in VOTES else values
        for thread in members:
            thread.value = result
        if name == "syncwarp":  # shuffles and votes order no memory
            self._share(members)
        self._release(members)

    def _share(self, threads: Collection[Thread]) -> None:
        """Threads that meet at a barrier know what any of them knows."""
        if self.memory is not None:
            self.memory.meet(threads, len(threads) == len(self.threads))

    # Places and reports.

    def _site(self, frame: FrameType) -> Site:
        """The calls from a barrier up to the kernel, which tell two barriers apart."""
        calls = [(frame.f_code, frame.f_lasti)]
        while frame.f_code is not self.kernel_code and frame.f_back is not None:
            frame = frame.f_back
            calls.append((frame.f_code, frame.f_lasti))
        return tuple(calls)

    def _require_one_site(self, waiting: Iterable[Thread]) -> None:
        threads = tuple(waiting)
        first = threads[0].waits_at
        if any(thread.waits_at != first for thread in threads):
            raise BarrierDivergenceError(
                f"kernel {self.kernel_name}: threads of one block wait at different barriers\n"
                + "\n".join(groups(threads))
            )

    def where(self) -> str:
        """The running thread, for messages."""
        thread = self.current
        if thread is None:
            return f"kernel {self.kernel_name}"
        return (
            f"kernel {self.kernel_name}, block {tuple(thread.block.index)}, "
            f"thread {tuple(thread.index)}"
        )

    def _report(self) -> str:
        waiting = [thread for thread in self.threads if thread.waits_at is not None]
        for thread in waiting:
            meeting, place = thread.waits_at
            if isinstance(place, FrameType):
                thread.waits_at = meeting, self._site(place)
        lines = [f"kernel {self.kernel_name}: no thread can run", *groups(waiting)]
        returned = len(self.threads) - len(waiting)
        if returned:
            lines.append(f"  {returned} thread(s) have returned")
        if self.at_grid:
            lines.append(
                f"  grid sync waits for all {len(self.threads)} threads of the grid, "
                "also for those that have returned"
            )
        return "\n".join(lines)


# --------------------------------------------------------------------------------- executor


def _extent(value: int | Sequence[int], what: str) -> Dim3:
    """A grid or block as a Dim3; ValueError if it is empty or has more than three dimensions."""
    sizes = tuple(value) if isinstance(value, Sequence) else (value,)
    if not 1 <= len(sizes) <= 3 or any(int(size) != size or size < 1 for size in sizes):
        raise ValueError(f"{what} must be one to three positive integers, not {value!r}")
    return Dim3(*map(int, sizes + (1,) * (3 - len(sizes))))


class Executor:
    """Runs `numba.cuda` kernels on the CPU.

    Parameters
    ----------
    seed : int or None
        None: threads take turns in their natural order and switch only where they wait (and every
        2000 accesses, so that spin loops end). An int: a random ready thread takes each turn, and
        the running one is preempted before any access to a global or shared array with probability
        `switch`. The same seed gives the same interleavings, launch after launch.
    switch : float
        Probability of a preemption, in [0, 1].
    warp_size : int
        Lanes to a warp, at most 32.
    max_accesses : int
        Accesses and turns after which a launch is given up.
    on_access : callable(kind, array_name, index, value), optional
        Called after each store (kind ``"store"``) and each atomic (``"atomic"``; `value` is the
        element's new value) to a global or shared array, to check invariants. It may raise. In a
        weak memory the store may have come too late to last.
    memory : WeakMemory, optional
        Stores are seen late and loads are old, as far as a GPU allows. None: every access takes
        effect at once, which is several times faster.
    rank : int
        Number of the executor among those that share a `memory`.

    Attributes
    ----------
    count : dict of str to int
        ``launches``; ``accesses`` to global and shared arrays; completed ``barriers`` of blocks
        and of the grid; ``switches`` (preemptions). Summed over the launches so far.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import cuda
    >>> @cuda.jit
    ... def double(a):
    ...     i = cuda.grid(1)
    ...     if i < a.size:
    ...         a[i] *= 2
    >>> a = np.arange(5, dtype=np.int32)
    >>> Executor().launch(double, 2, 4, (a,))
    >>> a.tolist()
    [0, 2, 4, 6, 8]
    """

    def __init__(
        self,
        seed: int | None = None,
        switch: float = 0.05,
        warp_size: int = 32,
        max_accesses: int = 50_000_000,
        on_access: Callable[[str, str, Any, Any], None] | None = None,
        memory: WeakMemory | None = None,
        rank: int = 0,
    ) -> None:
        if not 0 <= switch <= 1:
            raise ValueError(f"switch is a probability, not {switch}")
        if not 1 <= warp_size <= 32:
            raise ValueError(f"warp_size must be 1 to 32, not {warp_size}")
        self._scheduler = Scheduler(seed, switch, warp_size, max_accesses)
        self._scheduler.on_access = on_access
        self._scheduler.memory, self._scheduler.rank = memory, rank
        if memory is not None:
            memory.add_rank(rank)
        self._rebinder = Rebinder(self._scheduler.cuda, self._scheduler)
        self._launches = 0

    def launch(
        self,
        kernel: Any,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        shared_bytes: int = 0,
    ) -> None:
        """Run a kernel over a grid and return when all threads have returned.

        Parameters
        ----------
        kernel : Dispatcher or function
            A kernel decorated with `cuda.jit`, or the plain Python function.
        grid, block : int or sequence of up to three ints
            Blocks in the grid; threads in a block (at most 1024).
        args : sequence
            NumPy arrays (bool, integer, float32 or float64; changed in place), numbers, and
            tuples, named or not, of these.
        shared_bytes : int
            Bytes of dynamic shared memory for each block (`cuda.shared.array(0, dtype)`).

        Raises
        ------
        ValueError
            `grid`, `block` or `shared_bytes` is not valid.
        TypeError
            The arguments do not match the kernel's parameters.
        IndexError, OverflowError
            A thread used an index outside an array, or stored a number that does not fit; the
            message names kernel, block, thread and array.
        ExecutorError
            A deadlock, divergent barriers, a bad warp mask, or `max_accesses` exceeded.
        """
        grid, block = _extent(grid, "grid"), _extent(block, "block")
        if math.prod(block) > MAX_BLOCK:
            raise ValueError(f"a block has at most {MAX_BLOCK} threads, not {math.prod(block)}")
        if shared_bytes < 0:
            raise ValueError(f"shared_bytes must not be negative: {shared_bytes}")
        function = self._rebinder.kernel(kernel)
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        if len(names) != len(args):
            raise TypeError(
                f"kernel {function.__name__} takes {len(names)} arguments, not {len(args)}"
            )
        wrapped = [self._rebinder.argument(a, n) for a, n in zip(args, names, strict=True)]
        self._launches += 1
        self._scheduler.run(function, wrapped, grid, block, shared_bytes)

    def let_others_run(self, elsewhere: Callable[[], None]) -> None:
        """Have this called where other ranks of the process may go on; see `executor.ranks`."""
        self._scheduler.elsewhere = elsewhere

    @property
    def count(self) -> dict[str, int]:
        """Totals over the launches so far."""
        scheduler = self._scheduler
        return {
            "launches": self._launches,
            "accesses": scheduler.accesses,
            "barriers": scheduler.barriers,
            "switches": scheduler.switches,
        }
