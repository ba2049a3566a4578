"""The experiments that plot: Figure 2 from a real run, and the rearranged photograph."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from papers.common.model import Assignment, Plan

# The solvers load Numba; they are imported where they are used, so that listing the experiments
# stays instant.

# ------------------------------------------------------------------------------- Figure 2

FIG_2_SIZE = 16
FIG_2_SEEDS = range(1, 13)


@dataclass(frozen=True)
class Search:
    """The marks of one search, as steps 4 and 5a left them; -1 where there is none.

    Attributes
    ----------
    prime : int32[n]
        Column of the prime at each row.
    star_at_row, star_at_column : int32[n]
        The stars before step 5b moved them.
    green : int32[n]
        Row of the green at each column.
    """

    prime: np.ndarray
    star_at_row: np.ndarray
    star_at_column: np.ndarray
    green: np.ndarray

    def walks(self) -> dict[int, list[int]]:
        """Return the columns on the way from each free row to a free column.

        A free row has a prime and no star. From a row the way goes to its prime's column, and from
        there to the row of that column's star.
        """
        free = np.flatnonzero((self.prime >= 0) & (self.star_at_row < 0))
        return {int(row): self._walk(int(row)) for row in free}

    def _walk(self, row: int) -> list[int]:
        columns: list[int] = []
        while row >= 0 and self.prime[row] >= 0 and len(columns) <= len(self.prime):
            columns.append(int(self.prime[row]))
            row = int(self.star_at_column[columns[-1]])
        return columns

    def is_green(self, row: int, columns: list[int]) -> bool:
        """Whether the walk of a free row is green to its end, so that step 5b moves its stars."""
        rows = [row, *(int(self.star_at_column[column]) for column in columns[:-1])]
        return all(self.green[column] == at for column, at in zip(columns, rows, strict=True))

    def joins(self) -> list[int]:
        """Return the first column of every walk that another free row's walk has reached before."""
        seen: set[int] = set()
        found = []
        for columns in self.walks().values():
            shared = [column for column in columns if column in seen]
            found += shared[:1]
            seen.update(columns)
        return found

    def dead_ends(self) -> list[int]:
        """Return the rows whose prime no walk from a free row passes."""
        passed = {column for columns in self.walks().values() for column in columns}
        on_a_walk = {int(self.star_at_column[column]) for column in passed} | self.walks().keys()
        return [int(row) for row in np.flatnonzero(self.prime >= 0) if row not in on_a_walk]

    def interest(self) -> tuple[int, int, int]:
        """Return how many walks join another one, the dead ends (some are enough), and all primes.

        Figure 2 is about both; among searches that show them, the larger one is drawn.
        """
        return len(self.joins()), min(2, len(self.dead_ends())), int((self.prime >= 0).sum())


def searches(cost: np.ndarray) -> list[Search]:
    """Run the kernels in the executor and keep the marks of every search that found a path.

    The executor's threads take turns in natural order, so that the picture is the same everywhere.
    """
    from papers.common.executor.scheduler import Executor
    from papers.common.gpu import device
    from papers.lopes2019 import solver
    from papers.lopes2019.launches import Geometry

    marks: dict[str, np.ndarray] = {}
    found: list[Search] = []

    def watch(step: str) -> None:
        arrays = state.arrays
        if step == "step_5":
            for name in (
                "column_of_prime_at_row",
                "column_of_star_at_row",
                "row_of_star_at_column",
            ):
                marks[name] = device.to_host(arrays[name])
        elif step == "step_3" and marks:
            green = device.to_host(arrays["row_of_green_at_column"])
            prime, star_at_row, star_at_column = marks.values()
            found.append(Search(prime, star_at_row, star_at_column, green))
            marks.clear()

    shapes = Geometry(len(cost) // 2, 8, 16, 16, 16, 16, matrix_blocks=4)
    with device.executing(Executor()):
        state = solver.upload(cost, geometry=shapes)
        solver.run(state, watch)
    return found


def most_branched() -> tuple[Search, int]:
    """Return the search of a few small runs that shows most, and the seed of its costs."""
    from papers.common.instances.matrices import uniform

    everything = [
        (search, seed)
        for seed in FIG_2_SEEDS
        for search in searches(uniform(FIG_2_SIZE, seed, cost_range=FIG_2_SIZE))
    ]
    return max(everything, key=lambda pair: pair[0].interest())


def fig_2(folder: Path, plan: Plan) -> list[tuple[str, Path]]:
    """Plot the most branched search of a few small runs of the kernels [L19 Fig.2]."""
    search, seed = most_branched()
    caption = f"Marks of one search (n = {FIG_2_SIZE}, costs 0 to n, seed {seed}). {told(search)}"
    path = folder / "fig02.png"
    plot_search(search).savefig(path, dpi=110, metadata={"Software": None})
    return [(caption, path)]


def told(search: Search) -> str:
    """Return the sentences that say what is seen in the picture of a search."""
    joins, dead_ends, walks = search.joins(), search.dead_ends(), search.walks()
    places = ", ".join(f"C{column}" for column in sorted(set(joins)))
    whole = sum(search.is_green(row, columns) for row, columns in walks.items())
    return (
        f"The walks from {len(walks)} free rows join at {places or 'no column'}; "
        f"greens lead from a free column back along {whole} of them, and no two of these share a "
        f"column. {len(dead_ends)} primed rows are dead ends."
    )


def plot_search(search: Search) -> Figure:
    """Plot the forest of primes: free columns right, the search growing leftward."""
    rows, columns = _layout(search)
    height = max((y for _, y in [*rows.values(), *columns.values()]), default=0) + 1
    depth = max((x for x, _ in [*rows.values(), *columns.values()]), default=0)
    figure = Figure(figsize=(1.3 * depth + 2.6, 0.62 * height + 1.2), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_title("Primes of one search: they lead right, to the free columns", fontsize=9)
    for row, at in rows.items():
        prime = columns[search.prime[row]]
        green = search.green[search.prime[row]] == row
        axes.plot(*_line(at, prime), color="tab:green" if green else "tab:blue", lw=2.2, zorder=1)
        star = search.star_at_row[row]
        if star in columns:
            axes.plot(*_line(at, columns[star]), color="tab:red", lw=2.2, zorder=1)
    fills = _fills(search)
    for marks, colour, letter in ((rows, "tab:red", "R"), (columns, "tab:blue", "C")):
        for number, (x, y) in marks.items():
            fill = fills.get(f"{letter}{number}", "white")
            axes.plot([-x], [-y], "o", ms=19, color=fill, mec=colour, mew=1.8, zorder=2)
            axes.annotate(f"{letter}{number}", (-x, -y), ha="center", va="center", fontsize=7)
    for label, colour in (("star", "red"), ("prime", "blue"), ("prime and green", "green")):
        axes.plot([], [], color=f"tab:{colour}", lw=2.2, label=label)
    for label, fill in FILLS.items():
        axes.plot([], [], "o", ms=9, color=fill, mec="0.4", label=label)
    figure.legend(loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    axes.margins(0.08)
    return figure


FILLS = {"free": "#ffe9a8", "dead end": "0.82"}
"""Colours of the vertices at the ends: free rows and columns, and rows that no walk passes."""


def _fills(search: Search) -> dict[str, str]:
    """Return the colour of every vertex that is free or a dead end, by its name."""
    free = [f"R{row}" for row in search.walks()]
    free += [f"C{column}" for column in np.flatnonzero(search.star_at_column < 0)]
    dead = {f"R{row}": FILLS["dead end"] for row in search.dead_ends()}
    return {name: FILLS["free"] for name in free} | dead


def _line(a: tuple[float, float], b: tuple[float, float]) -> tuple[list[float], list[float]]:
    return [-a[0], -b[0]], [-a[1], -b[1]]


def _layout(search: Search) -> tuple[dict[int, tuple], dict[int, tuple]]:
    """Places of the primed rows and of their columns: depth in the search, and a free line."""
    rows: dict[int, tuple] = {}
    columns: dict[int, tuple] = {}
    line = 0.0

    def place(column: int, depth: int) -> None:
        nonlocal line
        columns[column] = (depth, line)
        children = [int(row) for row in np.flatnonzero(search.prime == column)]
        for child, row in enumerate(children):
            if child:
                line += 1
            rows[row] = (depth + 1, line)
            if search.star_at_row[row] >= 0:
                place(int(search.star_at_row[row]), depth + 2)

    roots = [c for c in np.unique(search.prime[search.prime >= 0]) if search.star_at_column[c] < 0]
    for root in roots:
        place(int(root), 0)
        line += 1
    return rows, columns


# ------------------------------------------------------------------------------- photographs


def photos(folder: Path, plan: Plan) -> list[tuple[str, Path]]:
    """Solve the largest photograph of the plan, prove it, and plot the rearranged picture."""
    from papers.common.gpu import device
    from papers.common.instances.photographs import colour_distances, photo
    from papers.common.problems import assignment_proof
    from papers.lopes2019 import solver

    side = {"smoke": 8, "quick": 32, "paper": 48}[plan.preset]
    n = side * side
    cost = colour_distances(n)
    on_gpu = device.describe().is_gpu
    answer = solver.solve(cost) if on_gpu else _solve_on_cpu(cost)
    verdict = assignment_proof.assignment(cost, answer)
    if not verdict.ok:
        raise RuntimeError(f"the rearrangement is not proved optimal: {verdict.reason}")
    source, target = photo("coffee", side), photo("astronaut", side)
    moved = source.reshape(n, 3)[answer.col_ind].reshape(side, side, 3)
    rmse = (answer.cost / n) ** 0.5
    path = folder / "photos.png"
    _triptych(source, target, moved).savefig(path, dpi=110, metadata={"Software": None})
    how = "the kernels" if on_gpu else "the CPU's shortest path code"
    caption = (
        f"The {n} pixels of one photograph, each used once, arranged as the other at the least "
        f"total squared distance, {answer.cost} ({rmse:.1f} of 255 a pixel, root mean square); "
        f"solved by {how}; {verdict.reason}."
    )
    return [(caption, path)]


def _solve_on_cpu(cost: np.ndarray) -> Assignment:
    from papers.lopes2019.baselines import solvers

    state = solvers.upload_shortest_path(cost)
    solvers.run_shortest_path(state)
    return solvers.download_shortest_path(state)


def _triptych(source: np.ndarray, target: np.ndarray, moved: np.ndarray) -> Figure:
    figure = Figure(figsize=(9.6, 3.5), layout="constrained")
    panels = figure.subplots(1, 3)
    for axes, picture, title in zip(
        panels, (source, target, moved), ("the pixels", "the target", "the pixels rearranged"),
        strict=True,
    ):  # fmt: skip
        axes.imshow(picture, interpolation="nearest")
        axes.set_title(title)
        axes.set_axis_off()
    return figure
