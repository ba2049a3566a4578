"""The host's side of [K21]: upload, the flow of [K21 Fig.7], download.

Three versions keep Lopes's host loop (``baseline``, ``opt0``, ``opt1``); in the other three
(``opt2``, ``opt3``, ``opt4``) the host launches one kernel and waits once.

**Whose rows.** As in `papers.lopes2019.solver`: the caller's rows are the report's columns, and
nothing is ever moved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.clocks import no_trace
from papers.common.gpu.signals import Mailbox
from papers.common.gpu.state import DeviceState
from papers.common.model import Assignment
from papers.common.problems.assignment import Problem, finish, prepare
from papers.kawtikwar_opts.kernels.arguments import Flag, Status
from papers.kawtikwar_opts.launches import (
    HOST_LOOP,
    ONE_LAUNCH,
    VERSIONS,
    Geometry,
    allocate,
    bind_host_loop,
    bind_one_launch,
)
from papers.lopes2019.kernels.search import Flag as LopesFlag
from papers.lopes2019.solver import check_size, decode_signal

STEPS = ("step_1", "step_2", "step_3", "step_4", "step_5", "step_6")
"""Steps that `run` names to ``trace`` in the versions with a host loop; one launch names none."""

DTYPES = ("int32", "int64", "float64")

STEP_1 = ("init", "row_extremes", "row_update", "column_minima", "column_update")

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
    patience : int
        Augmentations, restarts and dual updates in a row before a run gives up.
    """

    problem: Problem
    version: str
    n: int
    patience: int


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
    if version not in VERSIONS:
        raise ValueError(f"version={version!r} is not one of {', '.join(VERSIONS)}")
    problem = prepare(cost, maximize, dtype, DTYPES, signed=True)
    n = problem.size
    check_size(n, problem.matrix.dtype)
    state = State(problem, version, n, n + 1 if patience is None else patience)
    if n:
        shapes = geometry or Geometry.for_device(n, version)
        wanted = {"lines_a_bin": lines_a_bin, "threads": threads, "blocks": blocks}
        shapes = replace(shapes, **{k: v for k, v in wanted.items() if v is not None})
        shapes = replace(shapes, lines_a_bin=min(int(shapes.lines_a_bin), n))
        state.mailbox = Mailbox()
        state.arrays = allocate(problem, shapes, version, state.mailbox, trace_steps)
        if version in HOST_LOOP:
            state.launches = bind_host_loop(problem, state.arrays, shapes, version)
        else:
            state.launches["hungarian"] = bind_one_launch(
                problem, state.arrays, shapes, version, state.patience
            )
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
    RuntimeError
        If the patience ends (never for valid input).
    """
    if state.n == 0:
        return
    state.forget()
    if state.version in ONE_LAUNCH:
        _run_one_launch(state)
    else:
        _run_host_loop(state, trace or no_trace)


def _run_one_launch(state: State) -> None:
    state.launches["hungarian"]()
    status = state.payload()
    if status != Status.SOLVED:
        raise RuntimeError(FAILURES[status].format(state.patience))
    state.solved = True


def _run_host_loop(state: State, mark: Callable[[str], None]) -> None:
    launches = state.launches
    mark("step_1")
    for name in (*STEP_1, *COMPRESSION[state.version]):
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
        signal = decode_signal(state.payload())
        if iteration == 0:
            state.counters["matches_initial"] = signal.matches
        if signal.matches == state.n:
            state.solved = True
            return
        _search(state, signal, mark)
        mark("step_5")
        launches["step_5a"]()
        launches["step_5b"]()
    raise RuntimeError(FAILURES[Status.SEARCHES].format(state.patience))


def _search(state: State, signal: Any, mark: Callable[[str], None]) -> None:
    """Steps 4 and 6 in turn until step 4 has found a path."""
    launches = state.launches
    # A launch either covers a row for good or is followed by a dual update, which uncovers one.
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
        signal = decode_signal(state.payload())
    raise RuntimeError(FAILURES[Status.UPDATES].format(3 * state.patience))


# ------------------------------------------------------------------------------- download


def download(state: State) -> Assignment:
    """Copy the answer to the host: the stars, the duals, the counters.

    Returns
    -------
    Assignment
        Counters of all versions: ``iterations_step_3`` to ``iterations_step_6``,
        ``step_4_restarts``, ``zeros_initial``, ``matches_initial``, ``kernel_launches``. One
        launch adds ``barriers`` (of the grid) and, if its steps were traced, ``step_1_us`` to
        ``step_6_us``, microseconds by the GPU's clock.

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
    # The caller's rows are the report's columns.
    u, v = (device.to_host(state.arrays[name]) for name in ("column_dual", "row_dual"))
    count = _count_in_kernel if state.version in ONE_LAUNCH else _count_launches
    return finish(state.problem, star, u, v, count(state))


def _count_launches(state: State) -> dict[str, int]:
    count = {name: launch.count for name, launch in state.launches.items()}
    updates = count["step_6_reduction_1"]
    return {
        "iterations_step_3": count["step_3"],
        "iterations_step_4": count["step_4"],
        "iterations_step_5": count["step_5a"],
        "iterations_step_6": updates,
        "step_4_restarts": count["step_4"] - count["step_3"] - updates,
        "zeros_initial": int(device.to_host(state.arrays["flags"])[LopesFlag.ZEROS]),
        "matches_initial": state.counters["matches_initial"],
        "kernel_launches": sum(count.values()),
    }


def _count_in_kernel(state: State) -> dict[str, int]:
    flags = [int(flag) for flag in device.to_host(state.arrays["flags"])]
    paths, searches, updates = (flags[k] for k in (Flag.AUGMENTATIONS, Flag.SEARCHES, Flag.UPDATES))
    counters = {
        "iterations_step_3": paths + 1,
        "iterations_step_4": searches,
        "iterations_step_5": paths,
        "iterations_step_6": updates,
        "step_4_restarts": searches - paths - updates,
        "zeros_initial": flags[Flag.ZEROS],
        "matches_initial": flags[Flag.MATCHES_INITIAL],
        "kernel_launches": 1,
        "barriers": barriers(paths, searches, updates, state.arrays["zeros_size_b"].size == 1),
    }
    clocks = device.to_host(state.arrays["clocks"])
    for step in range(1, len(clocks) - 1):
        counters[f"step_{step}_us"] = round(int(clocks[step]) / 1000)
    return counters


def barriers(paths: int, searches: int, updates: int, alone: bool) -> int:
    """Barriers of the grid in a run of one launch (see `papers.kawtikwar_opts.kernels.one_launch`).

    Parameters
    ----------
    paths, searches, updates : int
        Runs of steps 5, 4 and 6.
    alone : bool
        Whether one block searches.
    """
    if alone:
        return 3 + 2 * updates + (updates + 1)
    return 3 + 1 + paths + searches + 2 * updates


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
) -> Assignment:
    """Upload, run and download; see `papers.kawtikwar_opts.solve`."""
    state = upload(
        cost, maximize, dtype, version, lines_a_bin, threads, blocks, trace_steps, geometry,
        patience,
    )  # fmt: skip
    run(state)
    return download(state)
