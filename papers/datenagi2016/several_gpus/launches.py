"""What a run on several GPUs needs before its first launch: this rank's strip, memory, launches.

`several_gpus.solver` is the algorithm; this is its plumbing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.kernels_scan import exclusive_scan
from papers.common.gpu.launch import Launch, bind, resident_blocks
from papers.common.gpu.signals import Mailbox
from papers.common.mpi import windows
from papers.common.problems import blocks
from papers.datenagi2016.kernels import classical as one_gpu_classical
from papers.datenagi2016.kernels import shared as one_gpu
from papers.datenagi2016.launches import Geometry
from papers.datenagi2016.several_gpus.exchange import window_words
from papers.datenagi2016.several_gpus.kernels import classical, tree
from papers.datenagi2016.several_gpus.kernels import peers as by_peers
from papers.datenagi2016.several_gpus.kernels import peers_paths as paths
from papers.datenagi2016.several_gpus.kernels import strips as k


@dataclass(frozen=True)
class Strip:
    """The part of the matrix that one rank has [DN16 sec.5] (1).

    Attributes
    ----------
    n : int
        Order of the whole.
    by_rows : bool
        Rows are split (classical) or columns (tree).
    ranks, rank : int
    """

    n: int
    by_rows: bool
    ranks: int
    rank: int

    @property
    def block(self) -> int:
        """Lines a rank, ``ceil(n / ranks)``; the last ranks may have fewer."""
        return blocks.block_size(self.n, self.ranks)

    @property
    def bounds(self) -> tuple[int, int]:
        """First line and the one behind the last."""
        return blocks.split(self.n, self.ranks)[self.rank]

    @property
    def lines(self) -> int:
        """How many lines this rank has."""
        return self.bounds[1] - self.bounds[0]

    @property
    def rows(self) -> tuple[int, int]:
        """Its rows: all, if columns are split."""
        return self.bounds if self.by_rows else (0, self.n)

    @property
    def columns(self) -> tuple[int, int]:
        """Its columns: all, if rows are split."""
        return (0, self.n) if self.by_rows else self.bounds

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows[1] - self.rows[0], self.columns[1] - self.columns[0]


def state_bytes(strip: Strip, itemsize: int, stage_width: int = 16) -> int:
    """Bytes of device memory besides the strip, at the start, at most.

    The edge lists grow as needed; the window is one exchange's.
    """
    n, block, p = strip.n, strip.block, strip.ranks
    whole = p * block
    if strip.by_rows:
        shared = itemsize * (3 * whole + 2 * block + p * n) + 4 * 12 * whole
        return shared + 4 * (whole + block + 1 + block * stage_width + 2 * FIRST_EDGES * n)
    shared = itemsize * (2 * whole + 3 * block + n * p + n) + 4 * (10 * whole + 6 * block)
    window = 2 * 8 * max(windows.LEAST, window_words(p, block))  # of peers, doubled as it may be
    return shared + 4 * (2 * whole + block + 8 * p) + window


FIRST_EDGES = 4
"""Edges a row that the adjacency lists have room for at first."""


def allocate(
    strip: Strip, dtype: np.dtype, cost: Any, shapes: Geometry, root: bool
) -> dict[str, Any]:
    """Device memory of one rank; the arrays are named as in the table of `kernels.shared`.

    Arrays of a split line hold ``block`` elements; those that a Gather fills, or that are whole,
    hold ``ranks * block``, so that the ranks' parts lie where they belong. ``gathered`` is the
    root's.
    """
    n, block = strip.n, strip.block
    whole = strip.ranks * block
    a: dict[str, Any] = {"cost": cost}
    rows, columns = (block, whole) if strip.by_rows else (whole, block)
    lines = {
        "row_assignment": whole, "column_assignment": columns, "row_cover": whole,
        "column_cover": columns, "row_predecessor": whole, "column_predecessor": columns,
        "row_successor": whole, "column_successor": whole, "row_mark": whole,
        "column_mark": columns, "frontier_reverse": whole, "frontier_augment": whole,
    }  # fmt: skip
    for name, size in lines.items():
        a[name] = device.to_device(np.full(size, -1, np.int32))
    a["row_dual"] = device.to_device(np.zeros(whole, dtype))
    a["column_dual"] = device.to_device(np.zeros(columns, dtype))
    a["theta"] = device.empty(1, dtype)
    a["flags"] = device.to_device(np.zeros(k.MPI_FLAGS, np.int32))
    most = max(n, whole)
    a["gathered"] = device.empty(strip.ranks * most if root else 1, dtype)
    a["minima"] = device.to_device(np.zeros(most, dtype))
    if strip.by_rows:
        a["slack"] = device.empty(max(rows, columns), dtype)  # U, and what the check resets
        a["part_dual"] = device.to_device(np.zeros(block, dtype))
        a["counts"] = device.to_device(np.zeros(block, np.int32))
        a["pointers"] = device.to_device(np.zeros(block + 1, np.int32))
        a["staged"] = device.empty(block * shapes.stage_width, np.int32)
        if root:
            a["whole_counts"] = device.empty(whole, np.int32)
            a["whole_pointers"] = device.to_device(np.zeros(whole + 1, np.int32))
            a["frontier_in"] = device.empty(n, np.int32)
            a["frontier_out"] = device.empty(n, np.int32)
        return a
    a["slack"] = device.empty(columns, dtype)
    a["sent"] = device.to_device(np.full(block, -1, np.int32))
    a["thetas"] = device.empty(strip.ranks, dtype)
    alone = strip.ranks == 1  # what is gathered is there
    a["whole_predecessor"] = a["sent"] if alone else device.to_device(np.full(whole, -1, np.int32))
    a["root_flags"] = device.to_device(np.zeros(k.MPI_FLAGS, np.int32))
    if root:
        a["whole_assignment"] = device.to_device(np.full(whole, -1, np.int32))
        a["whole_reverse"] = device.empty(whole, np.int32)
    a["whole_dual"] = device.empty(whole, dtype)
    return a


def _blocks(threads: int, block: int) -> int:
    return max(1, -(-threads // block))


def _top(dtype: np.dtype) -> Any:
    return dtype.type(np.inf if dtype.kind == "f" else np.iinfo(dtype).max)


def bind_shared(
    strip: Strip, dtype: np.dtype, a: dict[str, Any], shapes: Geometry, root: bool
) -> dict[str, Launch]:
    """The launches of both variants, by name.

    Parameters
    ----------
    strip : Strip
    dtype : dtype
        The working type, of costs, duals and slacks.
    a : dict of str to device array
        From `allocate`.
    shapes : Geometry
    root : bool
        Whether this rank has the root's launches, too.
    """
    n, (rows, columns) = strip.n, strip.shape
    i32, top, zero = np.int32, _top(dtype), dtype.type(0)
    line = shapes.line_threads
    lines = _blocks(max(n, columns), line), line
    first_row = i32(strip.rows[0])
    scope = blocks.split(n, strip.ranks)[strip.rank]  # of rows, whichever lines are split
    assignments = a["row_assignment"], a["column_assignment"]
    flags = a["flags"]
    slices = _blocks(columns, shapes.column_threads) * _blocks(rows, shapes.rows_a_block)
    # What is partial, a line's minimum over a part of it, goes into `minima`.
    rows_to = a["part_dual"] if strip.by_rows else a["minima"]
    columns_to = a["minima"] if strip.by_rows else a["column_dual"]
    found = {
        "init": bind(
            k.init, *lines, i32(n), i32(columns), top, columns_to, *assignments, flags
        ),
        "row_minima": bind(
            k.row_minima, _blocks(32 * rows, shapes.row_threads), shapes.row_threads, i32(rows),
            i32(columns), top, zero, a["cost"], rows_to,
        ),
        "column_minima": bind(
            k.column_minima, slices, shapes.column_threads, i32(rows), i32(columns),
            i32(shapes.rows_a_block), first_row, top, zero, a["cost"], a["row_dual"], columns_to,
        ),
        "optimality_check": bind(
            k.optimality_check, *lines, i32(n), i32(columns), i32(scope[0]),
            i32(scope[1] - scope[0]), top, a["row_assignment"], a["row_cover"],
            a["column_cover"], a["row_predecessor"], a["column_predecessor"],
            a["row_successor"], a["column_successor"], a["row_mark"], a["column_mark"],
            a["slack"], flags,
        ),
        "accept_assignment": bind(
            k.accept_assignment, *lines, i32(n), i32(columns), i32(strip.columns[0]),
            *assignments, flags,
        ),
    }  # fmt: skip
    if root:
        target = a["column_dual"] if strip.by_rows else a["row_dual"]
        stride = i32(len(a["minima"]))
        found["least_of_parts"] = bind(
            k.least_of_parts, _blocks(n, line), line, i32(n), i32(strip.ranks), stride, top,
            a["gathered"], target,
        )  # fmt: skip
        inverse = a["column_assignment"] if strip.by_rows else a["whole_assignment"]
        before = a["column_predecessor"] if strip.by_rows else a["whole_predecessor"]
        root_flags = flags if strip.by_rows else a["root_flags"]
        successors = a["row_successor"], a["column_successor"]
        ends = a["frontier_reverse"] if strip.by_rows else a["whole_reverse"]
        found["reverse_pass"] = bind(
            one_gpu.reverse_pass, _blocks(n, line), line, i32(n), ends, a["row_predecessor"],
            before, *successors, a["row_mark"], a["frontier_augment"], root_flags,
        )  # fmt: skip
        found["augmentation"] = bind(
            one_gpu.augmentation, _blocks(n, line), line, i32(n), a["frontier_augment"],
            *successors, a["row_assignment"], inverse, root_flags,
        )  # fmt: skip
    return found


def bind_classical(
    strip: Strip,
    dtype: np.dtype,
    a: dict[str, Any],
    shapes: Geometry,
    negligible: float,
    root: bool,
) -> dict[str, Launch]:
    """The classical variant's launches, but for those that depend on the lists' room.

    Parameters
    ----------
    strip, dtype, a, shapes, root
        As in `bind_shared`.
    negligible : float
        See `papers.datenagi2016.kernels.half_units.no_slack`; 0 for integers.
    """
    n, (rows, columns) = strip.n, strip.shape
    i32, top = np.int32, _top(dtype)
    row = _blocks(32 * rows, shapes.row_threads), shapes.row_threads
    line = _blocks(n, shapes.line_threads), shapes.line_threads
    duals, covers = (a["row_dual"], a["column_dual"]), (a["row_cover"], a["column_cover"])
    shape = i32(rows), i32(columns), i32(strip.rows[0])
    found = {
        "compression_predicate": bind(
            classical.compression_predicate, *row, *shape, i32(shapes.stage_width),
            dtype.type(negligible), a["cost"], *duals, a["staged"], a["counts"],
        ),
        "exclusive_scan": bind(
            exclusive_scan, 1, shapes.scan_threads, i32(rows), a["counts"], a["pointers"]
        ),
        "dual_update_stage_1": bind(
            classical.dual_update_stage_1, *row, *shape, top, a["cost"], *duals, *covers,
            a["slack"],
        ),
        "minimum": bind(
            one_gpu.minimum, 1, shapes.reduction_threads, i32(rows), top, dtype.type(0),
            a["slack"], a["theta"],
        ),
        "dual_update_stage_2": bind(
            one_gpu.dual_update_stage_2, *line, i32(n), top, a["theta"], *covers, *duals,
            a["flags"],
        ),
    }  # fmt: skip
    if root:
        found["whole_scan"] = bind(
            exclusive_scan, 1, shapes.scan_threads, i32(n), a["whole_counts"], a["whole_pointers"]
        )
    return found


def bind_scatter(
    strip: Strip, dtype: np.dtype, a: dict[str, Any], shapes: Geometry, negligible: float
) -> Launch:
    """`compression_scatter` into ``adjacency``, which has grown; arguments as `bind_classical`."""
    rows, columns = strip.shape
    i32 = np.int32
    return bind(
        classical.compression_scatter, _blocks(32 * rows, shapes.row_threads),
        shapes.row_threads, i32(rows), i32(columns), i32(strip.rows[0]), i32(shapes.stage_width),
        dtype.type(negligible), a["cost"], a["row_dual"], a["column_dual"], a["staged"],
        a["pointers"], a["adjacency"],
    )  # fmt: skip


def bind_forward(n: int, a: dict[str, Any], shapes: Geometry, mailbox: Mailbox) -> Launch:
    """The root's forward pass over the whole list, which has grown.

    Parameters
    ----------
    n : int
        Order.
    a : dict of str to device array
        The root's; ``whole_adjacency`` is int32[at least the number of edges].
    shapes : Geometry
    mailbox : Mailbox
        That the pass's outcome goes to.
    """
    return bind(
        one_gpu_classical.forward_pass, 1, shapes.search_threads, np.int32(n),
        a["whole_pointers"], a["whole_adjacency"], a["column_assignment"], a["row_cover"],
        a["column_cover"], a["row_predecessor"], a["column_predecessor"], a["row_mark"],
        a["column_mark"], a["frontier_in"], a["frontier_out"], a["frontier_reverse"], a["flags"],
        mailbox.device_word,
    )  # fmt: skip


def bind_tree(
    strip: Strip, dtype: np.dtype, a: dict[str, Any], exchange: Any, shapes: Geometry, root: bool
) -> dict[str, Launch]:
    """The tree variant's launches; messages and mailbox are the exchange's.

    Parameters
    ----------
    strip, dtype, a, shapes, root
        As in `bind_shared`.
    exchange : HostExchange or DeviceExchange
    """
    columns, warps = strip.shape[1], _warps(shapes)
    i32, top, zero = np.int32, _top(dtype), dtype.type(0)
    flags, buffers = a["flags"], exchange.buffers
    word = exchange.mailbox.device_word
    # The host hears what it has to send, or what the device was sent.
    of_rows, of_level = (
        (tree.WHAT_GOES, tree.WHAT_GOES) if exchange.by_host else (tree.NOTHING, tree.WHAT_CAME)
    )
    found = {}
    for name, (first, last) in _active_rows(strip).items():
        found[name] = bind(
            tree.send_rows, _blocks(last - first, warps), warps, i32(first), i32(last),
            a["row_mark"], buffers.message, flags, i32(of_rows), word,
        )  # fmt: skip
    found["level"] = bind(
        tree.search_level, shapes.search_blocks, shapes.search_threads, i32(buffers.parts),
        i32(buffers.stride), i32(columns), top, zero, a["cost"], a["row_dual"], a["column_dual"],
        a["row_assignment"], a["column_assignment"], a["row_cover"], a["column_cover"],
        a["row_predecessor"], a["column_predecessor"], a["slack"], a["row_mark"],
        a["column_mark"], buffers.messages, buffers.message, a["frontier_reverse"], flags,
        i32(of_level), word,
    )  # fmt: skip
    found["least_theta"] = bind(
        k.least_of_parts, 1, 1, i32(1), i32(strip.ranks), i32(1), top, a["thetas"], a["theta"]
    )
    found |= _bind_beside_search(strip, dtype, a, shapes) | _bind_trees(strip, a, shapes, root)
    if not exchange.by_host:
        found |= _bind_check_of_all(strip, dtype, a, exchange, shapes)
    return found


def _bind_trees(strip: Strip, a: dict[str, Any], shapes: Geometry, root: bool) -> dict[str, Launch]:
    """What makes the message that brings the trees to the root, and what the root makes of it."""
    n, columns = strip.n, strip.shape[1]
    i32, line, warps = np.int32, shapes.line_threads, _warps(shapes)
    found = {
        "predecessors_of_trees": bind(
            tree.predecessors_of_trees, _blocks(max(n, columns), line), line, i32(columns),
            a["column_cover"], a["column_mark"], a["column_predecessor"], a["sent"],
            a["root_flags"],
        )
    }  # fmt: skip
    if root:
        found["free_columns"] = bind(
            tree.free_columns, _blocks(n, warps), warps, i32(n), a["whole_predecessor"],
            a["whole_assignment"], a["whole_reverse"], a["root_flags"],
        )  # fmt: skip
    return found


def _active_rows(strip: Strip) -> dict[str, tuple[int, int]]:
    """The rows that a rank looks at to begin a search: its share, or all that it may have woken."""
    return {
        "first_rows": blocks.split(strip.n, strip.ranks)[strip.rank],
        "woken_rows": (0, strip.n),
    }


def _bind_check_of_all(
    strip: Strip, dtype: np.dtype, a: dict[str, Any], exchange: Any, shapes: Geometry
) -> dict[str, Launch]:
    """The optimality check that needs no host."""
    n, columns = strip.n, strip.shape[1]
    line = shapes.line_threads
    return {
        "optimality_check": bind(
            k.optimality_check_of_all, _blocks(max(n, columns), line), line, np.int32(n),
            np.int32(columns), _top(dtype), a["row_assignment"], a["row_cover"],
            a["column_cover"], a["row_predecessor"], a["column_predecessor"], a["row_successor"],
            a["column_successor"], a["row_mark"], a["column_mark"], a["slack"], a["flags"],
            exchange.mailbox.device_word,
        )
    }  # fmt: skip


def bind_peers(
    strip: Strip, dtype: np.dtype, a: dict[str, Any], exchange: Any, shapes: Geometry, root: bool
) -> dict[str, Launch]:
    """The tree variant's launches where the kernels exchange by themselves (`PeerExchange`).

    Some take the place of launches of `bind_shared`, whose names they have.
    """
    columns = strip.shape[1]
    i32, top, zero = np.int32, _top(dtype), dtype.type(0)
    theta = a["theta"] if dtype.itemsize == 4 else a["theta"].view(np.int64)
    shared = i32(strip.rank), i32(strip.ranks)
    searches = {}
    for name, (first, last) in _active_rows(strip).items():
        arguments = (
            i32(first), i32(last), *shared, i32(exchange.stride), i32(columns), top, zero,
            a["cost"], a["row_dual"], a["column_dual"], a["row_assignment"],
            a["column_assignment"], a["row_cover"], a["column_cover"], a["row_predecessor"],
            a["column_predecessor"], a["slack"], a["row_mark"], a["column_mark"], exchange.words,
            exchange.lists, exchange.addresses, a["frontier_reverse"], a["flags"],
            exchange.mailbox.device_word,
        )  # fmt: skip
        blocks = resident_blocks(by_peers.forward_pass, arguments, shapes.search_threads)
        searches[name] = bind(
            by_peers.forward_pass, min(blocks, shapes.search_blocks), shapes.search_threads,
            *arguments,
        )  # fmt: skip
    searches["share_theta"] = bind(
        by_peers.share_theta, 1, by_peers.MOST_RANKS, *shared, exchange.words, exchange.thetas,
        exchange.addresses, theta, a["flags"],
    )  # fmt: skip
    found = searches | _bind_beside_search(strip, dtype, a, shapes)
    found |= _bind_check_of_all(strip, dtype, a, exchange, shapes)
    return found | _bind_paths(strip, a, exchange, shapes, root)


def _bind_paths(
    strip: Strip, a: dict[str, Any], exchange: Any, shapes: Geometry, root: bool
) -> dict[str, Launch]:
    """The launches between two searches, by the names of those of the other ways."""
    n, columns = strip.n, strip.shape[1]
    i32, line, warps = np.int32, shapes.line_threads, _warps(shapes)
    lines, first = (_blocks(max(n, columns), line), line), strip.columns[0]
    flags, addresses = a["flags"], exchange.addresses
    found = {
        "predecessors_of_trees": bind(
            paths.send_trees, *lines, i32(columns), i32(exchange.trees_at + first),
            a["column_cover"], a["column_mark"], a["column_predecessor"], addresses, flags,
            a["root_flags"],
        ),
        "accept_assignment": bind(
            paths.take_assignment, *lines, i32(n), i32(columns), i32(first), exchange.assignment,
            a["row_assignment"], a["column_assignment"], flags,
        ),
    }  # fmt: skip
    if root:
        found["free_columns"] = bind(
            paths.free_columns, _blocks(n, warps), warps, i32(n), exchange.trees,
            a["whole_predecessor"], a["whole_assignment"], a["whole_reverse"], flags,
            a["root_flags"],
        )  # fmt: skip
        found["send_assignment"] = bind(
            paths.send_assignment, *lines, i32(n), i32(strip.ranks), i32(exchange.assignment_at),
            a["row_assignment"], addresses, flags,
        )  # fmt: skip
    return found


def _warps(shapes: Geometry) -> int:
    return -(-shapes.line_threads // 32) * 32


def _bind_beside_search(
    strip: Strip, dtype: np.dtype, a: dict[str, Any], shapes: Geometry
) -> dict[str, Launch]:
    """The tree variant's launches that no exchange is part of."""
    n, columns = strip.n, strip.shape[1]
    i32, top, zero = np.int32, _top(dtype), dtype.type(0)
    line = shapes.line_threads
    lines = _blocks(max(n, columns), line), line
    return {
        "minimum": bind(
            one_gpu.minimum, 1, shapes.reduction_threads, i32(columns), top, zero, a["slack"],
            a["theta"],
        ),
        "dual_update": bind(
            tree.dual_update, *lines, i32(n), i32(columns), top, zero, a["theta"],
            a["row_cover"], a["column_cover"], a["column_predecessor"], a["row_dual"],
            a["column_dual"], a["slack"], a["row_mark"],
        ),
    }  # fmt: skip
