"""From a summary to rows by instance: what the tables of `matchings` and `cuts` share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from papers.common.evidence.comparisons import goal
from papers.common.model import Comparison

CHOSEN = "chosen_"
"""The beginning of the counter that names the chosen solver; its value is 1."""

REPEATS = 5
"""Repetitions of a call in every preset: what is repeated is warmed up first, without a GPU, too,
where the chosen CPU code compiles."""

INSTANCE = ["source", "family", "n", "label", "permuted", "seed"]
"""The columns that tell one row from another."""


def values(
    summary: pd.DataFrame, solver: str, name: str, metric: str = "time_ms", scope: str = "run"
) -> pd.DataFrame:
    """Return one metric of one solver without options: `INSTANCE`, ``device`` and `name`."""
    found = summary[
        (summary["solver"] == solver) & (summary["metric"] == metric)
        & (summary["scope"] == scope) & (summary["options"] == "")
    ]  # fmt: skip
    found = found.assign(permuted=found["permuted"].astype(str) == "True")
    return found[[*INSTANCE, "device", "median"]].rename(columns={"median": name})


def beside(rows: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    """Set another solver's `values` beside rows, NaN where it has none."""
    return rows.merge(more.drop(columns="device"), on=INSTANCE, how="left")


def chosen(summary: pd.DataFrame, call: str) -> pd.DataFrame:
    """Return the solver that a call chose, by instance: `INSTANCE` and ``chosen``."""
    found = summary[
        (summary["solver"] == call) & summary["metric"].astype(str).str.startswith(CHOSEN)
    ]
    found = found.assign(
        permuted=found["permuted"].astype(str) == "True",
        chosen=found["metric"].astype(str).str.removeprefix(CHOSEN),
    )
    return found[[*INSTANCE, "chosen"]].drop_duplicates(INSTANCE)


def worst(
    what: str, rows: pd.DataFrame, ratio: str, names: Sequence[str], at_most: float
) -> Iterator[Comparison]:
    """Judge the largest ratio of some rows; the note names its instance by the columns `names`.

    Nothing is judged where no row has the ratio.
    """
    known = rows.dropna(subset=[ratio])
    if len(known):
        row = known.loc[known[ratio].idxmax()]
        note = f"{' '.join(str(row[name]) for name in names)}, the worst of {len(known)}"
        yield goal(what, round(float(row[ratio]), 4), at_most=at_most, note=note)
