"""The bands in which [DN16 Table 2] counts assignments: what the solvers and the tables share."""

from __future__ import annotations

from collections.abc import Sequence

BANDS = (*((k, k + 4) for k in range(1, 51, 5)), (51, None))
"""Iterations, numbered from 1, by fives and the rest: first and last of each band."""


def name_of(prefix: str, first: int, last: int | None) -> str:
    """Return the counter of one band, e.g. ``passes_1_5`` or ``passes_51_up``."""
    return f"{prefix}_{first}_{last or 'up'}"


def names(prefix: str) -> list[str]:
    """Return the counters of all bands."""
    return [name_of(prefix, first, last) for first, last in BANDS]


def banded(prefix: str, at: Sequence[int]) -> dict[str, int]:
    """Count the assignments found in each band.

    Parameters
    ----------
    prefix : str
        ``assignments`` (an iteration is a dual update) or ``passes`` (a forward pass after the
        first dual update).
    at : sequence of int
        How many rows were assigned when each iteration began, and at the end.

    Returns
    -------
    dict of str to int
        By `names`: iteration k finds ``at[k] - at[k - 1]``.
    """
    end = len(at) - 1
    counters = {}
    for first, last in BANDS:
        start, stop = min(first - 1, end), end if last is None else min(last, end)
        counters[name_of(prefix, first, last)] = at[stop] - at[start]
    return counters


def counters(at_update: Sequence[int], at_pass: Sequence[int], n: int) -> dict[str, int]:
    """Count the assignments by dual updates and by forward passes.

    Parameters
    ----------
    at_update : sequence of int
        How many rows were assigned when each dual update began.
    at_pass : sequence of int
        The same when each forward pass began, from the first dual update on.
    n : int
        How many rows are assigned at the end.
    """
    return banded("assignments", [*at_update, n]) | banded("passes", [*at_pass, n])
