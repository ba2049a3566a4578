"""The effect that the mix of graphs in a set has on the means of Table 1.

Two things tell graphs apart before anything is measured. At `ONE_GRID` columns or fewer MT and CT
are one and the same launch, and all matrices that print names have `least_of_print` at least. And
print itself says of Delaunay graphs that APsB needs far fewer levels there [D13 sec.4]: so it does
on all points that are numbered by place, which a permutation undoes.

Each class has its own mean of a variant's time over that of the best one, taken over all graphs of
the record and not over a set's members. The means, weighted by the classes' shares in print's
twenty and in our set, are the two figures: what the record lets us expect of either mix.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers.common.evidence.tables import Published
from papers.deveci_matching.evidence import sets
from papers.deveci_matching.evidence.codes import BEST, VARIANTS
from papers.deveci_matching.evidence.tables import (
    GRAPH,
    by_source,
    measured,
    side_by_side,
)

FIGURES = ["print_model_over_best", "expected_over_best"]

ONE_GRID = 256 * 256
"""Threads of CT [D13 sec.4]."""

LEAST = 2**14
"""Columns from which graphs count: our sets of slow graphs have none below."""

GRAPHS = 3
"""The least number of graphs whose mean stands for a class."""

KNOWN = 0.9
"""The least share of a set's graphs whose class has a mean. The others are left out of its mix."""

POINTS = ("delaunay", "rgg")
"""Families of points in the plane. The generators number them by place."""

EITHER_ORDER = "uniform"
"""The family whose permuted graphs have the law of the original ones: it counts as both."""


def least_of_print() -> int:
    """Return the columns of the smallest matrix that print names."""
    return int(sets.twenty()["columns"].min())


def class_of(name: str, n: int, ordering: str) -> str:
    """Return the class of a graph: its columns, and whether its vertices are points in order.

    Parameters
    ----------
    name : str
        The graph's name, that of print if it has one.
    n : int
        Columns.
    ordering : {"original", "permuted"}
    """
    size = "one grid" if n <= ONE_GRID else "middle" if n < least_of_print() else "large"
    points = ordering == sets.ORIGINAL and name.startswith(POINTS)
    return f"{size} points" if points else size


def _labelled(rows: pd.DataFrame) -> pd.Series:
    named = rows[["name", "n", "ordering"]].itertuples(index=False)
    return pd.Series([class_of(*each) for each in named], rows.index, object)


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean logarithm of each variant's time over the best one's, by order and class.

    Parameters
    ----------
    rows : DataFrame
        One source's rows of `papers.deveci_matching.evidence.tables.side_by_side`.

    Returns
    -------
    DataFrame
        A row an ordering and class of `GRAPHS` graphs at least, a column a variant.
    """
    kinds = (sets.REAL, sets.GENERATED, sets.RANDOM)
    mine = rows[rows["kind"].isin(kinds) & (rows["n"] >= LEAST)].dropna(subset=[*VARIANTS])
    either = mine[mine["name"].str.startswith(EITHER_ORDER)]
    either = either[either["ordering"] == sets.ORIGINAL].assign(ordering=sets.PERMUTED)
    mine = pd.concat([mine, either]).drop_duplicates([*GRAPH])
    mine = mine.assign(**{"class": _labelled(mine)})
    logs = np.log(mine[[*VARIANTS]].astype(float).div(mine[BEST].astype(float), axis=0))
    grouped = logs.groupby([mine["ordering"], mine["class"]])
    return grouped.mean()[grouped.size() >= GRAPHS]


def mixed(of_class: pd.DataFrame, classes: pd.Series, ordering: str) -> pd.Series:
    """Return the expected means of a set whose graphs have these classes.

    Parameters
    ----------
    of_class : DataFrame
        As `means` returns.
    classes : Series of str
        The class of each of the set's graphs.
    ordering : {"original", "permuted"}

    Returns
    -------
    Series of float
        By variant; NaN where too few of the graphs (`KNOWN`) are of a class with a mean.
    """
    shares = classes.value_counts(normalize=True)
    known = shares[[(ordering, name) in of_class.index for name in shares.index]]
    if known.sum() < KNOWN:
        return pd.Series(np.nan, of_class.columns)
    asked = pd.MultiIndex.from_product([[ordering], known.index])
    weights = (known / known.sum()).to_numpy()
    return np.exp(of_class.reindex(asked).mul(weights, axis=0).sum(skipna=False))


def of_print(ordering: str) -> pd.Series:
    """Return the classes of print's twenty matrices, the only ones whose names it gives."""
    known = sets.twenty()
    rows = pd.DataFrame({"name": known["in_paper"], "n": known["columns"]})
    return _labelled(rows.assign(ordering=ordering))


def expected(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the expected means of Table 1 over that of the best variant, for either mix.

    Returns
    -------
    DataFrame
        ``source instance_set algorithm bfs_kernel thread_mode``, and `FIGURES`: those of print's
        twenty and of our set.
    """
    found = []
    wide = side_by_side(measured(summary))
    for source, _, graphs in by_source(summary):
        of_class = means(wide[wide["source"] == source])
        rebuilt = sets.rebuilt(graphs)
        for name in (name for name in sets.SETS if not name.endswith("_all")):
            members = rebuilt[name].dropna(subset=[*VARIANTS])
            ordering = sets.ORIGINAL if name.startswith("O") else sets.PERMUTED
            mixes = [of_print(ordering), _labelled(members)]
            theirs, ours = (mixed(of_class, classes, ordering) for classes in mixes)
            if len(members):
                found += [
                    (source, name, *names, theirs[code], ours[code])
                    for code, names in VARIANTS.items()
                ]
    columns = ["source", "instance_set", "algorithm", "bfs_kernel", "thread_mode", *FIGURES]
    return pd.DataFrame(found, columns=columns)
