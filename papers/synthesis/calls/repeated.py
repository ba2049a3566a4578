"""The short way of a call on costs like some before: in device memory, for nothing but the pairs.

`papers.synthesis.calls.one_matrix.solve` asks who solves a matrix, and how its costs come into
working form. Of costs in device memory of a form that was solved before, where no look at a value
could change the answers to both, they are known. To ask again takes longer than a small problem is
solved in, most of all where other work has driven these functions out of the processor's caches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from papers.synthesis.assignment import pool
from papers.synthesis.assignment.costs import UnfinishedError
from papers.synthesis.calls.choice import Machine, choose
from papers.synthesis.calls.one_matrix import DENSE, MOST_CHOICES, sure_choice
from papers.synthesis.calls.places import Placed

if TYPE_CHECKING:
    from papers.synthesis.assignment.pairs import Known

types: set[type] = set()
"""Classes of arrays that calls were remembered of; `answer` knows nothing of all others."""

Way = Callable[[Placed], tuple[Any, ...] | None]
"""Solves costs of one form; None if no memory for them lies idle."""

_ways: dict[Any, Way] = {}


def _name(placed: Placed, device: Machine, solver: str | None) -> Any:
    """The name of a form, and of what was asked for."""
    array = placed.array
    return (array.shape, array.strides, array.dtype, device, solver, choose, *pool.machine())


def remember(kind: type, placed: Placed, device: Machine, solver: str | None) -> None:
    """Remember a call that was answered, if it is one that `answer` can serve.

    Parameters
    ----------
    kind : type
        The class of the caller's array.
    placed : Placed
    device : {"auto", "gpu", "cpu"}
    solver : str or None
        The caller's.
    """
    choice = sure_choice(placed, device, solver)
    if choice is None or choice.solver != DENSE:
        return
    from papers.synthesis.assignment.pairs import known_of
    from papers.synthesis.assignment.resident import adopted

    given = adopted(placed.array, placed.stream)
    known = None if given is None else known_of(given)
    if given is not None and known is not None:
        if len(_ways) >= MOST_CHOICES:
            _ways.clear()
        _ways[_name(placed, device, solver)] = _way(given.shape, given.by_columns, known)
        if len(types) >= MOST_CHOICES:  # a class may be made anew for each call
            types.clear()
        types.add(kind)


def _way(shape: tuple[int, int], by_columns: bool, known: Known) -> Way:
    from papers.synthesis.assignment.pairs import again
    from papers.synthesis.assignment.resident import DeviceMatrix
    from papers.synthesis.calls.answers import room_for

    def way(placed: Placed) -> tuple[Any, ...] | None:
        cost = DeviceMatrix(placed.array, shape, by_columns, placed.stream)
        found = again(cost, known, room_for if placed.shelved else placed.room_in)
        if found is None:
            return None
        rows, columns, there = found
        return (rows, columns) if there else placed.back_both(rows, columns)

    return way


def answer(placed: Placed, device: Machine, solver: str | None) -> tuple[Any, ...] | None:
    """Return the pairs for costs of a form that is known; None for others.

    Parameters
    ----------
    placed, device, solver
        See `remember`.

    Returns
    -------
    rows, columns : int64[n]
        Arrays of the input's library, on its device.
    """
    if placed.place != "device":  # a class of arrays may have some on either side
        return None
    try:
        way = _ways.get(_name(placed, device, solver))
    except TypeError:  # a device, or a solver, that is no name
        return None
    if way is None:
        return None
    try:
        return way(placed)
    except UnfinishedError:  # the usual way goes on to another solver
        if solver is not None:
            raise
        return None
