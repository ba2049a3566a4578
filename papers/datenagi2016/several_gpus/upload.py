"""From a matrix to the ranks' states, and from the ranks' arrays to the answer [DN16 sec.5] (1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch
from papers.common.gpu.signals import Mailbox
from papers.common.instances.matrices import on_device, sources
from papers.common.model import Assignment
from papers.common.mpi import ranks
from papers.common.problems import assignment, blocks
from papers.datenagi2016.kernels.half_units import NEGLIGIBLE
from papers.datenagi2016.launches import VARIANTS, Geometry
from papers.datenagi2016.several_gpus import exchange as mpi_exchange
from papers.datenagi2016.several_gpus import launches as binding
from papers.datenagi2016.several_gpus.collectives import Collectives
from papers.datenagi2016.several_gpus.kernels.strips import MPI_FLAGS
from papers.datenagi2016.several_gpus.state import PartProblem, State
from papers.datenagi2016.solver import DTYPES, MAX_SIZE, SLACK_FACTOR

MOST_EDGES = 2**31 - 1
"""Edges that int32 pointers can count (classical)."""

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
        See `papers.datenagi2016.several_gpus.solver.solve`; what one rank meets, all raise.
    """
    comm = _ranks.alone() if comm is None else comm
    if ranks not in (None, comm.size):
        raise _ranks.agreed(ValueError(f"{ranks} ranks are asked for, {comm.size} are here"))
    with _ranks.guarded(comm):
        return _upload(cost, maximize, dtype, variant, geometry, comm, exchange)


_ranks = ranks  # `upload` has an argument of that name


def _upload(
    cost: Any, maximize: bool, dtype: Any, variant: str, geometry: Any, comm: Any, exchange: str
) -> State:
    ranks.settle_device(comm)
    source: Any = None
    with ranks.agreeing(comm):
        if variant not in VARIANTS:
            raise ValueError(f"variant={variant!r} is not one of {', '.join(VARIANTS)}")
        source = sources.as_source(cost)
    _demand_one_problem(comm, source, (maximize, str(dtype), variant, exchange))
    whole = isinstance(source, blocks.ArraySource) and not isinstance(source.array, np.memmap)
    make = _whole_problem if whole else _part_problem
    problem, strip = make(comm, source, maximize, dtype, variant, geometry)
    kind = problem.cost.dtype.kind if whole else source.dtype.kind
    state = State(
        problem, variant, problem.size, comm, Collectives(comm), whole=kind != "f", strip=strip
    )
    if state.n == 0:
        return state
    state.gpus = ranks.gpus_of(comm)
    _make_room(state, geometry, exchange)
    return state


def _demand_one_problem(comm: Any, source: blocks.Source, options: tuple[Any, ...]) -> None:
    """Refuse ranks that were given different matrices or options; collective."""
    if comm.size == 1:
        return
    mine = None
    with ranks.agreeing(comm):
        mine = (source.fingerprint(), options)
    found = ranks.collect(comm, mine)
    other = next((rank for rank, theirs in enumerate(found) if theirs != found[0]), None)
    if other is not None:
        what = "options" if found[other][0] == found[0][0] else "costs"
        raise ranks.agreed(
            blocks.DisagreementError(
                f"rank {other} was given other {what} than rank 0: "
                f"{found[other][what == 'options']} and {found[0][what == 'options']}"
            )
        )


def _strip(comm: Any, n: int, variant: str) -> Any:
    if n == 0:
        return None
    strip = binding.Strip(n, variant == "classical", int(comm.size), int(comm.rank))
    _ = strip.block  # refuses too many ranks
    most = MAX_SIZE["tree"]
    if n > most:
        raise ValueError(f"order {n} is too large: int32 indices allow n <= {most}")
    return strip


def _whole_problem(
    comm: Any, source: Any, maximize: bool, dtype: Any, variant: str, geometry: Geometry | None
) -> tuple[Any, Any]:
    """Every rank has the array: it is prepared as for one GPU, and cut."""
    problem: Any = None
    strip: Any = None
    with ranks.agreeing(comm):
        problem = assignment.prepare(source.array, maximize, dtype, DTYPES, factor=SLACK_FACTOR)
        strip = _strip(comm, problem.size, variant)
    if strip is not None:
        _check_size(comm, strip, variant, problem.matrix.dtype.itemsize, geometry)
    return problem, strip


def _part_problem(
    comm: Any,
    source: blocks.Source,
    maximize: bool,
    dtype: Any,
    variant: str,
    geometry: Geometry | None,
) -> tuple[PartProblem, Any]:
    """Every rank reads or draws its own strip, if the card has room for it."""
    strip: Any = None
    drawn: Any = None
    bounds: Any = None
    block: Any = None
    draws = False
    with ranks.agreeing(comm):
        if len(source.shape) != 2 or source.shape[0] != source.shape[1]:
            raise ValueError(f"costs that are given by part must be square, not {source.shape}")
        strip = _strip(comm, int(source.shape[0]), variant)
        if strip is None:
            raise ValueError("costs that are given by part cannot be empty")
        draws = _is_drawn_on_device(source, maximize, dtype)
    # The narrowest type that there may be: what it needs, any needs.
    item = 4 if draws else _least_item(source, dtype)
    _check_size(comm, strip, variant, item, geometry)
    with ranks.agreeing(comm):
        if draws:
            drawn = on_device.draw_block(source, strip.rows, strip.columns)
            bounds = drawn[1:] if strip.lines else None
        else:
            block = blocks.read_block(source, strip.rows, strip.columns)
            bounds = assignment.block_bounds(block)
    found = [pair for pair in ranks.collect(comm, bounds) if pair is not None]
    low, high = min(pair[0] for pair in found), max(pair[1] for pair in found)
    if drawn is not None:
        return PartProblem(source, drawn[0], np.dtype(np.int32), 0, maximize), strip
    matrix: Any = None
    shift: Any = None
    with ranks.agreeing(comm):
        matrix, shift = assignment.prepare_block(
            block, (low, high), strip.n, maximize, dtype, DTYPES, SLACK_FACTOR
        )
    if matrix.dtype.itemsize > item:
        _check_size(comm, strip, variant, matrix.dtype.itemsize, geometry)
    return PartProblem(source, matrix, matrix.dtype, shift, maximize), strip


def _is_drawn_on_device(source: blocks.Source, maximize: bool, dtype: Any) -> bool:
    """Whether the strips are made in device memory, in working form: int32 from 0 on."""
    counters = getattr(source, "counters", None)
    if counters is None or maximize or dtype not in (None, "int32"):
        return False
    return device.describe().is_gpu and counters[1] <= np.iinfo(np.int32).max // SLACK_FACTOR


def _least_item(source: blocks.Source, dtype: Any) -> int:
    """Bytes of the narrowest working type that costs of this source may get."""
    if dtype is not None and str(dtype) in DTYPES:
        return int(np.dtype(dtype).itemsize)
    return 8 if source.dtype.kind == "f" else 4


def _make_room(state: State, geometry: Geometry | None, asked: str) -> None:
    """Allocate, upload the strip, bind the launches; collective."""
    strip, root = state.strip, state.collectives.is_root
    problem = state.problem
    matrix = problem.matrix
    with ranks.agreeing(state.comm):
        if not isinstance(problem, PartProblem):
            matrix = np.ascontiguousarray(matrix[slice(*strip.rows), slice(*strip.columns)])
        work = np.dtype(matrix.dtype)
        state.shapes = geometry or Geometry.for_device(strip.n, state.variant)
        state.state_bytes = binding.state_bytes(strip, work.itemsize, state.shapes.stage_width)
        state.arrays = binding.allocate(strip, work, _on_device(matrix, work), state.shapes, root)
    if state.variant == "tree":
        way, state.reason = mpi_exchange.choose(state.comm, asked)
        state.exchange = mpi_exchange.make(way, state.collectives, strip.block)
    with ranks.agreeing(state.comm):
        _bind(state, work)


def _on_device(matrix: Any, work: np.dtype) -> Any:
    """The strip in device memory, flat, of at least one element."""
    if not isinstance(matrix, np.ndarray):
        return matrix
    if not matrix.size:
        return device.to_device(np.zeros(1, work))
    return device.to_device(matrix.reshape(-1))


def _check_size(
    comm: Any, strip: binding.Strip, variant: str, itemsize: int, geometry: Geometry | None
) -> None:
    """Refuse what the ranks' cards have no room for, before a strip is there; collective."""
    shapes = geometry or Geometry.for_device(strip.n, variant)
    free = ranks.room_of(comm)

    def needed(order: int) -> int:
        other = binding.Strip(order, strip.by_rows, strip.ranks, 0)
        return itemsize * order * other.block + binding.state_bytes(
            other, itemsize, shapes.stage_width
        )

    def largest(free: int) -> int:
        low, high = strip.ranks, strip.n
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if needed(middle) <= free else (low, middle)
        return low

    with ranks.agreeing(comm):
        device.check_memory(strip.n, needed(strip.n), largest, free)


def _bind(state: State, work: np.dtype) -> None:
    strip, a, root = state.strip, state.arrays, state.collectives.is_root
    n, p = strip.n, strip.ranks
    state.flags = device.staging(MPI_FLAGS, np.int32)
    state.words = np.zeros(4, np.int64)
    state.nothing = np.full(p * strip.block, -1, np.int32)
    state.launches = binding.bind_shared(strip, work, a, state.shapes, root)
    if state.variant == "tree":
        bind = binding.bind_peers if state.exchange.name == "peers" else binding.bind_tree
        state.launches |= bind(strip, work, a, state.exchange, state.shapes, root)
        state.launches |= state.exchange.launches
        return
    state.mailbox = Mailbox()
    state.row_edges = device.staging(strip.block, np.int32)
    state.edges = np.zeros(p, np.int64)
    negligible = 0.0 if state.whole else NEGLIGIBLE
    state.launches |= binding.bind_classical(strip, work, a, state.shapes, negligible, root)
    room_for_edges(state, "adjacency", binding.FIRST_EDGES * max(strip.lines, 1))
    if root:
        room_for_edges(state, "whole_adjacency", binding.FIRST_EDGES * n)


def room_for_edges(state: State, name: str, edges: int) -> None:
    """Let an adjacency list hold so many edges; it grows by doubling, and loses what it held.

    Parameters
    ----------
    state : State
        Of the classical variant; the launch that uses the list is bound anew.
    name : {"adjacency", "whole_adjacency"}
        This rank's list, for `compression_scatter`, or the root's, for `forward_pass`.
    edges : int

    Raises
    ------
    ValueError
        For more than `MOST_EDGES`.
    """
    a = state.arrays
    if name in a and len(a[name]) >= edges:
        return
    if edges > MOST_EDGES:
        raise ValueError(f"{edges} edges without slack are too many for int32 pointers")
    user = {"adjacency": "compression_scatter", "whole_adjacency": "forward_pass"}[name]
    count = state.launches[user].count if user in state.launches else 0
    # The old list is freed before there is a new one: the launch holds it, too.
    state.launches.pop(user, None)
    a.pop(name, None)
    a[name] = device.empty(min(1 << max(edges, 1).bit_length(), MOST_EDGES), np.int32)
    shapes, strip = state.shapes, state.strip
    launch: Launch
    if name == "adjacency":
        negligible = 0.0 if state.whole else NEGLIGIBLE
        work = np.dtype(a["cost"].dtype)
        launch = binding.bind_scatter(strip, work, a, shapes, negligible)
    else:
        launch = binding.bind_forward(strip.n, a, shapes, state.mailbox)
    launch.count = count
    state.launches[user] = launch


# ------------------------------------------------------------------------------- download


def finish_parts(
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
    if not isinstance(problem, PartProblem):
        return assignment.finish(problem, columns, u, v, counters)
    chosen = _chosen(state, columns)
    wide = np.float64 if problem.source.dtype.kind == "f" else np.int64
    u, v = u.astype(wide), v.astype(wide)
    if problem.maximize:
        u, v = -u, -v
    rows = np.arange(state.n, dtype=np.int64)
    total = assignment.total_cost(chosen)
    return Assignment(rows, columns, total, u + problem.shift, v, problem.maximize, dict(counters))


def _chosen(state: State, columns: np.ndarray) -> np.ndarray:
    """The assigned costs, row by row: every rank contributes those of its strip."""
    strip = state.strip
    rows = np.arange(state.n, dtype=np.int64)
    lines = rows if strip.by_rows else columns
    mine = np.flatnonzero((lines >= strip.bounds[0]) & (lines < strip.bounds[1]))
    values = blocks.entries(state.problem.source, rows[mine], columns[mine])
    chosen = np.empty(state.n, state.problem.source.dtype)
    for places, found in ranks.collect(state.comm, (mine, values)):
        chosen[places] = found
    return chosen
