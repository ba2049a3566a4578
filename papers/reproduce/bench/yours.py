"""Somebody's function as a `Solver`: the clock reads the call alone, and its result is proved.

The solver's name is ``PROBLEM/MODULE:FUNCTION``, which says all: the process that measures makes
the solver from it.

Outside the clock
-----------------
The arguments are made, and the result is made an answer of this package, before and after. For an
assignment the proof needs duals, which SciPy's function does not return: they are those of the
optimum that this package finds (any optimal duals prove any optimal assignment). They are proved
themselves first, so that a fault of ours is not blamed on the function.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from papers.common.model import Assignment, ProblemName, Solver
from papers.common.problems import kinds, scipys
from papers.common.problems.scipys import AnswerError
from papers.reproduce.bench import functions


class ChangedInputError(ValueError):
    """A function has written into its arguments, so that nobody knows what it solved."""


@dataclass
class Given:
    """An instance as a function receives it.

    Attributes
    ----------
    data
        The drawn instance, which the function never sees.
    arguments : tuple
        The copies that it does.
    mark : str
        Their hash.
    optimum : Assignment or None
        This package's own proved answer of an assignment, once its duals were needed.
    """

    data: Any
    arguments: tuple[Any, ...]
    mark: str
    optimum: Assignment | None = None


@dataclass
class State:
    """A call: its arguments, and what came back."""

    given: Given
    returned: Any = None


def mark_of(arguments: tuple[Any, ...]) -> str:
    """Return a hash of the arrays in a function's arguments."""
    found = hashlib.blake2b()
    for one in arguments:
        parts = [one.data, one.indices, one.indptr] if hasattr(one, "indptr") else [one]
        for part in parts:
            array = np.asarray(part)
            found.update(f"{array.dtype}{array.shape}".encode())
            found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def solver(name: str) -> Solver:
    """Return the solver called ``PROBLEM/MODULE:FUNCTION``.

    Raises
    ------
    UsageError
        If there is no such function.
    """
    word, _, told = name.partition("/")
    problem = cast(ProblemName, word)
    function = functions.load(told)

    def prepare(data: Any, **options: Any) -> Given:
        arguments = scipys.arguments(problem, data)
        return Given(data, arguments, mark_of(arguments))

    def run(state: State, trace: Callable[[str], object] | None = None) -> None:
        state.returned = function(*state.given.arguments)

    def proof(state: State, returned: Any) -> Any:
        if mark_of(state.given.arguments) != state.given.mark:
            raise ChangedInputError(f"{told} has changed its arguments")
        answer = scipys.answer(problem, state.given.data, returned)
        return with_duals(state.given, answer) if isinstance(answer, Assignment) else answer

    return Solver(
        name, told, "cpu", problem, State, run, lambda state: state.returned,
        prepare=prepare, proof=proof,
    )  # fmt: skip


def with_duals(given: Given, answer: Assignment) -> Assignment:
    """Return an assignment with optimal duals of its instance, which are found once an instance.

    Its counter ``optimum`` is the cost that it ought to have.

    Raises
    ------
    RuntimeError
        If this package's own optimum is not proved: the function cannot be judged then.
    """
    if given.optimum is None:
        given.optimum = optimum_of(given.data)
    known = given.optimum
    return replace(
        answer, row_duals=known.row_duals, column_duals=known.column_duals,
        counters={"optimum": known.cost},
    )  # fmt: skip


def optimum_of(costs: np.ndarray) -> Assignment:
    """Return a proved optimal assignment of a matrix; see `with_duals`."""
    from papers.synthesis.calls.assignment import linear_sum_assignment

    found = linear_sum_assignment(costs, return_duals=True, device="cpu")
    rows, columns, u, v = map(np.asarray, found)
    plain = cast(Assignment, scipys.answer("assignment", costs, (rows, columns)))
    known = replace(plain, row_duals=u, column_duals=v)
    proof = kinds.prove(kinds.ASSIGNMENT, costs, known)
    if not proof.ok:
        raise RuntimeError(f"this package's own optimum is not proved: {proof.reason}")
    return known


class Yours(Mapping[str, Solver]):
    """Every function of every module, by ``PROBLEM/MODULE:FUNCTION``; none is listed."""

    def __getitem__(self, name: str) -> Solver:
        """Return `solver`."""
        return solver(name)

    def __contains__(self, name: object) -> bool:
        """Whether the name has a problem and a function; which one, is seen when it is loaded."""
        word, slash, _ = str(name).partition("/")
        return bool(slash) and word in kinds.PROBLEMS

    def __iter__(self) -> Iterator[str]:
        """Yield nothing."""
        return iter(())

    def __len__(self) -> int:
        """Return 0."""
        return 0


SOLVERS = Yours()

__all__ = ["SOLVERS", "AnswerError", "ChangedInputError", "solver"]
