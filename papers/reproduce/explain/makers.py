"""The makers of a table: its instances, its cells, their solvers, and the kernels these launch.

Kernels are seen, not read: the solver runs with its options on an instance of a few rows in the CPU
executor, which notes every launch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from papers.common.model import Cell, Instance, ProblemName, Solver
from papers.reproduce import registry
from papers.reproduce.explain.places import Place, code_behind, of_code

TINY: dict[ProblemName, Instance] = {
    "assignment": Instance("uniform", 8, "n"),
    "matching": Instance("uniform_graph", 24, "d3"),
    "flow": Instance("random_grid", 4, "20"),
}
"""The instance on which a solver's launches are seen, by problem."""

SECONDS = 20.0
"""A solver that takes ``seconds`` gives up after so long."""


@dataclass(frozen=True)
class Instances:
    """The instances of one family and storage.

    Attributes
    ----------
    family, storage : str
    permuted : bool
    sizes, seeds : tuple of int
    ranges : tuple of str
        Their labels.
    count : int
    """

    family: str
    storage: str
    permuted: bool
    sizes: tuple[int, ...]
    ranges: tuple[str, ...]
    seeds: tuple[int, ...]
    count: int


@dataclass(frozen=True)
class Maker:
    """A solver with its options, as a table's cells have it.

    Attributes
    ----------
    solver, options, title, device : str
    clocks : tuple of str
    cells, measured : int
        Planned, and those whose values the table may show.
    run : Place or None
        The solver's ``run``.
    kernels : tuple of Place
        Those that it launches, in the order of their first launch.
    unseen : str
        Why no kernels are known, or "".
    """

    solver: str
    options: str
    title: str
    device: str
    clocks: tuple[str, ...]
    cells: int
    measured: int
    run: Place | None
    kernels: tuple[Place, ...] = ()
    unseen: str = ""


def instances_of(cells: Iterable[Cell]) -> list[Instances]:
    """Return the instances of cells, grouped by family, storage and order."""
    groups: dict[tuple[str, str, bool], dict[str, Instance]] = {}
    for cell in cells:
        one = cell.instance
        groups.setdefault((one.family, one.storage, one.permuted), {})[one.key] = one
    return [
        Instances(
            *kind,
            tuple(sorted({one.n for one in found.values()})),
            tuple(dict.fromkeys(one.label for one in found.values())),
            tuple(sorted({one.seed for one in found.values()})),
            len(found),
        )
        for kind, found in groups.items()
    ]


def makers_of(cells: Sequence[Cell], measured: set[str]) -> list[Maker]:
    """Return the solvers of cells with their options, in the order of the plan.

    Parameters
    ----------
    cells : sequence of Cell
    measured : set of str
        Keys of the cells that have values.
    """
    groups: dict[tuple[str, tuple[tuple[str, Any], ...]], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.solver, cell.options), []).append(cell)
    return [_maker(found, measured) for found in groups.values()]


def _maker(cells: Sequence[Cell], measured: set[str]) -> Maker:
    first = cells[0]
    options = ",".join(f"{name}={value}" for name, value in first.options)
    clocks = tuple(dict.fromkeys(scope for cell in cells for scope in cell.scopes))
    counts = len(cells), sum(cell.key in measured for cell in cells)
    try:
        solver = registry.solver(first.solver)
    except registry.UsageError as error:
        return Maker(first.solver, options, "", "", clocks, *counts, None, unseen=str(error))
    code = code_behind(solver.run)
    kernels, unseen = launched(solver, dict(first.options)) if solver.device == "cuda" else ((), "")
    return Maker(
        first.solver, options, solver.title, solver.device, clocks, *counts,
        of_code(code) if code is not None else None, kernels, unseen,
    )  # fmt: skip


def launched(solver: Solver, options: dict[str, Any]) -> tuple[tuple[Place, ...], str]:
    """Return the kernels that a solver launches on `TINY`, and why there are none, or "".

    Parameters
    ----------
    solver : Solver
        With kernels.
    options : dict of str
        Of its ``upload``; ``ranks`` is left out: one process stands for all of them.
    """
    from papers.common import instances
    from papers.common.executor.scheduler import Executor
    from papers.common.gpu import device
    from papers.common.problems import kinds

    seen: dict[Place, None] = {}

    class Watching(Executor):
        """An executor that notes the kernels of its launches."""

        def launch(self, kernel: Any, *given: Any, **named: Any) -> Any:
            seen[of_code(kernel.py_func.__code__)] = None
            return super().launch(kernel, *given, **named)

    kept = {name: value for name, value in options.items() if name != "ranks"}
    try:
        kinds.check_options(solver, {"seconds": SECONDS})
        limited = {"seconds": SECONDS, **kept}
    except kinds.OptionError:
        limited = kept
    try:
        with device.executing(Watching()):
            data = instances.draw(replace(TINY[solver.problem]))
            given = data if solver.prepare is None else solver.prepare(data, **limited)
            solver.run(solver.upload(given, **limited))
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        return tuple(seen), f"it did not end on {TINY[solver.problem].key} ({why})"
    return tuple(seen), "" if seen else "it launches nothing there"
