"""The solver of a flow or a cut: what the rules of `papers.synthesis.calls.choice` ask about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.problems.network import image_of
from papers.synthesis.calls.choice import Choice, Machine, Question, choose, expect

WIDE = 2**31
"""Flows and capacities from this on are beyond SciPy's 32 bits."""

SEEDED = 0.1
"""A grid of which fewer pixels, as a share of all, have an arc to or from a terminal is ``seeded``:
flow may have far to go, which takes a GPU a level a pixel. Real grids have 0.47 and more; a channel
of 100,000 columns, with terminals at its ends alone, takes a GPU 170 times PyMaxflow's time. What
lies between was not measured and is left to the CPU."""

CUTTER = "lupinska_costscale:gpu_relabel"
"""The solver that brings the cut alone from the device where that is all that is asked for."""


@dataclass(frozen=True)
class Wishes:
    """The wishes of a caller besides the instance; ``flow`` says that the answer holds one."""

    seconds: float | None = None
    device: Machine = "auto"
    solver: str | None = None
    prove: bool = False
    explain: bool = False
    flow: bool = False


def choice_for(instance: Any, wishes: Wishes, lies: str = "host") -> Choice:
    """Return the solver of an instance; see `papers.synthesis.calls.choice`."""
    shape = "network" if image_of(instance) is None else "grid"
    also = {"wide": lambda: is_wide(instance), "seeded": lambda: is_seeded(instance)}
    return _choice(shape, instance.nodes, also, wishes, lies)


def choice_in_advance(nodes: int, wishes: Wishes, lies: str, seeded: bool = False) -> Choice:
    """Return the solver of a grid of capacities below `WIDE` whose values nobody has looked at.

    Parameters
    ----------
    nodes : int
    wishes, lies
        As in `choice_for`.
    seeded : bool
        Whether it is `SEEDED`, as far as that is known.
    """
    also = {"wide": lambda: False, "seeded": lambda: seeded}
    return _choice("grid", nodes, also, wishes, lies)


def _choice(
    shape: str, nodes: int, also: Mapping[str, Callable[[], bool]], wishes: Wishes, lies: str
) -> Choice:
    wanted = {"limited": wishes.seconds is not None, "flow": wishes.flow or wishes.prove}
    traits = frozenset(name for name, so in wanted.items() if so)
    question = Question("flow", shape, nodes, place=lies, traits=traits, also=also)
    expect(wishes.device, wishes.solver, lambda: question)
    return choose(question, wishes.device, wishes.solver)


def is_wide(instance: Any) -> bool:
    """Whether a flow, or the capacities between two nodes, may exceed 32 bits."""
    image = image_of(instance)
    if image is not None:
        most = max(int(arcs.max()) for arcs in (image.sink, *image.arcs.values()))
        return max(int(image.source.sum()), 2 * most) >= WIDE
    begin, end = instance.first[instance.source : instance.source + 2]
    most = int(instance.capacity.max(initial=0))
    return max(int(instance.capacity[begin:end].sum()), 2 * most) >= WIDE


def is_seeded(instance: Any) -> bool:
    """Whether so few pixels have an arc to or from a terminal that flow may have far to go."""
    image = image_of(instance)
    if image is None:
        return False
    tied = np.count_nonzero((image.source > 0) | (image.sink > 0))
    return bool(tied < SEEDED * image.source.size)
