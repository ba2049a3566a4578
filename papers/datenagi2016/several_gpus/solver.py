"""The host's side of [DN16 sec.5]: both variants on several GPUs, a rank of MPI each.

Every rank calls every function here, in step; rank 0 is the root. `several_gpus.upload` makes the
state. The loop is that of `papers.datenagi2016.solver`, with the paper's collectives between its
steps. The steps differ by variant (`several_gpus.classical`, `several_gpus.tree`) and by the way in
which the ranks exchange (`several_gpus.exchange`). All decisions are taken on numbers that
all ranks have, so that all take the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.clocks import no_trace
from papers.common.model import Assignment, GivenUpError
from papers.common.mpi import ranks
from papers.datenagi2016.launches import Geometry
from papers.datenagi2016.several_gpus.state import State
from papers.datenagi2016.several_gpus.upload import finish, upload
from papers.datenagi2016.several_gpus.variant import Mark
from papers.datenagi2016.solver import STEPS_CLASSICAL, STEPS_TREE, whole_units

__all__ = ["STEPS_MPI_CLASSICAL", "STEPS_TREE", "download", "run", "solve", "upload"]

STEPS_MPI_CLASSICAL = (*STEPS_CLASSICAL[:3], "edge_gather", *STEPS_CLASSICAL[3:])
"""``edge_gather``: the partial adjacency lists on their way to the root."""


def run(state: State, trace: Mark | None = None) -> None:
    """Run the paper's algorithm on strips in device memory [DN16 sec.5]; collective.

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
    GivenUpError
        On every rank: after ``state.seconds`` by the root's clock; if the kernels of the ranks wait
        for one another in vain (peers); at a bound on the iterations, which are those of
        `papers.datenagi2016.solver.run`.
    RuntimeError
        On every rank, if a dual update makes no progress. What only one rank meets ends the job
        (`papers.common.mpi.ranks.guarded`).
    """
    if state.n == 0:
        state.solved = True
        return
    with ranks.guarded(state.comm):
        _run(state, trace or no_trace)


def _run(state: State, mark: Mark) -> None:
    state.forget()
    mark("initial_reduction")
    state.variant.initial_reduction()  # (2)
    state.variant.compress(mark)  # (4a)
    for _ in range(state.n + 1):
        mark("optimality_check")
        state.matches = state.exchange.matches()  # (3)
        if state.matches == state.n:
            state.solved = True
            return
        search(state, mark)  # (4), (5)
        mark("reverse_pass")
        reverse_pass(state)
        mark("augmentation")
        augmentation(state)
    message = f"no perfect matching after {state.n + 1} searches"
    raise ranks.agreed(GivenUpError(message, reached=state.reached))


def search(state: State, mark: Mark) -> None:
    """Forward passes and dual updates in turn until there is a path [DN16 sec.5] (4) (5)."""
    patience = state.variant.patience
    barren, updated = 0, False
    for _ in range((patience + 1) * (state.n + 1)):
        mark("forward_pass")
        if state.matches_at_update:
            state.matches_at_pass.append(state.matches)
        state.passes += 1
        path_found, stuck = state.variant.forward_pass(updated)
        barren = barren + 1 if stuck else 0
        if barren > patience:
            raise ranks.agreed(
                RuntimeError(
                    f"dual update {len(state.matches_at_update)} made no progress "
                    f"({state.matches} of {state.n} rows are assigned)"
                )
            )
        state.check_time()
        if path_found:
            return
        state.matches_at_update.append(state.matches)
        dual_update(state, mark)
        updated = True
    message = f"no augmenting path after {(patience + 1) * (state.n + 1)} dual updates"
    raise ranks.agreed(GivenUpError(message, reached=state.reached))


def dual_update(state: State, mark: Mark) -> None:
    """Local minima, the least of them on all ranks, applied by all [DN16 sec.5] (5)."""
    mark("dual_update")
    state.variant.local_minimum()
    state.exchange.theta()
    state.variant.update_duals()
    state.variant.compress(mark)


def reverse_pass(state: State) -> None:
    """On the root, once it has the partial predecessors of all ranks [DN16 sec.5]."""
    state.exchange.trees()
    if state.collectives.is_root:
        state.launches["reverse_pass"]()


def augmentation(state: State) -> None:
    """On the root, whose assignment is then broadcast [DN16 sec.5] (4)."""
    state.augmentations += 1
    if state.collectives.is_root:
        state.launches["augmentation"]()
    state.exchange.assignment()


# ------------------------------------------------------------------------------- download


def download(state: State) -> Assignment:
    """Return the answer, the same on every rank: assignment, duals, counters; collective.

    Raises
    ------
    RuntimeError
        If no run has ended well.
    """
    if not state.solved:
        raise ranks.agreed(RuntimeError("nothing to download: no run has ended"))
    if state.n == 0:
        return finish(state, np.zeros(0, np.int64), None, None, {})
    with ranks.guarded(state.comm):
        n = state.n
        columns = device.to_host(state.arrays["row_assignment"])[:n].astype(np.int64)
        u = device.to_host(state.arrays["row_dual"])[:n]
        u, v = whole_units(u, state.variant.column_duals(), state.whole)
        return finish(state, columns, u, v, state.counters_of_all())


def solve(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    variant: str = "tree",
    geometry: Geometry | None = None,
    comm: Any = None,
    exchange: str = "auto",
    seconds: float | None = None,
) -> Assignment:
    """Solve a linear assignment problem on the ranks of a communicator [DN16 sec.5]; collective.

    Every rank calls it with the same arguments and gets the same answer. A rank that has used no
    device yet takes one: the ranks of a host take its GPUs in turn
    (`papers.common.mpi.ranks.settle_device`).

    Parameters
    ----------
    cost : Source, Instance, path of a .npy file, array_like[n, m], or int32[n, n] on the device
        A caller's own source (`papers.common.problems.blocks`) is read by part, as a file is. A
        rectangle is padded to the square of its longer side, unlike on one GPU: its padding lines
        are searched.
    maximize, dtype, variant, geometry, exchange, seconds
        As in `papers.datenagi2016.solve`.
    comm : mpi4py communicator, optional
        By default this process alone.

    Returns
    -------
    Assignment

    Raises
    ------
    SplitError, DisagreementError
        More ranks than lines; ranks that were given different problems.
    ValueError, OSError, MissingPackageError, GivenUpError, RuntimeError
        As in `papers.datenagi2016.solve`, on every rank.
    """
    state = upload(
        cost, maximize, dtype, variant, geometry, comm=comm, exchange=exchange, seconds=seconds
    )
    run(state)
    return download(state)
