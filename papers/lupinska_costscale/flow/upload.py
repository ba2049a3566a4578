"""Uploads of the five versions: each checks its input and its options, and binds its launches."""

from __future__ import annotations

from typing import Any

from papers.common.deadline import check_count, check_seconds
from papers.common.problems.network import NetworkError, image_of
from papers.lupinska_costscale.flow import launches
from papers.lupinska_costscale.flow.bounds import ALL
from papers.lupinska_costscale.flow.kernels import lock_free
from papers.lupinska_costscale.flow.prepare import ONE, Prepared, Tile, allocate, blank, prepare
from papers.lupinska_costscale.flow.state import State

CYCLE = 7000
"""Operations of a thread in one launch: the author's best value [LU11 sec.4.6]."""

SWEEPS = 100_000
"""Sweeps of `gpu_relabel` after a search of a network, if |V| relabels do not end them before."""

ROUNDS, GRID_SWEEPS, INNER = 64, 4, 16

LARGE = 1 << 20
"""Pixels from which on tiles have 16 rows instead of 8 (`evidence/tiles.csv`)."""
"""Searches of a launch of `gpu_relabel`, sweeps after each on a grid, operations of a visit."""


def upload_operations(
    kernel: Any,
    instance: Any,
    cycle: int = CYCLE,
    operations: int | None = None,
    seconds: float | None = None,
) -> State:
    """Check the input, allocate everything, copy the capacities, bind the launches.

    Parameters
    ----------
    kernel : dispatcher
        `flow.kernels.lock_free.lock_free` (see `upload_lock_free`) or
        `flow.kernels.lock_free.hybrid`.
    instance : Network or Grid
    cycle : int
        Operations of a thread in one launch: CYCLE.
    operations : int, optional
        Pushes and relabels after which a run gives up; every run is held to those of `flow.bounds`.
    seconds : float, optional
        A run that has no answer by the end of the first launch after so long raises
        `GivenUpError`. None: only the bounds on work end it.

    Raises
    ------
    NetworkError
        No instance, or too large.
    ValueError
        A bad option.
    """
    check_count("cycle", cycle)
    state = _begin_upload(instance, ONE, operations, seconds)
    state.of_a_round, state.top = cycle, state.prepared.nodes
    if state.prepared.total:
        state.launches["kernel"] = launches.bind_operations(
            state.prepared, state.arrays, kernel, cycle
        )
    return state


def upload_lock_free(
    instance: Any,
    cycle: int = CYCLE,
    operations: int | None = None,
    seconds: float | None = None,
) -> State:
    """As `upload_operations`, for Hong's algorithm.

    Without relabeling from the sink, its operations grow with the square of the nodes: give
    `seconds` for more than small instances.

    Parameters
    ----------
    instance : Network or Grid
    cycle, operations, seconds
        As in `upload_operations`.

    Raises
    ------
    NetworkError, ValueError
        As `upload_operations`.
    """
    state = upload_operations(lock_free.lock_free, instance, cycle, operations, seconds)
    state.top = None  # its nodes climb above the source
    return state


def upload_gpu_relabel(
    instance: Any,
    rounds: int = ROUNDS,
    sweeps: int | None = None,
    inner: int = INNER,
    tile: Tile | None = None,
    blocks: int | None = None,
    operations: int | None = None,
    seconds: float | None = None,
    answer: str = "flow",
) -> State:
    """As `upload_operations`, for push-relabel with its global relabeling on the GPU.

    Parameters
    ----------
    instance : Network or Grid
    rounds : int
        Searches of one launch; the host launches until all is done.
    sweeps : int, optional
        Sweeps after each search, at most; by default 4 on a grid and `SWEEPS` on a network, where
        they need no barrier.
    inner : int
        Pushes and lifts of a tile's visit (grids), operations of a node in a sweep (networks).
    tile : Tile, optional
        By default 8 x 32 pixels, of large images 16 x 32, and 4 x 8 in the CPU executor; for grids.
    blocks : int, optional
        At most so many blocks.
    operations, seconds
        As in `upload_operations`.
    answer : {"flow", "cut"}
        What `download` brings: residual capacities and the cut, or the cut alone, a bit a node.

    Raises
    ------
    NetworkError, ValueError
        As `upload_operations`.
    """
    if sweeps is None:
        sweeps = SWEEPS if image_of(instance) is None else GRID_SWEEPS
    for name, value in (("rounds", rounds), ("sweeps", sweeps), ("inner", inner)):
        check_count(name, value, most=10**6)
    if blocks is not None:
        check_count("blocks", blocks)
    if answer not in ("flow", "cut"):
        raise ValueError(f"answer={answer!r} is neither flow nor cut")
    if tile is None:
        image = image_of(instance)
        tile = tile_for(0 if image is None else image.shape[0] * image.shape[1])
    state = _begin_upload(instance, tile, operations, seconds)
    return _bound(state, tile, (rounds, sweeps, inner), blocks, answer == "cut")


def tile_for(pixels: int) -> Tile:
    """The tile of `gpu_relabel` for an image of so many pixels."""
    return Tile.for_device(16 if pixels >= LARGE else 8, 32)


def upload_blank(shape: tuple[int, int], names: tuple[str, ...], dtype: Any) -> State:
    """Prepare `gpu_relabel` for the cuts of grids whose capacities kernels write on the device.

    Before each run somebody writes ``capacity``, ``source`` and ``sink`` of `State.arrays`, each
    of them wholly: the grid is padded to `Prepared.image`, and an arc has the capacity 0 where it
    leaves the instance or lies beyond it. `State.seconds` may be set between two runs, which are
    held to the bounds of all others. `download` brings the cut alone; `prove` adds a flow, and
    `flow.prepare.known` has the instance that both are of.

    Parameters
    ----------
    shape, names, dtype
        As in `flow.prepare.blank`.

    Raises
    ------
    NetworkError
        As `upload_gpu_relabel`, for the size.
    """
    tile = tile_for(shape[0] * shape[1])
    state = _allocated(blank(shape, names, dtype, tile), None)
    return _bound(state, tile, (ROUNDS, GRID_SWEEPS, INNER), None, True)


def _bound(
    state: State, tile: Tile, limits: tuple[int, int, int], blocks: int | None, cut_only: bool
) -> State:
    """Bind the launches of `gpu_relabel`: the run's, its reverse for stranded excess, the cut's."""
    prepared, arrays, (rounds, _, inner) = state.prepared, state.arrays, limits
    state.top, state.rounds = prepared.nodes, rounds
    state.of_a_round = ALL if prepared.image is not None else inner
    state.cut_only = cut_only
    if prepared.total:
        if prepared.image is not None:
            state.launches["kernel"] = launches.bind_tiles(prepared, arrays, tile, limits, blocks)
            again = launches.exchanged(arrays)
            state.launches["settle"] = launches.bind_tiles(prepared, again, tile, limits, blocks)
        else:
            state.launches["kernel"] = launches.bind_nodes(prepared, arrays, limits, blocks)
            again = launches.exchanged(arrays)
            state.launches["settle"] = launches.bind_nodes(prepared, again, limits, blocks)
        state.again = again
        state.launches["cut"] = launches.bind_cut(prepared, arrays)
    return state


def upload_async(
    instance: Any,
    cycle: int = CYCLE,
    waves: int = 8,
    operations: int | None = None,
    seconds: float | None = None,
) -> State:
    """As `upload_operations`, for the hybrid with asynchronous global relabeling.

    Parameters
    ----------
    instance : Network or Grid
    cycle : int
        Operations of a thread in one launch.
    waves : int
        Searches of the distinguished block in one launch.
    operations, seconds
        As in `upload_operations`.

    Raises
    ------
    NetworkError, ValueError
        As `upload_operations`.
    """
    check_count("cycle", cycle)
    check_count("waves", waves)
    state = _begin_upload(instance, ONE, operations, seconds)
    state.of_a_round, state.top = cycle, state.prepared.nodes
    if state.prepared.total:
        state.launches["kernel"] = launches.bind_async(state.prepared, state.arrays, waves, cycle)
    return state


def upload_blocking(
    instance: Any,
    m: int = 1,
    pull: bool = False,
    patience: int = 8,
    redraw_every: int = 16,
    tile: Tile | str | None = None,
    operations: int | None = None,
    seconds: float | None = None,
) -> State:
    """As `upload_operations`, for Vineet and Narayanan's phases.

    Parameters
    ----------
    instance : Grid
    m : int
        Push phases to a relabel phase.
    pull : bool
        The non-atomic version: a pull phase after each push phase.
    patience : int
        Relabel phases without a push after which the heights are checked.
    redraw_every : int
        After so many times `patience` phases the host draws the heights anew in any case. 0, as in
        the paper: never. Pixels that the sink cannot be reached from then push to and fro until
        they are as high as |V|, which takes up to ``2 |V|**2`` phases (33 million for 64 x 64
        pixels): give `seconds` for more than small instances.
    tile : Tile or str, optional
        As text ``"32x8"``, columns first. By default the authors' 32 x 8 threads (8 rows),
        and 8 x 4 in the CPU executor.
    operations, seconds
        As in `upload_operations`.

    Raises
    ------
    NetworkError
        As `upload_operations`, and for a `Network`.
    ValueError
        A bad option.
    """
    check_count("m", m)
    check_count("patience", patience)
    check_count("redraw_every", redraw_every, least=0)
    if image_of(instance) is None:
        raise NetworkError("the blocking version takes grids only [LU11 sec.4.3]")
    shape = Tile.of(tile) if isinstance(tile, str) else tile or Tile.for_device(8, 32)
    state = _begin_upload(instance, shape, operations, seconds)
    state.m, state.patience, state.redraw_every = m, patience, redraw_every
    state.top = state.prepared.nodes
    if state.prepared.total:
        state.launches |= launches.bind_blocking(state.prepared, state.arrays, shape, bool(pull))
    return state


def _begin_upload(
    instance: Any, tile: Tile, operations: int | None, seconds: float | None
) -> State:
    """Check, allocate, bind what begins a run; if the source sends nothing, only check."""
    check_seconds(seconds)
    return _allocated(prepare(instance, tile, operations), seconds)


def _allocated(prepared: Prepared, seconds: float | None) -> State:
    """Allocate and copy, bind what begins a run; if the source sends nothing, neither."""
    state = State(prepared, seconds)
    if prepared.total:
        state.arrays = allocate(state.prepared)
        state.launches["restore"] = launches.bind_restore(state.prepared, state.arrays)
    return state
