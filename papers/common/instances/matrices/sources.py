"""The cost matrix of an instance, or of a file, as a source of blocks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from papers.common.instances.families import FAMILIES, StorageError, family_of, parameters
from papers.common.instances.matrices.formulas import Formula
from papers.common.model import Instance
from papers.common.problems import assignment
from papers.common.problems.blocks import ArraySource, Source, npy_source


def formula_of(instance: Instance) -> Formula:
    """Return the formula of an instance's matrix, of which any block can be drawn.

    Raises
    ------
    FamilyError
        If the family is unknown or its label says nothing.
    StorageError
        If the family has no formula, so that its entries depend on those before them.
    """
    family = family_of(instance)
    if family.formula is None:
        known = ", ".join(name for name, one in FAMILIES.items() if one.formula)
        raise StorageError(f"{family.name!r} cannot be drawn by block; those can: {known}")
    return family.formula(instance.n, seed=instance.seed, **parameters(instance))


def host_strips(instance: Instance) -> Callable[[int, int], np.ndarray]:
    """Return a function that draws row strips of an instance's matrix on the host.

    They are drawn anew from the formula, never read from the device: what certifies an answer must
    not depend on memory that a solver could have changed.

    Returns
    -------
    callable(start, stop) -> dtype[stop - start, n]
        Each strip holds until the next is drawn: they share their memory.

    Raises
    ------
    FamilyError
        As `formula_of`.
    """
    formula = formula_of(instance)
    memory = np.empty(0, formula.dtype)

    def rows(start: int, stop: int) -> np.ndarray:
        nonlocal memory
        if memory.size < (stop - start) * formula.n:
            memory = np.empty((stop - start) * formula.n, formula.dtype)
        return formula.block((start, stop), (0, formula.n), memory)

    return rows


def as_source(cost: Any) -> Source:
    """Return the source that `cost` is or names.

    Parameters
    ----------
    cost : Source, Instance, path of a .npy file, or array_like[n, n]
        Of an instance only the matrix counts, not its storage.

    Raises
    ------
    FamilyError
        For an instance as `formula_of`.
    ValueError
        For costs that `papers.common.problems.assignment.as_matrix` refuses: masked and sparse
        ones among others.
    OSError
        For a file that cannot be read.
    """
    if isinstance(cost, Instance):
        return formula_of(cost)
    if isinstance(cost, (str, Path)):
        return npy_source(cost)
    if isinstance(cost, Source):
        return cost
    return ArraySource(cost if isinstance(cost, np.memmap) else assignment.as_matrix(cost))
