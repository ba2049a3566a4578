"""The shared parts of the papers' models of a card: fits, expected figures, and causes by them.

A model has a few prices (a wait of the host, a byte, ...), on print's machine and on that of a
record. With the counts of a run they give a figure for both machines. `cause` turns the two into
the cause of a difference from print, where they tell the machines apart.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from papers.common.evidence import comparisons as compare
from papers.common.evidence.comparisons import predicted
from papers.common.evidence.resamples import MARK
from papers.common.evidence.tables import Published
from papers.common.model import Cause, Comparison

Table = Callable[[pd.DataFrame, Published], pd.DataFrame]
"""The type of `papers.common.model.Experiment.table`."""

Band = Callable[[float], tuple[float, float]]
"""The least and the most that a figure allows."""

Figures = tuple[Any, Any, Any]
"""Print's figure, the model's for print's machine, and the model's for ours."""

ROUNDS = 60
"""Rounds of `fitted`; it stands still after some ten."""


def fitted(amounts: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the prices, none negative, by which amounts come nearest to times, in ratios.

    Parameters
    ----------
    amounts : float64[k, p]
        What each of k times consists of; no column is 0 everywhere.
    times : float64[k]
        Positive.

    Returns
    -------
    float64[p]
        Of least squares of ``log(amounts @ prices / times)``, by damped Newton steps in the
        prices' logarithms, so that none becomes negative.
    """
    amounts, times = np.ascontiguousarray(amounts, float), np.ascontiguousarray(times, float)
    return _fitted(amounts.shape, amounts.tobytes(), times.tobytes()).copy()


@functools.lru_cache(maxsize=4096)
def _fitted(shape: tuple[int, int], amounts_bytes: bytes, times_bytes: bytes) -> np.ndarray:
    """Return `fitted`, once: tables of one record ask for the same fits."""
    amounts, times = np.frombuffer(amounts_bytes).reshape(shape), np.frombuffer(times_bytes)
    shares = amounts / times[:, None]
    logs = np.log(1.0 / (amounts.shape[1] * shares.max(axis=0)))
    for _ in range(ROUNDS):
        parts = shares * np.exp(logs)
        whole = parts.sum(axis=1)
        slopes = parts / whole[:, None]
        step = np.linalg.lstsq(
            np.vstack([slopes, 1e-3 * np.eye(len(logs))]),
            np.concatenate([-np.log(whole), np.zeros(len(logs))]), rcond=None,
        )[0]  # fmt: skip
        before, logs = logs, logs + np.clip(step, -1.0, 1.0)
        if np.array_equal(logs, before):
            break
    return np.exp(logs)


def measured(summary: pd.DataFrame) -> pd.DataFrame:
    """Leave out resamples: they give a figure its interval, and a cause is one of the figure."""
    sources = summary["source"].unique()
    draws = [name for name in sources if str(name).partition(MARK)[2].isdecimal()]
    return summary[~summary["source"].isin(draws)] if draws else summary


def beside(table: Table, expected: Table, figures: Sequence[str]) -> Table:
    """Return a table function with the expected figures beside its rows, NaN where there are none.

    Parameters
    ----------
    table, expected : callable(summary, published) -> DataFrame
        The table, and the expected figures; both have the columns that tell rows apart.
    figures : sequence of str
        The beginnings of the names of the expected figures.
    """

    def both(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
        rows, found = table(summary, published), expected(measured(summary), published)
        on = [name for name in found if not name.startswith(tuple(figures))]
        kinds: dict[str, Any] = {name: rows[name].dtype for name in on if name in rows}
        kinds |= dict.fromkeys([name for name in found if name not in on], float)
        return rows.merge(found.astype(kinds), on=on, how="left")

    return both


def figures_of(row: Any, *names: str) -> Figures:
    """Return three figures of a row; None where it has none."""
    printed, theirs, ours = (getattr(row, name, None) for name in names)
    return printed, theirs, ours


def factors(first: float, second: float) -> float:
    """Return how far two positive figures lie apart, as a factor's logarithm."""
    return abs(math.log(first / second)) if first > 0 and second > 0 else math.inf


def points(first: float, second: float) -> float:
    """Return how far two figures lie apart, as a difference."""
    return abs(first - second)


def around(factor: Callable[[float], float]) -> Band:
    """Return a band of a factor up and down, which may depend on the figure."""
    return lambda figure: (figure / factor(figure), figure * factor(figure))


def agreeing_share(printed: float) -> tuple[float, float]:
    """Return the shares in per cent that agree with a printed one."""
    apart = max(compare.LEAST_POINTS, min(compare.POINTS, 0.5 * printed))
    return printed - apart, printed + apart


def cause(
    experiment: str,
    figures: Figures,
    agrees: Band,
    band: Band,
    distance: Callable[[float, float], float],
    words: str,
    nearer: float = 1.0,
    at_most: float = math.inf,
) -> Cause | None:
    """Return the cause of a figure; None where it agrees, or where the model explains nothing.

    Parameters
    ----------
    experiment : str
        The recorded experiment.
    figures : tuple
        Print's figure, the model's for print's machine, and the model's for ours.
    agrees, band : callable(float) -> (float, float)
        The figures that agree with print, and those that the expected one allows; the cause's band
        ends where the former begin.
    distance : callable(float, float) -> float
        `factors` or `points`.
    words : str
        The cause, with a place for the expected figure.
    nearer : float
        Print must be nearer to the figure of its own machine than this many times its distance to
        that of ours: else the model does not tell the machines apart.
    at_most : float
        The largest distance of print from the figure of its own machine.
    """
    if any(compare.missing(figure) for figure in figures):
        return None
    printed, theirs, ours = map(float, figures)
    least, most = agrees(printed)
    apart = distance(printed, theirs)
    if least <= ours <= most or apart >= nearer * distance(printed, ours) or apart > at_most:
        return None
    low, high = band(ours)
    low, high = (max(low, most), high) if ours > most else (low, min(high, least))
    return Cause(experiment, low, high, words.format(ours))


def cause_of_statement(
    experiment: str,
    figures: Figures,
    at_least: float | None,
    at_most: float | None,
    factor: float,
    words: str,
) -> Cause | None:
    """Return the cause of a broken sentence that print and the model of its machine keep.

    Parameters
    ----------
    experiment, figures, words
        As in `cause`.
    at_least, at_most : float or None
        The sentence's bound; one of them.
    factor : float
        The half width of the expected figure's band.
    """
    if any(compare.missing(figure) for figure in figures):
        return None
    least = -math.inf if at_least is None else at_least
    most = math.inf if at_most is None else at_most
    printed, theirs, ours = map(float, figures)
    if not (least <= printed <= most and least <= theirs <= most) or least <= ours <= most:
        return None
    low, high = ours / factor, ours * factor
    low, high = (low, min(high, least)) if ours < least else (max(low, most), high)
    return Cause(experiment, low, high, words.format(ours))


def cause_of_order(
    experiment: str,
    printed: dict[str, float],
    theirs: dict[str, float],
    ours: dict[str, float],
    slack: float,
    words: str,
) -> Cause | None:
    """Return the cause of an order that is not print's: the model ranks print's machine as print.

    Parameters
    ----------
    experiment : str
        As in `cause`.
    printed, theirs, ours : dict of str to float
        Values by name, smaller first: print's, the model's for print's machine and for ours.
    slack : float
        As in `papers.common.evidence.comparisons.ranking`.
    words : str
        The cause, with a place for the expected order.
    """
    if any(set(values) != set(printed) for values in (theirs, ours)):
        return None
    if any(compare.missing(value) for each in (printed, theirs, ours) for value in each.values()):
        return None
    alike = compare.same_order(printed, theirs, slack), compare.same_order(printed, ours, slack)
    if alike != (True, False):
        return None
    order = " < ".join(sorted(ours, key=lambda name: ours[name]))
    return Cause(experiment, math.nan, math.nan, words.format(order), order)


def mean(ratios: Any) -> float:
    """Return the geometric mean, rounded; NaN without a ratio."""
    values = np.asarray(ratios, dtype=float)
    return round(float(np.exp(np.log(values).mean())), 3) if len(values) else math.nan


def alike(
    rows: pd.DataFrame, what: str, first: str, second: str, by: Sequence[str], band: float
) -> list[Comparison]:
    """Judge a model: the geometric means of a ratio that should be 1, within a factor of `band`.

    Parameters
    ----------
    rows : DataFrame
        Rows without positive figures are left out.
    what : str
    first, second : str
        The columns of which the ratio is taken.
    by : sequence of str
        The columns that tell the means apart.
    band : float
    """
    known = rows[(rows[first] > 0) & (rows[second] > 0)]
    return [
        predicted(
            f"{what}: {', '.join(map(str, key))}",
            1 / band,
            band,
            mean(group[first] / group[second]),
        )
        for key, group in known.groupby(list(by), sort=False)
    ]
