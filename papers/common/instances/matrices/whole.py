"""The families of matrices as whole arrays: for those who want the costs and no `Formula`."""

from __future__ import annotations

import numpy as np

from papers.common.instances.matrices import formulas


def uniform(n: int, seed: int = 1, *, cost_range: int) -> np.ndarray:
    """Draw `papers.common.instances.matrices.formulas.Uniform`: int32[n, n].

    Raises
    ------
    ValueError
        If `cost_range` is outside of 1 .. 2**31.
    """
    return formulas.Uniform(n, seed, cost_range=cost_range).whole()


def uniform_double(n: int, seed: int = 1, *, cost_range: float = 1.0) -> np.ndarray:
    """Draw `papers.common.instances.matrices.formulas.UniformDouble`: float64[n, n].

    Raises
    ------
    ValueError
        If `cost_range` is not a positive finite number.
    """
    return formulas.UniformDouble(n, seed, cost_range=cost_range).whole()


def adversarial(n: int, seed: int = 1) -> np.ndarray:
    """Compute `papers.common.instances.matrices.formulas.Adversarial`: int32[n, n] or int64."""
    return formulas.Adversarial(n, seed).whole()


def constant(n: int, seed: int = 1, *, value: int = 1) -> np.ndarray:
    """Compute `papers.common.instances.matrices.formulas.Constant`: int32[n, n]."""
    return formulas.Constant(n, seed, value=value).whole()


def planted(n: int, seed: int = 1, *, cost_range: int = 1000) -> np.ndarray:
    """Draw `papers.common.instances.matrices.formulas.Planted`: int32[n, n] or int64.

    Raises
    ------
    ValueError
        If `cost_range` is outside of 1 .. 2**31.
    """
    return formulas.Planted(n, seed, cost_range=cost_range).whole()


def geometric(n: int, seed: int = 1, *, cost_range: int = 1000) -> np.ndarray:
    """Draw `papers.common.instances.matrices.formulas.Geometric`: int32[n, n] or int64.

    Raises
    ------
    ValueError
        If `cost_range` is outside of 1 .. 2**31.
    """
    return formulas.Geometric(n, seed, cost_range=cost_range).whole()
