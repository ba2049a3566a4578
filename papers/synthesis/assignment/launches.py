"""Device memory and the bound launch of a run."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from papers.common.gpu import device
from papers.common.gpu.copying import overwrite_by_chunks
from papers.common.gpu.launch import (
    ClusterError,
    Launch,
    SharedMemoryError,
    bind,
    cluster_fits,
    registers_for,
    resident_blocks,
)
from papers.common.gpu.limits import grid_for, largest
from papers.common.gpu.signals import Mailbox
from papers.synthesis.assignment import pool
from papers.synthesis.assignment.costs import DTYPES, Costs, shift_of
from papers.synthesis.assignment.kernels import arguments, dense, floats, integers
from papers.synthesis.assignment.kernels import costs as costs_kernels
from papers.synthesis.assignment.kernels.cluster import boxes, strips
from papers.synthesis.assignment.kernels.cluster.distributed import CAPABILITY
from papers.synthesis.assignment.kernels.grid import near, reports
from papers.synthesis.assignment.resident import DeviceMatrix, Plan, move_again, mover
from papers.synthesis.assignment.settings import WARP, Settings

ALIGNMENT = 256
"""Bytes: every array begins at a multiple, as separate allocations do."""

ANSWER = ("u", "v", "chosen", "totals", "column")
LAST_OF_ANSWER = ANSWER[-1]
"""The arrays that go back to the host, and the last of them in memory."""

NO_STREAM = -1
"""No stream's handle."""

STAGED_BYTES = 8 << 20
"""Bytes of costs in working form up to which a workspace has pinned memory for them; where it
should end was not measured."""

GATHER_BLOCK = 32
"""Threads a block that gathers; in the executor every thread costs time."""

EXECUTOR_BLOCKS, EXECUTOR_CLUSTER = 3, 2
"""Blocks in the CPU executor, where every thread costs time, and those of a cluster."""

STRIP_BYTES = 180 * 1024
"""Shared memory of a block that costs may take: what all else leaves of the 227 KiB that cards with
clusters have."""

FEW_COLUMNS = 512
"""Up to so many columns a cluster's blocks have half their threads."""


KINDS = {np.dtype(name): name for name in DTYPES}
"""Names by type: NumPy makes a type's name anew each time."""


@cache
def kernel_for(
    kind: str, loads: int, threads: int, alone: bool = False, marks: int = near.NOTHING
) -> Any:
    """The kernel for a type of costs, with the registers that a block of so many threads leaves."""
    module, limit = floats if kind == "float64" else integers, registers_for(threads)
    return cuda.jit(max_registers=limit)(module.assign_with(loads, alone, marks).py_func)


@cache
def conclusion_for(kind: str, loads: int, threads: int, strip: str) -> Any:
    """As `kernel_for`, the kernel by which a cluster ends a run."""
    module, limit = floats if kind == "float64" else integers, registers_for(threads)
    return cuda.jit(max_registers=limit)(module.conclude_with(loads, strip).py_func)


class Workspace(pool.Pooled):
    """Device memory and the bound launch for problems of one shape, type and settings.

    Attributes
    ----------
    arrays : dict of str to device array
        By the names of the notation (`papers.synthesis.assignment.kernels.arguments`); ``chosen``
        are the assigned costs, and ``cost`` the costs, unless the caller's memory is read.
    mailbox : Mailbox
    launch : Launch
        The solver.
    conclusion : Launch or None
        What ends a run behind it, if that is a cluster's.
    gather : Launch
        Collects the assigned costs.
    movers : dict
        Launches that bring costs of a kind into the working form.
    delivery : Delivery or None
        The way out for the pairs alone, once somebody has asked (`pairs`).
    reads : DeviceMatrix or None
        The caller's costs, where their memory is read: kept as long as the problem is under way.
    stream : int
        Handle of the stream that all work of a problem is enqueued on; see `use`.
    running : bool
        Whether a run was enqueued whose signal nobody has read.
    concluded : bool
        Whether a cluster ended the last run.

    A run initialises all arrays itself, but for ``words``, whose last word counts the runs, and
    that word belongs to the mailbox. So another problem may follow in the same memory, and on
    another stream, which does not wait for this one's: `whole` is False from the first work that is
    enqueued until the host has waited for the last, and only what is whole goes to the pool.
    """

    def __init__(
        self, key: Any, costs: Costs, settings: Settings, owns: bool, stream: int
    ) -> None:  # fmt: skip
        self.key, self.settings, self.owns = key, settings, owns
        self.running = self.concluded = False
        self.stream = NO_STREAM
        self.mailbox = Mailbox()
        self.movers: dict[Any, Launch] = {}
        self.delivery: Any = None
        self.reads: DeviceMatrix | None = None
        self._carve(costs)
        device.clear(self.arrays["words"], stream)  # on the stream of the launch that reads them
        self.whole = False
        self.arrays["signal"] = self.mailbox.device_word
        if not owns:
            self.arrays["cost"] = costs.matrix.flat
        self.shift = shift_of(costs, settings)
        self.launch, self.conclusion = bind_assign(costs, self.arrays, settings, None)
        self._launches = (self.launch,) if self.conclusion is None else (
            self.launch, self.conclusion)  # fmt: skip
        self.limit: np.int64 | None = FOREVER
        n, m = costs.shape
        names = ("cost", "column", "chosen")
        self.gather = bind(
            costs_kernels.gather, *grid_for(n, GATHER_BLOCK), np.int32(n), np.int32(m),
            *(self.arrays[name] for name in names),
        )  # fmt: skip

    def _carve(self, costs: Costs) -> None:
        """Make all arrays out of one allocation: the answer first, the costs last.

        The pinned host memory has the same places, so that all of the answer is one copy.
        """
        self.places: dict[str, tuple[int, int, np.dtype]] = {}
        end = 0
        n, m = costs.shape
        words, held = report_words(costs, self.settings), held_words(m, self.settings)
        marks = near_words(n, m, self.settings)
        sizes = sizes_of(n, m, costs.dual, of_reports=words, of_held=held, of_near=marks)
        for name, (size, kind) in sizes.items():
            self.places[name] = (end, size, np.dtype(kind))
            end += -(-size * np.dtype(kind).itemsize // ALIGNMENT) * ALIGNMENT
            if name == LAST_OF_ANSWER:
                self.answer_bytes = end
        cost_bytes = costs.size * costs.dtype.itemsize
        self.staged = self.owns and cost_bytes <= STAGED_BYTES
        if self.staged:
            self.places["cost"] = (end, costs.size, costs.dtype)
        whole = end + cost_bytes if self.staged else end
        self.memory = device.empty(whole, np.uint8)
        self.host = device.staging(whole if self.staged else self.answer_bytes, np.uint8)
        self.arrays = {
            name: device.part(self.memory, *place) for name, place in self.places.items()
        }
        if self.staged:
            self._staged_costs = self._on_host("cost").reshape(costs.shape)
            self._way_up = device.WayUp(self.host, self.memory, end, cost_bytes)
        elif self.owns:
            self.arrays["cost"] = device.empty(costs.size, costs.dtype)
        self.nbytes = end + (cost_bytes if self.owns else 0)

    def use(self, stream: int) -> None:
        """Enqueue all that follows on a stream; nothing is under way on another."""
        if stream == self.stream:
            return
        self.stream = self.gather.stream = self.mailbox.stream = stream
        for launch in self.solver():
            launch.stream = stream

    def solver(self) -> tuple[Launch, ...]:
        """The launches of a run, in their order; their arguments are the same."""
        return self._launches

    def settle(self) -> None:
        """Wait for all work that was enqueued."""
        device.synchronize(self.stream)
        self.whole = True

    def fill(self, matrix: np.ndarray, awaited: bool = True) -> None:
        """Copy costs of the host into the memory for them, from which they may change.

        All have arrived on return, unless nobody is to wait for few costs: then what is enqueued
        behind them finds them there.
        """
        if self.staged:
            np.copyto(self._staged_costs, matrix)
            self.whole = False
            self._way_up(self.stream, awaited)
            self.whole = awaited
        else:
            overwrite_by_chunks(self.arrays["cost"], matrix.reshape(-1))
            self.whole = True

    def move(self, given: DeviceMatrix, plan: Plan) -> None:
        """Bring costs of the device into the memory for the working form."""
        kind = (given.dtype.name, given.across)
        if kind in self.movers:
            move_again(self.movers[kind], given, plan)
        else:
            self.movers[kind] = mover(given, plan, self.arrays["cost"])
        self.whole = False
        self.movers[kind].stream = self.stream
        self.movers[kind]()
        self.movers[kind].release(5)

    def set(self, costs: Costs, seconds: float | None) -> None:
        """Give the launches what may differ between problems of one shape."""
        shift = shift_of(costs, self.settings)
        for launch in self.solver():
            if shift != self.shift:
                launch.replace_field(SHAPE, SHIFT, np.int32(shift))
            if launch.arguments[MATRIX].loose != costs.loose:
                launch.replace_field(MATRIX, LOOSE, costs.dual.type(costs.loose))
        self.shift = shift
        self.read(None if self.owns else costs.matrix, seconds)

    def read(self, given: DeviceMatrix | None, seconds: float | None) -> None:
        """Let the next run read these costs, unless the workspace has its own, for so long.

        That is all that differs between two matrices of one form that no pass has to look at.
        """
        self.reads, limit = given, limit_of(seconds)
        anew = limit is not self.limit and limit != self.limit
        if anew:
            self.limit = None  # until all launches have it
        for launch in self.solver():
            if given is not None:
                launch.point(MATRIX, COST, given.array, lambda: given.flat)
            if anew:
                launch.replace_field(LOG, LIMIT, limit)
        self.limit = limit

    def answer(self, costs: Costs) -> dict[str, np.ndarray]:
        """Copy the answer to the host: ``u``, ``v``, ``totals``, ``column``, and ``chosen``.

        The host waits for the copy, which is the last work on the stream.
        """
        if costs.resident:
            if not self.owns:
                self.gather.replace(GATHERED, costs.matrix.flat)
            self.gather()
        device.copy_words(
            self.host, self.memory, 0, self.answer_bytes, down=True, stream=self.stream
        )
        self.whole = True
        return {name: self._on_host(name).copy() for name in ANSWER}

    def _on_host(self, name: str) -> np.ndarray:
        start, size, kind = self.places[name]
        return self.host[start : start + size * kind.itemsize].view(kind)

    def release(self) -> None:
        """Let go of the caller's memory and of hooks, and go back to the pool."""
        for launch in self.solver():
            launch.on_enqueue = None
        if not self.owns:
            self.reads = None
            for launch in self.solver():
                if launch.arguments[MATRIX].cost is not None:  # the first problem's
                    launch.release_field(MATRIX, COST)
            if self.gather.arguments[GATHERED] is not None:
                self.gather.release(GATHERED)
            self.arrays.pop("cost", None)
        pool.give(self)


def sizes_of(
    n: int,
    m: int,
    dual: np.dtype,
    problems: int = 1,
    of_reports: int = 2,
    of_held: int = 2,
    of_near: int = 1,
) -> dict[str, tuple[int, Any]]:
    """Length and type of every array but the costs; the answer's come first, up to `column`.

    Of several problems, ``n`` and ``m`` are all rows and all columns. A grid's reports take
    ``of_reports`` words, its auction ``of_held``, and its marks of near pairs ``of_near``.
    """
    return {
        "u": (n, dual), "v": (m, dual), "chosen": (n, dual),
        "totals": (len(arguments.TOTALS) * problems, np.int64), "column": (n, np.int32),
        "bid": (m, dual), "offer": (n, dual), "distance": (m, dual),
        "start": (2 * n, dual), "base": (2 * n, dual),
        "levels": (arguments.LEVELS * problems, dual),
        "row": (m, np.int32), "rows": (2 * n, np.int32), "bid_column": (n, np.int32),
        "before": (m, np.int32), "opened": (m, np.int32), "link": (m, np.int32),
        "owner": (m, np.int32), "row_claim": (n, np.int32), "column_claim": (m, np.int32),
        "front": (2 * n, np.int32),
        "words": (arguments.WORDS * problems, np.int32), "reports": (of_reports, np.int64),
        "held": (of_held, np.int64), "near": (of_near, np.int32),
        "bound": (n if of_near > 1 else 1, dual),
    }  # fmt: skip


def most_blocks(settings: Settings) -> int:
    """Blocks that the launch has at most: as many as asked for, or one a multiprocessor."""
    machine, wanted = device.describe(), int(settings.blocks)
    if machine.is_gpu:
        return min(wanted or machine.multiprocessors, machine.multiprocessors)
    return wanted or EXECUTOR_BLOCKS


def report_words(costs: Costs, settings: Settings) -> int:
    """Words that the reports of a grid take (`kernels.grid.reports`); one block has none."""
    if settings.blocks == 1:
        return 2
    return reports.words_for(costs.shape[1], int(settings.tile), most_blocks(settings))


def held_words(m: int, settings: Settings) -> int:
    """Words of the pairs of a grid's auction (`kernels.grid.chains`); one block has none."""
    return 2 if settings.blocks == 1 else 2 * m


def marks_for(m: int, settings: Settings) -> int:
    """Choose what goes by marks of near pairs (`kernels.grid.near`).

    Bids do where any are made, and searches if some block has more than one tile of columns: with
    one, it reads all costs of a front as soon as those that are marked.
    """
    if settings.blocks == 1 or not settings.near:
        return near.NOTHING
    return near.SEARCHES if m > most_blocks(settings) * near.TILE else near.BIDS


def has_clusters() -> bool:
    """Whether the selected device has clusters; the CPU executor has."""
    machine = device.describe()
    return not machine.is_gpu or machine.compute_capability >= CAPABILITY


def cluster_for(m: int, settings: Settings) -> tuple[int, int]:
    """Blocks of the cluster that ends a run, and their threads; 0 blocks: the grid ends it.

    A thread has one column. Few columns have blocks of half the size: they meet sooner.
    """
    machine, blocks = device.describe(), int(settings.cluster)
    threads = arguments.CREW_THREADS // (2 if m <= FEW_COLUMNS else 1)
    if not has_clusters():
        blocks = 0
    if not machine.is_gpu:
        threads, blocks = min(threads, int(settings.threads)), min(blocks, EXECUTOR_CLUSTER)
    if settings.blocks == 1 or m > blocks * threads or threads <= WARP:
        blocks = 0
    return blocks, threads


def strips_for(shape: tuple[int, int], kind: np.dtype, blocks: int) -> list[tuple[str, int]]:
    """Where a cluster of so many blocks may read costs (`kernels.cluster.strips`), best first.

    Returns
    -------
    list of (str, int)
        Each with the dynamic shared memory of a block, in bytes. A card may have less than that;
        the last asks for none.
    """
    n, m = shape
    width = 1 << int(boxes.column_bits.py_func(m, blocks))
    kinds = [strips.WHOLE]
    if kind == np.int32 and n <= strips.NARROW_ROWS and width <= strips.NARROW_COLUMNS:
        kinds.append(strips.NARROW)
    sizes = [(strip, strips.bytes_of(strip, n, width, kind.itemsize)) for strip in kinds]
    anywhere = strips.NOTED if kind == np.int32 else strips.NOWHERE
    return [*(pair for pair in sizes if pair[1] <= STRIP_BYTES), (anywhere, 0)]


def near_words(n: int, m: int, settings: Settings) -> int:
    """Words of the marks of near pairs, if any are made."""
    return max(2, near.words_for(n, m)) if marks_for(m, settings) else 1


def workspace(
    costs: Costs, settings: Settings, owns: bool = True, stream: int = device.DEFAULT_STREAM
) -> Workspace:
    """Take a workspace out of the pool, or make one.

    Parameters
    ----------
    costs : Costs
        Their shape and type count; with `owns` their matrix may be anything of that type.
    settings : Settings
    owns : bool
        Whether the workspace has memory for the costs; else the kernel reads the caller's.
    stream : int
        Handle of the stream that the problem's work is enqueued on.

    Raises
    ------
    RuntimeError
        If not even one block of the size of `settings` fits a multiprocessor.
    """
    kernel = _kernel(costs, settings)
    key = ("assign", costs.shape, costs.dtype, owns, kernel, settings, *pool.machine())
    room = pool.take(key, lambda: Workspace(key, costs, settings, owns, stream))
    room.use(stream)
    return room


def _kernel(costs: Costs, settings: Settings) -> Any:
    loads, threads = int(settings.loads), int(settings.threads)
    marks = marks_for(costs.shape[1], settings)
    return kernel_for(KINDS[costs.dtype], loads, threads, settings.blocks == 1, marks)


def bind_assign(
    costs: Costs, arrays: dict[str, Any], settings: Settings, seconds: float | None
) -> tuple[Launch, Launch | None]:
    """Bind the launch, with as many blocks as asked for, or as are resident at once.

    Returns
    -------
    launch : Launch
    conclusion : Launch or None
        A cluster's, which has to be enqueued behind it.

    Raises
    ------
    RuntimeError
        If not even one block of that size fits a multiprocessor.
    """
    threads = int(settings.threads)
    conclusion = _bind_conclusion(costs, arrays, settings, seconds)
    kernel = _kernel(costs, settings)
    if conclusion is not None:
        given = conclusion.arguments
    else:
        given = _arguments(costs, arrays, settings, seconds, 0)
    if settings.blocks == 1:
        return bind(kernel, 1, threads, *given), None
    blocks = min(most_blocks(settings), resident_blocks(kernel, given, threads))
    return bind(kernel, blocks, threads, *given), conclusion


def _bind_conclusion(
    costs: Costs, arrays: dict[str, Any], settings: Settings, seconds: float | None
) -> Launch | None:
    """Bind a cluster's launch, if there is to be one, and the device holds it."""
    blocks, threads = cluster_for(costs.shape[1], settings)
    if not blocks:
        return None
    kind, loads = KINDS[costs.dtype], int(settings.loads)
    given = _arguments(costs, arrays, settings, seconds, blocks)
    for strip, room in strips_for(costs.shape, costs.dtype, blocks):
        kernel = conclusion_for(kind, loads, threads, strip)
        try:
            launch = bind(kernel, blocks, threads, *given, shared_bytes=room, cluster=True)
        except ClusterError:
            return None
        except SharedMemoryError:
            continue
        if cluster_fits(launch):
            return launch
    return None


def _arguments(
    costs: Costs, a: dict[str, Any], settings: Settings, seconds: float | None, cluster: int
) -> tuple[Any, ...]:
    """The kernel's named tuples."""
    schedule = schedule_of(settings, costs.shape[0])
    return (
        schedule._replace(cluster=np.int32(cluster)), _shape(costs, settings), _matrix(costs, a),
        *tuples_of(a, limit_of(seconds)),
    )  # fmt: skip


def tuples_of(a: dict[str, Any], limit: np.int64) -> tuple[Any, ...]:
    """The named tuples of arrays that are the kernel's last arguments, from `Duals` on."""
    return (
        arguments.Duals(a["u"], a["v"], a["bid"]),
        arguments.Matching(a["column"], a["row"]),
        arguments.Lists(a["rows"], a["bid_column"], a["offer"]),
        arguments.Tree(
            a["distance"],
            a["before"],
            a["opened"],
            a["link"],
            a["owner"],
            a["row_claim"],
            a["column_claim"],
        ),
        arguments.Front(a["front"], a["start"], a["base"], a["reports"], a["held"]),
        arguments.Log(a["words"], a["levels"], a["totals"], a["signal"], limit),
    )


SHAPE, MATRIX, LOG = 1, 2, 8
"""Places of the arguments that may differ between problems of one shape."""

SHIFT = arguments.Shape._fields.index("shift")
COST, LOOSE = map(arguments.Matrix._fields.index, ("cost", "loose"))
LIMIT = arguments.Log._fields.index("limit")
"""Their fields that may."""

GATHERED = 2
"""The place of the costs among the arguments of `gather`."""


FOREVER = np.int64(dense.FOREVER)


def limit_of(seconds: float | None) -> np.int64:
    """Nanoseconds that a run may take."""
    if seconds is None:
        return FOREVER
    return np.int64(max(1, int(min(float(dense.FOREVER), 1e9 * seconds))))


def _matrix(costs: Costs, a: dict[str, Any]) -> arguments.Matrix:
    dual = costs.dual
    return arguments.Matrix(
        a["cost"],
        largest(dual),
        dual.type(-1),
        dual.type(0),
        dual.type(costs.loose),
        a["near"],
        a["bound"],
    )


def schedule_of(settings: Settings, n: int) -> arguments.Schedule:
    """The kernel's schedule for n rows."""
    values = vars(settings) | settings.of_rows(n)
    return arguments.Schedule(*(np.int32(values[name]) for name in arguments.Schedule._fields))


def _shape(costs: Costs, settings: Settings) -> arguments.Shape:
    n, m = costs.shape
    step = -(-n // int(settings.sampled_rows))
    numbers = (n, m, int(n == m), min(settings.warps_a_row, settings.threads // WARP),
               settings.tile, step, shift_of(costs, settings))  # fmt: skip
    return arguments.Shape(*map(np.int32, numbers))
