"""One matrix: who solves it, who solves it if that solver refuses, and the duals of the answer."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from papers.common.gpu.compiled import waking
from papers.common.model import GivenUpError
from papers.synthesis.assignment.costs import UnfinishedError
from papers.synthesis.calls.assignment_duals import are_small, duals_of, hold
from papers.synthesis.calls.choice import (
    Choice,
    Machine,
    Question,
    choose,
    expect,
    machines,
    solver_of,
)
from papers.synthesis.calls.places import Placed

EXACT_IN_FLOAT64 = 2**50
"""Whole numbers up to this leave SciPy's float64 room for exact sums of some of them."""

BATCH = "synthesis:batch"
"""The solver of many matrices at once, or of one."""

DENSE, TREE = "synthesis:dense", "datenagi2016:tree"
"""Solvers that take costs in device memory; all others get a copy in host memory."""


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
            message = f"gave up after {passed:.2g} s and {self.done} solved matrices"
            raise GivenUpError(message, 1000 * passed, {"matrices": self.done})
        return self.seconds - passed

    def say(self, choice: Choice, subject: str) -> None:
        """Print a choice, if that was asked for; each line once a call."""
        line = choice.line(subject)
        if self.explain and line not in self.said:
            self.said.add(line)
            print(line)

    def say_that(self, words: str) -> None:
        """Print what has happened to a choice, if that was asked for."""
        if self.explain:
            print(f"papers: {words}")

    def say_each(self, count: int) -> None:
        """Print that several matrices are solved each by itself, if that was asked for."""
        if self.explain and count > 1:
            print(f"papers: {count} matrices, each by itself; a choice is printed once:")


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
    """SciPy's call; its module is loaded when it is needed, which takes a fifth of a second.

    Raises
    ------
    ValueError, TypeError
        SciPy's; of floats that hold no cost, or too few allowed pairs, with where or how many.
    """
    from scipy.optimize import linear_sum_assignment as call

    try:
        return call(cost, maximize)
    except ValueError:
        from papers.common.problems.assignment import finite_entries

        array = np.asarray(cost)
        if array.ndim == 2 and array.dtype.kind == "f":
            finite_entries(array, maximize)  # it begins with SciPy's words
        raise


# ------------------------------------------------------------------------------- the choice


def solve(placed: Placed, wishes: Wishes) -> Solved:
    """Solve a matrix by the solver of the table, or by another one if that refuses it.

    Raises
    ------
    ValueError, TypeError
        SciPy's, or the named solver's.
    GivenUpError
    """
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
        return with_duals_that_hold(placed, by_scipy(placed.on_host(), wishes), wishes)
    try:
        data = _data(placed, choice, wishes)
        if choice.solver == DENSE and not wishes.duals:
            return with_duals_that_hold(placed, _pairs_by_dense(placed, data, wishes), wishes)
        judged = choice.solver == BATCH and array.dtype.kind == "f"
        asked = replace(wishes, duals=True) if judged else wishes
        return with_duals_that_hold(placed, by_solver(choice.solver, data, asked), wishes)
    except (ValueError, TypeError, UnfinishedError) as refusal:
        if wishes.solver is not None and not goes_on(wishes.solver, refusal):
            raise
        question = question_of(placed, wishes.maximize, wishes.seconds is not None)
        return _second_choice(placed, question, wishes, choice.solver, refusal)


MOST_CHOICES = 256
"""Choices that are remembered; they are forgotten all at once."""

Look = Callable[[Placed], bool]
"""A look at a matrix's values that a rule may ask for."""

_choices: dict[Any, tuple[Choice, tuple[Look, ...]]] = {}


def _choice(placed: Placed, wishes: Wishes) -> Choice:
    """The solver of one matrix; remembered with the looks at its values that have seen nothing.

    Of another matrix that they see nothing in, the rules would ask the same, and answer the same.
    """
    limited = wishes.seconds is not None
    expect(wishes.device, wishes.solver, lambda: question_of(placed, wishes.maximize, limited))
    key = _key_of(placed, wishes.maximize, limited, wishes.solver, wishes.device)
    known = _choices.get(key)
    if known is not None and not any(look(placed) for look in known[1]):
        return known[0]
    looked: list[Look | None] = []
    question = question_of(placed, wishes.maximize, limited, looked)
    choice = choose(question, wishes.device, wishes.solver)
    looks = tuple(look for look in looked if look is not None)
    if len(looks) == len(looked):
        if len(_choices) >= MOST_CHOICES:
            _choices.clear()
        _choices[key] = choice, looks
    return choice


def _key_of(
    placed: Placed, maximize: bool, limited: bool, solver: str | None, device: Machine
) -> Any:
    """The name by which a choice is remembered."""
    array = placed.array
    return (
        array.shape, array.dtype, placed.place, maximize, limited, solver, machines(device), choose
    )  # fmt: skip


def sure_choice(placed: Placed, device: Machine, solver: str | None) -> Choice | None:
    """The choice for a matrix without other wishes, if it is one that no look at a value changes.

    None where a look could, or nobody has asked.
    """
    choice, looks = _choices.get(_key_of(placed, False, False, solver, device), (None, ()))
    return None if looks else choice


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
            return with_duals_that_hold(placed, by_solver(choice.solver, host, wishes), wishes)
        except (ValueError, UnfinishedError) as other:
            refusal = other
    if question.has("rounded") or question.has("limited"):
        raise refusal
    last = Choice("scipy", "its answers and its errors are the contract")
    wishes.say(last, f"that refuses ({refusal}), so instead")
    return with_duals_that_hold(placed, by_scipy(host, wishes), wishes)


def question_of(
    placed: Placed, maximize: bool, limited: bool, looked: list[Look | None] | None = None
) -> Question:
    """State all that the rules ask about a matrix; values are looked at only if a rule asks.

    Each look adds an entry to the list `looked`, if there is one: itself where it sees nothing,
    None where it does, or measures.
    """
    n, m = placed.array.shape
    kind = _kind_of(placed.array.dtype)
    seen: list[Look | None] = [] if looked is None else looked

    def after_a_look(look: Callable[[Placed], Any]) -> Callable[[], Any]:
        def asked() -> Any:
            answer = look(placed)
            seen.append(look if answer is False else None)
            return answer

        return asked

    return Question(
        "assignment",
        "square" if n == m else "rectangle",
        min(n, m),
        kind,
        placed.place,
        traits_of(n, m, maximize, limited),
        after_a_look(_span),
        {name: after_a_look(look) for name, look in _looks(kind).items()},
    )


MIDDLING = 20_000, 1_000_000
"""Costs of a rectangle from which, and up to which, one core was faster than SciPy with any short
side from 3 to 90 (trait ``middling``; ``evidence/one_core_thin.csv``)."""


def traits_of(n: int, m: int, maximize: bool = False, limited: bool = False) -> frozenset[str]:
    """Return the traits that a matrix has by its sides and by what the caller asks for."""
    traits = _TRAITS[maximize, limited]
    if n != m and MIDDLING[0] <= n * m <= MIDDLING[1]:
        traits |= {"middling"}
    return traits


_TRAITS = {
    (maximize, limited): frozenset(
        name for name, so in (("maximize", maximize), ("limited", limited)) if so
    )
    for maximize in (False, True)
    for limited in (False, True)
}


@functools.cache
def _looks(kind: str) -> dict[str, Look]:
    """The looks at the values that a rule may ask for."""
    wide = kind.endswith("64") and not kind.startswith("float")
    return {"rounded": _is_rounded} if wide else {}


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
    """Solve with `DENSE` for nothing but the pairs, which stay on the device where that pays.

    Floats come with their duals, on the host, if these are large beside the optimum.
    """
    _, solve, room_for, unsure = _dense()
    room_in = room_for if placed.shelved else placed.room_in
    try:
        rows, columns, there = solve(data, room_in, wishes.maximize, wishes.left(), are_small)
    except unsure as doubt:
        answer = doubt.answer
        return Solved(answer.row_ind, answer.col_ind, answer.row_duals, answer.column_duals)
    return Solved(rows, columns, there=there)


@functools.cache
def _dense() -> tuple[Any, ...]:
    """The functions for `DENSE`, and its error: they load Numba's compiler when first needed."""
    with waking.uncollected():
        from papers.synthesis.assignment.pairs import UnsureError, solve
        from papers.synthesis.assignment.resident import adopted
        from papers.synthesis.calls.answers import room_for

    return adopted, solve, room_for, UnsureError


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
    if not wishes.duals:
        return Solved(answer.row_ind, answer.col_ind)
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


# ------------------------------------------------------------------------------- duals


UNRESOLVED = (
    "float64 does not resolve duals of these costs: none that were found prove the assignment"
)
"""The words for an answer of floats that nothing proves."""

HAD_WITHOUT = "; without return_duals it can be had"
"""The words that follow where duals were asked for."""


class UnprovedError(ValueError):
    """No duals in float64 that were found prove an assignment of floats; it may be a wrong one."""


OWN = (DENSE, BATCH)
"""Solvers of this package's own whose floats go on to another one if they are unproved."""


def goes_on(named: str, refusal: Exception) -> bool:
    """Return whether another solver is asked although one was named."""
    return named in OWN and isinstance(refusal, UnprovedError)


def with_duals_that_hold(placed: Placed, solved: Solved, wishes: Wishes) -> Solved:
    """Return the answer, with duals derived from its pairs if its own prove too little.

    An answer without duals is returned as it is, and one with duals proved, whoever wanted them.

    Raises
    ------
    UnprovedError
        If the derived ones do so, too.
    GivenUpError
        If the time is over before the proof.
    """
    u, v = solved.row_duals, solved.column_duals
    if placed.array.dtype.kind != "f" or u is None or v is None:
        return solved
    if are_small(u, v):
        return solved
    wishes.left()
    host, pairs = placed.on_host(), (solved.row_ind, solved.col_ind)
    if hold(host, pairs, (u, v), wishes.maximize):
        return solved
    derived = duals_of(host, *pairs, wishes.maximize, wishes.left)
    if derived is None or not hold(host, pairs, derived, wishes.maximize):
        raise UnprovedError(UNRESOLVED + (HAD_WITHOUT if wishes.duals else ""))
    return Solved(*pairs, *derived)
