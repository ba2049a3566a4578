"""Lists the solvers of the synthesis by name; `evidence.codes` has what is measured beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from papers.common.model import Solver, lazily


class OnDemand(Mapping[str, Solver]):
    """Solvers by name, whose modules are imported when they are asked for.

    A call that stays on one core loads no kernel, and with it not `numba.cuda`.

    Parameters
    ----------
    modules : mapping of str to str
        The module of each solver, where it is called ``SOLVER``.
    """

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._solvers = {name: lazily(module, "SOLVER") for name, module in modules.items()}

    def __getitem__(self, name: str) -> Solver:
        """Return a solver; KeyError if there is none."""
        solver: Solver = self._solvers[name]()
        return solver

    def __iter__(self) -> Iterator[str]:
        """Return the names."""
        return iter(self._solvers)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._solvers)


SOLVERS: Mapping[str, Solver] = OnDemand(
    {
        "dense": "papers.synthesis.assignment.solver",
        "batch": "papers.synthesis.batch.solver",
        "one_core": "papers.synthesis.one_core.solver",
    }
)
