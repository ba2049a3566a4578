"""A rank's strip of the costs, from whatever form they are given in [DN16 sec.5] (1)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import bind
from papers.common.instances.matrices import on_device, sources
from papers.common.mpi import ranks
from papers.common.problems import assignment, blocks, costs_on_device
from papers.common.problems.costs_on_device import ResidentCosts
from papers.datenagi2016 import solver as one_gpu
from papers.datenagi2016.launches import Geometry
from papers.datenagi2016.several_gpus.kernels.strips import take_columns
from papers.datenagi2016.several_gpus.launches import state_bytes
from papers.datenagi2016.several_gpus.strip import PartProblem, Strip
from papers.datenagi2016.solver import DTYPES, MAX_SIZE, SLACK_FACTOR


@dataclass(frozen=True)
class Request:
    """The arguments that all ranks are given alike.

    Attributes
    ----------
    comm : mpi4py communicator
    maximize, dtype, variant, geometry, exchange, seconds
        As in `papers.datenagi2016.several_gpus.solver.solve`.
    by_rows : bool
        Whether the variant splits the rows of the matrix, or its columns.
    """

    comm: Any
    maximize: bool
    dtype: Any
    variant: str
    geometry: Geometry | None
    exchange: str
    by_rows: bool
    seconds: float | None = None

    def strip(self, n: int) -> Strip:
        """Return this rank's strip of a matrix of order n; int32 indices must do for it."""
        strip = Strip(n, self.by_rows, int(self.comm.size), int(self.comm.rank))
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
        width, free = self.shapes(strip.n).stage_width, ranks.room_of(self.comm)

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

        with ranks.agreeing(self.comm):
            device.check_memory(strip.n, needed(strip.n), largest, free)


Part = tuple[Any, Strip | None, Any]
"""A problem, this rank's strip (None of an empty one) and its costs, on the host or the device."""


def source_of(cost: Any) -> Any:
    """Return the source that `cost` is or names; `OnDevice` where device memory holds it."""
    if one_gpu.is_on_device(cost):
        return OnDevice(costs_on_device.adopt(cost) if hasattr(cost, _CUDA) else cost)
    return sources.as_source(cost)


_CUDA = "__cuda_array_interface__"


@dataclass(frozen=True)
class OnDevice:
    """A matrix that every rank's device memory holds whole."""

    costs: ResidentCosts

    @property
    def dtype(self) -> np.dtype:
        """int32."""
        return self.costs.dtype

    def fingerprint(self) -> str:
        """Shape, bounds and the beginnings of up to sixty-four rows."""
        n, low, high = self.costs.shape[0], self.costs.low, self.costs.high
        found = hashlib.blake2b(digest_size=16)
        for i in range(0, n, max(1, n // 64)):
            found.update(device.to_host(self.costs.array[i][:4096]).tobytes())
        return f"on the device {n} {low} {high} {found.hexdigest()}"


def part_of(request: Request, source: Any) -> Part:
    """Return the problem and this rank's strip of it; collective.

    Parameters
    ----------
    request : Request
    source : Source or OnDevice
        From `source_of`.
    """
    if isinstance(source, OnDevice):
        return _part_of_resident(request, source)
    if isinstance(source, blocks.ArraySource) and not isinstance(source.array, np.memmap):
        return _part_of_array(request, source)
    return _part_of_source(request, source)


def _part_of_resident(request: Request, source: OnDevice) -> Part:
    """Every rank's device memory has the matrix: a strip of rows is used where it is."""
    problem: Any = None
    strip: Any = None
    costs, n = source.costs, source.costs.shape[0]
    with ranks.agreeing(request.comm):
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
    with ranks.agreeing(request.comm):
        problem = assignment.prepare(
            source.array, request.maximize, request.dtype, DTYPES, factor=SLACK_FACTOR, signed=True
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
    with ranks.agreeing(request.comm):
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
    with ranks.agreeing(comm):
        block = blocks.read_block(source, strip.rows, strip.columns)
        bounds = assignment.block_bounds(block)
    found = [pair for pair in ranks.collect(comm, bounds) if pair is not None]
    low, high = min(pair[0] for pair in found), max(pair[1] for pair in found)
    matrix: Any = None
    shift: Any = None
    with ranks.agreeing(comm):
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
    with ranks.agreeing(request.comm):
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
