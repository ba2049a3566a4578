"""The host's side: upload, a launch a group (one, if all matrices are alike), download."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, cast, overload

import numpy as np

from papers.common.deadline import check_seconds, in_words
from papers.common.gpu import device
from papers.common.model import Assignment, GivenUpError, Solver
from papers.common.problems.assignment import as_matrix, total_cost
from papers.synthesis.assignment import sending
from papers.synthesis.assignment.costs import INFEASIBLE as INFEASIBLE_COSTS
from papers.synthesis.assignment.costs import UnfinishedError, UnresolvedError
from papers.synthesis.assignment.kernels.arguments import TOTALS, Status
from papers.synthesis.batch.costs import Stack, stack_of, stacks_of
from papers.synthesis.batch.kernels import solve as kernels
from papers.synthesis.batch.launches import Group, group_of
from papers.synthesis.batch.reference import COUNTS
from papers.synthesis.batch.resident import DeviceStack, stack_on_device, takes


@dataclass
class State:
    """A batch on its way through the three stages.

    Attributes
    ----------
    costs : ndarray[k, n, m], device array[k, n, m], or list of ndarray[n_i, m_i]
        The caller's.
    single : bool
        Whether the caller gave one matrix, and gets one answer.
    maximize : bool
    seconds : float or None
        Time that a launch may take.
    stacks : list of Stack
        In working form; those without an entry are in no group.
    groups : list of Group
    solved : bool
    settled : bool
        Whether the host has heard of the end of every launch.
    sent : Pooled or None
        Memory of a stack that went to the device as it was.
    """

    costs: Any
    single: bool
    maximize: bool
    seconds: float | None
    stacks: list[Stack]
    groups: list[Group] = field(default_factory=list)
    solved: bool = False
    settled: bool = True
    sent: Any = None


class Part(NamedTuple):
    """The answers to a stack: pairs in the caller's terms, duals as the device has found them.

    Attributes
    ----------
    row_ind, col_ind : int64[k, n]
    u, v : T[k, n], T[k, m]
    wide : dtype
        int64, or float64 beside floats.
    shift : int or float
    turned : bool
        Of its `Stack`, which holds the costs and is let go.
    """

    row_ind: np.ndarray
    col_ind: np.ndarray
    u: np.ndarray
    v: np.ndarray
    wide: np.dtype
    shift: Any
    turned: bool

    def duals(self, maximize: bool) -> tuple[np.ndarray, np.ndarray]:
        """The duals of the caller's rows and columns, a line a matrix."""
        mine, other = self.u.astype(self.wide), self.v.astype(self.wide)
        if maximize:
            np.negative(mine, out=mine)
            np.negative(other, out=other)
        if self.shift:
            mine += self.shift
        return (other, mine) if self.turned else (mine, other)


class Answers(Sequence[Assignment]):
    """The answers of a batch: a sequence of `papers.common.model.Assignment`.

    Attributes
    ----------
    row_ind, col_ind : int64[k, min(n, m)], or list of int64[min(n_i, m_i)]
    row_duals, column_duals : int64[k, n] and int64[k, m], or float64, or lists of such lines
    counters : dict of str to int
        Counts of the whole batch.
    """

    def __init__(self, state: State, parts: list[Part], counters: dict[str, int]):
        self._costs, self._maximize, self.counters = state.costs, state.maximize, counters
        self._parts, self._of_stack = parts, not isinstance(state.costs, list)
        self.row_ind = self._lines([part.row_ind for part in parts])
        self.col_ind = self._lines([part.col_ind for part in parts])

    def _lines(self, lines: list[np.ndarray]) -> Any:
        """An array with a line a matrix for a stack, else a list of lines."""
        return lines[0] if self._of_stack else [line[0] for line in lines]

    @functools.cached_property
    def _duals(self) -> tuple[Any, Any]:
        pairs = [part.duals(self._maximize) for part in self._parts]
        self._parts = []
        return self._lines([u for u, _ in pairs]), self._lines([v for _, v in pairs])

    @property
    def row_duals(self) -> Any:
        """Brought into the caller's terms when they are asked for."""
        return self._duals[0]

    @property
    def column_duals(self) -> Any:
        """As `row_duals`."""
        return self._duals[1]

    def __len__(self) -> int:
        return len(self._costs)

    @overload
    def __getitem__(self, i: int) -> Assignment: ...

    @overload
    def __getitem__(self, i: slice) -> list[Assignment]: ...

    def __getitem__(self, i: int | slice) -> Assignment | list[Assignment]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        rows, columns = self.row_ind[i], self.col_ind[i]
        return Assignment(
            rows, columns, total_cost(np.asarray(self._costs[i])[rows, columns]),
            self.row_duals[i], self.column_duals[i], self._maximize, self.counters,
        )  # fmt: skip

    def __iter__(self) -> Iterator[Assignment]:
        return (self[i] for i in range(len(self)))


# ------------------------------------------------------------------------------- upload


def upload(costs: Any, maximize: bool = False, seconds: float | None = None) -> State:
    """Check a batch, bring it into working form and onto the device, bind its launches.

    Parameters
    ----------
    costs : array_like[k, n, m], DeviceStack, sequence of array_like[n_i, m_i], or array_like[n, m]
        A stack, matrices of any sizes, or one matrix; sides up to 1024. Integers, booleans or
        floats; ``inf`` (``-inf`` when maximizing) forbids a pair. Arrays are not copied: `download`
        reads the assigned costs from them.
    maximize : bool
    seconds : float, optional
        A launch without all its answers gives up after so long, by the device's own clock.

    Raises
    ------
    ValueError
        Bad costs (`papers.synthesis.batch.costs`) or a bad limit of time.
    """
    check_seconds(seconds)
    room = None
    if isinstance(costs, DeviceStack):
        several, kept = True, costs.array
        flat = device.part(kept, 0, kept.size, kept.dtype)
        stack = stack_on_device(flat, kept.shape, maximize)
        stacks = [stack or stack_of(device.to_host(kept), maximize)]
    elif _are_several(costs) and isinstance(costs, Sequence):
        several, kept = True, [as_matrix(one) for one in costs]
        stacks = stacks_of(kept, maximize)
    else:
        several = _are_several(costs)
        kept = np.asanyarray(costs) if several else as_matrix(costs)[None]
        stacks, room = _stacks_of_host(kept, maximize)
    state = State(kept, not several, bool(maximize), seconds, stacks, sent=room)
    if room is not None:
        sending.keep(room, state)
    by_group: dict[tuple[str, int], list[int]] = {}
    for number, stack in enumerate(stacks):
        if stack.matrices.size:
            by_group.setdefault(stack.group, []).append(number)
    for (kind, width), numbers in by_group.items():
        _check_count(sum(len(stacks[number].matrices) for number in numbers))
        group = group_of(state.stacks, kind, width, numbers, state.seconds)
        weakref.finalize(state, group.release).atexit = False
        state.groups.append(group)
    return state


def _stacks_of_host(costs: np.ndarray, maximize: bool) -> tuple[list[Stack], Any]:
    """Bring matrices of one shape into working form: where they are, or, if they are many, there.

    Returns
    -------
    list of Stack
        One, and none for other dimensions than three.
    Room or None
        Device memory that the stack needs.
    """
    if type(costs) is np.ndarray and takes(costs):
        lines = costs.reshape(-1, costs.shape[2])
        if sending.goes(lines, stack=True):
            sent, room = sending.send(lines)
            stack = stack_on_device(sent.flat, costs.shape, maximize)  # type: ignore[arg-type]
            if stack is not None:
                return [stack], room
    return stacks_of(costs, maximize), None


def _are_several(costs: Any) -> bool:
    """Whether it is a stack, or a sequence of matrices."""
    if isinstance(costs, list | tuple):
        return bool(costs) and np.ndim(costs[0]) == 2
    return np.ndim(costs) == 3


def _check_count(problems: int) -> None:
    if problems >= 2**kernels.DONE_BITS:
        raise ValueError(f"{problems} problems: a launch has fewer than 2**{kernels.DONE_BITS}")


# ------------------------------------------------------------------------------- run


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Solve on resident costs: a launch a group, all enqueued before the first is awaited.

    Parameters
    ----------
    state : State
        From `upload`; may be run again.
    trace : callable, optional
        Not called: the host sees no steps.

    Raises
    ------
    ValueError
        If in one of the matrices every complete assignment has a forbidden pair.
    GivenUpError
        If the time is over.
    """
    state.solved = False
    for group in state.groups:
        if not state.settled:  # an interrupted run: its words are still to come
            group.forget()
    state.settled = False
    if state.sent is not None:
        state.sent.whole = False
    for group in state.groups:
        group.whole = False
        launch = group.launches["assign"]
        launch.reset()
        launch()
    told = [group.payload() for group in state.groups]
    state.settled = True
    for group in state.groups:
        group.whole = True
    if state.sent is not None:
        state.sent.whole = True
    if any(told):
        _raise(state)
    state.solved = True


def _raise(state: State) -> NoReturn:
    """Say which end of a problem was not well; a late one counts first."""
    ends = [device.to_host(group.arrays["status"]) for group in state.groups]
    every = np.concatenate(ends)
    if (every == Status.LATE).any():
        assert state.seconds is not None
        reached = {"solved": int((every == Status.SOLVED).sum())}
        message = f"gave up after {state.seconds:.1f} s and {in_words(reached)}"
        raise GivenUpError(message, 1000 * state.seconds, reached)
    if (every == Status.INFEASIBLE).any():
        raise ValueError(INFEASIBLE_COSTS)
    stuck = int((every == Status.STUCK).sum())
    message = f"the searches of {stuck} problems have not ended within their bounds"
    kinds = [group.arrays["u"].dtype.kind for group in state.groups]
    of_integers = (
        kind == "i" and (end == Status.STUCK).any() for kind, end in zip(kinds, ends, strict=True)
    )
    if any(of_integers):
        raise UnfinishedError(message)
    raise UnresolvedError(f"{message}: float64 does not resolve their costs")


# ------------------------------------------------------------------------------- download


def download(state: State) -> Answers | Assignment:
    """Copy the answers to the host, in the caller's terms.

    Returns
    -------
    Answers, or Assignment for a single matrix
        Its counters are the references' (`papers.synthesis.batch.reference.COUNTS` and
        `papers.synthesis.assignment.kernels.arguments.TOTALS`) over all problems, with
        ``kernel_launches``.

    Raises
    ------
    RuntimeError
        If no run has ended with answers.
    """
    if not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    found: dict[int, Part] = {}
    counters = dict.fromkeys((*COUNTS, *TOTALS, "kernel_launches"), 0)
    for group in state.groups:
        column, u, v = (device.to_host(group.arrays[name]) for name in ("column", "u", "v"))
        for name, total in group.totals().items():
            counters[name] += total
        counters["kernel_launches"] += group.launches["assign"].count
        row, line = 0, 0
        for number in group.numbers:
            k, n, m = state.stacks[number].matrices.shape
            rows, lines = slice(row, row + k * n), slice(line, line + k * m)
            row, line = rows.stop, lines.stop
            found[number] = _in_callers_terms(
                state.stacks[number], column[rows].reshape(k, n), u[rows].reshape(k, n),
                v[lines].reshape(k, m),
            )  # fmt: skip
    parts = [
        found[number] if number in found else _nothing(stack)
        for number, stack in enumerate(state.stacks)
    ]
    answers = Answers(state, parts, counters)
    return answers[0] if state.single else answers


def _in_callers_terms(stack: Stack, column: np.ndarray, u: np.ndarray, v: np.ndarray) -> Part:
    """The answers to a stack from what the device has found, a line a matrix."""
    k, n, _ = stack.matrices.shape
    rows, columns = np.empty((k, n), np.int64), column.astype(np.int64)
    rows[:] = np.arange(n)
    if stack.turned:
        order = np.argsort(columns, axis=1)
        rows, columns = np.take_along_axis(columns, order, 1), order
    return Part(rows, columns, u, v, _wide(stack), stack.shift, stack.turned)


def _wide(stack: Stack) -> np.dtype:
    """The type of the duals that a caller gets."""
    return np.dtype(np.float64 if stack.matrices.dtype.kind == "f" else np.int64)


def _nothing(stack: Stack) -> Part:
    """The answer to matrices without entries: nothing is assigned."""
    k, n, m = stack.matrices.shape
    lines = np.zeros((k, 0), np.int64)
    u, v = (np.zeros((k, length), np.int64) for length in (n, m))
    return Part(lines, lines, u, v, _wide(stack), 0, stack.turned)


def solve(costs: Any, maximize: bool = False, seconds: float | None = None) -> Any:
    """Upload, run and download; see there."""
    state = upload(costs, maximize, seconds)
    run(state)
    return download(state)


SOLVER = Solver(
    name="batch",
    title="synthesis: many matrices, a block each",
    device="cuda",
    problem="assignment",
    upload=upload,
    run=run,
    download=cast(Any, download),  # of a stack: `Answers`
    stack=True,
)
