"""The pairs alone, for a caller who asks for no duals and no cost: the same run, a shorter way out.

`papers.synthesis.assignment.solver.download` copies duals, counts and assigned costs to the host
and makes an `Assignment` of them, which takes longer than a small problem is solved in. Here a
small launch stands behind the run (`kernels.costs.deliver`): it writes the pairs where they are
wanted, in host memory that it reaches over the bus or in the memory of an answer on the device, and
tells the host by a word. So nothing is copied, and one wait serves for all. The host prepares it
while the device is at work on the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from papers.common.deadline import check_seconds
from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind
from papers.common.gpu.signals import Mailbox
from papers.common.model import Assignment
from papers.synthesis.assignment import pool, solver
from papers.synthesis.assignment.costs import INT32, Costs
from papers.synthesis.assignment.kernels import costs as costs_kernels
from papers.synthesis.assignment.launches import GATHER_BLOCK, Workspace
from papers.synthesis.assignment.resident import DeviceMatrix
from papers.synthesis.assignment.settings import LARGEST_BLOCK, Settings

Judge = Callable[[np.ndarray, np.ndarray], Any]
"""Whether duals are so small that rounding has left no wrong pair: (float64[n], float64[m])."""


class UnsureError(Exception):
    """A judge was not sure of pairs of floats, which may be right all the same.

    Attributes
    ----------
    answer : Assignment
        In the caller's terms, with its duals.
    """

    def __init__(self, answer: Assignment) -> None:
        super().__init__("the duals are large beside the optimum")
        self.answer = answer


ROWS, COLUMNS, WORD, TARGET = 1, 2, 3, 5
"""Places of the arguments of `kernels.costs.deliver` that change."""


class Room(NamedTuple):
    """Room on the device for the rows and the columns of an answer.

    Attributes
    ----------
    memory : device int64[size]
    first, second : int
        Where rows and columns begin in it.
    parts : callable() -> (device int64[n], device int64[n])
        The same places as arrays, which nobody needs before the device is at work.
    give : callable()
        Lets others have the rest of the memory, which the delivery leaves as it is.
    """

    memory: Any
    first: int
    second: int
    parts: Callable[[], tuple[Any, Any]]
    give: Callable[[], None]


class Delivery:
    """A workspace's way out: a launch for each kind of memory, and the word for its end.

    Attributes
    ----------
    host : int64[n]
        The columns, once they were delivered to the host.
    state : State or None
        What runs on costs of a known form use by turns (`again`). It names no workspace while none
        is under way: a circle would keep device memory until Python collects it.
    """

    def __init__(self, work: Workspace) -> None:
        self.mailbox = Mailbox()
        self.column = work.arrays["column"]
        self.host, self.mapped = device.mapped(self.column.size, np.int64)
        self.to_host = self._bound(self.mapped)
        self.to_device: Launch | None = None
        self.size = 0  # entries of the memory that `to_device` is bound to
        self.state: solver.State | None = None

    def _bound(self, target: Any) -> Launch:
        n = self.column.size
        block = GATHER_BLOCK
        while device.describe().is_gpu and block < min(n, LARGEST_BLOCK):
            block *= 2
        return bind(
            costs_kernels.deliver, 1, block, np.int32(n), np.int64(-1), np.int64(0), np.int64(0),
            self.column, target, self.mailbox.device_word,
        )  # fmt: skip

    def enqueue(self, stream: int, room: Room | None) -> None:
        """Enqueue the delivery to the host, or to room on the device."""
        launch = self.to_host if room is None else self._to(room)
        launch.write(WORD, self.mailbox.expected())
        launch.stream = self.mailbox.stream = stream
        launch()
        if room is not None and launch.arguments[TARGET] is not None:
            launch.release(TARGET)  # whoever has the room keeps it

    def _to(self, room: Room) -> Launch:
        """The launch that writes into this room."""
        memory = room.memory
        if self.to_device is None:
            self.to_device = self._bound(memory)
        elif self.size == memory.size:
            self.to_device.point(TARGET, None, memory, lambda: memory)
        else:
            self.to_device.replace(TARGET, memory)
        self.size = memory.size
        self.to_device.write(ROWS, room.first)
        self.to_device.write(COLUMNS, room.second)
        return self.to_device


class Known(NamedTuple):
    """A run's key, costs and settings, as far as the form of its costs alone decides them.

    Attributes
    ----------
    key : hashable
        Of the workspace in the pool.
    costs : Costs
        Without the matrix.
    settings : Settings
    """

    key: Any
    costs: Costs
    settings: Settings


def _form_of(cost: DeviceMatrix) -> Any:
    """The name by which `Known` is remembered."""
    return ("form", cost.shape, cost.array.dtype, cost.by_columns, *pool.machine())


def _remember(cost: DeviceMatrix, state: solver.State) -> None:
    """Remember a run's form for `_again`, if it is of that kind."""
    work = state.workspace
    if work is not None and not work.owns and state.costs.dtype == INT32:
        costs = replace(state.costs, matrix=np.empty(0, INT32))
        pool.remember(_form_of(cost), Known(work.key, costs, state.settings))


def known_of(cost: DeviceMatrix) -> Known | None:
    """Return what `again` needs for costs of a form that was solved before; None for all others.

    That is the case of integers of 32 bits that are read as they lie: no pass looks at them before
    a run, so that all that a run needs is as it was for the costs before.
    """
    known: Known | None = pool.remembered.get(_form_of(cost))
    return known


def again(
    cost: DeviceMatrix,
    known: Known,
    room_for: Callable[[int], Room | None] | None = None,
    seconds: float | None = None,
) -> tuple[Any, Any, bool] | None:
    """`solve` costs of a known form; None if no workspace for them lies idle.

    Parameters
    ----------
    cost, room_for, seconds
        See `solve`.
    known : Known
        From `known_of` costs of the same form.
    """
    work = pool.find(known.key)
    if work is None:
        return None
    delivery = work.delivery
    state = None if delivery is None else delivery.state
    if state is None:
        state = solver.State(known.costs, known.settings)
        solver.use(state, work)
        if delivery is not None:
            delivery.state = state
    state.costs = known.costs  # a matrix and its transposed one share a workspace, and so a state
    try:
        state.workspace, state.seconds = work, seconds
        work.use(cost.stream)
        work.read(cost, seconds)
        return _delivered(state, work, room_for)
    finally:
        state.workspace = None
        work.release()


def solve(
    cost: Any,
    room_for: Callable[[int], Room | None] | None = None,
    maximize: bool = False,
    seconds: float | None = None,
    is_sure: Judge | None = None,
) -> tuple[Any, Any, bool]:
    """Solve, and return the pairs alone.

    Parameters
    ----------
    cost, maximize, seconds
        See `papers.synthesis.assignment.solver.upload`.
    room_for : callable(n) -> Room or None, optional
        Room on the device for n pairs, in which they are left; None if there is none for so many.
    is_sure : Judge, optional
        Asked about the duals of floats, which are copied to the host for it.

    Returns
    -------
    rows, columns : int64[min(n, m)]
        The rows increase.
    there : bool
        Whether they are in the room on the device.

    Raises
    ------
    ValueError, GivenUpError, RuntimeError
        See `papers.synthesis.assignment.solver.upload` and `run`.
    UnsureError
        If `is_sure` is not.
    """
    check_seconds(seconds)
    given = cost if type(cost) is DeviceMatrix and not maximize else None
    known = None if given is None else known_of(given)
    if given is not None and known is not None:
        found = again(given, known, room_for, seconds)
        if found is not None:
            return found
    state = solver.enqueued(cost, maximize, None, None, seconds, awaited=False)
    if given is not None:
        _remember(given, state)
    work = state.workspace
    if work is None:
        none = np.zeros(0, np.int64)
        return none, none.copy(), False
    try:
        found = _delivered(state, work, room_for)
        if is_sure is not None and state.costs.dtype.kind == "f":
            ended = work.answer(state.costs)
            if not is_sure(ended["u"], ended["v"]):
                raise UnsureError(solver.download(state))
        return found
    finally:
        work.release()


def _delivered(
    state: solver.State, work: Workspace, room_for: Callable[[int], Room | None] | None
) -> tuple[Any, Any, bool]:
    solver.start(state)  # from here on the device is at work
    if work.delivery is None:
        work.delivery = Delivery(work)
    delivery: Delivery = work.delivery
    n, turned = state.costs.shape[0], state.costs.turned
    room = room_for(n) if room_for is not None and not turned else None
    delivery.enqueue(work.stream, room)
    rows, columns = (np.arange(n), None) if room is None else room.parts()
    if room is not None:
        room.give()
    try:
        solver.end(state)
    except Exception:
        delivery.mailbox.wait()  # the delivery comes whatever the end, and its word is to be read
        work.whole = True  # it ran behind the run: nothing reads or writes this memory any more
        raise
    except BaseException:
        work.whole = False  # nobody has read the delivery's word: it would be taken for the next
        raise
    delivery.mailbox.wait()
    work.whole = True  # the run is over, and so is all that the delivery reads and writes
    if room is not None:
        return rows, columns, True
    columns = delivery.host.copy()
    if turned:
        order = np.argsort(columns)
        return columns[order], order, False
    return rows, columns, False
