"""A CPU baseline's state, and its run: one compiled call, or slices of it under a limit of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from papers.common.deadline import Deadline, in_words
from papers.common.model import GivenUpError
from papers.common.problems.assignment import Problem
from papers.lopes2019.baselines import auction as cpu_auction
from papers.lopes2019.baselines import hungarian_c
from papers.lopes2019.baselines import hungarian_o3 as cpu_hungarian_o3
from papers.lopes2019.baselines import hungarian_o4 as cpu_hungarian_o4
from papers.lopes2019.baselines import scan_lists as cpu_scan_lists
from papers.lopes2019.baselines import shortest_path as cpu_shortest_path
from papers.lopes2019.rectangle import Layout

_STEPS = (
    cpu_hungarian_o4.COUNTERS,
    {"searches": "iterations_step_3", "dual_updates": "iterations_step_6"},
)
REACHED = {
    cpu_hungarian_o4.Workspace: _STEPS,
    hungarian_c.Workspace: _STEPS,
    cpu_hungarian_o3.Workspace: (
        cpu_hungarian_o3.COUNTERS,
        {"augmentations": "augmentations", "dual_updates": "dual_updates"},
    ),
    cpu_shortest_path.Workspace: (
        cpu_shortest_path.COUNTERS,
        {"augmentations": "augmentations", "rows_scanned": "rows_scanned"},
    ),
    cpu_scan_lists.Workspace: (
        cpu_scan_lists.COUNTERS,
        {"augmentations": "augmentations", "rows_scanned": "rows_scanned"},
    ),
    cpu_auction.Workspace: (cpu_auction.COUNTERS, {"phases": "phases", "bids": "bids"}),
}
"""By workspace: the names of its counters, and those that a run that gives up tells, by word."""


@dataclass
class State:
    """A problem on its way through the three stages.

    Attributes
    ----------
    problem : Problem
        The checked costs.
    workspace : NamedTuple of arrays
        The algorithm's own.
    seconds : float or None
        Time that a run may take.
    layout : Layout or None
        The costs as the algorithm takes them, if it takes rectangles without padding them.
    solved : bool
        Whether `run` has ended well.
    """

    problem: Problem
    workspace: Any
    seconds: float | None = None
    layout: Layout | None = None
    solved: bool = False


def run(
    state: State,
    whole: Callable[[Any], bool],
    in_slices: Callable[[Any, Callable[[], None]], bool],
    what: str,
) -> None:
    """Run in one compiled call, as it is measured, or with a limit of time in slices."""
    state.solved = False
    if state.seconds is None:
        ended = whole(state.workspace)
    else:
        ended = in_slices(state.workspace, look_at(state))
    ended_well(state, ended, what)


def look_at(state: State) -> Callable[[], None]:
    """Return the function that looks at the clock of a run that begins now."""
    deadline = Deadline(state.seconds)

    def look() -> None:
        counts = reached(state)
        deadline.check(in_words(counts), reached=counts)

    return look


def reached(state: State) -> dict[str, int]:
    """Return how many rows are matched, and the algorithm's work so far."""
    work = state.workspace
    star = getattr(work, "row_of_star_at_column", None)
    matched = work.column_of_row if star is None else star
    padding = state.layout.padding if state.layout is not None else 0
    names, told = next(value for kind, value in REACHED.items() if isinstance(work, kind))
    counts = named(names, work)
    words = {word: counts[name] for word, name in told.items()}
    return {"matched": int((matched >= 0).sum()) - padding, **words}


def ended_well(state: State, ended: bool, what: str) -> None:
    """Note how a run has ended.

    Raises
    ------
    GivenUpError
        If it has not ended within the algorithm's worst case.
    """
    state.solved = bool(ended)
    if not ended:
        counts = reached(state)
        sentence = f"{what} did not end within its worst case at n = {state.problem.size}"
        raise GivenUpError(f"{sentence}: {in_words(counts)}", reached=counts)


def named(names: tuple[str, ...], work: Any) -> dict[str, int]:
    """Return a workspace's counters by name."""
    return dict(zip(names, work.counters.tolist(), strict=True))
