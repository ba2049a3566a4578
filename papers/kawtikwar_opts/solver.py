"""The host's side of [K21]: upload, the flow of [K21 Fig.7], download.

Three versions keep Lopes's host loop (``baseline``, ``opt0``, ``opt1``); in the other three
(``opt2``, ``opt3``, ``opt4``) the host launches one kernel and waits once. With a limit of time it
launches shares of the same work, and looks at the clock after each (`kernels.one_launch`).

**Whose rows.** As in `papers.lopes2019.solver`: the caller's rows are the report's columns, and
no square is ever turned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from papers.common.deadline import Deadline, check_seconds, in_words
from papers.common.gpu import device
from papers.common.gpu.clocks import no_trace
from papers.common.gpu.signals import Mailbox
from papers.common.gpu.state import DeviceState
from papers.common.model import Assignment, GivenUpError
from papers.common.problems.assignment import Problem, finish, prepare
from papers.kawtikwar_opts import counters
from papers.kawtikwar_opts.kernels.arguments import Flag, Status
from papers.kawtikwar_opts.launches import (
    HOST_LOOP,
    ONE_LAUNCH,
    VERSIONS,
    Geometry,
    allocate,
    bind_host_loop,
    bind_one_launch,
    bind_shares,
)
from papers.lopes2019.host import Signal, decode_signal
from papers.lopes2019.limits import given_up, look_at_the_clock
from papers.lopes2019.rectangle import Layout, finish_layout, lay_out
from papers.lopes2019.solver import check_size

STEPS = ("step_1", "step_2", "step_3", "step_4", "step_5", "step_6")
"""Steps that `run` names to ``trace`` in the versions with a host loop; one launch names none."""

DTYPES = ("int32", "int64", "float64")

STEP_1 = ("init", "star_padding", "row_extremes", "row_update", "column_minima", "column_update")

COMPRESSION = {
    "baseline": ("step_6_init", "compress_matrix"),
    "opt0": ("step_6_init", "compress_matrix", "add_reduction"),
    "opt1": ("step_6_init", "compress_matrix", "add_reduction"),
}
"""The launches that list the zeros, after step 1."""

STEP_6 = {
    "baseline": ("step_6_add_sub", "step_6_init", "compress_matrix"),
    "opt0": ("step_6_add_sub", "step_6_init", "compress_matrix", "add_reduction"),
    "opt1": ("step_6_init", "add_sub_compress_matrix", "add_reduction"),
}
"""The launches of a dual update once the minimum is known."""

FAILURES = {
    Status.DRY: "no perfect matching after {0} times {0} dual updates",
    Status.SEARCHES: "no perfect matching after {} augmentations",
    Status.RESTARTS: "step 4 did not come to rest in {} runs",
    Status.UPDATES: "no alternating path after {} dual updates in a row",
}


@dataclass
class State(DeviceState):
    """Everything `run` touches: device arrays, bound launches, counters.

    Attributes
    ----------
    problem : Problem
        The checked costs.
    version : str
        One of `papers.kawtikwar_opts.launches.VERSIONS`.
    n : int
        Order.
    layout : Layout
        The costs as the kernels take them.
    patience : int
        Augmentations, restarts and dual updates in a row before a run gives up.
    seconds : float or None
        Time that a run may take.
    deadline : Deadline
        Of the present run.
    """

    problem: Problem
    version: str
    n: int
    layout: Layout
    patience: int
    seconds: float | None = None
    deadline: Deadline = field(default_factory=lambda: Deadline(None))

    def wait(self) -> Signal:
        """Wait for the signal of a host loop's step 4; look at the clock if work is left.

        Raises
        ------
        GivenUpError
            If the run has a limit of time, and it is over.
        """
        signal = decode_signal(self.payload())
        matches = signal.matches - self.layout.padding
        if signal.matches < self.n:
            look_at_the_clock(self.deadline, self.launches, matches)
        return signal


# ------------------------------------------------------------------------------- upload


def upload(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    version: str = "opt4",
    lines_a_bin: int | None = None,
    threads: int | None = None,
    blocks: int | None = None,
    trace_steps: bool = False,
    geometry: Geometry | None = None,
    patience: int | None = None,
    seconds: float | None = None,
) -> State:
    """Check the input, allocate everything, copy the costs to the device, bind the launches.

    Parameters
    ----------
    cost : array_like[n, m]
        See `papers.common.problems.assignment.prepare`. An array is not copied: `download` reads
        the assigned costs from it, so it must not change before.
    maximize : bool
        Whether the sum is to be maximized.
    dtype : {"int32", "int64", "float64"}, optional
        Type of the slack matrix; by default the narrowest that cannot overflow.
    version : {"opt4", "opt3", "opt2", "opt1", "opt0", "baseline"}
        How much of the report is applied.
    lines_a_bin, threads, blocks : int, optional
        Instead of the geometry's: see `papers.kawtikwar_opts.launches.Geometry`. The report has 512
        columns to a bin.
    trace_steps : bool
        One launch only: read the GPU's clock between the steps; see `download`.
    geometry : Geometry, optional
        Launch shapes; by default those that suit the device.
    patience : int, optional
        Augmentations, restarts and dual updates in a row before a run gives up; by default n + 1,
        which no valid input needs.
    seconds : float, optional
        A run without an answer gives up after so long. The host looks at the clock after every run
        of step 4, or after every share of the one launch (`kernels.one_launch`).

    Returns
    -------
    State

    Raises
    ------
    ValueError
        Bad costs (see `prepare`), an unknown version, a bad shape, or a matrix too large for the
        card.
    RuntimeError
        If no block of that many threads can be resident.
    """
    check_seconds(seconds)
    if version not in VERSIONS:
        raise ValueError(f"version={version!r} is not one of {', '.join(VERSIONS)}")
    problem = prepare(cost, maximize, dtype, DTYPES, signed=True)
    n = problem.size
    check_size(n, problem.matrix.dtype)
    layout = lay_out(problem, maximize=False)
    state = State(problem, version, n, layout, n + 1 if patience is None else patience, seconds)
    if n:
        shapes = geometry or Geometry.for_device(n, version)
        wanted = {"lines_a_bin": lines_a_bin, "threads": threads, "blocks": blocks}
        shapes = replace(shapes, **{k: v for k, v in wanted.items() if v is not None})
        shapes = replace(shapes, lines_a_bin=min(int(shapes.lines_a_bin), n))
        state.mailbox = Mailbox()
        state.arrays = allocate(problem, layout, shapes, version, state.mailbox, trace_steps)
        if version in HOST_LOOP:
            state.launches = bind_host_loop(problem, layout, state.arrays, shapes, version)
        elif seconds is None:
            state.launches["hungarian"] = bind_one_launch(
                problem, layout, state.arrays, shapes, version, state.patience
            )
        else:
            state.launches = bind_shares(problem, layout, state.arrays, shapes, version)
    return state


# ------------------------------------------------------------------------------- run


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """The algorithm on device-resident costs [K21 Fig.7].

    Parameters
    ----------
    state : State
        From `upload`; may be run again.
    trace : callable, optional
        Called with the name of each step as it begins, in the versions with a host loop.

    Raises
    ------
    GivenUpError
        If the time is over, or the patience ends (never for valid input).
    """
    if state.n == 0:
        return
    state.forget()
    state.deadline = Deadline(state.seconds)
    if state.version in HOST_LOOP:
        _run_host_loop(state, trace or no_trace)
    elif state.seconds is None:
        _run_one_launch(state)
    else:
        _run_in_shares(state)


def _run_one_launch(state: State) -> None:
    state.launches["hungarian"]()
    status = state.payload()
    if status != Status.SOLVED:
        counts = _reached(state)
        sentence = FAILURES[status].format(state.patience)
        raise GivenUpError(f"{sentence}: {in_words(counts)}", reached=counts)
    state.solved = True


def _run_in_shares(state: State) -> None:
    """The one launch, cut: the host looks at the clock after every share."""
    launches = state.launches
    # Every share but the last runs step 4; `_run_host_loop` says why no more runs are needed.
    deadline = Deadline(state.seconds, bound=3 * state.patience**2, unit="shares of the work")
    launches["begin"]()
    while True:  # `deadline` has a bound
        launches["go_on"]()
        if state.payload() == Status.SOLVED:
            state.solved = True
            return
        counts = _reached(state)
        deadline.check(in_words(counts), launches["go_on"].count, counts)


def _reached(state: State) -> dict[str, int]:
    """Counts of a run of one launch, or of its shares, as `papers.lopes2019.limits.reached`."""
    flags = device.to_host(state.arrays["flags"])
    places = {"searches": Flag.AUGMENTATIONS, "dual_updates": Flag.UPDATES}
    counts = {name: int(flags[place]) for name, place in places.items()}
    return {"matched": _matched(state), **counts}


def _matched(state: State) -> int:
    """Starred zeros; the padding's do not count."""
    stars = device.to_host(state.arrays["row_of_star_at_column"])
    return int((stars >= 0).sum()) - state.layout.padding


def _run_host_loop(state: State, mark: Callable[[str], None]) -> None:
    launches = state.launches
    mark("step_1")
    for name in (*STEP_1, *COMPRESSION[state.version]):
        if name in launches:  # a square has no padding
            launches[name]()
    mark("step_2")
    launches["step_2"]()
    for iteration in range(state.patience):
        mark("step_3")
        launches["step_3_init"]()
        launches["step_3"]()
        mark("step_4")
        launches["step_4"]()
        # With every column covered step 4 finds nothing, so its signal carries step 3's answer too.
        signal = state.wait()
        if iteration == 0:
            state.counters["matches_initial"] = signal.matches - state.layout.padding
        if signal.matches == state.n:
            state.solved = True
            return
        _search(state, signal, mark)
        mark("step_5")
        launches["step_5a"]()
        launches["step_5b"]()
    sentence = FAILURES[Status.SEARCHES].format(state.patience)
    raise given_up(sentence, launches, _matched(state))


def _search(state: State, signal: Signal, mark: Callable[[str], None]) -> None:
    """Steps 4 and 6 in turn until step 4 has found a path."""
    launches = state.launches
    # As in `papers.lopes2019.solver`: n launches cover a row, n + 1 are followed by a dual update.
    for _ in range(3 * state.patience):
        if signal.path_found:
            return
        if not signal.zero_found:
            mark("step_6")
            launches["step_6_reduction_1"]()
            launches["step_6_reduction_2"]()
            for name in STEP_6[state.version]:
                launches[name]()
            mark("step_4")
        launches["step_4"]()
        signal = state.wait()
    raise given_up(FAILURES[Status.UPDATES].format(3 * state.patience), launches, _matched(state))


# ------------------------------------------------------------------------------- download


def download(state: State) -> Assignment:
    """Copy the answer to the host: the stars, the duals, the counters.

    Returns
    -------
    Assignment
        Counters of all versions: ``iterations_step_3`` to ``iterations_step_6``,
        ``step_4_restarts``, ``zeros_initial``, ``matches_initial``, ``kernel_launches``. One
        launch adds ``barriers`` (of the grid; not in shares) and, if its steps were traced,
        ``step_1_us`` to ``step_6_us``, microseconds by the GPU's clock.

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
    # The caller's rows are the report's columns, or of a tall matrix the caller's columns.
    u, v = (device.to_host(state.arrays[name]) for name in ("column_dual", "row_dual"))
    count = counters.of_one_launch if state.version in ONE_LAUNCH else counters.of_launches
    return finish_layout(state.problem, state.layout, star, u, v, count(state))


def solve(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    version: str = "opt4",
    lines_a_bin: int | None = None,
    threads: int | None = None,
    blocks: int | None = None,
    trace_steps: bool = False,
    geometry: Geometry | None = None,
    patience: int | None = None,
    seconds: float | None = None,
) -> Assignment:
    """Upload, run and download; see `papers.kawtikwar_opts.solve`."""
    state = upload(
        cost, maximize, dtype, version, lines_a_bin, threads, blocks, trace_steps, geometry,
        patience, seconds,
    )  # fmt: skip
    run(state)
    return download(state)
