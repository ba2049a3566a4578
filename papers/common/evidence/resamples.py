"""Resamples measurements, so that every compared figure has an interval (the bootstrap).

A figure of a table is some function of many measured cells. Its interval is read from resamples of
all the measurements: of every cell the repetitions are drawn with replacement, and of every
instance the seeds. A seed is replaced by another one in all cells at once, so that two codes are
still compared on one instance. The table is then made of all resamples together: each has the name
of its own source, and tables keep sources apart. So no table knows of resampling.

The smallest and the largest of `DRAWS` figures bound the interval: a further figure of the same
kind would fall between them with a probability of 0.95.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

DRAWS = 39
"""Number of resamples: of 40 figures in random order one is the least, or the greatest, with a
probability of 1/40 each."""

MARK = "\x1f"
"""Stands between the source and the number of the resample."""

_INSTANCE = ["family", "n", "label", "storage", "permuted"]
_VALUE = ["solver", "options", "device", "scope", "metric"]

_CATEGORIES = ["solver", "scope", "metric", "storage"]
"""Texts that tables find rows by: as categories they are compared by numbers, which is faster.

``family`` is none of them, since tables add its text to that of ``label``.
"""


def name(source: str, draw: int) -> str:
    """Return the source that the rows of a resample have."""
    return f"{source}{MARK}{draw}"


def stacked(summary: pd.DataFrame, source: str, draws: int = DRAWS) -> pd.DataFrame:
    """Return `draws` resamples of one source's measurements, one below the other.

    Parameters
    ----------
    summary : DataFrame
        Columns `papers.reproduce.run.measurements.SUMMARY`, with ``values``: the repetitions.
    source : str
        The source whose rows are resampled.
    draws : int
        Number of resamples.

    Returns
    -------
    DataFrame
        Columns of `summary`; ``source`` is `name` of the resample and ``median`` is resampled. The
        same measurements give the same resamples.
    """
    rows = summary[summary["source"] == source].reset_index(drop=True)
    if rows.empty:
        return rows
    random = np.random.default_rng(20250101)
    medians = _medians(rows, draws, random)[
        np.arange(draws)[:, None], _substitutes(rows, draws, random)
    ]
    rows = rows.astype(dict.fromkeys(_CATEGORIES, "category"))
    table = rows.iloc[np.tile(np.arange(len(rows)), draws)].reset_index(drop=True)
    names = np.repeat(np.array([name(source, draw) for draw in range(draws)], object), len(rows))
    return table.assign(source=names, median=medians.ravel())


def _medians(rows: pd.DataFrame, draws: int, random: np.random.Generator) -> np.ndarray:
    """Return the medians of resampled repetitions, float64[draws, rows].

    The metrics that one repetition has under one clock are drawn together.
    """
    found = np.tile(rows["median"].to_numpy(np.float64), (draws, 1))
    counts = rows["values"].map(len).to_numpy()
    together = rows.groupby(["cell", "scope", "device"], sort=False, dropna=False).ngroup()
    for count in np.unique(counts[counts > 1]):
        places = np.flatnonzero(counts == count)
        values = np.array(rows["values"].iloc[places].tolist(), np.float64)
        which, of_row = np.unique(together.to_numpy()[places], return_inverse=True)
        for draw in range(draws):
            chosen = random.integers(0, count, (len(which), count))[of_row]
            found[draw, places] = np.median(np.take_along_axis(values, chosen, axis=1), axis=1)
    return found


def _substitutes(rows: pd.DataFrame, draws: int, random: np.random.Generator) -> np.ndarray:
    """Return for every row the row of the seed that stands in for its own, int64[draws, rows].

    A seed is replaced by one that has all its rows, so that no resample lacks what was measured.
    """
    found = np.tile(np.arange(len(rows)), (draws, 1))
    kind = rows.groupby(_VALUE, sort=False, dropna=False).ngroup().to_numpy()
    seeds = rows["seed"].to_numpy()
    for places in rows.groupby(_INSTANCE, sort=False, dropna=False).indices.values():
        by_seed = {
            seed: dict(zip(kind[mine], mine, strict=True))
            for seed in np.unique(seeds[places])
            for mine in [places[seeds[places] == seed]]
        }
        for own in by_seed.values():
            fit = [other for other in by_seed.values() if own.keys() <= other.keys()]
            if len(fit) > 1:
                mine = np.array(list(own.values()))
                theirs = np.array([[other[key] for key in own] for other in fit])
                found[:, mine] = theirs[random.integers(0, len(fit), draws)]
    return found


def bounds(values: Sequence[float], draws: int = DRAWS) -> tuple[float, float] | None:
    """Return the interval of a figure; None if fewer than nine tenths of the resamples have it."""
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    if len(known) < 0.9 * draws:
        return None
    return float(known.min()), float(known.max())
