"""The measuring protocol: draw, upload, warm up, time under every clock, have every answer proved.

What is inside and outside the clocks
-------------------------------------
- Drawing the instance, compiling, warming up and proving are outside, and with them all that the
  harness adds: `Solver.prepare` before an upload, `Solver.proof` after a download.
- ``run``: `Solver.run` between two synchronisations, on a state uploaded before.
- ``end_to_end``: upload, run and download, with a new state every time. A matrix that was drawn in
  device memory is uploaded from there, without a copy over the bus; a matrix in strips is drawn by
  each rank on its own device, and that drawing is its upload.
- ``steps``: `Solver.run` with a `StepClock` that synchronises at every step's boundary.
- ``kernels``: device time of the kernels alone; one process with a GPU only, else no rows.

Warm-up and repetitions
-----------------------
Every cell is warmed up by a full run of its own, on the state that is timed afterwards, and
repeated as `papers.reproduce.plan.pace` says: a CPU's code, a rival's and ours alike. A short run
comes right behind another one that is not counted: the proof of the repetition before has cooled
caches and a GPU's clock down. (Up to 1d2d65c2 only another cell's turn was a reason for that, and
what a proof needs was brought from the uncounted run, too, before the timed one began; in f85c53e7
the first repetition behind a run that compiles had none.)

Cells in turn
-------------
Cells of one instance whose ratio is the result are measured together: the first repetition of all,
then the second of all. Their states stay in memory; where they do not fit, each turn uploads its
own anew, before its clock.

Proof
-----
Every repetition's answer is downloaded after its clock has stopped. Where a proof is cheap each is
proved (`papers.common.model.Problem.each_is_proved`). Elsewhere the last one of each clock is, and
the others must have its objective exactly (within 1e-9 of it for floats).

One process or several ranks
----------------------------
There is one protocol. `Clockwork` holds what differs: how to wait for all devices, whose decisions
count, how to upload and how to prove. `alone` makes it for one process, and
`papers.reproduce.measure.team` for the ranks of a communicator, which then all call the protocol.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from papers.common.gpu.environment import MissingPackageError
from papers.common.instances.files import MissingInstanceError
from papers.common.model import Cell, GivenUpError, Solver
from papers.common.problems import kinds
from papers.reproduce.measure.clockwork import ON_STATE, Clockwork, alone, device_name
from papers.reproduce.measure.laboratory import Laboratory
from papers.reproduce.measure.notebook import CLOCKS, Notebook, Report
from papers.reproduce.measure.outcome import Outcome
from papers.reproduce.plan.pace import Pace

__all__ = ["Clockwork", "Report", "alone", "device_name", "measure", "measure_together"]

STATES_A_CELL = 4
"""A state is taken to need so many times the memory of its data: costs or arcs, a copy that the
solver changes, and work arrays. Solvers of this package need one and a half to three times."""

SHARE_OF_MEMORY = 0.5
"""The share of the free memory that the states of a group may take together."""


def measure(
    solver: Solver,
    cell: Cell,
    laboratory: Laboratory,
    pace: Pace,
    report: Callable[[str], None],
    clockwork: Clockwork | None = None,
) -> Outcome:
    """Measure one cell; see `measure_together`."""
    (found,) = measure_together(
        [(solver, cell)], laboratory, pace, lambda place, text: report(text), clockwork
    )
    return found


def measure_together(
    group: Sequence[tuple[Solver, Cell]],
    laboratory: Laboratory,
    pace: Pace,
    report: Report,
    clockwork: Clockwork | None = None,
) -> list[Outcome]:
    """Measure the cells of a group in turn; a group may be one cell.

    Parameters
    ----------
    group : sequence of (Solver, Cell)
        Cells with the solvers that they name, of one instance and one number of ranks.
    laboratory : Laboratory
        The process's memory of earlier cells.
    pace : Pace
        How often is repeated.
    report : callable(int, str)
        Told the cell whose turn it is and what begins, outside the clocks.
    clockwork : Clockwork, optional
        By default that of one process. With the clockwork of ranks, all of them call this in step.

    Returns
    -------
    list of Outcome
        In the order of `group`. Status ``ok``, ``not-certified`` or ``skipped`` (also where the
        instance's file is missing, or an optional package that the solver needs, or where the
        solver stopped at a limit that the cell sets: one of time is the metric `GAVE_UP`; clocks
        that were read before stand). Every other error of a solver passes through; the last cell
        that was reported is the one that met it.
    """
    clockwork = clockwork or alone()
    found: dict[int, Outcome] = {}
    wanted: list[tuple[int, Solver, Cell]] = []
    for place, (solver, cell) in enumerate(group):
        report(place, "drawing the instance")
        reason, kept = _refusal(cell, clockwork)
        if reason:
            found[place] = Outcome("skipped", "none", reason)
        else:
            wanted.append((place, solver, kept))
    if wanted:
        try:
            with clockwork.together():
                data = laboratory.draw(wanted[0][2].instance)
        except MissingInstanceError as error:
            found |= {place: Outcome("skipped", "none", str(error)) for place, *_ in wanted}
        else:
            outcomes = _rounds(wanted, data, laboratory, pace, report, clockwork)
            identity = laboratory.identity
            found |= {place: replace(o, identity=identity) for place, o in outcomes.items()}
    return [
        replace(found[place], device=device_name(solver)) for place, (solver, _) in enumerate(group)
    ]


def _refusal(cell: Cell, clockwork: Clockwork) -> tuple[str, Cell]:
    """Return why a cell cannot be measured here, or "", and the cell with the clocks that can."""
    if not clockwork.times_kernels:
        cell = replace(cell, scopes=tuple(s for s in cell.scopes if s != "kernels"))
        if not cell.scopes:
            return "device time needs a GPU", cell
    return too_many_ranks(cell, clockwork.ranks), cell


def too_many_ranks(cell: Cell, ranks: int) -> str:
    """Return why so few ranks cannot measure a cell, or ""."""
    wanted = dict(cell.options).get("ranks", 1)
    enough = wanted <= ranks
    return "" if enough else f"it is for {wanted} ranks: mpiexec -n {wanted} reproduce run ..."


def _rounds(
    wanted: Sequence[tuple[int, Solver, Cell]],
    data: Any,
    laboratory: Laboratory,
    pace: Pace,
    report: Report,
    clockwork: Clockwork,
) -> dict[int, Outcome]:
    """Let the cells have their turns, clock by clock; return the outcomes by place."""
    books: dict[int, Notebook] = {}
    for place, solver, cell in wanted:
        report(place, "preparing")
        compiled = laboratory.has_compiled(solver, cell, data)
        books[place] = Notebook(solver, cell, data, clockwork, pace, compiled)
    holds = len(books) == 1 or clockwork.share(_fit(books, data, clockwork))
    for book in books.values():
        book.holds = holds
    for clock in CLOCKS:
        if clock not in ON_STATE and any(clock in cell.scopes for _, _, cell in wanted):
            for book in books.values():
                book.release()
            gc.collect()  # So that memory holds one state at a time.
        while ready := [place for place, book in books.items() if book.wants(clock)]:
            for place in ready:
                report(place, books[place].stage(clock))
                _turn(books[place], clock, clockwork)
    return {place: book.outcome() for place, book in books.items()}


def _turn(book: Notebook, clock: str, clockwork: Clockwork) -> None:
    """Let a cell have its turn; one that stops at a limit, or lacks a package, has ended."""
    try:
        book.turn(clock)
    except (MissingPackageError, GivenUpError) as error:
        if not clockwork.agreed(error):
            raise
        if isinstance(error, GivenUpError):
            book.give_up(error)
        else:
            book.skip(str(error))
        book.release()


def _fit(books: dict[int, Notebook], data: Any, clockwork: Clockwork) -> bool:
    """Return whether the states of all cells may be in memory together."""
    one = STATES_A_CELL * kinds.stated_by(data).size_bytes(data)
    return one * len(books) <= SHARE_OF_MEMORY * clockwork.room()
