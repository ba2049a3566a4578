"""Solvers by name, each imported when it is asked for: a call then loads what it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from papers.common.model import Solver, lazily


class OnDemand(Mapping[str, Solver]):
    """A mapping of names to solvers that knows the names, and imports a solver's module later.

    Parameters
    ----------
    loaders : mapping of str to callable() -> Solver
        In the order in which the solvers are listed.
    """

    def __init__(self, loaders: Mapping[str, Callable[[], Solver]]) -> None:
        self._loaders = dict(loaders)

    def __getitem__(self, name: str) -> Solver:
        """Return a solver; KeyError if there is none."""
        return self._loaders[name]()

    def __contains__(self, name: object) -> bool:
        """Whether there is a solver of this name; none is loaded."""
        return name in self._loaders

    def __iter__(self) -> Iterator[str]:
        """Return the names."""
        return iter(self._loaders)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._loaders)


def solvers_of(module: str, *names: str) -> dict[str, Callable[[], Solver]]:
    """Return what loads the solvers that a module's ``SOLVERS`` has by these names."""
    return {name: partial(_loaded, module, name) for name in names}


def _loaded(module: str, name: str) -> Solver:
    solver: Solver = lazily(module, "SOLVERS")()[name]
    return solver
