"""The memory of a process between cells: the last instance, and which solvers are compiled."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from papers.common import instances
from papers.common.model import Cell, Instance, Solver
from papers.common.problems import kinds

COLLECT_BYTES = 1 << 26
"""Size from which an old instance is worth a pass of the garbage collector."""


def _draw(instance: Instance) -> Any:
    return instances.draw(instance)


@dataclass
class Laboratory:
    """The last instance that was drawn, and the solvers that are compiled.

    Attributes
    ----------
    draw_anew : callable(Instance) -> data
        Makes an instance's data; by default `papers.common.instances`'s ``draw``.
    identity : dict
        The last instance's; see `papers.common.instances.drawing.identify`.
    """

    draw_anew: Callable[[Instance], Any] = _draw
    warmed: set[tuple[Any, ...]] = field(default_factory=set)
    identity: dict[str, int | str] = field(default_factory=dict)
    _instance: Instance | None = None
    _data: Any = None

    def draw(self, instance: Instance) -> Any:
        """Return the instance's data; the last are kept for the next solver."""
        if instance != self._instance:
            before, old = self._instance, self._data
            self._data = self._instance = None
            if before is not None and instances.is_permuted(before, instance):
                self._data = old.permuted(instance.seed)
            else:
                large = old is not None and kinds.stated_by(old).size_bytes(old) > COLLECT_BYTES
                del old
                if large:
                    gc.collect()  # Free it before the new one is made; it takes 0.1 s.
                self._data = self.draw_anew(instance)
            self._instance = instance
            whole = self.draw_anew is _draw  # else a rank may have drawn its strip alone
            self.identity = instances.identify(instance, self._data) if whole else {}
        return self._data

    def has_compiled(self, solver: Solver, cell: Cell, data: Any) -> bool:
        """Say whether this process has run the solver on data of this type before; from now on yes.

        The first such run may compile, so that its time says nothing.
        """
        signature = (cell.solver, cell.options, kinds.stated_by(data).compiled_for(data))
        known = signature in self.warmed
        self.warmed.add(signature)
        return known
