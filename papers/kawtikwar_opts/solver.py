"""The host's side of [K21]: upload, the flow of [K21 Fig.7], download.

Three versions keep Lopes's host loop (``baseline``, ``opt0``, ``opt1``), as released or as ours
(`papers.kawtikwar_opts.configuration`), its launches one by one or as graphs; in the other three
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
from papers.common.gpu.graph import Queue
from papers.common.gpu.signals import Mailbox
from papers.common.model import Assignment, GivenUpError
from papers.common.problems.assignment import finish, prepare
from papers.kawtikwar_opts import counters
from papers.kawtikwar_opts.configuration import TUNED, Configuration, find
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
from papers.lopes2019 import solver as lopes
from papers.lopes2019.host import Flags, PackedWord, Signal, host_of
from papers.lopes2019.limits import given_up
from papers.lopes2019.rectangle import finish_layout, lay_out
from papers.lopes2019.solver import begin_search, check_size, step_2, step_3, sweep

STEPS = ("step_1", "step_2", "step_3", "step_4", "step_5", "step_6")
"""Steps that `run` names to ``trace`` in the versions with a host loop; one launch names none."""

DTYPES = ("int32", "int64", "float64")

STEP_1 = ("init", "star_padding", "row_extremes", "row_update", "column_minima", "column_update")

COMPRESSION = ("counter_init", "step_6_init", "compress_matrix", "add_reduction")
"""The launches that list the zeros, after step 1."""

STEP_6 = {
    "baseline": ("step_6_add_sub", "step_6_init", "compress_matrix"),
    "opt0": ("step_6_add_sub", "step_6_init", "compress_matrix", "add_reduction"),
    "opt1": ("step_6_init", "add_sub_compress_matrix", "add_reduction"),
}
"""The launches of a dual update once the minimum is known.

As printed, the addition of the baseline and of Opt 0 clears the sizes, so that ``step_6_init`` is
Opt 1's alone (deviation D2).
"""

FAILURES = {
    Status.DRY: "no perfect matching after {0} times {0} dual updates",
    Status.SEARCHES: "no perfect matching after {} augmentations",
    Status.RESTARTS: "step 4 did not come to rest in {} runs",
    Status.UPDATES: "no alternating path after {} dual updates in a row",
}


class Flushed:
    """The host's end of a run whose launches wait: they go before the host asks for an answer.

    Parameters
    ----------
    host : PackedWord or Flags
        The end that is asked.
    queue : Queue
        The waiting launches.
    """

    def __init__(self, host: PackedWord | Flags, queue: Queue) -> None:
        self.mailbox, self.words = host.mailbox, host.words
        self._host, self._queue = host, queue

    def begin(self) -> None:
        """Begin a run; nothing of an earlier one shall go."""
        self._queue.forget()
        self._host.begin()

    def clear(self) -> None:
        """Clear the flags, behind what waits; without flags there is no hurry."""
        self._flush_for_flags()
        self._host.clear()

    def must_repeat(self) -> bool:
        """As the inner end."""
        self._flush_for_flags()
        return self._host.must_repeat()

    def stars(self) -> int | None:
        """As the inner end."""
        self._flush_for_flags()
        return self._host.stars()

    def signal(self) -> Signal:
        """Let everything go and wait for the answer."""
        self._queue.flush()
        return self._host.signal()

    def _flush_for_flags(self) -> None:
        if self.words is not None:
            self._queue.flush()


@dataclass(kw_only=True)
class State(lopes.State):
    """Everything `run` touches; `papers.lopes2019.solver.State` has the rest.

    Attributes
    ----------
    version : str
        One of `papers.kawtikwar_opts.launches.VERSIONS`.
    patience : int
        Augmentations, restarts and dual updates in a row before a run gives up.
    choice : Configuration
        The choice between print and ours.
    queue : Queue or None
        The waiting launches, where they go as graphs.
    """

    version: str
    patience: int
    choice: Configuration = TUNED
    queue: Queue | None = None
    host: PackedWord | Flags | Flushed = field(default_factory=PackedWord)  # type: ignore[assignment]

    def launch(self, *names: str) -> None:
        """Launch kernels in turn; or let them wait for the next answer, to go as a graph."""
        if self.queue is None:
            return super().launch(*names)
        for name in names:
            self.queue.add(self.launches[name])


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
    configuration: str | Configuration = "tuned",
    host: str = "python",
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
    configuration : str or Configuration
        "tuned" (the default), "paper", or another of the version's
        (`papers.kawtikwar_opts.configuration.of_version`).
    host : {"python", "graph"}
        In a host loop: whether every launch is a call of its own, or the launches between two
        answers are one CUDA graph.

    Returns
    -------
    State

    Raises
    ------
    ValueError
        Bad costs (see `prepare`), an unknown version, configuration or host, a bad shape, or a
        matrix too large for the card.
    RuntimeError
        If no block of that many threads can be resident.
    """
    check_seconds(seconds)
    if version not in VERSIONS:
        raise ValueError(f"version={version!r} is not one of {', '.join(VERSIONS)}")
    choice = find(configuration, version)
    if host not in ("python", "graph"):
        raise ValueError(f"host={host!r} is neither python nor graph")
    if host == "graph" and version in ONE_LAUNCH:
        raise ValueError(f"host='graph' is for a host loop, {version} is one launch")
    problem = prepare(cost, maximize, dtype, DTYPES, signed=True)
    n = problem.size
    check_size(n, problem.matrix.dtype)
    layout = lay_out(problem, maximize=False)
    state = State(
        problem, n, layout, seconds, choice.host, version=version, choice=choice,
        patience=n + 1 if patience is None else patience,
    )  # fmt: skip
    if n:
        shapes = geometry or Geometry.for_device(n, version, choice)
        wanted = {"lines_a_bin": lines_a_bin, "threads": threads, "blocks": blocks}
        shapes = replace(shapes, **{k: v for k, v in wanted.items() if v is not None})
        shapes = replace(shapes, lines_a_bin=min(int(shapes.lines_a_bin), n))
        _bind(state, shapes, trace_steps, host)
    return state


def _bind(state: State, shapes: Geometry, trace_steps: bool, host: str) -> None:
    """Allocate everything and bind the launches."""
    problem, layout, version, choice = state.problem, state.layout, state.version, state.choice
    words = None
    if version in HOST_LOOP:
        end = host_of(choice.host)
        words = end.words and end.words.device_words
        state.host, state.mailbox = end, end.mailbox
        if host == "graph":
            state.queue = Queue()
            state.host = Flushed(end, state.queue)
    else:
        state.mailbox = Mailbox()
    state.arrays = allocate(
        problem, layout, shapes, version, state.mailbox, trace_steps, choice, words
    )
    bound = problem, layout, state.arrays, shapes, version
    if version in HOST_LOOP:
        state.launches = bind_host_loop(*bound, choice)
    elif state.seconds is None:
        state.launches["hungarian"] = bind_one_launch(*bound, state.patience, choice)
    else:
        state.launches = bind_shares(*bound, choice)


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
        _run_host_loop(state, _flushing(state, trace or no_trace))
    elif state.seconds is None:
        _run_one_launch(state)
    else:
        _run_in_shares(state)


def _flushing(state: State, trace: Callable[[str], None]) -> Callable[[str], None]:
    """Let launches that wait go before a step begins whose time is taken."""
    queue = state.queue
    if queue is None or trace is no_trace:
        return trace

    def mark(step: str) -> None:
        queue.flush()
        trace(step)

    return mark


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
    """The flow of [K21 Fig.7] by the host; steps 2 to 4 are called as [L19] calls them."""
    state.host.begin()
    mark("step_1")
    _launch_those(state, *STEP_1)
    _launch_those(state, *_but_clearing(state, COMPRESSION))
    step_2(state, mark)
    for iteration in range(state.patience):
        matches = step_3(state, mark)
        # Where step 3's answer does not reach the host by itself, step 4's signal carries it: with
        # every column covered step 4 finds nothing.
        signal = begin_search(state, mark) if matches != state.n else Signal(state.n, False, False)
        if iteration == 0:
            state.counters["matches_initial"] = signal.matches - state.layout.padding
        if signal.matches == state.n:
            state.solved = True
            return
        _search(state, signal, mark)
        mark("step_5")
        state.launch("step_5a", "step_5b")
    sentence = FAILURES[Status.SEARCHES].format(state.patience)
    raise given_up(sentence, state.launches, _matched(state))


def _launch_those(state: State, *names: str) -> None:
    """Launch the kernels that the configuration has: a square has no padding."""
    state.launch(*(name for name in names if name in state.launches))


def _but_clearing(state: State, names: tuple[str, ...]) -> tuple[str, ...]:
    """Leave ``step_6_init`` out where another kernel has cleared the sizes, as in the release."""
    if not state.choice.an_entry_a_thread:
        return names
    return tuple(name for name in names if name != "step_6_init")


def _search(state: State, signal: Signal, mark: Callable[[str], None]) -> None:
    """Steps 4 and 6 in turn until step 4 has found a path."""
    # As in `papers.lopes2019.solver`: n launches cover a row, n + 1 are followed by a dual update.
    names = STEP_6[state.version]
    if state.version != "opt1":
        names = _but_clearing(state, names)
    for _ in range(3 * state.patience):
        if signal.path_found:
            return
        if not signal.zero_found:
            mark("step_6")
            state.launch("step_6_reduction_1", "step_6_reduction_2", *names)
            mark("step_4")
        signal = sweep(state)
    sentence = FAILURES[Status.UPDATES].format(3 * state.patience)
    raise given_up(sentence, state.launches, _matched(state))


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
    configuration: str | Configuration = "tuned",
    host: str = "python",
) -> Assignment:
    """Upload, run and download; see `papers.kawtikwar_opts.solve`."""
    state = upload(
        cost, maximize, dtype, version, lines_a_bin, threads, blocks, trace_steps, geometry,
        patience, seconds, configuration, host,
    )  # fmt: skip
    run(state)
    return download(state)
