"""The dense solver with one setting changed, as a solver: see `changes`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from papers.synthesis.assignment import solver
from papers.synthesis.assignment.changes import CHANGES
from papers.synthesis.assignment.settings import Settings, have_short_range


def upload(
    cost: Any, maximize: bool = False, change: str = "", seconds: float | None = None
) -> solver.State:
    """Upload with a change; see `papers.synthesis.assignment.solver.upload`.

    Parameters
    ----------
    cost, maximize, seconds
        As there.
    change : str
        A key of `CHANGES`, or ``""``: none.

    Raises
    ------
    ValueError
        As there, and for an unknown change.
    """
    short = isinstance(cost, np.ndarray) and cost.ndim == 2 and have_short_range(cost)
    given = settings(np.shape(cost), change, short)
    return solver.upload(cost, maximize, settings=given, seconds=seconds)


def settings(shape: tuple[int, ...], change: str, short: bool = False) -> Settings | None:
    """The settings of a change for a matrix; None without one, or for what is no matrix.

    Raises
    ------
    ValueError
        For an unknown change.
    """
    if change and change not in CHANGES:
        raise ValueError(f"change {change!r} is none of {', '.join(CHANGES)}")
    if not change or len(shape) != 2:
        return None
    _, changed = CHANGES[change]
    return replace(solver.default_settings(min(shape), max(shape), short=short), **changed)
