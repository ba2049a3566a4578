"""`linear_sum_assignment`: SciPy's call, with duals, batches, arrays on a device, and a choice."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from papers.common.deadline import check_seconds
from papers.common.model import GivenUpError
from papers.common.problems.assignment import refuse_sparse
from papers.synthesis.assignment.costs import UnresolvedError
from papers.synthesis.calls.assignment_duals import are_small, duals_of, hold
from papers.synthesis.calls.choice import (
    Choice,
    Machine,
    Question,
    choose,
    machines,
    solver_of,
)
from papers.synthesis.calls.places import Placed, is_on_device, place

EXACT_IN_FLOAT64 = 2**50
"""Whole numbers up to this leave SciPy's float64 room for exact sums of some of them."""

BATCH_SIDE = 1024
"""The longest side that a batch in one launch takes."""

BATCH, OTHER_BATCH = "synthesis:batch", "lupinska_costscale:batch"
"""Solvers of a whole batch; the other one has sides up to `OTHER_SIDE`."""

OTHER_SIDE = 64

DENSE, TREE = "synthesis:dense", "datenagi2016:tree"
"""Solvers that take costs in device memory; all others get a copy in host memory."""


def linear_sum_assignment(
    cost: Any,
    maximize: bool = False,
    *,
    return_duals: bool = False,
    seconds: float | None = None,
    device: Machine = "auto",
    solver: str | None = None,
    explain: bool = False,
) -> Any:
    """Solve the linear assignment problem, as `scipy.optimize.linear_sum_assignment` does.

    Where several assignments are optimal, it may be another one than SciPy's. Integers are exact,
    also those of 64 bits that SciPy rounds to float64.

    Parameters
    ----------
    cost : array_like[n, m], array_like[b, n, m], or sequence of array_like[n_i, m_i]
        Costs: booleans, integers or floats. ``inf`` (``-inf`` when maximizing) forbids a pair. A
        three-dimensional array is a batch, a list or tuple of matrices too, of any sizes. NumPy
        arrays and arrays with ``__cuda_array_interface__`` or ``__dlpack__`` (CuPy, PyTorch, JAX)
        are not copied on their own side of the bus.
    maximize : bool
        Whether the sum is to be maximized.
    return_duals : bool
        Whether the dual variables that prove the answer are returned, too.
    seconds : float, optional
        The call gives up after so long.
    device : {"auto", "gpu", "cpu"}
        ``"auto"`` takes the fastest solver that is known for the input, on whichever side.
    solver : str, optional
        ``PAPER:SOLVER``, ``"synthesis:dense"``, ``"synthesis:batch"`` or ``"scipy"`` instead of the
        table's choice. ``"synthesis:batch"`` solves all matrices of a batch at once, up to 1024 a
        side, in a launch for each class of sizes.
    explain : bool
        Whether the choice and its reason are printed.

    Returns
    -------
    row_ind, col_ind : int64[k]
        ``k = min(n, m)`` pairs; `row_ind` increases. For a three-dimensional batch int64[b, k].
        Arrays of the input's library if that was on a device, else NumPy's.
    row_duals, column_duals : int64[n] and int64[m], or float64
        With `return_duals`: ``u[i] + v[j] <= cost[i, j]`` (``>=`` when maximizing), equal on
        assigned pairs; the duals of lines that are not assigned are 0. For a batch [b, n], [b, m].

    For a list or tuple of matrices: a list of such tuples.

    Raises
    ------
    ValueError
        As SciPy: for sparse costs, another dimension, NaN, an infinity of the wrong sign, an
        infeasible matrix.
        Besides: an unknown `solver` or `device`; `seconds` that are none; 64-bit integers beyond
        2**60 in size, which SciPy would round.
    TypeError
        As SciPy: for types that are no numbers of up to 64 bits.
    papers.common.model.GivenUpError
        After `seconds`.
    RuntimeError
        For ``device="gpu"`` without a GPU.

    Warns
    -----
    papers.synthesis.calls.choice.NoGpuWarning
        Once a process, if there is no GPU and `device` is ``"auto"``.

    Examples
    --------
    >>> from papers import linear_sum_assignment
    >>> rows, columns = linear_sum_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> columns.tolist()
    [1, 0, 2]
    """
    if seconds is not None:
        check_seconds(seconds)
    wishes = Wishes(bool(maximize), return_duals, seconds, device, solver, explain)
    if _is_list_of_matrices(cost):
        several = [place(each) for each in cost]
        choice = _choice_of_batch([each.array for each in several], "host", wishes)
        if choice is not None and choice.solver == BATCH:
            return _list(several, choice, wishes)
        return [_one(each, wishes) for each in several]
    refuse_sparse(cost)
    placed = place(cost)
    return _batch(placed, wishes) if placed.array.ndim == 3 else _one(placed, wishes)


@dataclass
class Wishes:
    """The wishes of a caller besides the costs, and when the call began."""

    maximize: bool
    duals: bool
    seconds: float | None
    device: Machine
    solver: str | None
    explain: bool
    began: float = field(default_factory=lambda: time.perf_counter())
    done: int = 0
    said: set[str] = field(default_factory=set)

    def left(self) -> float | None:
        """Seconds that are left.

        Raises
        ------
        GivenUpError
            If none are.
        """
        if self.seconds is None:
            return None
        passed = time.perf_counter() - self.began
        if passed >= self.seconds:
            message = f"gave up after {passed:.1f} s and {self.done} matrices"
            raise GivenUpError(message, 1000 * passed, {"matrices": self.done})
        return self.seconds - passed

    def say(self, choice: Choice, subject: str) -> None:
        """Print a choice, if that was asked for; each line once a call."""
        line = choice.line(subject)
        if self.explain and line not in self.said:
            self.said.add(line)
            print(line)


class Solved(NamedTuple):
    """An assignment in arrays of the host; the duals may be None.

    With `there` rows and columns are arrays on the device instead, of Numba or the input's library.
    """

    row_ind: Any
    col_ind: Any
    row_duals: np.ndarray | None = None
    column_duals: np.ndarray | None = None
    there: bool = False


def scipys(cost: Any, maximize: bool) -> tuple[np.ndarray, np.ndarray]:
    """SciPy's call; its module is loaded when it is needed, which takes a fifth of a second."""
    from scipy.optimize import linear_sum_assignment as call

    return call(cost, maximize)


def _is_list_of_matrices(cost: Any) -> bool:
    """Whether a list's or tuple's first element is itself of two dimensions."""
    if not isinstance(cost, list | tuple) or not cost:
        return False
    first = cost[0]
    if isinstance(first, list | tuple):
        return bool(first) and (isinstance(first[0], list | tuple) or np.ndim(first[0]) > 0)
    if hasattr(first, "ndim"):
        return first.ndim == 2
    return is_on_device(first) and place(first).array.ndim == 2


# ------------------------------------------------------------------------------- one matrix


def _one(placed: Placed, wishes: Wishes) -> tuple[Any, ...]:
    """Solve one matrix and take the answer back to its place."""
    solved = _solve(placed, wishes)
    wishes.done += 1
    return _back(placed, solved, wishes)


def _solve(placed: Placed, wishes: Wishes) -> Solved:
    array = placed.array
    if array.ndim != 2:
        raise ValueError(f"expected a matrix (2-D array), got a {array.ndim}-D array")
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        given = placed.on_host() if placed.given is None else placed.given
        return Solved(*scipys(given, wishes.maximize))  # its errors are the contract
    choice = _choice(placed, wishes)
    if wishes.explain:
        n, m = array.shape
        wishes.say(choice, f"{n} x {m} {array.dtype} on the {placed.place}")
    if choice.solver == "scipy":
        return _with_duals_that_hold(placed, by_scipy(placed.on_host(), wishes), wishes)
    try:
        data = _data(placed, choice, wishes)
        if choice.solver == DENSE and not wishes.duals:
            return _pairs_by_dense(placed, data, wishes)
        return _with_duals_that_hold(placed, by_solver(choice.solver, data, wishes), wishes)
    except (ValueError, TypeError) as refusal:
        if wishes.solver is not None:
            raise
        question = question_of(placed, wishes.maximize, wishes.seconds is not None)
        return _second_choice(placed, question, wishes, choice.solver, refusal)


MOST_CHOICES = 256
"""Choices that are remembered; they are forgotten all at once."""

_choices: dict[Any, Choice] = {}


def _choice(placed: Placed, wishes: Wishes) -> Choice:
    """The solver of one matrix; remembered where no rule has looked at its values."""
    array, limited = placed.array, wishes.seconds is not None
    key = (
        array.shape, array.dtype, placed.place, wishes.maximize, limited, wishes.solver,
        machines(wishes.device), choose,
    )  # fmt: skip
    known = _choices.get(key)
    if known is not None:
        return known
    looked: list[bool] = []
    question = question_of(placed, wishes.maximize, limited, looked)
    choice = choose(question, wishes.device, wishes.solver)
    if not looked:
        if len(_choices) >= MOST_CHOICES:
            _choices.clear()
        _choices[key] = choice
    return choice


def _second_choice(
    placed: Placed, question: Question, wishes: Wishes, first: str, refusal: Exception
) -> Solved:
    """Solve on the CPU what a solver has refused: bad input, or more than it takes.

    SciPy has the last word, since its errors are the contract. It is asked nothing that it would
    round, and nothing that has a limit of time.
    """
    host = placed.on_host()
    choice = choose(replace(question, place="host"), "cpu")
    if choice.solver not in (first, "scipy"):
        wishes.say(choice, f"{first} refuses ({refusal}), so instead")
        try:
            return _with_duals_that_hold(placed, by_solver(choice.solver, host, wishes), wishes)
        except ValueError as other:
            refusal = other
    if question.has("rounded") or question.has("limited"):
        raise refusal
    last = Choice("scipy", "its answers and its errors are the contract")
    wishes.say(last, f"that refuses ({refusal}), so instead")
    return _with_duals_that_hold(placed, by_scipy(host, wishes), wishes)


UNRESOLVED = (
    "float64 does not resolve duals of these costs: none that were found prove the assignment; "
    "without return_duals it can be had"
)


def _with_duals_that_hold(placed: Placed, solved: Solved, wishes: Wishes) -> Solved:
    """Return the answer, with duals derived from its pairs if its own prove too little.

    Raises
    ------
    ValueError
        If the derived ones do so, too.
    """
    u, v = solved.row_duals, solved.column_duals
    if not wishes.duals or placed.array.dtype.kind != "f" or u is None or v is None:
        return solved
    if are_small(u, v):
        return solved
    host, pairs = placed.on_host(), (solved.row_ind, solved.col_ind)
    if hold(host, pairs, (u, v), wishes.maximize):
        return solved
    derived = duals_of(host, *pairs, wishes.maximize)
    if derived is None or not hold(host, pairs, derived, wishes.maximize):
        raise ValueError(UNRESOLVED)
    return Solved(*pairs, *derived)


def _unless_unresolved(choice: Choice, data: Any, wishes: Wishes) -> Solved | None:
    """Solve many matrices at once; None where each has to be solved by itself."""
    try:
        return by_solver(choice.solver, data, wishes)
    except UnresolvedError:
        if wishes.solver is not None:
            raise
        return None


def _is_sure(solved: Solved, dtype: np.dtype, wishes: Wishes) -> bool:
    """Whether the duals of a batch, if they are asked for, are small beside all optima."""
    u, v = solved.row_duals, solved.column_duals
    if not wishes.duals or dtype.kind != "f" or u is None or v is None:
        return True
    return bool(are_small(u, v).all())


def _one_of_batch(placed: Placed, solved: Solved, wishes: Wishes) -> Solved:
    """Return an answer of a batch; the matrix is solved by itself if its duals prove too little."""
    try:
        return _with_duals_that_hold(placed, solved, wishes)
    except ValueError:
        if wishes.solver is not None:
            raise
        return _solve(placed, wishes)


def question_of(
    placed: Placed, maximize: bool, limited: bool, looked: list[bool] | None = None
) -> Question:
    """State all that the rules ask about a matrix; values are looked at only if a rule asks.

    Each look adds an entry to the list `looked`, if there is one.
    """
    n, m = placed.array.shape
    kind = _kind_of(placed.array.dtype)
    seen: list[bool] = [] if looked is None else looked

    def after_a_look(look: Callable[[Placed], Any]) -> Callable[[], Any]:
        def asked() -> Any:
            seen.append(True)
            return look(placed)

        return asked

    return Question(
        "assignment",
        "square" if n == m else "rectangle",
        min(n, m),
        kind,
        placed.place,
        _TRAITS[maximize, limited],
        after_a_look(_span),
        {"rounded": after_a_look(_is_rounded)} if kind.endswith("64") else {},
    )


_TRAITS = {
    (maximize, limited): frozenset(
        name for name, so in (("maximize", maximize), ("limited", limited)) if so
    )
    for maximize in (False, True)
    for limited in (False, True)
}


@functools.cache
def _kind_of(dtype: np.dtype) -> str:
    """The type's name; of booleans and numbers without a sign "int" with the bits."""
    return dtype.name if dtype.kind in "if" else f"int of {8 * dtype.itemsize}"


def _extremes(placed: Placed) -> tuple[int, int]:
    if placed.place == "device" and placed.array.dtype == np.int64:
        from papers.synthesis.assignment.resident import adopt, extremes, takes

        if takes(placed.array):
            given = adopt(placed.array, placed.stream)
            return extremes(given.flat, given.stream)
    array = placed.on_host()
    return (int(array.min()), int(array.max())) if array.size else (0, 0)


def _span(placed: Placed) -> float:
    """The range of integer costs over the shorter side."""
    if placed.array.dtype.kind == "f":
        return float("inf")
    low, high = _extremes(placed)
    return (high - low) / max(1, min(placed.array.shape))


def _is_rounded(placed: Placed) -> bool:
    """Whether SciPy's float64 may round these costs or their sums."""
    if placed.array.dtype.kind == "f":
        return False
    low, high = _extremes(placed)
    return max(-low, high) > EXACT_IN_FLOAT64


# ------------------------------------------------------------------------------- by whom


def by_scipy(array: np.ndarray, wishes: Wishes) -> Solved:
    """Solve with SciPy, and derive the duals if they are asked for.

    Raises
    ------
    ValueError
        From SciPy; with a limit of time.
    """
    if wishes.seconds is not None:
        raise ValueError("solver='scipy' takes no seconds: its code cannot be stopped")
    rows, columns = scipys(array, wishes.maximize)
    if not wishes.duals:
        return Solved(rows, columns)
    duals = duals_of(array, rows, columns, wishes.maximize)
    if duals is None:  # SciPy's float64 has lost digits that a proof would need
        return by_solver("lopes2019:cpu_o4", array, wishes)
    return Solved(rows, columns, duals[0], duals[1])


def _pairs_by_dense(placed: Placed, data: Any, wishes: Wishes) -> Solved:
    """Solve with `DENSE` for nothing but the pairs, which stay on the device where that pays."""
    _, solve, room_for = _dense()
    room_in = room_for if placed.shelved else placed.room_in
    rows, columns, there = solve(data, room_in, wishes.maximize, wishes.left())
    return Solved(rows, columns, there=there)


@functools.cache
def _dense() -> tuple[Callable[..., Any], ...]:
    """The functions for `DENSE`, which load Numba's compiler when they are needed first."""
    from papers.synthesis.assignment.pairs import solve
    from papers.synthesis.assignment.resident import adopted
    from papers.synthesis.calls.answers import room_for

    return adopted, solve, room_for


def by_solver(name: str, data: Any, wishes: Wishes) -> Solved:
    """Solve with a paper's solver: upload, run, download."""
    from papers.common.problems import kinds

    options: dict[str, Any] = {"maximize": True} if wishes.maximize else {}
    left = wishes.left()
    if left is not None:
        options["seconds"] = left
    solver = solver_of(name)
    if options:
        kinds.check_options(solver, options)
    state = solver.upload(data, **options)
    solver.run(state)
    answer = solver.download(state)
    if wishes.duals:
        answer = kinds.with_proof(solver, state, answer)
    return Solved(answer.row_ind, answer.col_ind, answer.row_duals, answer.column_duals)


def _data(placed: Placed, choice: Choice, wishes: Wishes) -> Any:
    """The costs as the chosen solver takes them.

    `DENSE` launches on the stream that the costs are written on, so that nobody waits for them. A
    limit of time counts from the call's beginning, and a run's from its launch: then the host waits
    first.
    """
    if placed.place == "device" and choice.solver == TREE:
        from papers.common.problems.costs_on_device import adopt as adopt_square

        return adopt_square(placed.awaited())
    if placed.place == "device" and choice.solver == DENSE:
        given = _dense()[0](placed.array, placed.stream)
        if given is not None:
            if wishes.seconds is not None:
                placed.awaited()
            return given
    return placed.on_host()


# ------------------------------------------------------------------------------- batches


def _batch(placed: Placed, wishes: Wishes) -> tuple[Any, ...]:
    """Solve the matrices of a three-dimensional array, in one launch where a rule says so."""
    b, n, m = placed.array.shape
    choice = _choice_of_batch([placed.array], placed.place, wishes)
    if choice is not None:
        kind = placed.array.dtype.name
        wishes.say(choice, f"{b} matrices of {n} x {m} {kind} on the {placed.place}")
        found = _unless_unresolved(choice, _stack(placed, choice), wishes)
        if found is not None and _is_sure(found, placed.array.dtype, wishes):
            return _back(placed, found, wishes)
        if found is not None:
            lines = zip(placed.on_host(), *found[:4], strict=True)  # type: ignore[arg-type]
            each = [
                _one_of_batch(Placed(matrix, "host", placed.back), Solved(*line), wishes)
                for matrix, *line in lines
            ]
            return _back(placed, _stacked(each, placed.on_host()), wishes)
    host = placed.on_host()
    answers = []
    for each in host:
        answers.append(_solve(Placed(each, "host", placed.back), wishes))
        wishes.done += 1
    return _back(placed, _stacked(answers, host), wishes)


def _stack(placed: Placed, choice: Choice) -> Any:
    """A batch as the chosen solver takes it: in device memory, if it lies there."""
    if placed.place == "device" and choice.solver == BATCH:
        from papers.synthesis.batch.resident import DeviceStack, takes

        if takes(placed.array):
            return DeviceStack(placed.awaited())
    return placed.on_host()


def _choice_of_batch(arrays: list[Any], where: str, wishes: Wishes) -> Choice | None:
    """The solver of all matrices at once; None where each one is solved by itself.

    Parameters
    ----------
    arrays : list
        Matrices, or one stack of them.
    where : {"host", "device"}
    wishes : Wishes
    """
    if wishes.solver == BATCH:
        return Choice(BATCH, "it was asked for by name")
    if any(array.dtype.kind not in "biuf" or array.ndim < 2 for array in arrays):
        return None
    side = max(max(array.shape[-2:]) for array in arrays)
    if side > BATCH_SIDE:
        return None
    lines = sum(max(array.shape[-2:]) * math.prod(array.shape[:-2]) for array in arrays)
    traits = frozenset({"limited"} if wishes.seconds is not None else ())
    question = Question("assignment", "batch", lines, arrays[0].dtype.name, where, traits)
    choice = choose(question, wishes.device, wishes.solver)
    if choice.solver == BATCH or (choice.solver == OTHER_BATCH and side <= OTHER_SIDE):
        return choice
    return None


def _list(several: list[Placed], choice: Choice, wishes: Wishes) -> list[tuple[Any, ...]]:
    """Solve matrices of any sizes by `BATCH`, and take each answer back to its place."""
    wishes.say(choice, f"{len(several)} matrices")
    found = _unless_unresolved(choice, [placed.on_host() for placed in several], wishes)
    if found is None:
        return [_one(each, wishes) for each in several]
    duals = found.row_duals, found.column_duals
    lines: Any = zip(found.row_ind, found.col_ind, *duals, strict=True)  # type: ignore[arg-type]
    return [
        _back(placed, _one_of_batch(placed, Solved(*line), wishes), wishes)
        for placed, line in zip(several, lines, strict=True)
    ]


def _back(placed: Placed, solved: Solved, wishes: Wishes) -> tuple[Any, ...]:
    """Take an answer back to the place that the costs came from."""
    if solved.there:
        return solved.row_ind, solved.col_ind
    pairs = placed.back_both(solved.row_ind, solved.col_ind)
    duals = solved[2:4] if wishes.duals else ()
    return (*pairs, *(placed.back(part) for part in duals if part is not None))


def _stacked(answers: list[Solved], host: np.ndarray) -> Solved:
    """Return the answers of a batch as one, a line a matrix."""
    b, n, m = host.shape
    kind = np.float64 if host.dtype.kind == "f" else np.int64
    rows, columns = (
        np.array([answer[place] for answer in answers], np.int64).reshape(b, min(n, m))
        for place in (0, 1)
    )
    if any(answer.row_duals is None for answer in answers):
        return Solved(rows, columns)
    u, v = (
        np.array([answer[place] for answer in answers], kind).reshape(b, length)
        for place, length in ((2, n), (3, m))
    )
    return Solved(rows, columns, u, v)
