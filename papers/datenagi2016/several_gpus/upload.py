"""From a matrix to the ranks' states, and from the ranks' arrays to the answer [DN16 sec.5] (1)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import bind
from papers.common.instances.matrices import on_device, sources
from papers.common.model import Assignment
from papers.common.mpi import ranks as mpi
from papers.common.problems import assignment, blocks, costs_on_device
from papers.common.problems.costs_on_device import ResidentCosts, ResidentProblem
from papers.datenagi2016 import solver as one_gpu
from papers.datenagi2016.kernels.half_units import NEGLIGIBLE
from papers.datenagi2016.launches import Geometry
from papers.datenagi2016.several_gpus import exchange as exchanges
from papers.datenagi2016.several_gpus.classical import Classical
from papers.datenagi2016.several_gpus.collectives import Collectives
from papers.datenagi2016.several_gpus.kernels.strips import take_columns
from papers.datenagi2016.several_gpus.launches import Workspace, allocate, state_bytes
from papers.datenagi2016.several_gpus.state import State
from papers.datenagi2016.several_gpus.strip import PartProblem, Strip
from papers.datenagi2016.several_gpus.tree import Tree
from papers.datenagi2016.several_gpus.variant import Variant
from papers.datenagi2016.solver import DTYPES, MAX_SIZE, SLACK_FACTOR

VARIANTS: dict[str, type[Variant]] = {"classical": Classical, "tree": Tree}


@dataclass(frozen=True)
class Request:
    """The arguments that all ranks are given alike.

    Attributes
    ----------
    comm : mpi4py communicator
    maximize, dtype, variant, geometry, exchange
        As in `papers.datenagi2016.several_gpus.solver.solve`.
    """

    comm: Any
    maximize: bool
    dtype: Any
    variant: str
    geometry: Geometry | None
    exchange: str

    def strip(self, n: int) -> Strip:
        """Return this rank's strip of a matrix of order n; int32 indices must do for it."""
        by_rows = VARIANTS[self.variant].by_rows
        strip = Strip(n, by_rows, int(self.comm.size), int(self.comm.rank))
        _ = strip.block  # refuses too many ranks
        most = MAX_SIZE["tree"]
        if n > most:
            raise ValueError(f"order {n} is too large: int32 indices allow n <= {most}")
        return strip

    def shapes(self, n: int) -> Geometry:
        """Launch shapes."""
        return self.geometry or Geometry.for_device(n, self.variant)

    def check_size(self, strip: Strip, itemsize: int, stripped: bool = True) -> None:
        """Refuse an order that the cards have no room for, before a strip is there; collective.

        Parameters
        ----------
        strip : Strip
        itemsize : int
            Bytes of a working cost.
        stripped : bool
            Whether the strip takes memory of its own.
        """
        width, free = self.shapes(strip.n).stage_width, mpi.room_of(self.comm)

        def needed(order: int) -> int:
            other = Strip(order, strip.by_rows, strip.ranks, 0)
            matrix = itemsize * order * other.block if stripped else 0
            return matrix + state_bytes(other, itemsize, width)

        def largest(free: int) -> int:
            low, high = strip.ranks, strip.n
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if needed(middle) <= free else (low, middle)
            return low

        with mpi.agreeing(self.comm):
            device.check_memory(strip.n, needed(strip.n), largest, free)


Part = tuple[Any, Strip | None, Any]
"""A problem, this rank's strip (None of an empty one) and its costs, on the host or the device."""

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
) -> State:
    """Check the input on all ranks, put each one's strip into its device memory; collective.

    Parameters
    ----------
    cost, maximize, dtype, variant, geometry, comm, exchange
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
        return _upload(cost, Request(comm, maximize, dtype, variant, geometry, exchange))


def _upload(cost: Any, request: Request) -> State:
    comm = request.comm
    source: Any = None
    with mpi.agreeing(comm):
        one_gpu.check_variant(request.variant)
        exchanges.check(request.exchange)
    mpi.settle_device(comm)
    with mpi.agreeing(comm):
        source = _source_of(cost)
    options = request.maximize, str(request.dtype), request.variant, request.exchange
    _demand_one_problem(comm, source, options)
    if isinstance(source, _OnDevice):
        problem, strip, costs = _resident_part(request, source)
    elif isinstance(source, blocks.ArraySource) and not isinstance(source.array, np.memmap):
        problem, strip, costs = _part_of_array(request, source)
    else:
        problem, strip, costs = _part_of_source(request, source)
    state = State(problem, problem.size, comm, Collectives(comm), whole=source.dtype.kind != "f")
    if strip is not None:
        state.gpus = mpi.gpus_of(comm)
        _make_room(state, strip, costs, request)
    return state


def _source_of(cost: Any) -> Any:
    if one_gpu.is_on_device(cost):
        return _OnDevice(costs_on_device.adopt(cost) if hasattr(cost, _CUDA) else cost)
    return sources.as_source(cost)


_CUDA = "__cuda_array_interface__"


@dataclass(frozen=True)
class _OnDevice:
    """A matrix that every rank's device memory holds whole."""

    costs: ResidentCosts

    @property
    def dtype(self) -> np.dtype:
        return self.costs.dtype

    def fingerprint(self) -> str:
        """Shape, bounds and the beginnings of up to sixty-four rows."""
        n, low, high = self.costs.shape[0], self.costs.low, self.costs.high
        found = hashlib.blake2b(digest_size=16)
        for i in range(0, n, max(1, n // 64)):
            found.update(device.to_host(self.costs.array[i][:4096]).tobytes())
        return f"on the device {n} {low} {high} {found.hexdigest()}"


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


def _resident_part(request: Request, source: _OnDevice) -> Part:
    """Every rank's device memory has the matrix: a strip of rows is used where it is."""
    problem: Any = None
    strip: Any = None
    costs, n = source.costs, source.costs.shape[0]
    with mpi.agreeing(request.comm):
        problem = one_gpu.resident_problem(costs, request.maximize, request.dtype)
        strip = request.strip(n) if n else None
    if strip is None:
        return problem, None, None
    in_place = strip.by_rows or strip.ranks == 1
    request.check_size(strip, 4, stripped=not in_place)
    flat = costs.array.reshape(n * n)
    if not strip.lines:
        return problem, strip, np.zeros(1, np.int32)
    if in_place:
        return problem, strip, flat[n * strip.rows[0] : n * strip.rows[1]]
    columns = strip.shape[1]
    target = device.empty(n * columns, np.int32)
    grid = (min(n, 4096), 256) if device.describe().is_gpu else (2, 32)
    first, order = np.int32(strip.columns[0]), np.int32(n)
    bind(take_columns, *grid, order, np.int32(columns), first, flat, target)()
    return problem, strip, target


def _part_of_array(request: Request, source: blocks.ArraySource) -> Part:
    """Every rank has the array: it is prepared as for one GPU, and cut."""
    problem: Any = None
    strip: Any = None
    with mpi.agreeing(request.comm):
        problem = assignment.prepare(
            source.array, request.maximize, request.dtype, DTYPES, factor=SLACK_FACTOR
        )
        strip = request.strip(problem.size) if problem.size else None
    if strip is None:
        return problem, None, None
    request.check_size(strip, problem.matrix.dtype.itemsize)
    return problem, strip, problem.matrix[slice(*strip.rows), slice(*strip.columns)]


def _part_of_source(request: Request, source: blocks.Source) -> Part:
    """Every rank reads or draws its own strip, if the card has room for it."""
    strip: Any = None
    draws = False
    with mpi.agreeing(request.comm):
        if len(source.shape) != 2 or source.shape[0] != source.shape[1]:
            raise ValueError(f"costs that are given by part must be square, not {source.shape}")
        if not source.shape[0]:
            raise ValueError("costs that are given by part cannot be empty")
        strip = request.strip(int(source.shape[0]))
        draws = _is_drawn_on_device(source, request)
    if draws:
        return _drawn_part(request, source, strip)
    comm, item = request.comm, _least_item(source, request.dtype)
    request.check_size(strip, item)
    block: Any = None
    bounds: Any = None
    with mpi.agreeing(comm):
        block = blocks.read_block(source, strip.rows, strip.columns)
        bounds = assignment.block_bounds(block)
    found = [pair for pair in mpi.collect(comm, bounds) if pair is not None]
    low, high = min(pair[0] for pair in found), max(pair[1] for pair in found)
    matrix: Any = None
    shift: Any = None
    with mpi.agreeing(comm):
        matrix, shift = assignment.prepare_block(
            block, (low, high), strip.n, request.maximize, request.dtype, DTYPES, SLACK_FACTOR
        )
    if matrix.dtype.itemsize > item:
        request.check_size(strip, matrix.dtype.itemsize)
    return PartProblem(source, matrix, matrix.dtype, shift, request.maximize), strip, matrix


def _drawn_part(request: Request, source: Any, strip: Strip) -> Part:
    """Every rank draws its strip in device memory, in working form: int32 from 0 on."""
    request.check_size(strip, 4)
    drawn: Any = None
    with mpi.agreeing(request.comm):
        drawn = on_device.draw_block(source, strip.rows, strip.columns)[0]
    return PartProblem(source, drawn, np.dtype(np.int32), 0, request.maximize), strip, drawn


def _is_drawn_on_device(source: blocks.Source, request: Request) -> bool:
    counters = getattr(source, "counters", None)
    if counters is None or request.maximize or request.dtype not in (None, "int32"):
        return False
    return device.describe().is_gpu and counters[1] <= np.iinfo(np.int32).max // SLACK_FACTOR


def _least_item(source: blocks.Source, dtype: Any) -> int:
    """Bytes of the narrowest working type that costs of this source may get."""
    if dtype is not None and str(dtype) in DTYPES:
        return int(np.dtype(dtype).itemsize)
    return 8 if source.dtype.kind == "f" else 4


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
