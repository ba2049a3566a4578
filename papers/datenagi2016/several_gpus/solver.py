"""The host's side of [DN16 sec.5]: both variants on several GPUs, a rank of MPI each.

Every rank calls every function here, in step; rank 0 is the root. `several_gpus.upload` makes the
state. The loop is that of `solver`, with the paper's collectives between its steps. All decisions
are taken on numbers that all ranks have, so that all take the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.model import Assignment
from papers.common.mpi import ranks
from papers.datenagi2016.several_gpus.state import State
from papers.datenagi2016.several_gpus.upload import MOST_EDGES, finish_parts, room_for_edges, upload
from papers.datenagi2016.solver import (
    PATIENCE,
    STEPS_CLASSICAL,
    STEPS_TREE,
    decode_signal,
    whole_units,
)

__all__ = ["STEPS_MPI_CLASSICAL", "STEPS_TREE", "download", "run", "solve", "upload"]

STEPS_MPI_CLASSICAL = (*STEPS_CLASSICAL[:3], "edge_gather", *STEPS_CLASSICAL[3:])
"""``edge_gather``: the partial adjacency lists on their way to the root."""

Mark = Callable[[str], None]


def run(state: State, trace: Mark | None = None) -> None:
    """The paper's algorithm on strips in device memory [DN16 sec.5]; collective.

    Parameters
    ----------
    state : State
        From `upload`; may be run again.
    trace : callable, optional
        Called with the name of each step as it begins.

    Raises
    ------
    ValueError
        On every rank, if there are more edges without slack than int32 pointers can count
        (classical).
    RuntimeError
        On every rank, if a dual update makes no progress or a bound on the iterations is
        exceeded. What only one rank meets ends the job (`papers.common.mpi.ranks.guarded`).
    """
    if state.n == 0:
        state.solved = True
        return
    with ranks.guarded(state.comm):
        _run(state, trace or _no_trace)


def _run(state: State, mark: Mark) -> None:
    state.forget()
    mark("initial_reduction")
    initial_reduction(state)
    if state.variant == "classical":
        matrix_compression(state, mark)
    for _ in range(state.n + 1):
        mark("optimality_check")
        state.matches = optimality_check(state)
        if state.matches == state.n:
            state.solved = True
            return
        search(state, mark)
        mark("reverse_pass")
        reverse_pass(state)
        mark("augmentation")
        augmentation(state)
    raise ranks.agreed(RuntimeError(f"no perfect matching after {state.n + 1} searches"))


def initial_reduction(state: State) -> None:
    """Partial row and column duals, gathered and broadcast [DN16 sec.5] (2)."""
    a, go, of = state.arrays, state.launches, state.collectives
    go["init"]()
    go["row_minima"]()
    if state.strip.by_rows:
        of.gather(a["part_dual"], a["row_dual"])
        of.broadcast(a["row_dual"])
        go["column_minima"]()
        of.gather(a["minima"], a["gathered"])
        if of.is_root:
            go["least_of_parts"]()
        of.broadcast(a["column_dual"])
        return
    of.gather(a["minima"], a["gathered"])
    if of.is_root:
        go["least_of_parts"]()
        device.overwrite(a["whole_assignment"], state.nothing)
    of.broadcast(a["row_dual"])
    go["column_minima"]()  # a column is one rank's: these duals are whole


def optimality_check(state: State) -> int:
    """Assigned rows, counted by every rank within its scope [DN16 sec.5] (3).

    Where the ranks exchange without their hosts each counts all of them.
    """
    if state.by_device:
        return int(state.exchange.matches(state.launches["optimality_check"]))
    state.launches["optimality_check"]()
    device.fetch(state.arrays["flags"], state.flags)
    return state.collectives.total(int(state.flags[0]))


# ------------------------------------------------------------------------------- search


def search(state: State, mark: Mark) -> None:
    """Forward passes and dual updates in turn until there is a path [DN16 sec.5] (4) (5)."""
    classical = state.variant == "classical"
    patience = PATIENCE if classical and not state.whole else 0
    forward = forward_pass_on_root if classical else forward_pass
    barren, updated = 0, False
    for _ in range((patience + 1) * (state.n + 1)):
        mark("forward_pass")
        if state.matches_at_update:
            state.matches_at_pass.append(state.matches)
        path_found, stuck = forward(state, updated)
        barren = barren + 1 if stuck else 0
        if barren > patience:
            raise ranks.agreed(
                RuntimeError(
                    f"dual update {len(state.matches_at_update)} made no progress "
                    f"({state.matches} of {state.n} rows are assigned)"
                )
            )
        if path_found:
            return
        state.matches_at_update.append(state.matches)
        dual_update(state, mark)
        updated = True
    raise ranks.agreed(
        RuntimeError(f"no augmenting path after {(patience + 1) * (state.n + 1)} dual updates")
    )


def matrix_compression(state: State, mark: Mark) -> None:
    """The zero-slack edges of every strip, and their way to the root [DN16 sec.5] (4a)."""
    a, go, of = state.arrays, state.launches, state.collectives
    mark("matrix_compression")
    mine = 0
    if state.strip.lines:
        go["compression_predicate"]()
        device.fetch(a["counts"], state.row_edges)
        mine = int(state.row_edges.sum(dtype=np.int64))  # the scan's int32 might wrap
    counts = edges_of_ranks(state, mine)
    if state.strip.lines:
        go["exclusive_scan"]()
        room_for_edges(state, "adjacency", mine)
        go["compression_scatter"]()
    mark("edge_gather")
    of.gather(a["counts"], a.get("whole_counts"))
    if of.is_root:
        room_for_edges(state, "whole_adjacency", sum(counts))
    of.gather_varying(a["adjacency"], counts, a.get("whole_adjacency"))
    if of.is_root:
        go["whole_scan"]()


def edges_of_ranks(state: State, mine: int) -> list[int]:
    """Every rank's number of zero-slack edges, on every rank; collective.

    Raises
    ------
    ValueError
        On every rank, if int32 pointers cannot count all of them.
    """
    of = state.collectives
    state.edges[of.rank] = mine
    of.watch.begins("Allgather of edge counts")
    state.comm.Allgather(state.edges[of.rank : of.rank + 1].copy(), state.edges)
    of.watch.ends()
    counts: list[int] = state.edges.tolist()
    if sum(counts) > MOST_EDGES:
        raise ranks.agreed(
            ValueError(
                f"{sum(counts)} edges without slack are too many for int32 pointers: at most "
                f"{MOST_EDGES} (variant='tree' keeps none)"
            )
        )
    return counts


def forward_pass_on_root(state: State, updated: bool) -> tuple[bool, bool]:
    """The classical forward pass: the root's alone [DN16 sec.5] (4a).

    Returns whether a path was found and whether an update brought nothing new, on every rank.
    """
    words = state.words
    if state.collectives.is_root:
        state.launches["forward_pass"]()
        signal = decode_signal(state.mailbox.wait())
        words[:2] = signal.path_found, signal.stuck
    state.collectives.tell(words, 2)
    state.passes += 1
    path_found, stuck = bool(words[0]), bool(words[1])
    if not path_found:  # "otherwise, modified cover arrays are broadcast"
        for name in ("row_cover", "column_cover"):
            state.collectives.broadcast(state.arrays[name])
    return path_found, stuck


def forward_pass(state: State, updated: bool) -> tuple[bool, bool]:
    """The tree variant's forward pass, level by level on all ranks [DN16 sec.5] (4b).

    Returns as `forward_pass_on_root`.
    """
    go, exchange = state.launches, state.exchange
    state.passes += 1
    rows = go["woken_rows" if updated else "first_rows"]
    if state.by_peers:
        reached, path_found = exchange.run(rows)
    else:
        found = list(exchange.levels(rows, go["level"]))
        state.levels += len(found) - 1
        state.frontier_rows += sum(level.rows for level in found)
        reached = sum(level.rows for level in found[1:])
        path_found = found[-1].path_found
    # With neither a row nor a free column reached, the same would repeat for ever.
    return path_found, updated and reached == 0 and not path_found


# ------------------------------------------------------------------------------- augment, update


def reverse_pass(state: State) -> None:
    """On the root; the tree variant gathers the partial predecessors before [DN16 sec.5]."""
    if state.variant == "tree":
        gather_trees(state)
    if state.collectives.is_root:
        state.launches["reverse_pass"]()


def gather_trees(state: State) -> None:
    """Every column's predecessor at the root, and there the free columns of all trees."""
    a, go, of = state.arrays, state.launches, state.collectives
    go["predecessors_of_trees"]()
    if state.by_peers:
        if of.is_root:
            with state.exchange.waiting("a reverse pass of all ranks"):
                go["free_columns"]()
        return
    state.exchange.gather(a["sent"], a["whole_predecessor"])
    if of.is_root:
        go["free_columns"]()


def augmentation(state: State) -> None:
    """On the root, whose assignment is then broadcast [DN16 sec.5]."""
    go, of = state.launches, state.collectives
    state.augmentations += 1
    if of.is_root:
        go["augmentation"]()
    if state.by_peers:
        if of.is_root:
            go["send_assignment"]()
        with state.exchange.waiting("an assignment of the root's"):
            go["accept_assignment"]()
        return
    (state.exchange or of).broadcast(state.arrays["row_assignment"])
    go["accept_assignment"]()


def dual_update(state: State, mark: Mark) -> None:
    """Local minima, reduced at the root, broadcast, applied by all [DN16 sec.5] (5)."""
    a, go, of = state.arrays, state.launches, state.collectives
    mark("dual_update")
    if state.variant == "classical":
        if state.strip.lines:
            go["dual_update_stage_1"]()
        go["minimum"]()
        of.least(a["theta"])
        go["dual_update_stage_2"]()
        matrix_compression(state, mark)
        return
    go["minimum"]()
    if state.by_peers:
        go["share_theta"]()
    elif state.exchange.name == "nccl":
        state.exchange.gather(a["theta"], a["thetas"])
        go["least_theta"]()
    elif state.exchange.by_host:
        of.least(a["theta"])
    go["dual_update"]()


# ------------------------------------------------------------------------------- download


def download(state: State) -> Assignment:
    """The answer, the same on every rank: assignment, duals, counters; collective.

    Raises
    ------
    RuntimeError
        If no run has ended well.
    """
    if not state.solved:
        raise ranks.agreed(RuntimeError("nothing to download: no run has ended"))
    if state.n == 0:
        return finish_parts(state, np.zeros(0, np.int64), None, None, {})
    with ranks.guarded(state.comm):
        a, n = state.arrays, state.n
        columns = device.to_host(a["row_assignment"])[:n].astype(np.int64)
        if state.variant == "tree":
            state.collectives.gather(a["column_dual"], a["whole_dual"])
            state.collectives.broadcast(a["whole_dual"])
            v = device.to_host(a["whole_dual"])[:n]
        else:
            v = device.to_host(a["column_dual"])[:n]
        u = device.to_host(a["row_dual"])[:n]
        found = whole_units(u, v, state.whole)
        return finish_parts(state, columns, *found, state.counters())


def solve(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    variant: str = "tree",
    geometry: Any = None,
    comm: Any = None,
    exchange: str = "auto",
) -> Assignment:
    """Solve a linear assignment problem on the ranks of a communicator [DN16 sec.5]; collective.

    Every rank calls it with the same arguments and gets the same answer. A rank that has used no
    device yet takes one: the ranks of a host take its GPUs in turn
    (`papers.common.mpi.ranks.settle_device`).

    Parameters
    ----------
    cost : Source, Instance, path of a .npy file, or array_like[n, m]
        What is no array is read or drawn by part, square and finite
        (`papers.common.problems.blocks`): no rank holds more of it than its strip. An array is
        given whole, and may be whatever
        `papers.datenagi2016.solver.solve` takes.
    maximize, dtype, variant, geometry
        As in `papers.datenagi2016.solver.solve`.
    comm : mpi4py communicator, optional
        By default this process alone.
    exchange : {"auto", "gather", "allgather", "nccl", "peers"}
        How a level's frontier is exchanged (tree; `several_gpus.exchange`). By itself NCCL is
        chosen where the ranks have a GPU each, else ``"allgather"``; one rank exchanges nothing.

    Returns
    -------
    Assignment

    Raises
    ------
    SplitError
        More ranks than lines.
    DisagreementError
        The ranks were given different problems.
    ValueError
        As in `papers.datenagi2016.solver.solve`; forbidden pairs in a matrix that is given by
        part; an unknown `exchange`.
    MissingPackageError
        Without mpi4py; NCCL or peers asked for where they cannot be used.
    RuntimeError
        As in `run`.
    """
    state = upload(cost, maximize, dtype, variant, geometry, comm=comm, exchange=exchange)
    run(state)
    return download(state)


def _no_trace(step: str) -> None:
    pass
