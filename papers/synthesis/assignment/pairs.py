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
from typing import Any, NamedTuple

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind
from papers.common.gpu.signals import Mailbox
from papers.synthesis.assignment import solver
from papers.synthesis.assignment.kernels import costs as costs_kernels
from papers.synthesis.assignment.launches import GATHER_BLOCK, Workspace
from papers.synthesis.assignment.settings import LARGEST_BLOCK

ROWS, COLUMNS, WORD, TARGET = 1, 2, 3, 5
"""Places of the arguments of `kernels.costs.deliver` that change."""


class Room(NamedTuple):
    """Room on the device for the rows and the columns of an answer.

    Attributes
    ----------
    memory : device int64[size]
    first, second : int
        Where rows and columns begin in it.
    rows, columns : device int64[n]
        The same places as arrays.
    give : callable()
        Lets others have the rest of the memory; nothing writes there any more.
    """

    memory: Any
    first: int
    second: int
    rows: Any
    columns: Any
    give: Callable[[], None]


class Delivery:
    """A workspace's way out: a launch for each kind of memory, and the word for its end.

    Attributes
    ----------
    host : int64[n]
        The columns, once they were delivered to the host.
    """

    def __init__(self, work: Workspace) -> None:
        self.mailbox = Mailbox()
        self.column = work.arrays["column"]
        self.host, self.mapped = device.mapped(self.column.size, np.int64)
        self.to_host = self._bound(self.mapped)
        self.to_device: Launch | None = None

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
        launch = self.to_host
        if room is not None:
            launch = self.to_device = self.to_device or self._bound(room.memory)
            launch.replace(ROWS, np.int64(room.first))
            launch.replace(COLUMNS, np.int64(room.second))
            launch.replace(TARGET, room.memory)
        launch.replace(WORD, np.int64(self.mailbox.expected()))
        launch.stream = self.mailbox.stream = stream
        launch()
        if room is not None:
            launch.release(TARGET)  # whoever has the room keeps it


def solve(
    cost: Any,
    room_for: Callable[[int], Room | None] | None = None,
    maximize: bool = False,
    seconds: float | None = None,
) -> tuple[Any, Any, bool]:
    """Solve, and return the pairs alone.

    Parameters
    ----------
    cost, maximize, seconds
        See `papers.synthesis.assignment.solver.upload`.
    room_for : callable(n) -> Room or None, optional
        Room on the device for n pairs, in which they are left; None if there is none for so many.

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
    """
    state = solver.enqueued(cost, maximize, None, None, seconds, awaited=False)
    work = state.workspace
    if work is None:
        none = np.zeros(0, np.int64)
        return none, none.copy(), False
    try:
        return _delivered(state, work, room_for)
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
    rows = np.arange(n) if room is None else room.rows
    delivery.mailbox.wait()
    work.whole = True  # the run is over, and so is all that the delivery reads and writes
    if room is not None:
        room.give()
    solver.end(state)
    if room is not None:
        return rows, room.columns, True
    columns = delivery.host.copy()
    if turned:
        order = np.argsort(columns)
        return columns[order], order, False
    return rows, columns, False
