"""The experiment `card`: times and prices that the model expects, beside print's and ours.

The verdicts here are on the model, and it fails where its prices are wrong. For each code, step and
range the recorded times may lie a factor of `BAND` from the expected ones, in the geometric mean
over n, and one order alone a factor of `FARTHEST`; print's may lie `BAND` from those of its model.
Each order is priced by the times of all others. What was measured twice may lie apart by `BAND`,
the host's memory by `HOST_BAND`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from papers.common.evidence import cards
from papers.common.evidence.comparisons import not_measured, predicted
from papers.common.evidence.tables import Published
from papers.common.model import Cell, Comparison, Experiment, Plan
from papers.datenagi2016.evidence.card import expected, work
from papers.datenagi2016.evidence.card import prices as p
from papers.datenagi2016.evidence.tables import order

PRICE = "price, us"

FARTHEST = 2.5
"""The factor by which one order alone may lie apart from the expected time."""

COLUMNS = ["code", "step", "cost_range", "sizes", "source", "published", "print_model", "measured",
           "expected", "print_over_model", "measured_over_expected", "band",
           "farthest"]  # fmt: skip


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the prices in us, then each step's times in s, as geometric means over n.

    A price stands under ``print_model`` and ``expected``, its second measurement under
    ``measured``; ``step`` says by what.
    """
    summary = cards.measured(summary)
    parts = [pd.DataFrame(columns=COLUMNS)]
    for source, ours, counts in p.counted(summary):
        mine = summary[summary["source"] == source]
        found = expected.prices_twice(mine, ours, counts, published)
        names = [f"{PRICE}: {name}" + f", {by}" * bool(by)
                 for name, by in zip(found["price"], found["by"], strict=True)]  # fmt: skip
        found = found.rename(columns={"again": "measured"}).assign(
            step=names, cost_range="", sizes=counts["n"].nunique(), source=source,
            measured_over_expected=found["again"] / found["expected"],
        )  # fmt: skip
        if found["expected"].notna().any():
            parts.append(found.reindex(columns=COLUMNS))
    parts.append(_steps(expected.times(summary, published)))
    whole = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    return whole[COLUMNS]


def _mean(values: pd.Series) -> float:
    known = values[values > 0]
    return float(np.exp(np.log(known.astype(float)).mean())) if len(known) else np.nan


def _steps(found: pd.DataFrame) -> pd.DataFrame:
    """Return the means over n of all steps that print or the record has."""
    found = found[(found["published"] > 0) | (found["measured"] > 0)]
    found = found.assign(
        print_over_model=found["published"] / found["print_model"],
        measured_over_expected=found["measured"] / found["expected"],
    )
    names = ["published", "print_model", "measured", "expected", "print_over_model",
             "measured_over_expected"]  # fmt: skip
    keys = ["source", "code", "step", "cost_range"]
    if not len(found):
        return pd.DataFrame(columns=COLUMNS)
    apart = np.log(found["measured_over_expected"].astype(float)).abs()
    groups = found.assign(farthest=np.exp(apart)).groupby(keys, sort=False)
    more = groups.agg(sizes=("n", "nunique"), farthest=("farthest", "max"))
    means = groups[names].agg(_mean).join(more).reset_index()
    return order(means.assign(band=p.BAND), by=("code", "step", "cost_range"))


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Judge the model: the times of both machines, and what was measured twice."""
    items: list[Comparison] = []
    for row in found.itertuples(index=False) if len(found) else ():
        where = f"{row.step} of {row.code}" + f", range {row.cost_range}" * bool(row.cost_range)
        for what, ratio in (
            ("measured over expected", row.measured_over_expected),
            ("print over its model", row.print_over_model),
        ):
            if ratio > 0 and row.step != work.RUN:
                low = 1 / row.band
                items.append(predicted(f"{what}: {where}", low, row.band, round(float(ratio), 3)))
        if row.farthest > 0 and row.step != work.RUN:
            what = f"the order that is farthest from expected, a factor: {where}"
            items.append(predicted(what, 1.0, FARTHEST, round(float(row.farthest), 3)))
    return items or not_measured("the prices of GPU and host, on a card of the authors'", "model")


def experiment(*cells: Callable[[Plan], Sequence[Cell]]) -> Experiment:
    """Return the experiment; its cells are those of the tables that the model explains."""
    return Experiment(
        name="card", kind="table",
        title="Do the prices of both machines explain what print has not: means over n",
        cells=lambda plan: [cell for some in cells for cell in some(plan)],
        table=table, compare=compare,
    )  # fmt: skip
