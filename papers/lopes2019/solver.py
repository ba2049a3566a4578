"""The host's side of [L19]: upload, the loop of Fig. 1, download.

**Whose rows.** The kernels want the slack matrix column by column. A C-ordered matrix is exactly
that for its transpose, and transposing an assignment problem changes nothing but the names: so
the caller's rows are the paper's columns, and no square is ever turned (deviation D1). Of a
rectangle the lines of the shorter side are (D13).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from papers.common.deadline import Deadline, check_seconds
from papers.common.gpu import device
from papers.common.gpu.clocks import no_trace
from papers.common.gpu.state import DeviceState
from papers.common.model import Assignment
from papers.common.problems.assignment import Problem, finish, prepare
from papers.lopes2019.configuration import TUNED, Configuration, find
from papers.lopes2019.host import Flags, PackedWord, Signal, host_of
from papers.lopes2019.kernels.search import Flag
from papers.lopes2019.launches import Geometry, allocate, bind_launches
from papers.lopes2019.limits import given_up, look_at_the_clock
from papers.lopes2019.rectangle import Layout, finish_layout, lay_out

STEPS = ("step_1", "step_2", "step_3", "step_4", "step_5", "step_6")
DTYPES = ("int32", "int64", "float64", "uint8")
STEP_4 = ("paper", "A", "B", "C")

MAX_SIZE = 46340
"""Largest n: zeros are stored as int32 positions, as in the paper, and n * n must fit."""

MAX_SHARED_SIZE = 24576
"""Largest n of the alternatives A and C: two bytes a line in 48 KiB of shared memory."""


@dataclass
class State(DeviceState):
    """Everything `run` touches: device arrays, bound launches, counters.

    Attributes
    ----------
    problem : Problem
        The checked costs.
    n : int
        Order.
    layout : Layout
        The costs as the kernels take them.
    seconds : float or None
        Time that a run may take.
    configuration : Configuration
        The choice between print and ours.
    host : PackedWord or Flags
        How signals reach the host.
    deadline : Deadline
        Of the present run.
    """

    problem: Problem
    n: int
    layout: Layout
    seconds: float | None = None
    configuration: Configuration = TUNED
    host: PackedWord | Flags = field(default_factory=PackedWord)
    deadline: Deadline = field(default_factory=lambda: Deadline(None))

    def launch(self, *names: str) -> None:
        """Launch kernels in turn; the printed configuration waits for each."""
        for name in names:
            self.launches[name]()
            if self.configuration.wait:
                device.synchronize()

    def signal(self) -> Signal:
        """Wait for the signal of the latest launch of step 4; look at the clock if work is left.

        Raises
        ------
        GivenUpError
            If the run has a limit of time, and it is over.
        """
        signal = self.host.signal()
        if signal.matches < self.n:
            look_at_the_clock(self.deadline, self.launches, signal.matches - self.layout.padding)
        return signal


def upload(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    step_4: str = "paper",
    lines_a_bin: int | None = None,
    geometry: Geometry | None = None,
    seconds: float | None = None,
    configuration: str | Configuration = "tuned",
) -> State:
    """Check the input, allocate everything, copy the costs to the device, bind the launches.

    Parameters
    ----------
    cost : array_like[n, m]
        See `papers.common.problems.assignment.prepare`. An array is not copied: `download` reads
        the assigned costs from it, so it must not change before.
    maximize : bool
        Whether the sum is to be maximized; step 1 then takes row maxima, as the paper prints it.
    dtype : {"int32", "int64", "float64", "uint8"}, optional
        Type of the slack matrix; by default the narrowest of the first three that cannot overflow.
    step_4 : {"paper", "A", "B", "C"}
        The search kernel: the paper's or one of Appendix B's.
    lines_a_bin : int, optional
        Columns (rows) to a block of step 4; the authors' code has 512.
    geometry : Geometry, optional
        Launch shapes; by default those that suit the device.
    seconds : float, optional
        A run without an answer gives up after so long. The host looks at the clock after every
        launch of step 4, whose work is bounded: n + 1 sweeps over its zeros.
    configuration : str or Configuration
        "tuned" (the default), "paper", "released", or another of
        `papers.lopes2019.configuration.CONFIGURATIONS`. Appendix B's kernels keep their own
        barriers and checks, and never stop at a path.

    Returns
    -------
    State

    Raises
    ------
    ValueError
        Bad costs (see `prepare`), an unknown `step_4` or `configuration`, a limit that is no time,
        or a matrix too large for the card.
    """
    check_seconds(seconds)
    configured = find(configuration)
    if step_4 not in STEP_4:
        raise ValueError(f"step_4={step_4!r} is not one of {', '.join(STEP_4)}")
    problem = prepare(cost, maximize, dtype, DTYPES, reflect=False)
    n = problem.size
    check_size(n, problem.matrix.dtype, step_4)
    layout = lay_out(problem, problem.maximize)
    state = State(problem, n, layout, seconds, configured)
    if n:
        shapes = geometry or Geometry.for_device(n, configured)
        if lines_a_bin is not None:
            if not isinstance(lines_a_bin, int | np.integer):
                raise ValueError(f"lines_a_bin={lines_a_bin!r} is no whole number")
            shapes = replace(shapes, lines_a_bin=min(int(lines_a_bin), max(n, 1)))
        state.host = host_of(configured)
        state.mailbox = state.host.mailbox
        words = state.host.words
        square = replace(problem, matrix=layout.matrix)
        state.arrays = allocate(square, shapes, state.mailbox, words and words.device_words)
        state.launches = bind_launches(
            square, state.arrays, shapes, step_4, layout.lines, configured
        )
    return state


def check_size(n: int, dtype: np.dtype, step_4: str = "paper") -> None:
    """Refuse an order that the index type, shared memory or the card's memory cannot hold.

    Raises
    ------
    ValueError
        With the largest order that would do.
    """
    if n > MAX_SIZE:
        raise ValueError(f"order {n} is too large: int32 positions allow n <= {MAX_SIZE}")
    if step_4 in ("A", "C") and n > MAX_SHARED_SIZE:
        raise ValueError(
            f"order {n} is too large for step 4 alternative {step_4}: its covers in shared memory "
            f"allow n <= {MAX_SHARED_SIZE}"
        )
    per_entry = 2 * dtype.itemsize + 4  # cost, slack, zeros
    device.check_memory(
        n,
        per_entry * n * n + 64 * n,
        lambda free: min(int((free / per_entry) ** 0.5), MAX_SIZE),
    )


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """The paper's algorithm on device-resident costs, as the flow chart [L19 Fig.1].

    Parameters
    ----------
    state : State
        From `upload`; may be run again.
    trace : callable, optional
        Called with the name of each step as it begins.

    Raises
    ------
    GivenUpError
        If the time is over, or a bound on the work is exceeded (never for valid input): n + 1
        searches, of 3 n + 3 launches of step 4 each.
    """
    if state.n == 0:
        return
    mark = trace or no_trace
    state.forget()
    state.host.begin()
    state.deadline = Deadline(state.seconds)
    step_1(state, mark)
    step_2(state, mark)
    for iteration in range(state.n + 1):
        matches = step_3(state, mark)
        # Where step 3's answer does not reach the host by itself, step 4's signal carries it: with
        # every column covered step 4 finds nothing (deviation D4).
        signal = begin_search(state, mark) if matches != state.n else Signal(state.n, False, False)
        if iteration == 0:
            state.counters["matches_initial"] = signal.matches - state.layout.padding
        if signal.matches == state.n:
            state.solved = True
            return
        _search(state, signal, mark)
        mark("step_5")
        state.launch("step_5a", "step_5b")
    raise given_up(
        f"no perfect matching after {state.n + 1} searches", state.launches,
        signal.matches - state.layout.padding,
    )  # fmt: skip


def step_1(state: State, mark: Callable[[str], None]) -> None:
    """Initial slacks [L19 sec.4.7], then the list of their zeros: step 6's last kernel [L19 Alg.7].

    The paper counts that kernel's time to step 6 wherever it runs; so does `mark`.
    """
    mark("step_1")
    padding = ("star_padding",) if "star_padding" in state.launches else ()
    state.launch("init", *padding)
    # `launches` binds these names to the kernels ``step_1_...`` of minima, or to those of maxima.
    state.launch("row_extremes", "row_update", "column_minima", "column_update")
    mark("step_6")
    state.launch("compress_matrix")


def step_2(state: State, mark: Callable[[str], None]) -> None:
    """Star zeros; repeated where it runs in several blocks, each time but the last for a star."""
    mark("step_2")
    for _ in range(state.n + 1):
        state.host.clear()
        state.launch("step_2")
        if not state.host.must_repeat():
            return
    raise given_up(f"step 2 was repeated {state.n + 1} times", state.launches, 0)


def step_3(state: State, mark: Callable[[str], None]) -> int | None:
    """Cover starred columns; returns how many, where the host asks."""
    mark("step_3")
    state.launch("step_3_init", "step_3")
    return state.host.stars()


def begin_search(state: State, mark: Callable[[str], None]) -> Signal:
    """Begin a search."""
    mark("step_4")
    if "step_4_init" in state.launches:
        state.launch("step_4_init")
    return sweep(state)


def sweep(state: State) -> Signal:
    """Launch step 4 once and return its signal."""
    state.host.clear()
    state.launch("step_4")
    return state.signal()


def _search(state: State, signal: Signal, mark: Callable[[str], None]) -> None:
    """Steps 4 and 6 in turn until step 4 has found a path (the inner loop of Fig. 1)."""
    # A launch that finds a zero covers a row for good: at most n of them. One that finds none is
    # followed by a dual update, which makes a zero for the next: at most n + 1 of these.
    for _ in range(3 * state.n + 3):
        if signal.path_found:
            return
        if not signal.zero_found:
            mark("step_6")
            state.launch("step_6_reduction_1", "step_6_reduction_2", "step_6_add_sub")
            state.launch("compress_matrix")
            mark("step_4")
        signal = sweep(state)
    sentence = f"no alternating path after {3 * state.n + 3} launches of step 4"
    raise given_up(sentence, state.launches, signal.matches - state.layout.padding)


def download(state: State) -> Assignment:
    """Copy the answer to the host: the stars, the duals, the counters.

    Raises
    ------
    RuntimeError
        If the run did not end with a perfect matching.
    """
    if state.n == 0:
        return finish(state.problem, np.zeros(0, np.int64))
    if not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    star = device.to_host(state.arrays["row_of_star_at_column"])
    if star.min() < 0:
        raise RuntimeError("the run did not end with a perfect matching")
    # The caller's rows are the paper's columns (D1), or of a tall matrix the caller's columns.
    u, v = (device.to_host(state.arrays[name]) for name in ("column_dual", "row_dual"))
    return finish_layout(state.problem, state.layout, star, u, v, _counters(state))


def solve(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    step_4: str = "paper",
    lines_a_bin: int | None = None,
    geometry: Geometry | None = None,
    seconds: float | None = None,
    configuration: str | Configuration = "tuned",
) -> Assignment:
    """Upload, run and download; parameters, answer and errors are `papers.lopes2019.solve`'s."""
    state = upload(cost, maximize, dtype, step_4, lines_a_bin, geometry, seconds, configuration)
    run(state)
    return download(state)


# ------------------------------------------------------------------------------- the answer


def _counters(state: State) -> dict[str, int]:
    count = {name: launch.count for name, launch in state.launches.items()}
    zeros = int(device.to_host(state.arrays["flags"])[Flag.ZEROS])
    return {
        "iterations_step_3": count["step_3"],
        "iterations_step_4": count["step_4"],
        "iterations_step_5": count["step_5a"],
        "iterations_step_6": count["step_6_add_sub"],
        "zeros_initial": zeros - state.layout.zeros,
        "matches_initial": state.counters["matches_initial"],
        "kernel_launches": sum(count.values()),
    }
