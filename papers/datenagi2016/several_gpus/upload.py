"""From a matrix to the ranks' states, and from the ranks' arrays to the answer [DN16 sec.5] (1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from papers.common.deadline import check_seconds
from papers.common.gpu import device
from papers.common.model import Assignment
from papers.common.mpi import ranks as mpi
from papers.common.problems import assignment, blocks, costs_on_device
from papers.common.problems.costs_on_device import ResidentProblem
from papers.datenagi2016.kernels.half_units import NEGLIGIBLE
from papers.datenagi2016.launches import Geometry
from papers.datenagi2016.several_gpus import exchange as exchanges
from papers.datenagi2016.several_gpus.classical import Classical
from papers.datenagi2016.several_gpus.collectives import Collectives
from papers.datenagi2016.several_gpus.costs import Request, part_of, source_of
from papers.datenagi2016.several_gpus.launches import Workspace, allocate, state_bytes
from papers.datenagi2016.several_gpus.state import State
from papers.datenagi2016.several_gpus.strip import PartProblem, Strip
from papers.datenagi2016.several_gpus.tree import Tree
from papers.datenagi2016.several_gpus.variant import Variant
from papers.datenagi2016.solver import check_variant

VARIANTS: dict[str, type[Variant]] = {"classical": Classical, "tree": Tree}


# ------------------------------------------------------------------------------- upload


def upload(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    variant: str = "tree",
    geometry: Geometry | None = None,
    comm: Any = None,
    exchange: str = "auto",
    ranks: int | None = None,
    seconds: float | None = None,
) -> State:
    """Check the input on all ranks, put each one's strip into its device memory; collective.

    Parameters
    ----------
    cost, maximize, dtype, variant, geometry, comm, exchange, seconds
        As in `papers.datenagi2016.several_gpus.solver.solve`.
    ranks : int, optional
        How many ranks `comm` must have.

    Returns
    -------
    State

    Raises
    ------
    ValueError, TypeError, OSError, MissingPackageError
        See `papers.datenagi2016.several_gpus.solver.solve`; all ranks raise one rank's error.
    """
    comm = mpi.alone() if comm is None else comm
    if ranks not in (None, comm.size):
        raise mpi.agreed(ValueError(f"{ranks} ranks are asked for, {comm.size} are here"))
    with mpi.guarded(comm):
        with mpi.agreeing(comm):
            check_variant(variant)
            exchanges.check(exchange)
            check_seconds(seconds)
        by_rows = VARIANTS[variant].by_rows
        request = Request(comm, maximize, dtype, variant, geometry, exchange, by_rows, seconds)
        return _upload(cost, request)


def _upload(cost: Any, request: Request) -> State:
    comm = request.comm
    source: Any = None
    mpi.settle_device(comm)
    with mpi.agreeing(comm):
        source = source_of(cost)
    options = (
        request.maximize,
        str(request.dtype),
        request.variant,
        request.exchange,
        request.seconds,
    )
    _demand_one_problem(comm, source, options)
    problem, strip, costs = part_of(request, source)
    state = State(problem, problem.size, comm, Collectives(comm), whole=source.dtype.kind != "f")
    state.seconds = request.seconds
    if strip is not None:
        state.gpus = mpi.gpus_of(comm)
        _make_room(state, strip, costs, request)
    return state


def _demand_one_problem(comm: Any, source: Any, options: tuple[Any, ...]) -> None:
    """Refuse ranks that were given different matrices or options; collective."""
    if comm.size == 1:
        return
    mine = None
    with mpi.agreeing(comm):
        mine = (source.fingerprint(), options)
    found = mpi.collect(comm, mine)
    other = next((rank for rank, theirs in enumerate(found) if theirs != found[0]), None)
    if other is not None:
        what = "options" if found[other][0] == found[0][0] else "costs"
        raise mpi.agreed(
            blocks.DisagreementError(
                f"rank {other} was given other {what} than rank 0: "
                f"{found[other][what == 'options']} and {found[0][what == 'options']}"
            )
        )


def _make_room(state: State, strip: Strip, costs: Any, request: Request) -> None:
    """Allocate, upload the strip, settle on an exchange, bind the launches; collective."""
    root, kind = state.collectives.is_root, VARIANTS[request.variant]
    work: Any = None
    with mpi.agreeing(state.comm):
        dtype, shapes = np.dtype(costs.dtype), request.shapes(strip.n)
        state.strip = strip
        state.state_bytes = state_bytes(strip, dtype.itemsize, shapes.stage_width)
        state.arrays = allocate(strip, dtype, _on_device(costs), shapes, root)
        negligible = 0.0 if state.whole else NEGLIGIBLE
        work = Workspace(strip, dtype, shapes, root, negligible, state.arrays, state.launches)
    state.exchange, state.reason = kind.make_exchange(
        state.collectives, strip.block, request.exchange
    )
    with mpi.agreeing(state.comm):
        state.variant = kind(work, state.collectives, state.exchange, state.whole)


def _on_device(costs: Any) -> Any:
    """The strip in device memory, flat, of at least one element."""
    if not isinstance(costs, np.ndarray):
        return costs
    if not costs.size:
        return device.to_device(np.zeros(1, costs.dtype))
    return device.to_device(np.ascontiguousarray(costs).reshape(-1))


# ------------------------------------------------------------------------------- download


def finish(
    state: State, columns: np.ndarray, u: Any, v: Any, counters: Mapping[str, int]
) -> Assignment:
    """Bring the working matrix's answer back into the caller's terms; collective.

    Parameters
    ----------
    state : State
    columns : int64[n]
        Column of each row.
    u, v : int64[n] or float64[n], or None for an empty problem
        Duals of the working matrix, in whole units.
    counters : mapping

    Returns
    -------
    Assignment
        The same on every rank; int64 duals for integers, float64 else.

    Raises
    ------
    ValueError
        If the matching uses a forbidden pair: the matrix is infeasible.
    """
    problem = state.problem
    if isinstance(problem, ResidentProblem):
        return costs_on_device.finish_resident(problem, columns, u, v, counters)
    if not isinstance(problem, PartProblem):
        return assignment.finish(problem, columns, u, v, counters)
    chosen = _chosen(state, problem, columns)
    wide = np.float64 if problem.source.dtype.kind == "f" else np.int64
    u, v = u.astype(wide), v.astype(wide)
    if problem.maximize:
        u, v = -u, -v
    rows = np.arange(state.n, dtype=np.int64)
    total = assignment.total_cost(chosen)
    return Assignment(rows, columns, total, u + problem.shift, v, problem.maximize, dict(counters))


def _chosen(state: State, problem: PartProblem, columns: np.ndarray) -> np.ndarray:
    """The assigned costs, row by row: every rank contributes those of its strip."""
    strip, source = state.strip, problem.source
    assert strip is not None  # of a problem that is not empty
    rows = np.arange(state.n, dtype=np.int64)
    lines = rows if strip.by_rows else columns
    mine = np.flatnonzero((lines >= strip.bounds[0]) & (lines < strip.bounds[1]))
    values = blocks.entries(source, rows[mine], columns[mine])
    chosen = np.empty(state.n, source.dtype)
    for places, found in mpi.collect(state.comm, (mine, values)):
        chosen[places] = found
    return chosen
