"""The host's side of [DN16 sec.4]: upload, the loop over the stages, download.

The two variants share the loop. The classical one compresses the zero-slack edges before a search,
if the duals have moved; the tree variant keeps the least slack of every column instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from papers.common import instances
from papers.common.deadline import Deadline, check_seconds
from papers.common.gpu import device
from papers.common.gpu.clocks import no_trace
from papers.common.gpu.launch import Launch
from papers.common.gpu.signals import Mailbox
from papers.common.gpu.state import DeviceState
from papers.common.model import Assignment, GivenUpError, Instance
from papers.common.problems import blocks, costs_on_device
from papers.common.problems.assignment import finish, prepare
from papers.datenagi2016 import arrival, bands
from papers.datenagi2016.configuration import TUNED, Configuration, find
from papers.datenagi2016.host import Copies, PackedWord, Signal, host_of
from papers.datenagi2016.kernels.half_units import NEGLIGIBLE, halves
from papers.datenagi2016.kernels.shared import Flag
from papers.datenagi2016.launches import VARIANTS, Geometry, allocate, bind_launches, state_bytes
from papers.datenagi2016.levels import Levels, launch_all
from papers.datenagi2016.rectangles import rows_first, square_again

STEPS_TREE = (
    "initial_reduction", "optimality_check", "forward_pass", "reverse_pass", "augmentation",
    "dual_update",
)  # fmt: skip
STEPS_CLASSICAL = (*STEPS_TREE[:2], "matrix_compression", *STEPS_TREE[2:])
DTYPES = ("int32", "int64", "float64")

COMPRESSION = (
    "compression_predicate", "chunk_sums", "exclusive_scan", "chunk_scan", "compression_scatter",
)  # fmt: skip
REVERSE_PASS = ("reverse_predicate", "reverse_scan", "reverse_scatter", "reverse_pass")
AUGMENTATION = ("augment_predicate", "augment_scan", "augment_scatter", "augmentation")
"""The launches of three steps; a configuration has some of them (`launches`)."""

SLACK_FACTOR = 4
"""A slack is at most twice the costs' range (`papers.common.problems.assignment`), and doubled."""

MAX_SIZE = {"classical": 46340, "tree": 2**30}
"""Largest n: the classical variant's CSR pointers are int32, and all n * n edges may have no slack;
the tree variant numbers 2 n entries of its frontiers with int32."""

PATIENCE = 3
"""Dual updates in a row that may reach nothing new, for doubles in the classical variant.

For doubles, cancellation can leave the tight edge a residue above `half_units.NEGLIGIBLE`; one more
update, by that residue, makes it tight, because it rounds at the size of the small terms."""


@dataclass
class State(DeviceState):
    """Everything `run` touches: device arrays, bound launches, counters.

    Attributes
    ----------
    problem : Problem or ResidentProblem
        The checked costs.
    variant : {"classical", "tree"}
    n : int
        Rows, of the shorter side: lines that are assigned.
    matches_at_update : list of int
        How many rows were assigned when each dual update began.
    matches_at_pass : list of int
        The same when each forward pass began, from the first dual update on.
    whole : bool
        Whether the costs are integers, in whatever type they are kept.
    seconds : float or None
        Time that a run may take.
    deadline : Deadline
        The time limit of the run that goes on.
    configuration : Configuration
        The choice between print and ours.
    host : PackedWord or Copies
        How counts and flags reach the host.
    levels : Levels or None
        The forward passes of the run that goes on, if the host launches their levels.
    """

    problem: Any
    variant: str
    n: int
    matches_at_update: list[int] = field(default_factory=list)
    matches_at_pass: list[int] = field(default_factory=list)
    state_bytes: int = 0
    whole: bool = True
    seconds: float | None = None
    deadline: Deadline = field(default_factory=lambda: Deadline(None))
    configuration: Configuration = TUNED
    host: PackedWord | Copies = field(default_factory=PackedWord)
    levels: Levels | None = None

    def check(self) -> int | None:
        """Launch the optimality check; return its count where the host copies it."""
        launch_all(self.launches, "reset", "optimality_check")
        matches = self.host.matches()
        if self.levels is not None:
            self.levels.matches = matches or 0
        return matches

    def forward_pass(self) -> Signal:
        """Make a forward pass and return its signal."""
        if self.levels is not None:
            return self.levels.forward_pass()
        self.launches["forward_pass"]()
        return self.wait()

    def wait(self) -> Signal:
        """Wait for the signal of the latest forward pass that was one launch."""
        return self.host.signal(self.payload)

    def forget(self) -> None:
        """Start counting anew: also right after a run that was interrupted between two signals."""
        super().forget()
        self.matches_at_update.clear()
        self.matches_at_pass.clear()
        self.deadline = Deadline(self.seconds)
        if self.levels is not None and isinstance(self.host, Copies):
            self.levels = Levels(self.launches, self.host, self.n)

    def check_time(self, matches: int) -> None:
        """Give up if the time is over; `matches` rows are assigned.

        Raises
        ------
        GivenUpError
        """
        if self.seconds is not None:
            self.deadline.check(*progress_of(self.n, matches, self.matches_at_update))


def progress_of(n: int, matches: int, updates: list[int]) -> tuple[str, int, dict[str, int]]:
    """Return the arguments of `Deadline.check` for a run with so many rows and dual updates."""
    text = f"{matches} of {n} rows are assigned after {len(updates)} dual updates"
    return text, len(updates), {"matched": matches, "dual_updates": len(updates)}


# ------------------------------------------------------------------------------- upload


def upload(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    variant: str = "tree",
    geometry: Geometry | None = None,
    seconds: float | None = None,
    configuration: str | Configuration = "tuned",
) -> State:
    """Check the input, allocate everything, copy the costs to the device, bind the launches.

    Parameters
    ----------
    cost : array_like[n, m], int32[n, n] in device memory, Instance, or path of a .npy file
        See `papers.common.problems.assignment.prepare`; a matrix that is in device memory already
        is used where it is (see `papers.common.problems.costs_on_device.adopt`). Neither is
        changed, and neither is copied on the host: `download` reads the assigned costs from it.
    maximize : bool
        Whether the sum is to be maximized.
    dtype : {"int32", "int64", "float64"}, optional
        Type of costs, duals and slacks on the device; by default the narrowest that cannot
        overflow.
    variant : {"tree", "classical"}
        Lawler's alternating tree or Munkres' classical algorithm.
    geometry : Geometry, optional
        Launch shapes; by default those that suit the device.
    seconds : float, optional
        A run without an answer after so long gives up; it looks after every forward pass, which
        reads each entry of the matrix once at most.
    configuration : str or Configuration
        "tuned" (the default), "paper" or another of
        `papers.datenagi2016.configuration.CONFIGURATIONS`.

    Returns
    -------
    State

    Raises
    ------
    ValueError
        Bad costs (see `prepare` and `adopt`), an unknown `variant` or `configuration`, or a matrix
        too large for the card.
    TypeError
        From `adopt`.
    OSError
        A file that cannot be read.
    """
    check_variant(variant)
    check_seconds(seconds)
    configured = find(configuration)
    cost = matrix_of(cost)
    if arrival.is_taken(cost, maximize, dtype, configured):
        check_size(len(cost), cost.dtype, variant, configuration=configured)
        cost = arrival.arrived(cost, SLACK_FACTOR)
    on_device = is_on_device(cost)
    problem: Any
    if on_device:
        problem = resident_problem(cost, maximize, dtype)
        work = np.dtype(np.int32)
    else:
        problem = prepare(cost, maximize, dtype, DTYPES, factor=SLACK_FACTOR, signed=True)
        work = problem.matrix.dtype
    whole = on_device or problem.cost.dtype.kind != "f"
    sides = (problem.size,) * 2 if on_device else problem.cost.shape
    shape = min(sides), max(sides)
    state = State(
        problem, variant, shape[0], whole=whole, seconds=seconds, configuration=configured
    )
    if state.n:
        shapes = geometry or Geometry.for_device(shape[1], variant)
        width = shapes.stage_width
        state.state_bytes = state_bytes(shape, work.itemsize, variant, width, configured)
        check_size(shape[1], work, variant, width, on_device, configured)
        matrix = problem.costs.array if on_device else device.to_device(rows_first(problem))
        flat = matrix.reshape(shape[0] * shape[1])
        state.host = host_of(configured)
        state.mailbox, words = Mailbox(), state.host.words
        state.arrays = allocate(
            shape, work, flat, variant, shapes, configured, words and words.device_words
        )
        negligible = 0.0 if whole else NEGLIGIBLE
        state.launches = bind_launches(
            shape, work, state.arrays, state.mailbox, variant, shapes, negligible, configured
        )
        if isinstance(state.host, Copies) and not configured.one_pass:
            state.levels = Levels(state.launches, state.host, state.n)
    return state


def check_variant(variant: str) -> None:
    """Refuse an unknown variant by a ValueError."""
    if variant not in VARIANTS:
        raise ValueError(f"variant={variant!r} is not one of {', '.join(VARIANTS)}")


def matrix_of(cost: Any) -> Any:
    """Return the matrix that a path, an instance or a source stands for; else `cost` as it is."""
    if isinstance(cost, Instance):
        cost = instances.draw(cost)
    if isinstance(cost, (str, Path)):
        cost = blocks.npy_source(cost)
    if isinstance(cost, blocks.Source):
        rows, columns = cost.shape
        return blocks.read_block(cost, (0, rows), (0, columns))
    return cost


def is_on_device(cost: Any) -> bool:
    """Return whether a cost matrix is in device memory already."""
    resident = isinstance(cost, costs_on_device.ResidentCosts)
    return resident or hasattr(cost, "__cuda_array_interface__")


def resident_problem(cost: Any, maximize: bool, dtype: Any) -> costs_on_device.ResidentProblem:
    """Check costs in device memory, and that they can be worked on where they are.

    Raises
    ------
    ValueError, TypeError
        See `upload`.
    """
    if maximize or dtype not in (None, "int32", np.int32, np.dtype("int32")):
        raise ValueError("costs in device memory are minimized, as int32")
    there = isinstance(cost, costs_on_device.ResidentCosts)
    costs = cost if there else costs_on_device.adopt(cost)
    return costs_on_device.prepare_resident(costs, factor=SLACK_FACTOR)


def check_size(
    n: int,
    dtype: np.dtype,
    variant: str,
    stage_width: int = 16,
    matrix_there: bool = False,
    configuration: Configuration = TUNED,
) -> None:
    """Refuse an order that the index types or the card's memory cannot hold.

    A rectangle is held to its longer side's square, which needs more.

    Raises
    ------
    ValueError
        With the largest order that would do.
    """
    if n > MAX_SIZE[variant]:
        raise ValueError(
            f"order {n} is too large: int32 indices of the {variant} variant allow "
            f"n <= {MAX_SIZE[variant]}"
        )

    def needed(order: int) -> int:
        matrix = 0 if matrix_there else dtype.itemsize * order * order
        sides = order, order
        return matrix + state_bytes(sides, dtype.itemsize, variant, stage_width, configuration)

    def largest(free: int) -> int:
        low, high = 0, n
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if needed(middle) <= free else (low, middle)
        return low

    device.check_memory(n, needed(n), largest)


# ------------------------------------------------------------------------------- run


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """The paper's algorithm on device-resident costs [DN16 sec.4].

    Parameters
    ----------
    state : State
        From `upload`; may be run again.
    trace : callable, optional
        Called with the name of each step as it begins.

    The work is bounded: a search ends with a path, so that there are at most n of them and a last
    look; a dual update lets the next pass cover another column or find a path, so that a search has
    at most n + 1 (doubles in the classical variant: `PATIENCE` + 1 times as many). A pass expands
    each row once; all loops of the kernels are over lines, levels and paths of at most n.

    Raises
    ------
    GivenUpError
        After ``state.seconds``, or if a bound is exceeded, which no right kernel does.
    RuntimeError
        If a dual update makes no progress (never for valid input).
    """
    if state.n == 0:
        return
    mark = trace or no_trace
    launches = state.launches
    state.forget()
    initial_reduction(launches, mark)
    if state.variant == "classical":
        matrix_compression(launches, mark)
    for _ in range(state.n + 1):
        mark("optimality_check")
        # Where the count does not reach the host by itself, the forward pass's word carries it.
        if state.check() == state.n:
            state.solved = True
            return
        search(state, mark)
        if state.solved:
            return
        mark("reverse_pass")
        launch_all(launches, *REVERSE_PASS)
        mark("augmentation")
        launch_all(launches, *AUGMENTATION)
    reached = {"dual_updates": len(state.matches_at_update)}
    message = f"no perfect matching after {state.n + 1} searches"
    raise GivenUpError(message, reached=reached)


def initial_reduction(launches: dict[str, Launch], mark: Callable[[str], None]) -> None:
    """Row and column minima [DN16 sec.4.1]."""
    mark("initial_reduction")
    launch_all(launches, "init", "row_reduction", "column_reduction")  # the last of squares only


def matrix_compression(launches: dict[str, Launch], mark: Callable[[str], None]) -> None:
    """The zero-slack edges as CSR [DN16 sec.3.3]: predicate, prefix sum, scatter."""
    mark("matrix_compression")
    launch_all(launches, *COMPRESSION)


def search(state: State, mark: Callable[[str], None]) -> None:
    """Forward passes and dual updates in turn until there is a path, or all rows are assigned."""
    patience = PATIENCE if state.variant == "classical" and not state.whole else 0
    barren = 0
    # One of `patience` + 1 dual updates in a row lets the next pass cover another column.
    for _ in range((patience + 1) * (state.n + 1)):
        mark("forward_pass")
        signal = state.forward_pass()
        if signal.matches == state.n:
            state.solved = True
            return
        if state.matches_at_update:
            state.matches_at_pass.append(signal.matches)
        barren = barren + 1 if signal.stuck else 0
        if barren > patience:
            raise RuntimeError(
                f"dual update {len(state.matches_at_update)} made no progress "
                f"({signal.matches} of {state.n} rows are assigned)"
            )
        state.check_time(signal.matches)
        if signal.path_found:
            return
        state.matches_at_update.append(signal.matches)
        dual_update(state, mark)
    _, _, reached = progress_of(state.n, signal.matches, state.matches_at_update)
    message = f"no augmenting path after {(patience + 1) * (state.n + 1)} dual updates"
    raise GivenUpError(message, reached=reached)


def dual_update(state: State, mark: Callable[[str], None]) -> None:
    """Move the duals by half of theta [DN16 sec.4.4], and list the edges anew (classical)."""
    launches = state.launches
    mark("dual_update")
    if state.levels is not None:
        state.levels.updated = True
    if state.variant == "classical":
        launches["dual_update_stage_1"]()
        launches["minimum"]()
        launches["dual_update_stage_2"]()
        matrix_compression(launches, mark)
    else:
        launches["minimum"]()
        launches["dual_update"]()


# ------------------------------------------------------------------------------- download


def download(state: State) -> Assignment:
    """Copy the answer to the host: the assignment, the duals, the counters.

    Raises
    ------
    RuntimeError
        If the run did not end with a perfect matching.
    """
    put_back = (
        costs_on_device.finish_resident
        if isinstance(state.problem, costs_on_device.ResidentProblem)
        else finish
    )
    if state.n == 0:
        return put_back(state.problem, np.zeros(0, np.int64))
    if not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    columns = device.to_host(state.arrays["row_assignment"])
    if columns.min() < 0:
        raise RuntimeError("the run did not end with a perfect matching")
    u, v = (device.to_host(state.arrays[name]) for name in ("row_dual", "column_dual"))
    u, v = whole_units(u, v, state.whole)
    if u.size < v.size:
        columns, u, v = square_again(state.problem, columns, u, v)
    return put_back(state.problem, columns, u, v, _counters(state))


def whole_units(u: np.ndarray, v: np.ndarray, whole: bool) -> tuple[np.ndarray, np.ndarray]:
    """Duals in whole units from duals in half units; `whole` says whether the costs are integers.

    Integers stay integers: all duals begin even, and an update moves every one of them, up or down,
    by the same half of theta, so at any time they are all even or all odd. If odd, one half goes
    from every column to every row, which changes no sum. The same holds of denormals, multiples of
    the smallest one; all other floats are halved exactly.
    """
    if not whole:
        return halves(u, 1), halves(v, -1)
    u, v = u.astype(np.int64), v.astype(np.int64)
    odd = u[0] & 1
    return (u + odd) >> 1, (v - odd) >> 1


def solve(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    variant: str = "tree",
    geometry: Geometry | None = None,
    seconds: float | None = None,
    configuration: str | Configuration = "tuned",
) -> Assignment:
    """Solve a linear assignment problem, searching from all unassigned rows at once [DN16].

    Runs on the selected device (`papers.common.gpu.device.select`): a CUDA GPU, or the CPU
    executor, which is meant for n up to a few hundred.

    Parameters
    ----------
    cost : array_like[n, m], int32[n, n] in device memory, Instance, or path of a .npy file
        Costs: any integer, boolean or float type. ``inf`` (``-inf`` when maximizing) forbids a
        pair. Rectangular matrices assign ``min(n, m)`` pairs; the search is made on the rectangle
        (`papers.datenagi2016.rectangles`). An object with ``__cuda_array_interface__`` (CuPy,
        Numba, PyTorch ...) is used where it is: int32, square, entries >= 0, minimized.
    maximize : bool
        Whether the sum is to be maximized.
    dtype : {"int32", "int64", "float64"}, optional
        Type of costs, duals and slacks on the device. Integers are exact.
    variant : {"tree", "classical"}
        Lawler's alternating tree, O(n^3), or Munkres' classical algorithm, O(n^4), which keeps a
        list of up to n * n edges beside the costs.
    geometry : Geometry, optional
        Launch shapes; by default those that suit the device.
    seconds : float, optional
        The time after which a run without an answer is given up.
    configuration : str or Configuration
        As in `upload`.

    Returns
    -------
    Assignment
        ``row_ind`` and ``col_ind`` as from `scipy.optimize.linear_sum_assignment`, the cost, the
        duals that prove it, and counters: ``initial_assignments`` (before the first dual update),
        ``dual_updates``, ``forward_passes``, ``bfs_levels``, ``augmentations``,
        ``assignments_1_5`` ... (by dual updates), ``passes_1_5`` ... (by forward passes after the
        first), ``kernel_launches``, ``state_bytes``, ``cost_bytes``.

    Raises
    ------
    ValueError
        NaN, a wrong dimension or type, an infeasible matrix, costs that would overflow the
        working type, a matrix too large for the card.
    GivenUpError
        After `seconds`.
    RuntimeError
        If the kernels fail, or a dual update makes no progress.

    Examples
    --------
    >>> from papers.datenagi2016 import solve
    >>> solve([[4, 1, 3], [2, 0, 5], [3, 2, 2]]).cost
    5
    """
    state = upload(cost, maximize, dtype, variant, geometry, seconds, configuration)
    run(state)
    return download(state)


def _counters(state: State) -> dict[str, int]:
    count = {name: launch.count for name, launch in state.launches.items()}
    if state.levels is not None:
        passes, levels = state.levels.passes, state.levels.levels
    else:
        passes = count["forward_pass"]
        levels = int(device.to_host(state.arrays["flags"])[Flag.LEVELS])
    counters = {
        "initial_assignments": (*state.matches_at_update, state.n)[0],
        "dual_updates": len(state.matches_at_update),
        "forward_passes": passes,
        "bfs_levels": levels,
        "augmentations": count["augmentation"],
        "kernel_launches": sum(count.values()),
        "state_bytes": state.state_bytes,
        "cost_bytes": int(state.arrays["cost"].nbytes),
    }
    return counters | bands.counters(state.matches_at_update, state.matches_at_pass, state.n)
