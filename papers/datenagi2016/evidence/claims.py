"""Judges the testable sentences of [DN16], the `statements`, on our numbers and on print's.

A sentence has as many figures as there are cells; the worst of them is shown and decides.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from papers.common.evidence import cards
from papers.common.evidence.comparisons import effect, not_measured
from papers.common.evidence.tables import NOT_MEASURED, Published, beside
from papers.common.model import Cell, Comparison, Experiment, Plan
from papers.datenagi2016.evidence.card import causes
from papers.datenagi2016.evidence.card.prices import FIGURES
from papers.datenagi2016.evidence.claim_numbers import LEVELS, Numbers, measured, printed
from papers.datenagi2016.evidence.statements import STATEMENTS, Statement

KEYS = ["claim", "figure", "cell"]


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the figures behind the statements: medians over the seeds, print's own beside them.

    Returns
    -------
    DataFrame
        ``claim`` (its id), ``figure``, ``cell``, ``source``, ``published_figure``,
        ``measured_figure`` and ``says``: the sentence in our own words.
    """
    own = figures(printed(published)).rename(columns={"value": "published_figure"})
    ours = figures(measured(summary)).rename(columns={"value": "measured_figure"})
    found = beside(own.drop(columns="source"), ours, KEYS)
    places = [statement.claim for statement in STATEMENTS]
    found = found.sort_values("claim", key=lambda ids: ids.map(places.index), kind="stable")
    rows = published("text_claims").itertuples(index=False)
    says = {row.id: row.quantity for row in rows}
    found = found.assign(says=found["claim"].map(says)).reset_index(drop=True)
    return found[[*KEYS, "source", "published_figure", "measured_figure", "says"]]


def figures(x: Numbers) -> pd.DataFrame:
    """Return all figures: medians over the seeds, with `KEYS`, ``source`` and ``value``."""
    parts = [
        _rows(series).assign(claim=statement.claim, figure=name)
        for statement in STATEMENTS
        for name, series in statement.of(x).items()
    ]
    return pd.concat(parts, ignore_index=True)[[*KEYS, "source", "value"]]


def _rows(series: pd.Series) -> pd.DataFrame:
    """Return the medians over the seeds, with ``source``, ``cell`` and ``value``."""
    levels = [name for name in LEVELS if name in series.index.names and name != "seed"]
    values = series.astype(float)
    known = values[np.isfinite(values)].groupby(level=levels, sort=False).median()
    rows = known.rename("value").reset_index()
    cell = pd.Series("", rows.index, dtype=object)
    for name, text in (("n", "n={} "), ("cost_range", "range {} ")):
        if name in rows and len(rows):
            cell += rows[name].map(text.format)
    return rows.assign(cell=cell.str.strip())[["source", "cell", "value"]]


def verdicts(found: pd.DataFrame) -> list[Comparison]:
    """Judge every statement of which there are figures."""
    comparisons: list[Comparison] = []
    known = found[found["source"] != NOT_MEASURED].dropna(subset=["measured_figure"])
    for _, rows in known.groupby("source", sort=False):
        for statement in STATEMENTS:
            mine = rows[rows["claim"] == statement.claim]
            if len(mine):
                comparisons.append(judge(statement, mine, "measured_figure"))
    return comparisons or not_measured("statements of sections 4 and 6", "claim")


def judge(statement: Statement, rows: pd.DataFrame, column: str) -> Comparison:
    """Judge one statement by the worst figure of one column; note where print's own is worse.

    Parameters
    ----------
    statement : Statement
    rows : DataFrame
        Its rows of one source: columns of `table`.
    column : {"measured_figure", "published_figure"}
    """
    worst = _worst(statement, rows, column)
    notes = []
    if len(rows) > 1:
        where = " ".join(filter(None, (worst["figure"], worst["cell"])))
        notes.append(f"the worst of {len(rows)} figures: {where}")
    own = rows.dropna(subset=["published_figure"])
    broken = own[~_kept(statement, own["published_figure"])]
    if len(broken):
        far = _worst(statement, broken, "published_figure")["published_figure"]
        notes.append(
            f"print breaks it in {len(broken)} of its own {len(own)} figures, by {far:.3g} at worst"
        )
    figures = cards.figures_of(worst, "published_figure", *FIGURES)
    return effect(
        f"{statement.claim}: {statement.figure}", str(rows["says"].iloc[0]),
        round(float(worst[column]), 4), statement.at_least, statement.at_most, "; ".join(notes),
        causes.of_bound(figures, statement.at_least, statement.at_most),
    )  # fmt: skip


def _kept(statement: Statement, values: pd.Series) -> pd.Series:
    """Whether each figure keeps the statement's bound."""
    if statement.at_least is not None:
        return values >= statement.at_least
    return values <= statement.at_most


def _worst(statement: Statement, rows: pd.DataFrame, column: str) -> pd.Series:
    """Return the row that is furthest on the wrong side of the bound, or nearest to it."""
    values = rows[column]
    return rows.loc[values.idxmin() if statement.at_least is not None else values.idxmax()]


def experiment(*plans: Callable[[Plan], list[Cell]]) -> Experiment:
    """Return the experiment, whose cells are those of other experiments' plans."""
    return Experiment(
        name="claims", title="Statements of sections 4 and 6", kind="table",
        cells=lambda plan: [cell for part in plans for cell in part(plan)],
        table=table, compare=verdicts, interleaved=True,
    )  # fmt: skip
