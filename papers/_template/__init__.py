"""Template of a paper: assignment by shortest augmenting paths, one row after another [T00].

Copy this folder and replace its parts, one after another; it works as it stands, so that there is
always something to run. CONTRIBUTING.md has the recipe. The reading order is that of every paper:
`reference` (the sequential steps), `kernels.search` (the same steps on the GPU), `solver` (the host
loop), `launches` (its memory and launches), `baselines` (the paper's CPU rivals),
`evidence.experiments` (tables and figures). `README.md` beside this file is the teaching page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from papers.common.model import Assignment, Defaults, Paper, lazily

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["PAPER", "solve"]


# The public call: its full signature, and an import inside, so that the card costs nothing.
def solve(
    cost: ArrayLike,
    maximize: bool = False,
    seconds: float | None = None,
    solver: str | None = None,
) -> Assignment:
    """Solve a linear assignment problem by shortest augmenting paths.

    Without `solver` this takes what ``PAPER.defaults`` names, as the command does.

    Parameters
    ----------
    cost, maximize, seconds
        See `papers._template.solver.solve`.
    solver : str, optional
        A name of ``PAPER.solvers()`` instead of the default.

    Returns
    -------
    Assignment
        With the duals that prove it.

    Raises
    ------
    ValueError, papers.common.model.GivenUpError
        See `papers._template.solver.solve`.
    """
    from papers.common.problems import kinds

    options = {"maximize": maximize, "seconds": seconds}
    return kinds.solve_with(PAPER, kinds.ASSIGNMENT, cost, solver, options)


PAPER = Paper(
    name="_template",
    tag="T00",  # the word of every citation in the code, as in [T00 Alg.1]
    title="Template: assignment by shortest augmenting paths",
    authors="A. Author, B. Author",
    venue="Where it appeared, volume, pages",
    year=2000,
    doi="",
    summary="One row after another is assigned along a shortest path of reduced costs.",
    experiments=lazily(f"{__name__}.evidence.experiments", "EXPERIMENTS"),
    solvers=lazily(f"{__name__}.solvers", "SOLVERS"),
    defaults={"assignment": Defaults(gpu="gpu", cpu="cpu")},
    status="draft",  # until a GPU run is recorded: then remove this line
)
