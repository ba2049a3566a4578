"""The figures of the paper's tables that the model expects: by print's card, and by this one.

`beside_shares` and its like put both beside the rows of a table: ``expected`` is the figure by the
prices of the record's card, ``expected_print`` the one by print's. `causes` reads them.
"""

from __future__ import annotations

import pandas as pd

from papers.common.evidence import cards
from papers.common.evidence.cards import Table
from papers.common.evidence.tables import KEY, Published
from papers.lopes2019.evidence.card import clocks, model
from papers.lopes2019.evidence.tables import BY

FIGURES = ["expected_print", "expected"]


def step_times(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the rows of `model.step_times` of the sources whose clocks are to be trusted."""
    return clocks.trusted(summary, model.step_times(summary, published))


def c_times(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the rows of `model.c_times` whose clocks are to be trusted."""
    return clocks.trusted_c(summary, model.c_times(summary, published))


def shares(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the steps' expected shares of the CUDA time in per cent: `model.STEP`, `FIGURES`."""
    steps = step_times(summary, published)
    whole = steps.groupby(KEY)[["print_model_ms", "expected_ms"]].transform("sum")
    return steps.assign(
        expected_print=100 * steps["print_model_ms"] / whole["print_model_ms"],
        expected=100 * steps["expected_ms"] / whole["expected_ms"],
    )[[*model.STEP, *FIGURES]]


def totals(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the expected CUDA times in ms: `KEY`, `FIGURES`."""
    steps = step_times(summary, published)
    whole = steps.groupby(KEY, sort=False)[["print_model_ms", "expected_ms"]].sum().reset_index()
    return whole.rename(columns={"print_model_ms": "expected_print", "expected_ms": "expected"})


def totals_of_k20c(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the expected CUDA times, those of print by a fit to the K20c's: `KEY`, `FIGURES`.

    Table 4 has whole times only, which tell no search from a wait: print's card has two prices.
    """
    printed = published("table4").rename(columns={"time_ms": "ms"})[[*BY, "ms"]]
    found = totals(summary, published).drop(columns="expected_print")
    parts = []
    for _, rows in model.work(model.counts(summary)).groupby("source", sort=False):
        prices = model.of_totals(rows, printed)
        if prices is not None:
            ms = rows[model.WORK[:2]].to_numpy(float) @ prices
            parts.append(rows.assign(expected_print=ms).groupby(KEY)["expected_print"].sum())
    if not parts:
        return found.assign(expected_print=None)
    return found.merge(pd.concat(parts).reset_index(), on=KEY)


def speedups(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the expected speedups over C: `KEY`, `FIGURES`.

    Print's is print's C time over the CUDA time that the model gives print's card.
    """
    c = c_times(summary, published).groupby(KEY)[["expected_c_ms"]].sum().reset_index()
    rows = totals(summary, published).merge(c, on=KEY)
    rows = rows.merge(model.printed_totals(published), on=list(BY))
    return _over_cuda(rows)[[*KEY, *FIGURES]]


def step_speedups(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the expected speedups of the steps and the whole, costs 0 to n: as `speedups`."""
    c = c_times(summary, published)
    steps = step_times(summary, published).merge(c, on=model.STEP)
    steps = steps.rename(columns={"print_model_ms": "expected_print", "expected_ms": "expected"})
    whole = speedups(summary, published).assign(step="global")
    both = pd.concat([_over_cuda(steps)[[*model.STEP, *FIGURES]], whole], ignore_index=True)
    return both[both["cost_range"] == "n"]


def _over_cuda(rows: pd.DataFrame) -> pd.DataFrame:
    """Divide C times by the expected CUDA times, which are in `FIGURES`."""
    return rows.assign(
        expected_print=rows["print_c_ms"] / rows["expected_print"],
        expected=rows["expected_c_ms"] / rows["expected"],
    )


def beside(table: Table, expected: Table, label: str = "") -> Table:
    """Return a table function with the expected figures beside its rows, NaN where there are none.

    Parameters
    ----------
    table, expected : callable(summary, published) -> DataFrame
        The table, and one of this module's.
    label : str
        The cost range of a table without that column.
    """

    def figures(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
        found = expected(summary, published)
        if label:
            found = found[found["cost_range"] == label].drop(columns="cost_range")
        return found[[name for name in found if name not in FIGURES] + FIGURES]

    return cards.beside(table, figures, FIGURES)
