"""Cuts of images that never take the solvers' form on the host."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from papers.common.deadline import Deadline
from papers.common.model import Flow, GivenUpError
from papers.common.problems.network import Grid
from papers.lupinska_costscale.flow.calls import NO_PROOF, Solved
from papers.lupinska_costscale.flow.forms import grid_of
from papers.synthesis.calls.cuts import layout
from papers.synthesis.calls.cuts.choosing import CUTTER, SEEDED, Wishes, choice_in_advance


class SolvedThere(Solved):
    """As `Solved`, without a proof.

    Attributes
    ----------
    given : tuple
        The caller's arrays: arguments of `papers.lupinska_costscale.flow.forms.grid_of`.
    instance : Grid
        Made of them when it is first asked for, as they are then.
    """

    given: tuple[Any, Any, Any, int]

    def __init__(self, given: tuple[Any, Any, Any, int], flow: Flow, solver: str) -> None:
        parts = {"given": given, "flow": flow, "proof": NO_PROOF, "solver": solver}
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    @cached_property
    def instance(self) -> Grid:  # type: ignore[override]
        """The problem in the solvers' form."""
        return grid_of(*self.given)


def solve_there(
    given: tuple[Any, Any, Any, int], wishes: Wishes, deadline: Deadline, lies: str
) -> Solved | None:
    """Solve a grid whose capacities are checked and laid out on their way to the device.

    Parameters
    ----------
    given : tuple
        Arguments of `papers.lupinska_costscale.flow.forms.grid_of`, in host memory.
    wishes : Wishes
    deadline : Deadline
        Of the call.
    lies : {"host", "device"}
        Where they came from.

    Returns
    -------
    Solved or None
        None where `papers.synthesis.calls.flow.solve` has to do it: if another solver is the right
        one, more than the cut is wanted, or the capacities do not fit 32 bits. It also names what
        is wrong with them.

    Raises
    ------
    ValueError, RuntimeError, GivenUpError
        As `solve`.
    """
    shape = None if wishes.flow or wishes.prove else layout.shape_of(given)
    if shape is None:
        return None
    nodes = shape[0] * shape[1] + 2
    choice = choice_in_advance(nodes, wishes, lies)
    if choice.solver != CUTTER:
        return None
    from papers.synthesis.calls.cuts import pooled  # loads numba.cuda

    room = pooled.filled(given, shape)
    if room is None:
        return None
    if room.seen.tied < SEEDED * shape[0] * shape[1]:
        choice = choice_in_advance(nodes, wishes, lies, seeded=True)
    if choice.solver != CUTTER:
        room.give_back()
        return None
    if wishes.explain:
        print(choice.line(f"{nodes} nodes on the {lies}"))
    try:
        left = deadline.left(f"{nodes} nodes were laid out")
    except GivenUpError:
        room.give_back()
        raise
    flow = room.cut(left)
    room.give_back()
    return SolvedThere(given, flow, choice.solver)
