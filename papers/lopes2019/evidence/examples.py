"""The page's small matrices, and the interleavings under which the kernels do what it tells.

A race has many right outcomes, and the page tells one. An `Example` says by which marks it is
known; `run_of` tries seeds of the executor until the kernels leave these marks, so no seed is
written down that the next change of a kernel would make stale. Rows and columns are the paper's:
the kernels are handed the transpose (deviation D1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.lopes2019 import solver
from papers.lopes2019.launches import Geometry

SWITCH = 0.3
"""Chance of another thread's turn before an access."""

SEEDS = range(4000)
"""Interleavings that are tried."""


@dataclass(frozen=True)
class Moment:
    """The kernels' arrays at the end of a step; vectors are as the kernels name them.

    Attributes
    ----------
    step : str
        The step that has ended.
    launches : int
        Launches of step 4 so far.
    slack : ndarray[n, n]
        ``slack[row, column]``, as the kernels have it: costs minus their least, from step 1 on.
    covered_row, covered_column : tuple of int
        0 or 1.
    star, prime : tuple of int
        Column of the star, and of the prime, at each row; -1: none.
    green : tuple of int
        Row of the green at each column; -1: none.
    """

    step: str
    launches: int
    slack: np.ndarray
    covered_row: tuple[int, ...]
    covered_column: tuple[int, ...]
    star: tuple[int, ...]
    prime: tuple[int, ...]
    green: tuple[int, ...]


Story = Callable[[list[Moment]], bool]
"""Whether a run is the one that is told."""


@dataclass(frozen=True)
class Example:
    """A small instance and the run that is told of it.

    Attributes
    ----------
    cost : tuple of tuple of int
        The costs, the paper's rows.
    lines_a_bin : int
        Columns to a block of step 4.
    stories : dict of str to callable
        By name, the marks by which a run is known.
    """

    cost: tuple[tuple[int, ...], ...]
    lines_a_bin: int
    stories: dict[str, Story]


@dataclass(frozen=True)
class Run:
    """A run of the kernels in the executor.

    Attributes
    ----------
    seed : int
        Of the interleaving.
    moments : list of Moment
        A step each, in order.
    columns : list of int
        The answer: the column of each row.
    """

    seed: int
    moments: list[Moment]
    columns: list[int]

    def after(self, step: str) -> list[Moment]:
        """Return the moments at the end of one step."""
        return [moment for moment in self.moments if moment.step == step]


def run_under(example: Example, seed: int) -> Run:
    """Run the kernels on an example under one interleaving, and keep each step's end."""
    shapes = Geometry(
        lines_a_bin=example.lines_a_bin, step_4_threads=4, step_2_threads=8, line_threads=8,
        matrix_threads=8, reduction_threads=8, matrix_blocks=2,
    )  # fmt: skip
    moments: list[Moment] = []
    steps: list[str] = []

    def watch(step: str) -> None:
        if "step_2" in steps:  # before, nothing is starred
            moments.append(_moment(state, steps[-1]))
        steps.append(step)

    with device.executing(Executor(seed, SWITCH)):
        state = solver.upload(np.array(example.cost).T, geometry=shapes)
        solver.run(state, watch)
        columns = list(_words(state, "column_of_star_at_row"))
    return Run(seed, moments, columns)


def _words(state: solver.State, name: str) -> tuple[int, ...]:
    return tuple(int(value) for value in device.to_host(state.arrays[name]))


def _moment(state: solver.State, step: str) -> Moment:
    slack = device.to_host(state.arrays["slack"]).reshape(state.n, state.n).T.copy()
    vectors = (
        "covered_row", "covered_column", "column_of_star_at_row", "column_of_prime_at_row",
        "row_of_green_at_column",
    )  # fmt: skip
    launches = state.launches["step_4"].count
    return Moment(step, launches, slack, *(_words(state, name) for name in vectors))


def run_of(example: Example, story: str, seeds: Iterable[int] = SEEDS) -> Run:
    """Return the first run that is the one told.

    Raises
    ------
    LookupError
        None of the interleavings is.
    """
    for seed in seeds:
        run = run_under(example, seed)
        if example.stories[story](run.moments):
            return run
    raise LookupError(f"no interleaving is the story {story!r}")


# ------------------------------------------------------------------------------- the matrices


def searches_of(moments: list[Moment]) -> list[list[Moment]]:
    """Return the moments after step 4, a list a search: what leads to one step 5."""
    found: list[list[Moment]] = [[]]
    for moment in moments:
        if moment.step == "step_4":
            found[-1].append(moment)
        elif moment.step == "step_5":
            found.append([])
    return found


def _worked(moments: list[Moment]) -> bool:
    first, *more = searches_of(moments)[0]
    primes = [moment.prime for moment in (first, *more)]
    return first.star == (3, 1, 0, -1) and primes == [(-1, 2, -1, -1), (-1, 2, -1, 1)]


WORKED = Example(
    ((8, 6, 5, 3), (3, 1, 1, 1), (2, 8, 6, 9), (5, 6, 9, 7)), 2, {"as on the page": _worked}
)
"""The page's first example: one path, one dual update."""


def _joined(winner: int) -> Story:
    def story(moments: list[Moment]) -> bool:
        first = searches_of(moments)[0][-1]
        marks = first.star == (-1, -1, 0, 3) and first.prime == (0, 0, 1, 1)
        return marks and green_of_search(moments)[0] == winner

    return story


def green_of_search(moments: list[Moment]) -> tuple[int, ...]:
    """Return the greens that the first search has left; all -1 before its step 5."""
    return next((m.green for m in moments if m.step == "step_5"), (-1,) * len(moments[0].green))


JOIN = Example(
    ((2, 5, 4, 6), (1, 3, 6, 2), (3, 3, 6, 5), (5, 1, 1, 1)), 4,
    {f"row {row} wins": _joined(row) for row in (0, 1)},
)  # fmt: skip
"""The page's second example: two free rows whose walks join, and a dead end."""


def _two_blocks(launches: int, winner: int) -> Story:
    def story(moments: list[Moment]) -> bool:
        first = searches_of(moments)[0][-1]
        marks = first.star == (-1, -1, -1, 0, 1, 2) and first.prime[:5] == (0, 0, 1, 3, 4)
        return marks and first.launches == launches and green_of_search(moments)[0] == winner

    return story


TWO_BLOCKS = Example(
    (
        (2, 5, 4, 6, 9, 5), (1, 3, 3, 4, 9, 5), (7, 3, 7, 8, 7, 9),
        (1, 6, 6, 1, 6, 3), (5, 2, 9, 4, 4, 7), (6, 8, 5, 4, 11, 4),
    ),
    3,
    {
        f"{launches} launches, row {row} wins": _two_blocks(launches, row)
        for launches in (1, 2)
        for row in (0, 1)
    },
)  # fmt: skip
"""A join, a dead end and two blocks: whether the first search takes one launch or a restart is a
matter of whether block 0 still looks when block 1 uncovers its columns."""


def _own_star(moments: list[Moment]) -> bool:
    return any(
        moment.prime[row] == moment.star[row] >= 0
        for moment in moments
        if moment.step == "step_4"
        for row in range(len(moment.star))
    )


OWN_STAR = Example(((1, 1, 1), (2, 2, 4), (1, 2, 4)), 3, {"a row leads to itself": _own_star})
"""A row that primes its own star: there is no such run, unless S3 is broken."""

# ------------------------------------------------------------------------------- as text


def told(run: Run) -> str:
    """Return a run as text: after each step the slacks with stars, primes and covered lines."""
    return "\n\n".join(map(_told, run.moments))


def entries(moment: Moment, primes: bool = True) -> list[list[str]]:
    """Return the slacks as the page writes them: ``0*`` is starred, ``0'`` is primed."""
    marks = [(moment.star, "*"), *([(moment.prime, "'")] if primes else [])]
    return [
        [
            f"{value}{next((mark for at, mark in marks if at[row] == column), '')}"
            for column, value in enumerate(line)
        ]
        for row, line in enumerate(moment.slack.tolist())
    ]


def _told(moment: Moment) -> str:
    known = moment.step != "step_2"  # primes and covers are unset or left over
    lines = [f"after {moment.step.replace('_', ' ')}"]
    for row, cells in enumerate(entries(moment, primes=known)):
        covered = "covered" if known and moment.covered_row[row] else ""
        lines.append(("  " + "".join(f"{cell:<5}" for cell in cells) + covered).rstrip())
    if known:
        columns = [str(c) for c, covered in enumerate(moment.covered_column) if covered]
        lines.append(f"  columns covered: {', '.join(columns) or 'none'}")
    return "\n".join(lines)
